/* Player: a loaded simulation in the surroundings of a world, and what every way to drive it does:
 * start an instance, step it with everything moved that the world moves, compare its state hash
 * with the reference's. Keeps the exchange's progress up to date, so that a crash has a place.
 * Called by the world's process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PLAYER_H
#define LOCKSTEP_TOOLS_SYNCTEST_PLAYER_H

#include "lockstep/common/simulation/plugin_loader.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/tools/synctest/exchange.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/statics.h"
#include "lockstep/tools/synctest/surroundings.h"
#include "lockstep/tools/synctest/tape.h"
#include "lockstep/tools/synctest/trace.h"

typedef struct ls_player {
    ls_exchange *exchange;
    ls_exchange_files files;
    uint32_t moves; /* of the world; nothing in the reference */
    ls_loaded_simulation loaded;
    ls_simulation simulation; /* the loaded one, with an init that says when it runs */
    ls_sim_config config;
    ls_page_memory memory;
    ls_tape tape;
    ls_trace trace;
    bool is_traced;              /* the step that runs is written to the trace */
    ls_statics statics;          /* watched once begun */
    const ls_pass *mode_changer; /* the first pass that left another rounding mode, or NULL */
    ls_slot_input slots[LS_PLAYERS_MAX];
} ls_player;

/* Enters the surroundings, loads the simulation and configures it; fills in the facts. After a
 * failure the outcome is FAILED. */
bool ls_player_load(ls_player *player);

/* A new instance, at tick 0; NULL after a failure, with the outcome FAILED. */
ls_sim_instance *ls_player_start(ls_player *player);
void ls_player_end(ls_player *player, ls_sim_instance *instance);

/* The recorded inputs of a tick, into player->slots. */
ls_tick_inputs ls_player_inputs(ls_player *player, ls_tick tick);

void ls_player_step(ls_player *player, ls_sim_instance *instance, const ls_tick_inputs *inputs,
                    bool is_traced);

/* The state hash of the live state. */
uint64_t ls_player_hash(ls_player *player, ls_sim_instance *instance);

/* Compares the live state with the reference's; on a difference the outcome is DIFFERS. */
bool ls_player_compare(ls_player *player, ls_sim_instance *instance);

/* A save of a simulation; the memory grows with it, and is the player's. */
typedef struct ls_saved {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
} ls_saved;

/* On a failure the outcome is a FAULT. */
bool ls_player_save(ls_player *player, const ls_sim_instance *instance, ls_saved *saved);
bool ls_player_load_save(ls_player *player, ls_sim_instance *instance, const uint8_t *bytes,
                         ls_tick tick);

/* Notes a fault in a pass or function of the simulation. */
void ls_player_fault(ls_player *player, ls_fault fault, ls_tick tick, const char *pass);

/* Notes that the machine has no memory for a match; false. */
bool ls_player_fail(ls_player *player, ls_status status, const char *words);

void ls_player_enter_phase(ls_player *player, ls_phase phase);

#endif

/* Player: a loaded simulation in the surroundings of a perturbation, and what every play mode does:
 * start an instance, step it with everything changed that the perturbation changes, compare its
 * state hash with the reference's. Keeps the exchange's progress up to date, so that a crash has a
 * place. Called by the perturbed process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PLAYER_H
#define LOCKSTEP_TOOLS_SYNCTEST_PLAYER_H

#include "lockstep/common/game/param_files.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/loader/plugin_statics.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/tools/synctest/exchange.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/tape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct synctest_player {
    synctest_exchange *exchange;
    int files[SYNCTEST_FILE_COUNT];
    uint32_t changes; /* of the perturbation; nothing in the reference */
    bool has_copies;  /* of this process, each of which plays once */
    ls_loaded_simulation loaded;
    ls_simulation simulation; /* the loaded one, with an init that says when it runs */
    ls_sim_config config;
    ls_param_files param_files;
    synctest_page_memory memory;
    synctest_tape tape;
    uint32_t ticks; /* that are played: of a repetition, up to the bad one */
    synctest_trace trace;
    bool is_traced;              /* the step that runs is written to the trace */
    ls_plugin_statics statics;   /* watched once begun */
    ls_written named;            /* by the passes of this step, where the simulation names writes */
    const ls_pass *mode_changer; /* the first pass that left another rounding mode, or NULL */
    ls_float_mode outer_mode;    /* the host's, while a step runs with another one */
    ls_slot_input slots[LS_PLAYERS_MAX];
    synctest_laid_inputs laid_inputs; /* where steps read them */
} synctest_player;

/* Enters the surroundings, loads the simulation and configures it; fills in the facts. After a
 * failure the outcome is FAILED. */
bool synctest_player_load(synctest_player *player);

/* A new instance, at tick 0; NULL after a failure, with the outcome FAILED. */
ls_sim_instance *synctest_player_start(synctest_player *player);

/* The same, compared: NULL also when its state 0 differs. */
ls_sim_instance *synctest_player_start_compared(synctest_player *player);
void synctest_player_end(synctest_player *player, ls_sim_instance *instance);

/* The recorded inputs of a tick, into player->slots. */
ls_tick_inputs synctest_player_inputs(synctest_player *player, ls_tick tick);

void synctest_player_step(synctest_player *player, ls_sim_instance *instance,
                          const ls_tick_inputs *inputs, bool is_traced);

/* Steps with the recorded inputs, traced, and compares as synctest_player_compare does. */
bool synctest_player_advance(synctest_player *player, ls_sim_instance *instance);

/* The state hash of the live state. */
uint64_t synctest_player_hash(synctest_player *player, ls_sim_instance *instance);

/* Keeps what an engine without a schema saves of the live state in the trace, where it can. */
void synctest_player_keep_image(synctest_player *player, const ls_sim_instance *instance);

/* Compares the live state with the reference's; on a difference the outcome is DIFFERS. */
bool synctest_player_compare(synctest_player *player, ls_sim_instance *instance);

/* A save of a simulation; the memory grows with it, and is the player's. */
typedef struct synctest_saved {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
} synctest_saved;

/* On a failure the outcome is a FAULT. */
bool synctest_player_save(synctest_player *player, const ls_sim_instance *instance,
                          synctest_saved *saved);
bool synctest_player_load_save(synctest_player *player, ls_sim_instance *instance,
                               const synctest_saved *saved, ls_tick tick);

/* Notes a fault in a pass or function of the simulation. */
void synctest_player_fault(synctest_player *player, synctest_fault fault, ls_tick tick,
                           const char *pass);

/* The outcome is FAILED, for this reason; returns false. */
bool synctest_player_fail(synctest_player *player, ls_status status, const char *words);

void synctest_player_enter_phase(synctest_player *player, synctest_phase phase);

#endif

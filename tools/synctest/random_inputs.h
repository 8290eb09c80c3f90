/* Random inputs: what players send in the last third of the match that lockstep-synctest plays: the
 * bot's inputs, altered ones, and bytes that no bot would send, since any bytes may come from
 * another machine and a bot never takes some paths. Seeded, pure. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_RANDOM_INPUTS_H
#define LOCKSTEP_TOOLS_SYNCTEST_RANDOM_INPUTS_H

#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/simulation.h"

typedef enum synctest_input_kind {
    SYNCTEST_INPUT_BOT,     /* as the bot has it */
    SYNCTEST_INPUT_ALTERED, /* with another byte somewhere */
    SYNCTEST_INPUT_SMALL,   /* numbers as codes and indices have them */
    SYNCTEST_INPUT_RANDOM,
    SYNCTEST_INPUT_KIND_COUNT,
} synctest_input_kind;

/* One player; an input is kept up for some ticks, as by somebody who holds a key. */
typedef struct synctest_random_player {
    ls_rng rng;
    synctest_input_kind kind;
    uint32_t ticks_left;
    uint32_t position; /* of the altered byte */
    uint32_t size;
    uint8_t bytes[LS_INPUT_BYTES_MAX];
} synctest_random_player;

synctest_random_player synctest_random_player_make(uint64_t seed);

/* Replaces the bot's input of `size` bytes; returns the new size, up to `size_max`. */
uint32_t synctest_random_player_input(synctest_random_player *player, uint8_t *bytes, uint32_t size,
                                      uint32_t size_max);

/* Whether the players of this tick send such inputs. */
bool synctest_inputs_are_random(uint32_t ticks, ls_tick tick);

/* ---- Script: the seating of the match that lockstep-synctest plays: seats are taken, left and
 * taken again, seeded, so that joins and leaves are tested as well as inputs. Pure ---- */

typedef struct synctest_script {
    ls_rng rng;
    uint32_t players;
    bool is_present[LS_PLAYERS_MAX];
    ls_tick next_change[LS_PLAYERS_MAX];
} synctest_script;

synctest_script synctest_script_make(uint64_t seed, uint32_t players);

/* The events of the next tick, one for each seat. Called once for each tick, in order from 0. At
 * tick 0 seat 0 is taken, and most others are. */
void synctest_script_advance(synctest_script *script, ls_tick tick,
                             uint32_t events[LS_PLAYERS_MAX]);

#endif

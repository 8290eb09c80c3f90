/* Bots: seeded players. The simulation's own bot when it has one, else random bytes that change now
 * and then. Called by lockstep-client and by tests; never by a simulation's step. */
#ifndef LOCKSTEP_CLIENT_BOTS_H
#define LOCKSTEP_CLIENT_BOTS_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/sim_instance.h"

LS_C_BEGIN

typedef struct ls_bot {
    ls_rng rng;
    uint32_t random_size; /* of the random input being held */
    uint8_t random_bytes[LS_INPUT_BYTES_MAX];
} ls_bot;

/* Bots with different seeds play differently; the same seed plays the same on the same states. */
ls_bot ls_bot_make(uint64_t seed);

/* The bot's answer to the state it sees: writes an input of `slot`, at most input_bytes_max bytes;
 * returns its size. */
uint32_t ls_bot_input(ls_bot *bot, const ls_sim_instance *instance, uint32_t slot, uint8_t *bytes);

/* A bot in every seat of an instance. */
typedef struct ls_bot_crew {
    ls_bot bots[LS_PLAYERS_MAX];
    ls_slot_input inputs[LS_PLAYERS_MAX]; /* of the newest tick */
    uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
} ls_bot_crew;

/* The bot of slot s has the seed `seed` + s. */
void ls_bot_crew_init(ls_bot_crew *crew, uint64_t seed);

/* Their inputs for the instance's next tick: borrowed until the next call. All join in tick 0. */
ls_tick_inputs ls_bot_crew_inputs(ls_bot_crew *crew, const ls_sim_instance *instance);

#define LS_BOT_DELAY_TICKS_MAX 256u

/* A bot that answers each state a fixed number of ticks later. Its inputs then depend on the
 * match alone and not on when this machine drew a frame: a match of such bots, none of whose inputs
 * came late, ends in the same state on every machine at every frame rate. */
typedef struct ls_delayed_bot {
    uint32_t delay_ticks;                /* 1 .. LS_BOT_DELAY_TICKS_MAX - 1 */
    ls_tick newest;                      /* newest tick answered */
    ls_bot bots[LS_BOT_DELAY_TICKS_MAX]; /* as they were before they answered each state */
    uint32_t sizes[LS_BOT_DELAY_TICKS_MAX];
    uint8_t bytes[LS_BOT_DELAY_TICKS_MAX][LS_INPUT_BYTES_MAX];
} ls_delayed_bot;

void ls_delayed_bot_init(ls_delayed_bot *bot, uint64_t seed, uint32_t delay_ticks);

/* Shows it the state after each step, none left out. When a tick is stepped again (prediction), it
 * forgets what it answered to the state before and to all that followed. */
void ls_delayed_bot_observe(ls_delayed_bot *bot, const ls_sim_instance *instance, uint32_t slot);

/* Its input for a tick, into `bytes`: empty for the first delay_ticks ticks, and false when the
 * state it would answer has not been seen yet. */
bool ls_delayed_bot_input(const ls_delayed_bot *bot, ls_tick tick, uint8_t *bytes, uint32_t *size);

LS_C_END

#endif

/* Bots: seeded players. The simulation's own bot when it has one, else random bytes that change
 * now and then. Called by lockstep-client and by tests; never by a simulation's step. */
#ifndef LOCKSTEP_CLIENT_BOTS_H
#define LOCKSTEP_CLIENT_BOTS_H

#include "lockstep/common/sim_instance.h"

typedef struct ls_bot {
    ls_rng rng;
    uint32_t random_size; /* of the random input being held */
    uint8_t random_bytes[LS_INPUT_BYTES_MAX];
} ls_bot;

/* Bots with different seeds play differently; the same seed plays the same on the same states. */
ls_bot ls_bot_make(uint64_t seed);

/* Writes the input of `slot` for the next tick, at most input_bytes_max bytes; returns its size. */
uint32_t ls_bot_input(ls_bot *bot, const ls_sim_instance *instance, uint32_t slot, uint8_t *bytes);

#endif

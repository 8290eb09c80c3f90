/* Arena bot: plays one slot: goes for the nearest ship, or for a body while there is none, aims
 * ahead of it and fires when lined up. Reads the state; draws only from the given stream.
 * Called through the arena's ls_simulation by clients and tests. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_BOT_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_BOT_H

#include "lockstep/common/simulation/simulation.h"

/* As ls_simulation.bot: writes one pad (arena.h). */
uint32_t ls_arena_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                      uint8_t *bytes);

#endif

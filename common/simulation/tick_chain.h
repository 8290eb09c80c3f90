/* Tick chain: a digest of all the closed ticks of a match up to a tick. Equal chains mean the same
 * inputs and events on every tick before it, whatever was simulated with them: so a server that
 * comes back from its journal recognises the closed ticks that a client still holds. Knows nothing
 * of states. */
#ifndef LOCKSTEP_COMMON_SIMULATION_TICK_CHAIN_H
#define LOCKSTEP_COMMON_SIMULATION_TICK_CHAIN_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

/* The chain before tick 0. */
#define LS_TICK_CHAIN_START UINT64_C(0x7469636b63686169)

/* The chain before tick inputs->tick + 1, from the one before inputs->tick: XXH3 (seed 0) over
 * le64(chain), le32(tick) and per slot le32(size << 8 | events), le64(XXH3 of the input). */
uint64_t ls_tick_chain_next(uint64_t chain, const ls_tick_inputs *inputs);

LS_C_END

#endif

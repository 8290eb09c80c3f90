/* One bit: how a difference of one bit grows (T12): the same simulation twice, on the same inputs,
 * with the lowest bit of one coordinate flipped in the second. Called by the reports' driver and by
 * tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_ONE_BIT_H
#define LOCKSTEP_TOOLS_TIMESTEP_ONE_BIT_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/simulation.h"

#define STEPPING_ONE_BIT_SECONDS_MAX 60u

typedef struct stepping_one_bit {
    char field[LS_NAME_BYTES_MAX]; /* whose lowest bit was flipped after the first tick */
    uint32_t seconds;
    double apart_m[STEPPING_ONE_BIT_SECONDS_MAX + 1]; /* the most that a shape is, after so many */
} stepping_one_bit;

/* UNSUPPORTED when the state has no fixed-point coordinate "....x". */
ls_status stepping_one_bit_run(const ls_simulation *simulation, const ls_sim_config *config,
                               uint32_t seconds, const ls_allocator *allocator,
                               stepping_one_bit *out, ls_text *why);

#endif

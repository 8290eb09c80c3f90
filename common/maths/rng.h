/* Rng: seeded random streams that live in the simulation's state.
 * PCG32 (XSH RR 64/32; O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
 * Algorithms for Random Number Generation", 2014). One stream per purpose, so that a draw for one
 * never shifts another. Never seeded from a clock. Two draws never stand in one expression. */
#ifndef LOCKSTEP_COMMON_MATHS_RNG_H
#define LOCKSTEP_COMMON_MATHS_RNG_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/maths/fixed.h"

#include <stdint.h>

LS_C_BEGIN

typedef struct ls_rng {
    uint64_t state;
    uint64_t increment; /* odd; names the stream */
} ls_rng;

/* Streams with different numbers are independent for the same seed; the top bit of `stream` is
 * not used. */
ls_rng ls_rng_make(uint64_t seed, uint64_t stream);

uint32_t ls_rng_next(ls_rng *rng);

/* Uniform in [0, bound) without bias (Lemire, 2019); bound > 0. */
uint32_t ls_rng_below(ls_rng *rng, uint32_t bound);

/* Uniform in [low, high], both included; low <= high. */
int32_t ls_rng_between(ls_rng *rng, int32_t low, int32_t high);

/* Uniform in [0, 1), all 32 bits random. */
ls_fixed ls_rng_unit(ls_rng *rng);

/* Uniform in [low, high); one draw of ls_rng_unit. */
ls_fixed ls_rng_fixed_between(ls_rng *rng, ls_fixed low, ls_fixed high);

LS_C_END

#endif

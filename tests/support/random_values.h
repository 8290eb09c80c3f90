/* Random values: 64-bit integers of every size, and those at which arithmetic changes its ways.
 * Drawn from a seeded generator, never from a clock, so that a failure comes again.
 * Called by the unit tests of fixed, fixed_trig and interpolate, and by the golden program. */
#ifndef LOCKSTEP_TESTS_SUPPORT_RANDOM_VALUES_H
#define LOCKSTEP_TESTS_SUPPORT_RANDOM_VALUES_H

#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/maths/rng.h"

/* Values at and next to every place where arithmetic changes its ways. */
static const int64_t edge_values[] = {
    0,
    1,
    -1,
    2,
    -2,
    3,
    LS_FIXED_HALF - 1,
    LS_FIXED_HALF,
    LS_FIXED_HALF + 1,
    -LS_FIXED_HALF,
    LS_FIXED_ONE - 1,
    LS_FIXED_ONE,
    LS_FIXED_ONE + 1,
    -LS_FIXED_ONE + 1,
    -LS_FIXED_ONE,
    -LS_FIXED_ONE - 1,
    LS_FIXED_INT(46341),
    INT64_C(0x00000000ffffffff),
    INT64_C(0x0000ffffffff0000),
    INT64_C(0x7fffffff00000000),
    INT64_C(0x7fffffff80000000),
    INT64_C(0x4000000000000000),
    -INT64_C(0x4000000000000000),
    INT64_MAX - 1,
    INT64_MAX,
    INT64_MIN + 1,
    INT64_MIN,
};
#define EDGE_COUNT (sizeof edge_values / sizeof edge_values[0])

static inline uint64_t random_bits(ls_rng *rng)
{
    uint64_t high = ls_rng_next(rng);
    return high << 32 | ls_rng_next(rng);
}

/* Either sign; each number of significant bits is equally likely. */
static inline int64_t random_value(ls_rng *rng)
{
    uint64_t bits = random_bits(rng);
    uint32_t shift = ls_rng_below(rng, 64);
    bits >>= shift;
    return ls_signed_from_bits(ls_rng_next(rng) & 1u ? 0u - bits : bits);
}

/* A turn by `angle` (half of it, as quaternions have it) about a random axis. */
static inline ls_quaternion random_turn(ls_rng *rng, ls_angle angle)
{
    ls_angle azimuth = ls_rng_next(rng);
    ls_angle height = ls_rng_next(rng);
    ls_fixed sine = ls_fixed_sin(angle);
    ls_fixed ring = ls_fixed_mul(sine, ls_fixed_cos(height));
    return (ls_quaternion){ls_fixed_cos(angle), ls_fixed_mul(ring, ls_fixed_cos(azimuth)),
                           ls_fixed_mul(ring, ls_fixed_sin(azimuth)),
                           ls_fixed_mul(sine, ls_fixed_sin(height))};
}

#endif

#include "lockstep/common/simulation/arithmetic_check.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/rng.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 64
};

static uint64_t fixed_part(ls_rng *rng)
{
    uint64_t hash = 0;
    for (int round = 0; round < ROUNDS; round++) {
        ls_fixed a = ls_rng_between(rng, -30000, 30000) * (LS_FIXED_ONE / 7);
        ls_fixed b = ls_rng_between(rng, 1, 30000) * (LS_FIXED_ONE / 11);
        ls_angle angle = ls_rng_next(rng);
        hash = ls_hash_pair(hash, (uint64_t)ls_fixed_mul(a, b));
        hash = ls_hash_pair(hash, (uint64_t)ls_fixed_div(a, b));
        hash = ls_hash_pair(hash, (uint64_t)ls_fixed_sqrt(b));
        hash = ls_hash_pair(hash, (uint64_t)ls_fixed_sin(angle));
        hash = ls_hash_pair(hash, ls_fixed_atan2(a, b));
    }
    return hash;
}

static uint64_t double_bits(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of_bits(uint64_t bits)
{
    double value = 0.0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t double_part(ls_rng *rng)
{
    uint64_t hash = 0;
    double sum = 0.1;
    for (int round = 0; round < ROUNDS; round++) {
        double a = (double)ls_rng_between(rng, -1000000, 1000000) / 3.0;
        double b = (double)ls_rng_between(rng, 1, 1000000) / 7.0;
        double c = (double)ls_rng_between(rng, 1, 1000000) / 9.0;
        /* The product and sum that a fused multiply-add rounds once instead of twice. */
        sum = a * b + c * sum;
        sum = sum / (b + c);
        hash = ls_hash_pair(hash, double_bits(sum));
        hash = ls_hash_pair(hash, double_bits(sqrt(b * c)));
    }
    return hash;
}

/* Numbers so small that a processor that was told to flushes them to zero: made of larger ones,
 * and read again. */
static uint64_t denormal_part(ls_rng *rng)
{
    uint64_t hash = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double large = (double)ls_rng_between(rng, 1, 1000000) / 3.0;
        double small = large * 0x1p-1060;
        hash = ls_hash_pair(hash, double_bits(small));
        double again = double_of_bits(ls_rng_next(rng)) * 0x1p60;
        hash = ls_hash_pair(hash, double_bits(again));
    }
    return hash;
}

uint64_t ls_arithmetic_check(void)
{
    ls_rng rng = ls_rng_make(UINT64_C(0x4c53), 1);
    uint64_t hash = fixed_part(&rng);
    hash = ls_hash_pair(hash, double_part(&rng));
    return ls_hash_pair(hash, denormal_part(&rng));
}

uint64_t ls_arithmetic_check_with(uint64_t maths_check)
{
    uint64_t plain = ls_arithmetic_check();
    return maths_check == 0 ? plain : ls_hash_pair(plain, maths_check);
}

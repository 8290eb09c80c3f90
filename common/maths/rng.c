#include "lockstep/common/maths/rng.h"

#include "lockstep/common/base/assert.h"

#define MULTIPLIER UINT64_C(6364136223846793005)

ls_rng ls_rng_make(uint64_t seed, uint64_t stream)
{
    ls_rng rng = {0, stream << 1 | 1u};
    ls_rng_next(&rng);
    rng.state += seed;
    ls_rng_next(&rng);
    return rng;
}

uint32_t ls_rng_next(ls_rng *rng)
{
    uint64_t old = rng->state;
    rng->state = old * MULTIPLIER + rng->increment;
    uint32_t shifted = (uint32_t)((old >> 18 ^ old) >> 27);
    uint32_t rotation = (uint32_t)(old >> 59);
    return shifted >> rotation | shifted << (-rotation & 31u);
}

uint32_t ls_rng_below(ls_rng *rng, uint32_t bound)
{
    LS_ASSERT(bound > 0);
    uint64_t product = (uint64_t)ls_rng_next(rng) * bound;
    if ((uint32_t)product >= bound) {
        return (uint32_t)(product >> 32);
    }
    uint32_t surplus = -bound % bound; /* 2^32 mod bound: low parts below it come up too often */
    while ((uint32_t)product < surplus) {
        product = (uint64_t)ls_rng_next(rng) * bound;
    }
    return (uint32_t)(product >> 32);
}

int32_t ls_rng_between(ls_rng *rng, int32_t low, int32_t high)
{
    LS_ASSERT(low <= high);
    uint32_t span = (uint32_t)high - (uint32_t)low + 1u; /* 0 stands for 2^32 */
    uint32_t offset = span == 0 ? ls_rng_next(rng) : ls_rng_below(rng, span);
    return (int32_t)((int64_t)low + offset);
}

ls_fixed ls_rng_unit(ls_rng *rng)
{
    return (ls_fixed)ls_rng_next(rng);
}

ls_fixed ls_rng_fixed_between(ls_rng *rng, ls_fixed low, ls_fixed high)
{
    return low + ls_fixed_mul(ls_rng_unit(rng), high - low);
}

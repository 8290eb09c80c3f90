#include "lockstep/tests/lab/virtual/seeded_keys.h"

#include "lockstep/common/maths/rng.h"

#include <sodium.h>

static ls_rng rng;

static const char *name(void)
{
    return "seeded";
}

static uint32_t draw(void)
{
    return ls_rng_next(&rng);
}

static void fill(void *const bytes, const size_t size)
{
    uint8_t *out = bytes;
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)ls_rng_next(&rng);
    }
}

static randombytes_implementation seeded = {
    .implementation_name = name, .random = draw, .buf = fill};

void seeded_keys_begin(uint64_t seed)
{
    rng = ls_rng_make(seed, 0x6b6579);
    (void)randombytes_set_implementation(&seeded);
}

void seeded_keys_end(void)
{
    (void)randombytes_set_implementation(&randombytes_sysrandom_implementation);
}

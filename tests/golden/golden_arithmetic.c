/* The arithmetic that simulations are made of, on many values of every size. */
#include "lockstep/tests/golden/golden.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/tests/support/random_values.h"

enum {
    ROUNDS = 100000,
    SLERP_ROUNDS = 20000,
    SORT_ROUNDS = 20,
    SORT_COUNT = 3000,
    HASH_BYTES = 5000,
};

static uint64_t fixed_sum(void)
{
    ls_rng rng = ls_rng_make(7, 7);
    uint64_t sum = GOLDEN_START;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t a = random_value(&rng);
        int64_t b = random_value(&rng);
        int64_t c = random_value(&rng);
        sum = golden_fold(sum, (uint64_t)ls_fixed_mul(a, b));
        sum = golden_fold(sum, (uint64_t)ls_fixed_div(a, b));
        sum = golden_fold(sum, (uint64_t)ls_mul_div(a, b, c));
        sum = golden_fold(sum, (uint64_t)ls_fixed_sqrt(a));
        sum = golden_fold(sum, (uint64_t)ls_vec2_length((ls_vec2){a, b}));
        sum = golden_fold(sum, (uint64_t)ls_fixed_floor(c));
    }
    return sum;
}

static uint64_t trig_sum(void)
{
    ls_rng rng = ls_rng_make(13, 1);
    uint64_t sum = GOLDEN_START;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t y = random_value(&rng);
        int64_t x = random_value(&rng);
        ls_angle angle = ls_rng_next(&rng);
        sum = golden_fold(sum, (uint64_t)ls_fixed_sin(angle));
        sum = golden_fold(sum, (uint64_t)ls_fixed_cos(angle));
        sum = golden_fold(sum, ls_fixed_atan2(y, x));
        sum = golden_fold(sum, (uint64_t)ls_radians_from_angle(angle));
        sum = golden_fold(sum, ls_angle_from_radians(x));
    }
    return sum;
}

static uint64_t interpolate_sum(void)
{
    ls_rng rng = ls_rng_make(38, 1);
    uint64_t sum = GOLDEN_START;
    for (int i = 0; i < SLERP_ROUNDS; i++) {
        ls_fixed alpha = ls_rng_unit(&rng);
        ls_angle a = ls_rng_next(&rng);
        ls_angle b = ls_rng_next(&rng);
        int64_t from = random_value(&rng);
        int64_t to = random_value(&rng);
        sum = golden_fold(sum, (uint64_t)ls_lerp(from, to, alpha));
        sum = golden_fold(sum, ls_lerp_angle(a, b, alpha));
        ls_quaternion first = random_turn(&rng, a);
        ls_quaternion second = random_turn(&rng, b);
        ls_quaternion middle = ls_slerp(first, second, alpha);
        sum = golden_fold(sum, (uint64_t)middle.w);
        sum = golden_fold(sum, (uint64_t)middle.x);
        sum = golden_fold(sum, (uint64_t)middle.y);
        sum = golden_fold(sum, (uint64_t)middle.z);
    }
    return sum;
}

static uint64_t rng_sum(void)
{
    ls_rng rng = ls_rng_make(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210));
    uint64_t sum = GOLDEN_START;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        sum = golden_fold(sum, ls_rng_next(&rng));
        sum = golden_fold(sum, ls_rng_below(&rng, i * 40000u));
        sum = golden_fold(sum, (uint64_t)ls_rng_between(&rng, -(int32_t)i, (int32_t)i));
        sum = golden_fold(sum, (uint64_t)ls_rng_unit(&rng));
    }
    return sum;
}

static int compare_keys(const void *a, const void *b, const void *context)
{
    uint32_t left = ((const ls_key_index *)a)->key;
    uint32_t right = ((const ls_key_index *)b)->key;
    (void)context;
    return (left > right) - (left < right);
}

/* Few keys and many: with ties everywhere, and with hardly any. */
static uint64_t sort_sum(void)
{
    static ls_key_index pairs[SORT_COUNT], keys[SORT_COUNT], scratch[SORT_COUNT];
    ls_rng rng = ls_rng_make(25, 1);
    uint64_t sum = GOLDEN_START;
    for (int round = 0; round < SORT_ROUNDS; round++) {
        for (uint32_t i = 0; i < SORT_COUNT; i++) {
            pairs[i] = (ls_key_index){ls_rng_below(&rng, 1u << (round + 1)), i};
            keys[i] = pairs[i];
        }
        ls_stable_sort(pairs, SORT_COUNT, sizeof pairs[0], scratch, compare_keys, NULL);
        ls_stable_sort_keys(keys, SORT_COUNT, scratch);
        for (size_t i = 0; i < SORT_COUNT; i++) {
            sum = golden_fold(sum, pairs[i].index);
            sum = golden_fold(sum, keys[i].index);
        }
    }
    return sum;
}

/* Every length has its own way through XXH3, and long ones go through vector instructions. */
static uint64_t hash_sum(void)
{
    static uint8_t bytes[HASH_BYTES];
    ls_rng rng = ls_rng_make(3, 1);
    for (size_t i = 0; i < HASH_BYTES; i++) {
        bytes[i] = (uint8_t)ls_rng_next(&rng);
    }
    uint64_t sum = GOLDEN_START;
    for (size_t size = 0; size <= HASH_BYTES; size += 1 + size / 20) {
        sum = golden_fold(sum, ls_hash_bytes(bytes, size, 0));
        sum = golden_fold(sum, ls_hash_bytes(bytes + HASH_BYTES - size, size, size));
    }
    return sum;
}

static uint64_t timestep_sum(void)
{
    ls_rng rng = ls_rng_make(5, 1);
    uint64_t sum = GOLDEN_START;
    for (int i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        ls_timestep_config config = {
            (ls_timestep_strategy)i, UINT64_C(16666667), UINT64_C(250000000), 8, {0, 0}};
        ls_timestep timestep = ls_timestep_make(&config);
        for (int frame = 0; frame < 1000; frame++) {
            ls_timestep_plan plan = ls_timestep_advance(&timestep, ls_rng_below(&rng, 50000000));
            sum = golden_fold(sum, plan.step_count);
            sum = golden_fold(sum, plan.last_step_ns);
            sum = golden_fold(sum, (uint64_t)plan.alpha);
        }
    }
    return sum;
}

void golden_arithmetic(void)
{
    golden_line("arithmetic_check", ls_arithmetic_check());
    golden_line("fixed", fixed_sum());
    golden_line("fixed_trig", trig_sum());
    golden_line("hash", hash_sum());
    golden_line("interpolate", interpolate_sum());
    golden_line("rng", rng_sum());
    golden_line("stable_sort", sort_sum());
    golden_line("timestep", timestep_sum());
}

#include "lockstep/common/time/timestep.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/golden/golden.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#define MS LS_NS_PER_MS
#define SECOND LS_NS_PER_SECOND

static ls_timestep make(ls_timestep_strategy strategy, uint64_t dt_ns, uint64_t frame_max_ns,
                        uint32_t steps_max)
{
    ls_timestep_config config = {strategy, dt_ns, frame_max_ns, steps_max, {0, 0}};
    cr_assert_eq(ls_timestep_config_check(&config, NULL), LS_OK);
    return ls_timestep_make(&config);
}

static uint64_t sum_of_steps(const ls_timestep_plan *plan)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        sum += ls_timestep_step_ns(plan, i);
    }
    return sum;
}

/* ---- configuration ---- */

Test(timestep, the_default_is_the_interpolated_accumulator_at_the_rate)
{
    ls_timestep_config config = ls_timestep_config_default(60);
    cr_assert_eq(config.strategy, LS_TIMESTEP_INTERPOLATED);
    cr_assert_eq(config.dt_ns, 16666667u);
    cr_assert_eq(config.frame_max_ns, 250 * MS);
    cr_assert_eq(config.steps_max, 0);
    cr_assert_eq(ls_timestep_config_default(LS_TICK_RATE_MIN_HZ).dt_ns, SECOND);
    cr_assert_eq(ls_timestep_config_default(LS_TICK_RATE_MAX_HZ).dt_ns, MS);
    for (uint32_t hz = LS_TICK_RATE_MIN_HZ; hz <= LS_TICK_RATE_MAX_HZ; hz++) {
        config = ls_timestep_config_default(hz);
        cr_assert_eq(ls_timestep_config_check(&config, NULL), LS_OK, "%u Hz", hz);
    }
}

Test(timestep, a_rate_of_zero_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_timestep_config_default(0);
}

Test(timestep, the_check_names_the_bad_field)
{
    ls_timestep_config good = ls_timestep_config_default(60);
    ls_text why = {""};

    ls_timestep_config config = good;
    config.dt_ns = 0;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "dt_ns"));
    config.dt_ns = LS_TIMESTEP_DT_MAX_NS;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_OK);
    config.dt_ns = LS_TIMESTEP_DT_MAX_NS + 1;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_BAD_ARGUMENT);
    config.strategy = LS_TIMESTEP_VARIABLE;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_OK);

    config = good;
    config.strategy = LS_TIMESTEP_STRATEGY_COUNT;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "strategy"));

    config = good;
    config.strategy = LS_TIMESTEP_SUBSTEPS;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "steps_max"));
    config.steps_max = 1;
    cr_assert_eq(ls_timestep_config_check(&config, &why), LS_OK);
}

Test(timestep, every_strategy_has_a_name_of_its_own)
{
    for (int i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        for (int j = 0; j < i; j++) {
            cr_assert_str_neq(ls_timestep_strategy_name((ls_timestep_strategy)i),
                              ls_timestep_strategy_name((ls_timestep_strategy)j));
        }
    }
    cr_assert_str_eq(ls_timestep_strategy_name(LS_TIMESTEP_INTERPOLATED), "interpolated");
}

/* ---- T1: fixed delta, one step per frame ---- */

Test(timestep, t1_steps_once_a_frame_whatever_it_lasted)
{
    ls_timestep slow = make(LS_TIMESTEP_FIXED_PER_FRAME, 20 * MS, 0, 0);
    ls_timestep fast = slow;
    for (int i = 0; i < 100; i++) {
        ls_timestep_plan plan = ls_timestep_advance(&slow, 40 * MS);
        cr_assert(plan.step_count == 1 && plan.last_step_ns == 20 * MS);
        cr_assert_eq(plan.dropped_ns, 20 * MS);
        cr_assert_eq(plan.alpha, LS_FIXED_ONE);
        plan = ls_timestep_advance(&fast, 5 * MS);
        cr_assert(plan.step_count == 1 && plan.last_step_ns == 20 * MS);
        cr_assert_eq(plan.dropped_ns, 0);
    }
    /* Half speed on a slow display, four times too fast on a quick one. */
    cr_assert_eq(slow.simulated_ns * 2, slow.real_ns);
    cr_assert_eq(fast.simulated_ns, fast.real_ns * 4);
    cr_assert_eq(ls_timestep_advance(&fast, 0).step_count, 1);
}

/* ---- T2: variable delta ---- */

Test(timestep, t2_steps_by_the_frame)
{
    ls_timestep timestep = make(LS_TIMESTEP_VARIABLE, 0, 100 * MS, 0);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 7);
    cr_assert(plan.step_count == 1 && plan.last_step_ns == 7 && plan.dropped_ns == 0);
    plan = ls_timestep_advance(&timestep, 100 * MS + 1);
    cr_assert(plan.step_count == 1 && plan.last_step_ns == 100 * MS && plan.dropped_ns == 1);
    cr_assert_eq(ls_timestep_advance(&timestep, 0).step_count, 0);
}

/* ---- T3: semi-fixed ---- */

Test(timestep, t3_steps_by_dt_and_then_by_the_remainder)
{
    ls_timestep timestep = make(LS_TIMESTEP_SEMI_FIXED, 10 * MS, 0, 0);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 25 * MS);
    cr_assert(plan.step_count == 3 && plan.step_ns == 10 * MS && plan.last_step_ns == 5 * MS);
    plan = ls_timestep_advance(&timestep, 20 * MS);
    cr_assert(plan.step_count == 2 && plan.last_step_ns == 10 * MS);
    plan = ls_timestep_advance(&timestep, 20 * MS + 1);
    cr_assert(plan.step_count == 3 && plan.last_step_ns == 1);
    plan = ls_timestep_advance(&timestep, 3);
    cr_assert(plan.step_count == 1 && plan.last_step_ns == 3);
    cr_assert_eq(ls_timestep_advance(&timestep, 0).step_count, 0);
    cr_assert_eq(timestep.simulated_ns, timestep.real_ns);
}

Test(timestep, t3_drops_what_is_beyond_its_cap)
{
    ls_timestep timestep = make(LS_TIMESTEP_SEMI_FIXED, 10 * MS, 0, 3);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 30 * MS);
    cr_assert(plan.step_count == 3 && plan.last_step_ns == 10 * MS && plan.dropped_ns == 0);
    plan = ls_timestep_advance(&timestep, 30 * MS + 1);
    cr_assert(plan.step_count == 3 && plan.last_step_ns == 10 * MS && plan.dropped_ns == 1);
}

/* ---- T4: semi-fixed substeps ---- */

#define UNREAL_SUBSTEP_NS UINT64_C(16667000)

Test(timestep, t4_divides_the_frame_as_unreal_does)
{
    ls_timestep timestep = make(LS_TIMESTEP_SUBSTEPS, UNREAL_SUBSTEP_NS, 0, 6);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 16 * MS);
    cr_assert(plan.step_count == 1 && plan.last_step_ns == 16 * MS);
    plan = ls_timestep_advance(&timestep, 33 * MS);
    cr_assert(plan.step_count == 2 && plan.step_ns == 16500000 && plan.last_step_ns == 16500000);
    plan = ls_timestep_advance(&timestep, UNREAL_SUBSTEP_NS);
    cr_assert_eq(plan.step_count, 1);
    plan = ls_timestep_advance(&timestep, UNREAL_SUBSTEP_NS + 1);
    cr_assert_eq(plan.step_count, 2);
    cr_assert_eq(ls_timestep_advance(&timestep, 0).step_count, 0);
}

Test(timestep, t4_drops_what_is_beyond_its_cap)
{
    ls_timestep timestep = make(LS_TIMESTEP_SUBSTEPS, UNREAL_SUBSTEP_NS, 0, 6);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 6 * UNREAL_SUBSTEP_NS);
    cr_assert(plan.step_count == 6 && plan.dropped_ns == 0);
    plan = ls_timestep_advance(&timestep, 300 * MS);
    cr_assert(plan.step_count == 6 && plan.last_step_ns == UNREAL_SUBSTEP_NS);
    cr_assert_eq(plan.dropped_ns, 300 * MS - 6 * UNREAL_SUBSTEP_NS);
}

Test(timestep, t4_steps_sum_to_the_frame_and_none_is_too_long)
{
    ls_rng rng = ls_rng_make(41, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t dt_ns = 1 + ls_rng_below(&rng, 1u << ls_rng_below(&rng, 25));
        ls_timestep timestep = make(LS_TIMESTEP_SUBSTEPS, dt_ns, 0, 100);
        uint64_t frame_ns =
            1 + ls_rng_below(&rng, (uint32_t)(100 * dt_ns < UINT32_MAX ? 100 * dt_ns : UINT32_MAX));
        ls_timestep_plan plan = ls_timestep_advance(&timestep, frame_ns);
        cr_assert_eq(sum_of_steps(&plan), frame_ns);
        cr_assert_eq(plan.step_count, (frame_ns + dt_ns - 1) / dt_ns);
        cr_assert_leq(plan.step_ns, dt_ns);
        cr_assert(plan.last_step_ns > 0 && plan.last_step_ns <= plan.step_ns);
        cr_assert_lt(plan.step_ns - plan.last_step_ns, plan.step_count);
    }
}

/* ---- T5: fixed with accumulator ---- */

Test(timestep, t5_banks_the_rest_so_that_every_second_frame_steps_twice)
{
    ls_timestep timestep = make(LS_TIMESTEP_ACCUMULATOR, 16 * MS, 0, 0);
    for (int i = 0; i < 100; i++) {
        ls_timestep_plan plan = ls_timestep_advance(&timestep, 24 * MS);
        cr_assert_eq(plan.step_count, i % 2 == 0 ? 1u : 2u);
        cr_assert_eq(timestep.bank_ns, i % 2 == 0 ? 8 * MS : 0u);
        cr_assert(plan.step_ns == 16 * MS && plan.last_step_ns == 16 * MS);
        cr_assert_eq(plan.alpha, LS_FIXED_ONE);
    }
}

Test(timestep, t5_a_frame_below_dt_has_no_step_and_is_not_lost)
{
    ls_timestep timestep = make(LS_TIMESTEP_ACCUMULATOR, 20 * MS, 0, 0);
    cr_assert_eq(ls_timestep_advance(&timestep, 20 * MS - 1).step_count, 0);
    cr_assert_eq(ls_timestep_advance(&timestep, 0).step_count, 0);
    cr_assert_eq(ls_timestep_advance(&timestep, 1).step_count, 1);
    cr_assert_eq(timestep.bank_ns, 0);
}

/* ---- T6: accumulator with interpolation ---- */

Test(timestep, t6_alpha_is_the_share_of_the_bank)
{
    ls_timestep timestep = make(LS_TIMESTEP_INTERPOLATED, 16 * MS, 250 * MS, 0);
    cr_assert_eq(ls_timestep_advance(&timestep, 24 * MS).alpha, LS_FIXED_HALF);
    cr_assert_eq(ls_timestep_advance(&timestep, 8 * MS).alpha, 0);
    cr_assert_eq(ls_timestep_advance(&timestep, 4 * MS).alpha, LS_FIXED_ONE / 4);
    cr_assert_eq(ls_timestep_advance(&timestep, 12 * MS - 1).alpha,
                 ls_fixed_div(16 * MS - 1, 16 * MS));
    cr_assert_lt(ls_timestep_advance(&timestep, 0).alpha, LS_FIXED_ONE);
}

Test(timestep, t6_cuts_a_frame_at_a_quarter_second_and_drops_the_rest)
{
    ls_timestep_config config = ls_timestep_config_default(50);
    ls_timestep timestep = ls_timestep_make(&config);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 250 * MS);
    cr_assert(plan.step_count == 12 && plan.dropped_ns == 0 && timestep.bank_ns == 10 * MS);
    plan = ls_timestep_advance(&timestep, 300 * MS);
    cr_assert(plan.step_count == 13 && plan.dropped_ns == 50 * MS && timestep.bank_ns == 0);
}

Test(timestep, t6_a_cap_drops_whole_steps_and_keeps_the_phase)
{
    ls_timestep timestep = make(LS_TIMESTEP_INTERPOLATED, 10 * MS, 0, 4);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 49 * MS);
    cr_assert(plan.step_count == 4 && plan.dropped_ns == 0 && timestep.bank_ns == 9 * MS);
    plan = ls_timestep_advance(&timestep, 68 * MS);
    cr_assert(plan.step_count == 4 && plan.dropped_ns == 30 * MS && timestep.bank_ns == 7 * MS);
}

/* ---- all together ---- */

static uint64_t frame_at_random(ls_rng *rng)
{
    switch (ls_rng_below(rng, 16)) {
    case 0:
        return 0;
    case 1:
        return ls_rng_below(rng, UINT32_C(2000000000)); /* a stall */
    case 2:
        return ls_rng_below(rng, 1000);
    default:
        return 4 * MS + ls_rng_below(rng, 46000000); /* 20 to 240 frames a second */
    }
}

static ls_timestep random_timestep(ls_rng *rng, ls_timestep_strategy strategy)
{
    uint64_t dt_ns = 1 * MS + ls_rng_below(rng, 40000000);
    uint64_t frame_max_ns = ls_rng_below(rng, 2) ? 0 : 5 * MS + ls_rng_below(rng, 300000000);
    uint32_t steps_max = ls_rng_below(rng, 2) ? 0 : 1 + ls_rng_below(rng, 8);
    if (strategy == LS_TIMESTEP_SUBSTEPS && steps_max == 0) {
        steps_max = UINT32_MAX;
    }
    return make(strategy, dt_ns, frame_max_ns, steps_max);
}

Test(timestep, real_time_is_simulated_dropped_or_banked)
{
    ls_rng rng = ls_rng_make(42, 1);
    uint64_t steps = 0, dropped_ns = 0;
    for (int trace = 0; trace < 500; trace++) {
        ls_timestep_strategy strategy =
            (ls_timestep_strategy)(LS_TIMESTEP_VARIABLE + ls_rng_below(&rng, 5));
        ls_timestep timestep = random_timestep(&rng, strategy);
        uint64_t real_ns = 0, simulated_ns = 0, plans_dropped_ns = 0;
        for (int frame = 0; frame < 200; frame++) {
            uint64_t frame_ns = frame_at_random(&rng);
            ls_timestep_plan plan = ls_timestep_advance(&timestep, frame_ns);
            real_ns += frame_ns;
            simulated_ns += sum_of_steps(&plan);
            plans_dropped_ns += plan.dropped_ns;
            steps += plan.step_count;
            cr_assert_eq(real_ns, simulated_ns + plans_dropped_ns + timestep.bank_ns);
            cr_assert(plan.alpha >= 0 && plan.alpha <= LS_FIXED_ONE);
            cr_assert(timestep.bank_ns == 0 || timestep.bank_ns < timestep.config.dt_ns);
        }
        cr_assert_eq(timestep.real_ns, real_ns);
        cr_assert_eq(timestep.simulated_ns, simulated_ns);
        cr_assert_eq(timestep.dropped_ns, plans_dropped_ns);
        dropped_ns += plans_dropped_ns;
    }
    cr_assert(steps > 10000 && dropped_ns > 0);
}

Test(timestep, nothing_is_dropped_without_a_cap_or_a_cut)
{
    for (int strategy = LS_TIMESTEP_VARIABLE; strategy < LS_TIMESTEP_STRATEGY_COUNT; strategy++) {
        uint32_t steps_max = strategy == LS_TIMESTEP_SUBSTEPS ? UINT32_MAX : 0;
        ls_timestep timestep = make((ls_timestep_strategy)strategy, 16 * MS, 0, steps_max);
        ls_rng rng = ls_rng_make(43, 1);
        for (int frame = 0; frame < 1000; frame++) {
            cr_assert_eq(ls_timestep_advance(&timestep, frame_at_random(&rng)).dropped_ns, 0);
        }
    }
}

/* A state that remembers every step's number and length. */
static uint64_t run_steps(uint64_t state, const ls_timestep_plan *plan)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        state = golden_fold(state, ls_timestep_step_ns(plan, i));
    }
    return state;
}

/* Simulates four seconds shown at `fps`; every such span is a whole number of nanoseconds. */
static uint64_t state_after_four_seconds(ls_timestep_strategy strategy, uint64_t fps)
{
    ls_timestep timestep = make(strategy, 20 * MS, 250 * MS, 10);
    uint64_t state = GOLDEN_START;
    for (uint64_t frame = 0; frame < 4 * fps; frame++) {
        uint64_t start_ns = frame * SECOND / fps, end_ns = (frame + 1) * SECOND / fps;
        ls_timestep_plan plan = ls_timestep_advance(&timestep, end_ns - start_ns);
        state = run_steps(state, &plan);
    }
    cr_assert_eq(timestep.real_ns, 4 * SECOND);
    return state;
}

Test(timestep, accumulators_give_equal_bits_at_any_frame_rate_and_the_others_do_not)
{
    static const uint64_t rates[] = {20, 30, 60, 75, 144, 200, 240};
    for (int i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        ls_timestep_strategy strategy = (ls_timestep_strategy)i;
        uint64_t at_50 = state_after_four_seconds(strategy, 50);
        int equal = 0;
        for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++) {
            equal += state_after_four_seconds(strategy, rates[j]) == at_50;
        }
        cr_assert_eq(equal, strategy >= LS_TIMESTEP_ACCUMULATOR ? 7 : 0, "%s: %d",
                     ls_timestep_strategy_name(strategy), equal);
    }
}

/* Frames that last as long as the steps of the frame before cost; returns the longest. */
static uint64_t longest_frame_under_load(ls_timestep *timestep, uint64_t step_cost_ns)
{
    uint64_t frame_ns = 17 * MS, longest_ns = 0;
    for (int frame = 0; frame < 30; frame++) {
        ls_timestep_plan plan = ls_timestep_advance(timestep, frame_ns);
        uint64_t cost_ns = plan.step_count * step_cost_ns;
        frame_ns = cost_ns > 17 * MS ? cost_ns : 17 * MS;
        longest_ns = frame_ns > longest_ns ? frame_ns : longest_ns;
    }
    return longest_ns;
}

Test(timestep, a_cap_on_steps_or_a_cut_of_frames_bounds_the_spiral_of_death)
{
    /* A step costs 1.5 times what it simulates. */
    const uint64_t dt_ns = 10 * MS, cost_ns = 15 * MS;
    for (int i = LS_TIMESTEP_SEMI_FIXED; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        ls_timestep_strategy strategy = (ls_timestep_strategy)i;
        uint32_t no_cap = strategy == LS_TIMESTEP_SUBSTEPS ? 1000000 : 0;
        ls_timestep without = make(strategy, dt_ns, 0, no_cap);
        cr_assert_gt(longest_frame_under_load(&without, cost_ns), 100 * SECOND);
        cr_assert_eq(without.dropped_ns, 0);

        ls_timestep capped = make(strategy, dt_ns, 0, 5);
        cr_assert_leq(longest_frame_under_load(&capped, cost_ns), 5 * cost_ns);
        cr_assert_gt(capped.dropped_ns, 0);

        ls_timestep cut = make(strategy, dt_ns, 250 * MS, no_cap);
        cr_assert_leq(longest_frame_under_load(&cut, cost_ns), 26 * cost_ns);
        cr_assert_gt(cut.dropped_ns, 0);
    }
}

Test(timestep, a_spike_is_caught_up_and_then_forgotten)
{
    ls_timestep timestep = make(LS_TIMESTEP_INTERPOLATED, 10 * MS, 250 * MS, 0);
    ls_timestep_advance(&timestep, 10 * MS);
    cr_assert_eq(ls_timestep_advance(&timestep, 200 * MS).step_count, 20);
    cr_assert_eq(ls_timestep_advance(&timestep, 10 * MS).step_count, 1);
    cr_assert_eq(timestep.dropped_ns, 0);
}

Test(timestep, the_longest_frame_possible_neither_wraps_nor_overflows)
{
    for (int i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        ls_timestep_strategy strategy = (ls_timestep_strategy)i;
        uint32_t steps_max = strategy == LS_TIMESTEP_SUBSTEPS ? UINT32_MAX : 0;
        ls_timestep timestep = make(strategy, 1000, 0, steps_max);
        ls_timestep_advance(&timestep, 999);
        ls_timestep_plan plan = ls_timestep_advance(&timestep, UINT64_MAX);
        if (strategy >= LS_TIMESTEP_SEMI_FIXED) {
            cr_assert_eq(plan.step_count, UINT32_MAX);
            cr_assert_eq(plan.last_step_ns, 1000);
            cr_assert_gt(plan.dropped_ns, UINT64_MAX / 2);
        }
        cr_assert_eq(timestep.real_ns, UINT64_C(998));
        if (strategy != LS_TIMESTEP_FIXED_PER_FRAME) {
            cr_assert_eq(timestep.real_ns,
                         timestep.simulated_ns + timestep.dropped_ns + timestep.bank_ns);
        }
    }
}

Test(timestep, golden)
{
    ls_rng rng = ls_rng_make(44, 1);
    uint64_t sum = GOLDEN_START;
    for (int trace = 0; trace < 300; trace++) {
        ls_timestep_strategy strategy = (ls_timestep_strategy)(trace % LS_TIMESTEP_STRATEGY_COUNT);
        ls_timestep timestep = random_timestep(&rng, strategy);
        for (int frame = 0; frame < 100; frame++) {
            ls_timestep_plan plan = ls_timestep_advance(&timestep, frame_at_random(&rng));
            sum = golden_fold(sum, plan.step_count);
            sum = golden_fold(sum, plan.step_ns);
            sum = golden_fold(sum, plan.last_step_ns);
            sum = golden_fold(sum, (uint64_t)plan.alpha);
            sum = golden_fold(sum, plan.dropped_ns);
        }
        sum = golden_fold(sum, timestep.simulated_ns);
    }
    cr_assert_eq(sum, UINT64_C(0xeb92d6b850f07e02), "golden 0x%016llx", (unsigned long long)sum);
}

/* ---- exact rates ---- */

static const ls_rate exact_rates[] = {{60, 1},         {262144, 4389}, {23891, 400}, {60000, 1001},
                                      {1000000, 1001}, {999999, 1000}, {1, 1},       {7, 3}};

/* Nanoseconds from the start to the end of so many steps, rounded up. */
static uint64_t end_of(ls_rate rate, uint64_t steps)
{
    uint64_t whole = steps / rate.numerator * rate.denominator * SECOND;
    uint64_t rest = steps % rate.numerator * rate.denominator;
    uint64_t seconds = rest / rate.numerator;
    uint64_t part = rest % rate.numerator * SECOND;
    return whole + seconds * SECOND + (part + rate.numerator - 1) / rate.numerator;
}

Test(timestep, an_exact_rate_is_right_to_the_nanosecond_after_a_million_ticks)
{
    for (size_t i = 0; i < sizeof exact_rates / sizeof exact_rates[0]; i++) {
        ls_timestep_config config = ls_timestep_config_exact(exact_rates[i]);
        config.strategy = LS_TIMESTEP_ACCUMULATOR;
        config.frame_max_ns = 0;
        ls_timestep timestep = ls_timestep_make(&config);
        ls_rng rng = ls_rng_make(i, 1);
        uint64_t now_ns = 0;
        uint64_t ticks = 0;
        while (ticks < 1000000) {
            uint64_t frame_ns = ls_rng_below(&rng, 4000 * MS);
            now_ns += frame_ns;
            ticks += ls_timestep_advance(&timestep, frame_ns).step_count;
            cr_assert_leq(end_of(exact_rates[i], ticks), now_ns);
            cr_assert_gt(end_of(exact_rates[i], ticks + 1), now_ns, "%zu: tick %llu", i,
                         (unsigned long long)ticks);
        }
        cr_assert_eq(timestep.real_ns, timestep.simulated_ns + timestep.bank_ns);
        cr_assert_eq(timestep.dropped_ns, 0);
    }
}

/* A driver that comes when it is told to never comes for nothing, and never late. */
Test(timestep, the_next_step_is_due_when_it_says)
{
    for (size_t i = 0; i < sizeof exact_rates / sizeof exact_rates[0]; i++) {
        ls_timestep_config config = ls_timestep_config_exact(exact_rates[i]);
        config.frame_max_ns = 0;
        ls_timestep timestep = ls_timestep_make(&config);
        for (uint32_t tick = 0; tick < 5000; tick++) {
            uint64_t due_ns = ls_timestep_next_ns(&timestep);
            ls_timestep half = timestep;
            cr_assert_eq(ls_timestep_advance(&half, due_ns - 1).step_count, 0);
            ls_timestep_plan plan = ls_timestep_advance(&timestep, due_ns);
            cr_assert_eq(plan.step_count, 1);
            cr_assert(plan.alpha >= 0 && plan.alpha <= LS_FIXED_ONE);
        }
    }
}

Test(timestep, a_day_in_one_frame_has_all_its_steps)
{
    ls_timestep_config config = ls_timestep_config_exact((ls_rate){262144, 4389});
    config.frame_max_ns = 0;
    ls_timestep timestep = ls_timestep_make(&config);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 86400 * SECOND);
    cr_assert_eq(plan.step_count, UINT64_C(86400) * 262144 / 4389);
    config.steps_max = 5;
    timestep = ls_timestep_make(&config);
    plan = ls_timestep_advance(&timestep, SECOND);
    cr_assert_eq(plan.step_count, 5);
    cr_assert_eq(timestep.real_ns, timestep.simulated_ns + timestep.dropped_ns + timestep.bank_ns);
}

Test(timestep, the_check_names_a_rate_that_there_is_not)
{
    const ls_rate bad[] = {{0, 1}, {60, 0}, {120, 2}, {1001, 1}, {1, 2}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_timestep_config config = ls_timestep_config_default(60);
        ls_text why = {""};
        config.rate = bad[i];
        cr_expect_eq(ls_timestep_config_check(&config, &why), LS_BAD_ARGUMENT);
        cr_expect(strstr(why.bytes, "rate"), "%s", why.bytes);
    }
}

#include "lockstep/common/diagnosis/pass_trace.h"

#include "lockstep/tests/support/arena_fixture.h"

#include <criterion/criterion.h>

static ls_pass_trace trace_one(arena_fixture *arena)
{
    ls_pass_trace trace;
    arena_ask_bots(arena);
    const ls_tick_inputs inputs = {ls_sim_instance_tick(arena->instance), arena->config.players,
                                   arena->slots};
    ls_step_noise noise = {.seed = 1};
    ls_pass_trace_step(arena->instance, &inputs, &noise, NULL, &trace);
    return trace;
}

TestSuite(pass_trace, .fini = destroy_kept);

Test(pass_trace, a_traced_step_is_a_step)
{
    arena_fixture traced = arena_open(arena_config());
    arena_fixture plain = arena_open(arena_config());
    for (uint32_t i = 0; i < 30; i++) {
        uint64_t before = ls_sim_instance_hash(traced.instance);
        ls_pass_trace trace = trace_one(&traced);
        arena_run_bots(&plain, 1);
        cr_assert_eq(trace.tick, i);
        cr_assert_eq(trace.before, before);
        cr_assert_eq(trace.pass_count, traced.simulation->pass_count);
        cr_assert_eq(trace.state_hashes[trace.pass_count - 1],
                     ls_sim_instance_hash(plain.instance));
        cr_assert_eq(ls_sim_instance_tick(traced.instance), i + 1);
    }
}

static ls_pass_trace sample(void)
{
    return (ls_pass_trace){.tick = 7, .pass_count = 3, .before = 1, .state_hashes = {2, 3, 4}};
}

Test(pass_trace, comparing_names_the_first_pass_that_differs)
{
    uint32_t pass = 99;
    ls_pass_trace a = sample();
    ls_pass_trace b = sample();
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_NONE);
    cr_expect_eq(pass, 99);
    b.state_hashes[2] = 9;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_AT);
    cr_expect_eq(pass, 2);
    b.state_hashes[1] = 9;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_AT);
    cr_expect_eq(pass, 1);
    b.before = 9;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_BEFORE);
}

Test(pass_trace, traces_that_cannot_be_compared_are_not)
{
    uint32_t pass = 99;
    ls_pass_trace a = sample();
    ls_pass_trace b = sample();
    b.tick++;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_UNKNOWN);
    b = sample();
    b.pass_count--;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_UNKNOWN);
    const ls_pass_trace none = {0};
    cr_expect_eq(ls_pass_trace_compare(&none, &none, &pass), LS_PASS_UNKNOWN);
    cr_expect_eq(pass, 99);
}

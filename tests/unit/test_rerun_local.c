#include "lockstep/common/diagnosis/rerun_local.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    TICKS = 100,
};

static diagnosed_match match;
static ls_rerun_local *local;
static const ls_rerun_host *host;
static uint64_t now_ns;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    diagnosed_match_run(&match, TICKS);
    cr_assert_eq(ls_rerun_local_create(ls_allocator_heap(), &local), LS_OK);
    host = ls_rerun_local_host(local);
    now_ns = 1;
}

static void close(void)
{
    ls_rerun_local_destroy(local);
    diagnosed_match_close(&match);
}

TestSuite(rerun_local, .init = open, .fini = close);

static uint32_t start_as(ls_tick tick, uint32_t pass, bool is_single)
{
    ls_replay_stretch stretch;
    uint32_t ticket = 0;
    cr_assert_eq(ls_replay_window_stretch(match.server.window, tick - 1, tick, &stretch), LS_OK);
    const ls_rerun_request request = {
        match.server.instance, &stretch, NULL, pass, is_single, false, 1000};
    cr_assert_eq(host->start(host->context, &request, &ticket), LS_OK);
    cr_assert_neq(ticket, 0);
    return ticket;
}

static uint32_t start_with_pass(ls_tick tick, uint32_t pass)
{
    return start_as(tick, pass, false);
}

static uint32_t start(ls_tick tick)
{
    return start_with_pass(tick, LS_NO_PASS);
}

static const ls_rerun_outcome *wait_for(uint32_t ticket)
{
    const ls_rerun_outcome *outcome = NULL;
    while (!outcome) {
        now_ns += LS_NS_PER_SECOND / 60;
        outcome = host->poll(host->context, ticket, now_ns);
    }
    return outcome;
}

static uint64_t recorded_hash(ls_tick tick)
{
    uint64_t state_hash = 0;
    cr_assert_eq(ls_replay_window_hash(match.server.window, tick, &state_hash), LS_OK);
    return state_hash;
}

Test(rerun_local, a_run_comes_to_what_was_recorded)
{
    uint32_t ticket = start(90);
    const ls_rerun_outcome *outcome = wait_for(ticket);
    cr_expect_eq(outcome->figures.tick, 90);
    cr_expect_eq(outcome->figures.fresh, recorded_hash(90));
    cr_expect_eq(outcome->figures.reloaded, recorded_hash(90));
    cr_expect_eq(outcome->passes.pass_count, fault_simulation()->pass_count);
    cr_expect_arr_eq(outcome->state, ls_replay_window_state(match.server.window, 90),
                     ls_sim_instance_state_bytes(match.server.instance));
    cr_expect_null(outcome->pass_state);
    cr_expect_eq(outcome->failure.bytes[0], 0);
    host->release(host->context, ticket);
}

Test(rerun_local, the_state_behind_a_pass_comes_with_it)
{
    uint32_t last = fault_simulation()->pass_count - 1;
    size_t bytes = ls_sim_instance_state_bytes(match.server.instance);
    uint32_t tickets[2] = {start_with_pass(90, 0), start_with_pass(90, last)};
    const ls_rerun_outcome *end = wait_for(tickets[1]);
    const ls_rerun_outcome *begin = wait_for(tickets[0]);
    cr_expect_arr_eq(end->pass_state, end->state, bytes);
    cr_assert_not_null(begin->pass_state);
    cr_expect_neq(memcmp(begin->pass_state, begin->state, bytes), 0);
    host->release(host->context, tickets[0]);
    host->release(host->context, tickets[1]);
}

static const ls_rerun_outcome *expect_runs(uint32_t ticket, uint32_t runs)
{
    uint64_t began_ns = now_ns;
    const ls_rerun_outcome *outcome = wait_for(ticket);
    uint64_t took_ns = now_ns - began_ns;
    uint64_t expected_ns = runs * (90 - 57) * LS_NS_PER_SECOND / 600;
    cr_expect_leq(took_ns, expected_ns + LS_NS_PER_SECOND / 30);
    cr_expect_geq(took_ns, expected_ns - LS_NS_PER_SECOND / 30);
    return outcome;
}

Test(rerun_local, six_hundred_steps_a_second_are_run)
{
    uint32_t ticket = start(90); /* 57 .. 90, four times */
    expect_runs(ticket, 4);
    host->release(host->context, ticket);
}

Test(rerun_local, one_run_is_not_followed_by_others)
{
    uint32_t ticket = start_as(90, LS_NO_PASS, true);
    const ls_rerun_outcome *outcome = expect_runs(ticket, 1);
    cr_expect_eq(outcome->figures.known, LS_RERUN_LIVE | LS_RERUN_FRESH);
    cr_expect_eq(outcome->figures.fresh, recorded_hash(90));
    cr_expect_eq(outcome->passes.pass_count, fault_simulation()->pass_count);
    cr_expect_null(outcome->state);
    host->release(host->context, ticket);
    ticket = start_as(90, 0, true);
    cr_assert_not_null(wait_for(ticket)->pass_state, "a pass is what it is wanted for");
    host->release(host->context, ticket);
}

Test(rerun_local, runs_wait_for_each_other_and_each_has_its_own_outcome)
{
    uint32_t first = start(70);
    uint32_t second = start(95);
    cr_expect_neq(first, second);
    const ls_rerun_outcome *late = wait_for(second);
    const ls_rerun_outcome *early = host->poll(host->context, first, now_ns);
    cr_assert_not_null(early, "the one that was started first has ended before");
    cr_expect_eq(early->figures.fresh, recorded_hash(70));
    cr_expect_eq(late->figures.fresh, recorded_hash(95));
    host->release(host->context, first);
    cr_expect_eq(late->figures.fresh, recorded_hash(95), "it stays until it is released itself");
    host->release(host->context, second);
}

Test(rerun_local, a_run_that_is_released_ends)
{
    uint32_t first = start(90);
    uint32_t second = start(6);
    host->release(host->context, first);
    uint64_t began_ns = now_ns;
    wait_for(second);
    cr_expect_leq(now_ns - began_ns, LS_NS_PER_SECOND / 10);
    host->release(host->context, second);
}

Test(rerun_local, no_more_runs_are_taken_than_it_has_room_for)
{
    uint32_t tickets[1000];
    uint32_t count = 0;
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(match.server.window, 89, 90, &stretch), LS_OK);
    const ls_rerun_request request = {
        match.server.instance, &stretch, NULL, LS_NO_PASS, false, false, 1000};
    while (count < 1000 && host->start(host->context, &request, &tickets[count]) == LS_OK) {
        count++;
    }
    cr_expect_geq(count, LS_PLAYERS_MAX);
    cr_expect_lt(count, 1000);
    while (count > 0) {
        host->release(host->context, tickets[--count]);
    }
}

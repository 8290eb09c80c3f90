#include "lockstep/common/diagnosis/state_inspector.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    TICKS = 400, /* more than the states that a window keeps whole */
};

static diagnosed_match match;
static ls_state_inspector inspector;
static ls_rerun_local *reruns;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    cr_assert_eq(ls_state_inspector_init(&inspector, match.server.instance, match.server.window,
                                         ls_allocator_heap()),
                 LS_OK);
    cr_assert_eq(ls_rerun_local_create(ls_allocator_heap(), &reruns), LS_OK);
    diagnosed_match_run(&match, TICKS);
}

static void close(void)
{
    ls_state_inspector_deinit(&inspector);
    ls_rerun_local_destroy(reruns);
    diagnosed_match_close(&match);
}

static uint64_t recorded_hash(ls_tick tick)
{
    uint64_t state_hash = 0;
    cr_assert_eq(ls_replay_window_hash(match.server.window, tick, &state_hash), LS_OK);
    return state_hash;
}

TestSuite(state_inspector, .init = open, .fini = close);

Test(state_inspector, holds_a_state_of_the_window_after_the_window_has_moved_on)
{
    cr_assert(ls_state_inspector_hold(&inspector, TICKS - 10));
    uint64_t state_hash = recorded_hash(TICKS - 10);
    diagnosed_match_run(&match, TICKS);
    cr_assert_null(ls_replay_window_state(match.server.window, TICKS - 10));
    cr_assert(ls_state_inspector_hold(&inspector, TICKS - 10));
    cr_assert_eq(ls_state_inspector_hash(&inspector), state_hash);
}

Test(state_inspector, does_not_hold_a_state_that_has_left_the_window)
{
    cr_assert_not(ls_state_inspector_hold(&inspector, 10));
    cr_assert(ls_state_inspector_hold(&inspector, TICKS));
    cr_assert_not(ls_state_inspector_hold(&inspector, 10), "it holds another one");
}

static ls_status start_rerun(ls_tick tick, uint32_t pass, uint32_t *ticket)
{
    const ls_rerun_subject subject = {tick - 1, tick, pass, false};
    return ls_state_inspector_start_rerun(&inspector, ls_rerun_local_host(reruns), &subject, 1000,
                                          ticket);
}

Test(state_inspector, holds_a_state_that_a_rerun_has_led_to)
{
    ls_tick gone = TICKS - 10;
    uint64_t state_hash = recorded_hash(gone);
    const ls_rerun_host *host = ls_rerun_local_host(reruns);
    uint32_t ticket = 0;
    cr_assert_eq(start_rerun(gone, 1, &ticket), LS_OK);
    const ls_rerun_outcome *outcome = NULL;
    for (uint64_t now_ns = 1; !outcome; now_ns += LS_NS_PER_SECOND / 60) {
        outcome = host->poll(host->context, ticket, now_ns);
    }
    diagnosed_match_run(&match, TICKS);
    cr_assert_null(ls_replay_window_state(match.server.window, gone));
    cr_assert(ls_state_inspector_hold_rerun(&inspector, outcome));
    cr_assert_eq(ls_state_inspector_hash(&inspector), state_hash);
    ls_rerun_outcome other = *outcome;
    other.figures.live ^= 1;
    cr_assert_not(ls_state_inspector_hold_rerun(&inspector, &other), "it is not what was recorded");
    other.figures.live = 0;
    cr_assert(ls_state_inspector_hold_rerun(&inspector, &other), "nothing was recorded of it");
    cr_assert(ls_state_inspector_hold_pass(&inspector, outcome, 1));
    cr_assert(ls_state_inspector_has(&inspector, gone, 1));
    cr_assert_not(ls_state_inspector_has(&inspector, gone, LS_NO_PASS));
    cr_assert_eq(ls_state_inspector_hash(&inspector), outcome->passes.state_hashes[1]);
    cr_assert_not(ls_state_inspector_hold_pass(&inspector, outcome, 2), "it was asked for another");
    other.state = NULL;
    cr_assert_not(ls_state_inspector_hold_rerun(&inspector, &other), "it was not reached");
    host->release(host->context, ticket);
}

Test(state_inspector, cannot_run_again_what_the_window_never_had)
{
    uint32_t ticket = 0;
    cr_assert_eq(start_rerun(TICKS + 1, LS_NO_PASS, &ticket), LS_NOT_FOUND);
    cr_assert_eq(ticket, 0);
}

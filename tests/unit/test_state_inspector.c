#include "lockstep/common/diagnosis/state_inspector.h"

#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    TICKS = 400, /* more than the states that a window keeps whole */
};

static diagnosed_match match;
static ls_state_inspector inspector;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    ls_text why = {{0}};
    diagnosed_match_open(&match, fault_simulation(), &config);
    cr_assert_eq(ls_state_inspector_init(&inspector, match.server.instance, match.server.window,
                                         ls_allocator_heap(), &why),
                 LS_OK, "%s", why.bytes);
    diagnosed_match_run(&match, TICKS);
}

static void close(void)
{
    ls_state_inspector_deinit(&inspector);
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
    cr_assert_eq(ls_sim_instance_hash(inspector.held), state_hash);
}

Test(state_inspector, does_not_hold_a_state_that_has_left_the_window)
{
    cr_assert_not(ls_state_inspector_hold(&inspector, 10));
    cr_assert(ls_state_inspector_hold(&inspector, TICKS));
    cr_assert_not(ls_state_inspector_hold(&inspector, 10), "it holds another one");
}

Test(state_inspector, holds_a_state_that_a_rerun_has_led_to)
{
    ls_tick gone = TICKS - 200;
    cr_assert_null(ls_replay_window_state(match.server.window, gone));
    cr_assert_eq(ls_state_inspector_start_rerun(&inspector, gone - 1, gone), LS_OK);
    cr_assert_not(ls_state_inspector_hold_rerun(&inspector), "it has not run yet");
    while (!ls_rerun_advance(inspector.rerun, 64)) {
    }
    cr_assert(ls_state_inspector_hold_rerun(&inspector));
    cr_assert_eq(ls_sim_instance_hash(inspector.held), recorded_hash(gone));
    cr_assert_not(ls_state_inspector_hold(&inspector, gone), "no tick is known for that state");
}

Test(state_inspector, cannot_run_again_what_the_window_never_had)
{
    cr_assert_eq(ls_state_inspector_start_rerun(&inspector, TICKS, TICKS + 1), LS_NOT_FOUND);
}

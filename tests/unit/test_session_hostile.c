/* Findings of fuzzing in the session, told in words: a server that breaks the rules. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/tests/unit/session_fixture.h"

static void connect_only(void)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    fake_server_connect(&here);
}

TestSuite(session_hostile, .init = connect_only, .fini = shut);

Test(session_hostile, a_server_that_acknowledges_no_input_is_survived)
{
    here.offer.is_running = false;
    fake_server_send_offer(&here);
    fake_server_send_start(&here);
    check_state(LS_SESSION_PLAYING);
    here.acknowledges_nothing = true;
    fake_server_frame_on(&here, 3000);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.state, LS_SESSION_PLAYING);
    cr_assert_geq(report.tick, 2900);
    /* A closed tick is wanted no more, whatever the server says. */
    cr_assert_geq(report.next_input, 3000);
    cr_assert_leq(report.next_input - here.inputs.first, LS_WINDOW_TICKS,
                  "no more than can be held");
    cr_assert_gt(report.inputs_skipped, 0);

    here.acknowledges_nothing = false;
    fake_server_frame_on(&here, 300);
    cr_assert_geq(fake_server_report(&here).next_input, 3300, "inputs go on");
}

static void hitch(void)
{
    wait_frames(2);
    here.now_ns += LS_NS_PER_SECOND;
    wait_frames(1);
}

Test(session_hostile, a_hitch_before_the_offer_comes_is_survived)
{
    hitch();
    check_state(LS_SESSION_HANDSHAKING);
}

Test(session_hostile, a_hitch_after_a_refusal_is_survived)
{
    refuse(LS_ALREADY_OVER);
    hitch();
    check_over(LS_ALREADY_OVER);
}

Test(session_hostile, a_full_match_may_be_asked_again_before_the_session_ends)
{
    refuse(LS_MATCH_FULL);
    check_state(LS_SESSION_CONNECTING);
    fake_server_connect(&here);
    check_state(LS_SESSION_HANDSHAKING);
    refuse(LS_MATCH_FULL);
    ls_session_disconnected(here.session, LS_DISCONNECTED, here.now_ns);
    check_over(LS_MATCH_FULL);
}

/* The machine may stand still before it knows the length of a tick. */
Test(session_hostile, frames_of_any_length_may_come_before_the_offer)
{
    static const uint64_t lengths_ms[] = {10, 10, 10, 500, 10, 3000};
    for (size_t i = 0; i < sizeof lengths_ms / sizeof lengths_ms[0]; i++) {
        here.now_ns += lengths_ms[i] * LS_NS_PER_MS;
        ls_session_frame(here.session, here.now_ns);
    }
    fake_server_send_offer(&here);
    check_state(LS_SESSION_SEATED);
}

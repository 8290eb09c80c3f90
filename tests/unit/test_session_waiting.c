/* When packets may wait for the session's next frame: never while one of them could change what it
 * does before that. */
#include "lockstep/tests/unit/session_fixture.h"

enum {
    START_FRAMES = 10,   /* until tick 0 is closed */
    SETTLED_TICKS = 200, /* after which the lead is known */
    IN_TIME = 8,         /* 2 ms, as tick_sync wants it */
    LATE = -4,
};

TestSuite(session_waiting, .fini = shut);

static bool may_wait(void)
{
    return ls_session_may_packets_wait(here.session);
}

static void open_match(uint32_t send_rate)
{
    ls_session_config config = ls_session_config_default();
    config.makes_inputs_between_frames = true;
    fake_server_open(&here, &config);
    here.offer.is_running = false;
    here.offer.send_rate = send_rate;
    here.has_slack = true;
    here.slack = IN_TIME;
    connect_and_offer();
}

static void play(uint32_t send_rate)
{
    open_match(send_rate);
    fake_server_send_start(&here);
    wait_frames(START_FRAMES);
    fake_server_frame_on(&here, SETTLED_TICKS);
    cr_assert_geq(fake_server_report(&here).tick + 3, SETTLED_TICKS);
}

Test(session_waiting, packets_wait_as_soon_as_the_lead_of_inputs_is_known)
{
    open_match(LS_SEND_TICK);
    cr_assert_not(may_wait(), "before the match");
    fake_server_send_start(&here);
    wait_frames(START_FRAMES);
    fake_server_frame_on(&here, 10);
    cr_assert_not(may_wait(), "the next report may say that inputs come late");
    fake_server_frame_on(&here, SETTLED_TICKS);
    cr_assert(may_wait());
    cr_assert_neq(ls_session_next_ns(here.session), UINT64_MAX);
}

Test(session_waiting, an_input_that_came_late_lets_no_packet_wait_until_one_is_in_time)
{
    play(LS_SEND_TICK);
    here.slack = LATE;
    fake_server_frame_on(&here, 1);
    cr_assert_not(may_wait());
    here.slack = IN_TIME;
    fake_server_frame_on(&here, 1);
    cr_assert(may_wait());
}

Test(session_waiting, a_player_whose_inputs_wait_for_closed_ticks_waits_for_no_frame)
{
    play(LS_SEND_TICK);
    wait_frames(LS_LEAD_TICKS_MAX - 10);
    cr_assert(may_wait());
    wait_frames(20);
    check_state(LS_SESSION_PLAYING);
    cr_assert_not(may_wait());
    cr_assert_eq(ls_session_next_ns(here.session), UINT64_MAX);
}

Test(session_waiting, inputs_that_are_sent_twice_unless_acknowledged_let_no_packet_wait)
{
    play(LS_SEND_DOUBLE);
    cr_assert_not(may_wait());
}

Test(session_waiting, a_lost_link_lets_no_packet_wait)
{
    play(LS_SEND_TICK);
    ls_session_disconnected(here.session, LS_TIMED_OUT, here.now_ns);
    cr_assert_not(may_wait());
}

Test(session_waiting, a_spectator_waits_for_its_frame_once_it_has_the_state)
{
    ls_session_config config = ls_session_config_default();
    config.is_spectator = true;
    fake_server_open(&here, &config);
    connect_and_offer();
    fake_server_close_ticks(&here, 100);
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    cr_assert_not(may_wait());
    send_blob_and_frame(&join);
    fake_server_frame_on(&here, 10);
    check_state(LS_SESSION_PLAYING);
    cr_assert(may_wait());
}

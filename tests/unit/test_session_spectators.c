/* A session that watches, against a server that a test plays. */
#include "lockstep/tests/unit/session_fixture.h"

enum {
    BURST_TICKS = 10, /* a tenth of a second */
    BURSTS_A_SECOND = 10,
};

static void watch(void)
{
    ls_session_config config = ls_session_config_default();
    config.is_spectator = true;
    config.reconnect_ms = 20000;
    config.predict_ticks = 8; /* of whom it is asked in vain */
    fake_server_open(&here, &config);
    connect_and_offer();
    fake_server_close_ticks(&here, 700);
    join_with_blob(LS_JOIN_SNAPSHOT);
}

TestSuite(session_spectators, .fini = shut);

static void watch_bursts(uint32_t bursts)
{
    for (; bursts > 0; bursts--) {
        fake_server_close_ticks(&here, BURST_TICKS);
        fake_server_send_ticks(&here);
        wait_frames(BURST_TICKS);
    }
}

Test(session_spectators, a_spectator_says_that_it_watches_and_makes_no_inputs, .init = watch)
{
    cr_assert(here.hello.is_spectator);
    cr_assert_eq(here.joined_count, 1);
    cr_assert_eq(here.joined.first_input, 0);
    watch_bursts(50);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.state, LS_SESSION_PLAYING);
    cr_assert_eq(report.inputs_made, 0);
    cr_assert_eq(report.inputs_skipped, 0);
    cr_assert_eq(here.inputs_carried, 0);
    cr_assert_not(report.has_prediction);
}

Test(session_spectators, a_spectator_acknowledges_twice_a_second, .init = watch)
{
    enum {
        SECONDS = 5
    };
    watch_bursts(5);
    uint32_t before = here.inputs_sent;
    watch_bursts(SECONDS * BURSTS_A_SECOND);
    cr_assert_geq(here.inputs.next + BURST_TICKS * BURSTS_A_SECOND / 2, here.closed);
    cr_assert_geq(here.inputs_sent - before, 2 * SECONDS - 1);
    cr_assert_leq(here.inputs_sent - before, 2 * SECONDS + 1);
}

/* The server sends each tick twice, and begins with what is missing once it hears of that. */
Test(session_spectators, a_spectator_says_at_once_what_it_lacks, .init = watch)
{
    watch_bursts(5);
    wait_frames(BURSTS_A_SECOND * BURST_TICKS / 2 + 1);
    uint32_t before = here.inputs_sent;
    ls_tick lacked = here.closed;
    fake_server_close_ticks(&here, BURST_TICKS);
    here.sends_from = here.closed;
    fake_server_close_ticks(&here, BURST_TICKS);
    fake_server_send_ticks(&here);
    wait_frames(2);
    cr_assert_eq(here.inputs_sent - before, 1);
    cr_assert_eq(here.inputs.next, lacked);
}

Test(session_spectators, a_spectator_checks_every_hash_by_its_chain, .init = watch)
{
    watch_bursts(50);
    cr_assert_geq(here.inputs.chain_tick + BURST_TICKS * BURSTS_A_SECOND, here.closed);
    cr_assert_eq(here.inputs.chain, (uint32_t)here.chains[here.inputs.chain_tick]);
}

/* Ticks come all at once and are shown one at a time. */
Test(session_spectators, ticks_that_come_in_bursts_are_played_evenly, .init = watch)
{
    watch_bursts(100);
    uint64_t stalled = fake_server_report(&here).stalled_ticks;
    ls_tick before = fake_server_report(&here).tick;
    uint32_t uneven = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        if (i % BURST_TICKS == 0) {
            fake_server_close_ticks(&here, BURST_TICKS);
            fake_server_send_ticks(&here);
        }
        fake_server_frame(&here);
        ls_tick tick = fake_server_report(&here).tick;
        uneven += tick - before != 1 ? 1 : 0;
        before = tick;
    }
    cr_assert_leq(uneven, 20, "%u frames of 1000 did not step once", uneven);
    cr_assert_leq(fake_server_report(&here).stalled_ticks - stalled, 2);
}

Test(session_spectators, a_spectator_that_fell_behind_comes_again, .init = watch)
{
    watch_bursts(5);
    refuse(LS_FELL_BEHIND);
    check_state(LS_SESSION_RECONNECTING);
    while (here.now_ns < ls_session_reconnect_ns(here.session)) {
        fake_server_frame(&here);
    }
    fake_server_close_ticks(&here, 2000);
    fake_server_connect(&here);
    cr_assert(here.hello.is_spectator);
    fake_server_send_offer(&here);
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_send_blob(&here, &join);
    watch_bursts(30);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.state, LS_SESSION_PLAYING);
    cr_assert_eq(report.rejoins, 1);
    cr_assert_eq(here.inputs.chain, (uint32_t)here.chains[here.inputs.chain_tick]);
}

Test(session_spectators, a_spectator_that_differs_does_not_come_again, .init = watch)
{
    refuse(LS_DESYNCED);
    check_over(LS_DESYNCED);
}

/* A server tells spectators of themselves alone: the slot means nothing. */
Test(session_spectators, a_desync_that_it_is_told_of_is_its_own, .init = watch)
{
    ls_message message = {.kind = LS_MESSAGE_DESYNC, .body.desync = {.slot = 0, .tick = 705}};
    fake_server_send(&here, &message);
    cr_assert_eq(fake_server_report(&here).desyncs, 1);
    cr_assert(fake_server_report(&here).is_desynced);
}

Test(session_spectators, the_end_is_reached, .init = watch)
{
    watch_bursts(5);
    say_end(here.closed);
    wait_frames(30);
    check_state(LS_SESSION_FINISHED);
    cr_assert_eq(fake_server_report(&here).tick, here.closed);
}

Test(session_spectators, a_player_is_no_spectator_and_a_spectator_no_player)
{
    for (int i = 0; i < 2; i++) {
        ls_session_config config = ls_session_config_default();
        config.is_spectator = i == 0;
        fake_server_open(&here, &config);
        here.offer.is_spectator = i != 0;
        fake_server_connect(&here);
        fake_server_send_offer(&here);
        cr_assert_eq(fake_server_report(&here).status, LS_MISBEHAVED);
        shut();
    }
}

#include "lockstep/client/session/session_config.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/tests/unit/session_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- session_start ---- */

/* How a session begins to play: what it takes the way to the server for. */

#define MS LS_NS_PER_MS

TestSuite(session_start, .fini = shut);

/* The answers come after so long: whatever was lost on the way is sent again, after seconds. */
static void come(uint64_t connect_rtt_ns, uint64_t offer_ns, uint64_t start_ns)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.offer.is_running = false;
    here.connect_rtt_ns = connect_rtt_ns;
    fake_server_connect(&here);
    here.now_ns += offer_ns;
    fake_server_send_offer(&here);
    here.now_ns += start_ns;
    fake_server_send_start(&here);
}

static uint64_t rtt_ns(void)
{
    return fake_server_report(&here).rtt_ns;
}

Test(session_start, an_offer_that_was_lost_is_no_long_way)
{
    come(60 * MS, 3500 * MS, 5000 * MS);
    cr_assert_eq(rtt_ns(), 60 * MS);
    fake_server_frame(&here);
    cr_assert_leq(here.inputs_carried, 2, "%u inputs were made at once", here.inputs_carried);
}

Test(session_start, the_shortest_answer_counts)
{
    come(0, 3500 * MS, 70 * MS);
    cr_assert_eq(rtt_ns(), 70 * MS);
}

Test(session_start, a_long_way_is_taken_for_one)
{
    come(600 * MS, 640 * MS, 700 * MS);
    cr_assert_eq(rtt_ns(), 600 * MS);
}

Test(session_start, an_offer_may_be_all_there_is)
{
    come(0, 90 * MS, 5000 * MS);
    cr_assert_eq(rtt_ns(), 90 * MS);
}

/* ---- session_config ---- */

static const ls_simulation *find_none(void *user, const char *name)
{
    (void)user;
    (void)name;
    return NULL;
}

static ls_session_config right(void)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_none;
    return config;
}

Test(session_config, defaults_are_what_the_header_says)
{
    ls_session_config config = right();
    ls_text why = {{0}};
    cr_expect_eq(ls_session_config_check(&config, &why), LS_OK, "%s", why.bytes);
    cr_expect_str_eq(config.name, "player");
    cr_expect_eq(config.frame_max_ms, 250u);
    cr_expect(config.finds_causes);
    cr_expect_not(config.is_spectator);
    cr_expect_eq(config.predict_ticks, 0u);
    cr_expect_eq(config.reconnect_ms, 0u);
    cr_expect_eq(config.ticks, 0u);
}

Test(session_config, a_config_that_is_not_made_by_its_default_is_refused)
{
    ls_session_config config = right();
    ls_text why = {{0}};
    config.cookie = 0;
    cr_expect_eq(ls_session_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "ls_session_config_default"), "%s", why.bytes);
}

Test(session_config, every_row_is_held_to_its_range)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < ls_session_settings.count; i++) {
        const ls_setting_row *row = &ls_session_settings.rows[i];
        if (row->type != LS_SETTING_IS_U32) {
            continue;
        }
        ls_session_config config = right();
        ls_text why = {{0}};
        ls_setting_store(row, &config, row->max);
        cr_expect_eq(ls_session_config_check(&config, NULL), LS_OK, "%s", row->name);
        ls_setting_store(row, &config, row->max + 1);
        cr_expect_eq(ls_session_config_check(&config, &why), LS_BAD_ARGUMENT, "%s", row->name);
        cr_expect(strncmp(why.bytes, row->name, strlen(row->name)) == 0, "%s", why.bytes);
        checked++;
    }
    cr_expect_eq(checked, 4u);
    ls_session_config config = right();
    config.frame_max_ms = 0;
    cr_expect_eq(ls_session_config_check(&config, NULL), LS_BAD_ARGUMENT);
}

/* ---- session_desync ---- */

/* The machine that a session takes a desync to be about, against a server that a test plays. */

enum {
    OWN_SLOT = 1,
    PLAYED_TICKS = 60,
    OWN_TICK = 20,
    SERVER_TICK = 40,
};

static void play(void)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.offer.is_running = false;
    here.offer.slot = OWN_SLOT;
    connect_and_offer();
    fake_server_send_start(&here);
    here.offer.is_running = true;
    fake_server_frame_on(&here, PLAYED_TICKS);
    check_state(LS_SESSION_PLAYING);
}

TestSuite(session_desync, .init = play, .fini = shut);

static ls_desync_subject subject_of_notice(uint32_t slot, ls_tick tick, uint32_t clients)
{
    ls_session_event event;
    const ls_message message = {.kind = LS_MESSAGE_DESYNC,
                                .body.desync = {.slot = slot, .tick = tick, .clients = clients}};
    fake_server_send(&here, &message);
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_DESYNC, &event));
    cr_assert_eq(event.desync.tick, tick);
    return event.subject;
}

static ls_desync_subject subject_of_cause(uint32_t slot, ls_tick tick)
{
    ls_session_event event;
    const ls_message message = {.kind = LS_MESSAGE_DESYNC_CAUSE,
                                .body.cause = {.slot = slot, .tick = tick}};
    fake_server_send(&here, &message);
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_CAUSE, &event));
    cr_assert_eq(event.cause.tick, tick);
    return event.subject;
}

Test(session_desync, is_of_this_client_by_its_slot)
{
    cr_assert_eq(subject_of_notice(OWN_SLOT, OWN_TICK, 0), LS_DESYNC_OF_THIS_CLIENT);
    cr_assert_eq(subject_of_cause(OWN_SLOT, OWN_TICK), LS_DESYNC_OF_THIS_CLIENT);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.own_desyncs, 1);
    cr_assert(report.has_own_cause);
    cr_assert_eq(report.own_cause.tick, OWN_TICK);
}

Test(session_desync, is_of_another_by_its_slot)
{
    cr_assert_eq(subject_of_notice(0, OWN_TICK, 0), LS_DESYNC_OF_ANOTHER);
    cr_assert_eq(subject_of_cause(0, OWN_TICK), LS_DESYNC_OF_ANOTHER);
    cr_assert_not(fake_server_report(&here).is_desynced);
    cr_assert_not(fake_server_report(&here).has_own_cause);
}

/* The server names a slot that it was compared with: here this client's. */
Test(session_desync, is_of_the_server_where_clients_agree_against_it)
{
    cr_assert_eq(subject_of_notice(OWN_SLOT, SERVER_TICK, 2), LS_DESYNC_OF_SERVER);
    cr_assert_eq(subject_of_cause(OWN_SLOT, SERVER_TICK), LS_DESYNC_OF_SERVER);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.server_desyncs, 1);
    cr_assert_not(report.is_desynced);
    cr_assert_not(report.has_own_cause);
}

Test(session_desync, of_the_server_leaves_the_cause_of_one_of_this_client)
{
    cr_assert_eq(subject_of_notice(OWN_SLOT, OWN_TICK, 0), LS_DESYNC_OF_THIS_CLIENT);
    cr_assert_eq(subject_of_notice(OWN_SLOT, SERVER_TICK, 2), LS_DESYNC_OF_SERVER);
    cr_assert_eq(subject_of_cause(OWN_SLOT, OWN_TICK), LS_DESYNC_OF_THIS_CLIENT);
    cr_assert_eq(subject_of_cause(OWN_SLOT, SERVER_TICK), LS_DESYNC_OF_SERVER);
    cr_assert_eq(fake_server_report(&here).own_cause.tick, OWN_TICK);
    cr_assert_eq(fake_server_report(&here).own_desyncs, 1);
}

/* ---- session_hostile ---- */

/* Findings of fuzzing in the session, told in words: a server that breaks the rules. */

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

Test(session_hostile, a_server_that_got_hello_too_late_may_be_asked_again)
{
    refuse(LS_TIMED_OUT);
    check_state(LS_SESSION_CONNECTING);
    fake_server_connect(&here);
    check_state(LS_SESSION_HANDSHAKING);
}

/* Either side may have been held up. */
Test(session_hostile, a_server_that_is_silent_before_the_offer_may_be_asked_again)
{
    here.now_ns += 11 * LS_NS_PER_SECOND;
    wait_frames(2);
    check_state(LS_SESSION_CONNECTING);
    fake_server_connect(&here);
    check_state(LS_SESSION_HANDSHAKING);
    here.now_ns += 11 * LS_NS_PER_SECOND;
    wait_frames(2);
    ls_session_disconnected(here.session, LS_DISCONNECTED, here.now_ns);
    check_over(LS_TIMED_OUT);
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

/* ---- session_spectators ---- */

/* A session that watches, against a server that a test plays. */

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

/* ---- session_waiting ---- */

/* When packets may wait for the session's next frame: never while one of them could change what it
 * does before that. */

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

static void session_waiting_play(uint32_t send_rate)
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
    session_waiting_play(LS_SEND_TICK);
    here.slack = LATE;
    fake_server_frame_on(&here, 1);
    cr_assert_not(may_wait());
    here.slack = IN_TIME;
    fake_server_frame_on(&here, 1);
    cr_assert(may_wait());
}

Test(session_waiting, a_player_whose_inputs_wait_for_closed_ticks_waits_for_no_frame)
{
    session_waiting_play(LS_SEND_TICK);
    wait_frames(LS_LEAD_TICKS_MAX - 10);
    cr_assert(may_wait());
    wait_frames(20);
    check_state(LS_SESSION_PLAYING);
    cr_assert_not(may_wait());
    cr_assert_eq(ls_session_next_ns(here.session), UINT64_MAX);
}

Test(session_waiting, inputs_that_are_sent_twice_unless_acknowledged_let_no_packet_wait)
{
    session_waiting_play(LS_SEND_DOUBLE);
    cr_assert_not(may_wait());
}

Test(session_waiting, a_lost_link_lets_no_packet_wait)
{
    session_waiting_play(LS_SEND_TICK);
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

/* A session whose link is lost, against a server that a test plays. */
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/unit/session_fixture.h"

enum {
    PLAYED_TICKS = 300,
    RECONNECT_MS = 20000,
};

#define SECOND LS_NS_PER_SECOND
#define MS LS_NS_PER_MS

static void play_with(const ls_session_config *config)
{
    fake_server_open(&here, config);
    here.offer.is_running = false;
    connect_and_offer();
    fake_server_send_start(&here);
    here.offer.is_running = true;
    fake_server_frame_on(&here, PLAYED_TICKS);
    cr_assert_geq(fake_server_report(&here).tick + 10, PLAYED_TICKS);
}

static ls_session_config config_to_return(void)
{
    ls_session_config config = ls_session_config_default();
    config.reconnect_ms = RECONNECT_MS;
    return config;
}

static void play(void)
{
    ls_session_config config = config_to_return();
    play_with(&config);
}

TestSuite(session_return, .fini = shut);

static void play_predicting(void)
{
    ls_session_config config = config_to_return();
    config.predict_ticks = 8;
    play_with(&config);
}

static void cut(void)
{
    ls_session_disconnected(here.session, LS_TIMED_OUT, here.now_ns);
}

/* As a driver does: when the session says so. */
static void come_back(void)
{
    uint64_t at_ns = ls_session_reconnect_ns(here.session);
    cr_assert_lt(at_ns, UINT64_MAX);
    while (here.now_ns < at_ns) {
        fake_server_frame(&here);
    }
    connect_and_offer();
}

static void cut_and_come_back(void)
{
    cut();
    come_back();
}

static void join_held(void)
{
    join_by(LS_JOIN_HELD);
}

static void sit_down(void)
{
    ls_session_config config = config_to_return();
    fake_server_open(&here, &config);
    here.offer.is_running = false;
    connect_and_offer();
    check_state(LS_SESSION_SEATED);
}

/* ---- losing ---- */

Test(session_return, a_player_waiting_for_the_others_sits_down_again_and_plays, .init = sit_down)
{
    cut();
    check_state(LS_SESSION_RECONNECTING);
    wait_frames(3);
    here.offer.slot = 1;
    come_back();
    cr_assert_eq(here.hello.back.match_id, here.offer.match_id,
                 "START may have been on its way to it");
    cr_assert(here.hello.back.is_optional, "the seat may be another one's by now");
    ls_session_event event;
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_SEATED, &event));
    cut_and_come_back();
    fake_server_send_start(&here);
    fake_server_frame_on(&here, PLAYED_TICKS);
    check_state(LS_SESSION_PLAYING);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.slot, 1);
    cr_assert_geq(report.tick + 10, PLAYED_TICKS);
    cr_assert_eq(report.rejoins, 0);
    cr_assert_eq(report.packets_rejected, 0);
    cut();
    check_state(LS_SESSION_RECONNECTING);
    come_back();
    cr_assert_neq(here.hello.back.match_id, 0);
    cr_assert_not(here.hello.back.is_optional);
    cr_assert_gt(here.hello.back.confirmed, 0);
}

Test(session_return, a_player_waiting_to_join_claims_its_seat_or_comes_anew, .init = sit_down)
{
    cut();
    here.offer.is_running = true;
    come_back();
    cr_assert(here.hello.back.is_optional);
    cut_and_come_back();
    cr_assert_eq(here.hello.back.match_id, here.offer.match_id);
    cr_assert_not(here.hello.back.is_optional);
    cr_assert_eq(here.hello.back.confirmed, 0);
    refuse(LS_NOT_FOUND);
    check_state(LS_SESSION_RECONNECTING);
    come_back();
    cr_assert_eq(here.hello.back.match_id, 0, "the seat is another one's");
    ls_join join = fake_server_make_join(&here, LS_JOIN_HELD);
    fake_server_send_join(&here, &join);
    fake_server_frame_on(&here, PLAYED_TICKS);
    check_state(LS_SESSION_PLAYING);
}

Test(session_return, a_player_waiting_for_the_others_gives_up_in_the_end, .init = sit_down)
{
    cut();
    wait_frames(RECONNECT_MS / 1000 * 100 + 10);
    check_over(LS_TIMED_OUT);
}

Test(session_return, a_start_that_comes_again_while_it_returns_is_malformed, .init = play)
{
    cut_and_come_back();
    fake_server_send_start(&here);
    check_state(LS_SESSION_RECONNECTING);
    cr_assert_eq(fake_server_report(&here).packets_rejected, 1);
}

Test(session_return, a_lost_link_ends_a_session_that_does_not_reconnect)
{
    ls_session_config config = ls_session_config_default();
    play_with(&config);
    cut();
    check_over(LS_TIMED_OUT);
    cr_assert_eq(ls_session_reconnect_ns(here.session), UINT64_MAX);
}

Test(session_return, a_lost_link_is_reported_and_made_anew_after_a_quarter_of_a_second,
     .init = play)
{
    uint64_t lost_ns = here.now_ns;
    cr_assert_eq(ls_session_reconnect_ns(here.session), UINT64_MAX);
    cut();
    check_state(LS_SESSION_RECONNECTING);
    ls_session_event event;
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_LOST, &event));
    cr_assert_eq(event.status, LS_TIMED_OUT);
    cr_assert_eq(event.retry_in_ns, 250 * MS);
    cr_assert_eq(ls_session_reconnect_ns(here.session), lost_ns + 250 * MS);
    cr_assert_eq(here.disconnections, 0, "it is closed already");
}

Test(session_return, silence_of_a_fifth_of_the_timeout_counts_as_a_lost_link, .init = play)
{
    wait_frames(198);
    check_state(LS_SESSION_PLAYING);
    wait_frames(3);
    check_state(LS_SESSION_RECONNECTING);
    cr_assert_eq(here.disconnections, 1, "the old connection is given up");
    cr_assert_leq(ls_session_reconnect_ns(here.session), here.now_ns + 250 * MS);
}

Test(session_return, silence_of_less_than_a_second_never_counts)
{
    ls_session_config config = config_to_return();
    fake_server_open(&here, &config);
    here.offer.timeout_ms = 2000;
    connect_and_offer();
    fake_server_send_start(&here);
    fake_server_frame_on(&here, 10);
    wait_frames(98);
    check_state(LS_SESSION_PLAYING);
    wait_frames(3);
    check_state(LS_SESSION_RECONNECTING);
}

Test(session_return, attempts_come_after_twice_as_long_each_time_up_to_four_seconds, .init = play)
{
    static const uint64_t pauses_ms[] = {250, 500, 1000, 2000, 4000, 4000, 4000};
    uint64_t lost_ns = here.now_ns;
    cut();
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        uint64_t at_ns = ls_session_reconnect_ns(here.session);
        cr_assert_eq(at_ns, here.now_ns + pauses_ms[i] * MS, "attempt %zu", i);
        /* Events of the connection that was given up before are none of this attempt's. */
        ls_session_disconnected(here.session, LS_DISCONNECTED, here.now_ns);
        cr_assert_eq(ls_session_reconnect_ns(here.session), at_ns);
        while (here.now_ns < at_ns) {
            fake_server_frame(&here);
        }
        check_state(LS_SESSION_RECONNECTING);
        ls_session_disconnected(here.session, LS_REFUSED, here.now_ns);
    }
    while (fake_server_report(&here).state == LS_SESSION_RECONNECTING) {
        fake_server_frame(&here);
        cr_assert_leq(here.now_ns, lost_ns + RECONNECT_MS * MS);
    }
    check_over(LS_TIMED_OUT);
    cr_assert_geq(here.now_ns + 10 * MS, lost_ns + RECONNECT_MS * MS);
}

Test(session_return, a_server_that_says_nothing_fails_the_attempt, .init = play)
{
    cut();
    wait_frames(30);
    fake_server_connect(&here);
    cr_assert_eq(ls_session_reconnect_ns(here.session), UINT64_MAX);
    wait_frames(201);
    check_state(LS_SESSION_RECONNECTING);
    cr_assert_eq(here.disconnections, 1);
    cr_assert_leq(ls_session_reconnect_ns(here.session), here.now_ns + 500 * MS);
    come_back();
    join_held();
    fake_server_frame_on(&here, 5);
    check_plays_on(1);
}

Test(session_return, a_player_can_leave_meanwhile, .init = play)
{
    cut();
    wait_frames(3);
    ls_session_leave(here.session, here.now_ns);
    check_over(LS_OK);
    cr_assert_not(here.has_goodbye, "there is nobody to tell");
}

/* ---- coming back ---- */

Test(session_return, a_returning_player_says_what_it_holds, .init = play)
{
    ls_tick confirmed = fake_server_report(&here).confirmed;
    cr_assert_eq(here.hello.back.match_id, 0, "at first it comes from nowhere");
    cut_and_come_back();
    cr_assert_eq(here.hello.back.match_id, FAKE_MATCH_ID);
    cr_assert_eq(memcmp(here.hello.back.secret, here.offer.secret, LS_SECRET_BYTES), 0);
    cr_assert_eq(here.hello.back.confirmed, confirmed);
    cr_assert_eq(here.hello.back.tick_chain, here.tick_chains[confirmed]);
    cr_assert_eq(here.ready_count, 2);
    check_state(LS_SESSION_RECONNECTING);
}

Test(session_return, a_returning_player_goes_on_with_the_ticks_that_it_holds, .init = play)
{
    ls_tick tick = fake_server_report(&here).tick;
    uint64_t steps = fake_server_report(&here).steps;
    cut_and_come_back();
    fake_server_close_ticks(&here, 400);
    ls_session_event event;
    ls_join join = fake_server_make_join(&here, LS_JOIN_HELD);
    join.next_close = here.closed;
    fake_server_send_join(&here, &join);
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_JOINING, &event));
    cr_assert_eq(event.join.next_close - event.join.tick, 400);
    cr_assert_geq(event.away_ns, 250 * MS);
    check_state(LS_SESSION_JOINING);
    uint32_t frames = 0;
    while (fake_server_report(&here).state == LS_SESSION_JOINING) {
        fake_server_frame_on(&here, 1);
        cr_assert_lt(++frames, 20);
    }
    cr_assert_eq(here.joined.state_hash, here.state_hashes[here.joined.tick]);
    cr_assert_geq(here.joined.tick, PLAYED_TICKS + 400);
    cr_assert_eq(fake_server_report(&here).steps - steps, here.joined.tick - tick,
                 "no tick was stepped twice");
    check_plays_on(1);
    cr_assert_geq(fake_server_report(&here).stalled_ticks, 25);
}

/* A server that comes back from its journal may close other ticks than those it told of last. */
Test(session_return, parts_of_ticks_that_were_not_the_next_are_forgotten, .init = play)
{
    uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX];
    ls_slot_input before[FAKE_SLOTS];
    fake_server_send_ticks(&here);
    fake_server_inputs(here.closed, bytes, before);
    static const ls_slot_input other[FAKE_SLOTS] = {{NULL, 0, LS_EVENT_LEFT}};
    fake_server_send_tick_in_parts(&here, here.closed + 1, before, other);
    cut_and_come_back();
    join_held();
    fake_server_frame_on(&here, 5);
    check_plays_on(1);
}

Test(session_return, received_ticks_are_played_while_the_link_is_lost, .init = play)
{
    fake_server_close_ticks(&here, 20);
    fake_server_send_ticks(&here);
    cut();
    wait_frames(60);
    cr_assert_eq(fake_server_report(&here).tick, PLAYED_TICKS + 20);
}

Test(session_return, a_predicting_player_comes_back)
{
    play_predicting();
    cut();
    wait_frames(100);
    ls_session_report report = fake_server_report(&here);
    cr_assert_leq(report.shown_tick, report.tick + 8);
    cr_assert_geq(report.stalled_ticks, 90);
    come_back();
    fake_server_close_ticks(&here, 100);
    join_held();
    fake_server_frame_on(&here, 10);
    check_plays_on(1);
    report = fake_server_report(&here);
    cr_assert_gt(report.shown_tick, report.tick);
}

Test(session_return, a_player_leaving_on_the_way_keeps_the_ticks_that_it_stepped)
{
    play_predicting();
    cut_and_come_back();
    fake_server_close_ticks(&here, 600);
    join_held();
    fake_server_send_ticks(&here);
    fake_server_frame(&here);
    check_state(LS_SESSION_JOINING);
    ls_tick tick = fake_server_report(&here).tick;
    cr_assert_gt(tick, PLAYED_TICKS);
    ls_session_leave(here.session, here.now_ns);
    cr_assert_eq(fake_server_report(&here).tick, tick);
    cr_assert_eq(ls_sim_instance_hash(ls_session_instance(here.session)), here.state_hashes[tick]);
}

/* While nobody plays nothing is closed: the inputs that were made count. */
Test(session_return, inputs_whose_ticks_are_not_closed_are_not_made_twice, .init = play)
{
    ls_session_report before = fake_server_report(&here);
    cr_assert_gt(before.next_input, before.confirmed);
    cut_and_come_back();
    join_held();
    fake_server_frame(&here);
    check_state(LS_SESSION_PLAYING);
    ls_session_report after = fake_server_report(&here);
    cr_assert_eq(here.joined.first_input, before.confirmed);
    cr_assert_eq(after.next_input, before.next_input);
    wait_frames(1);
    after = fake_server_report(&here);
    cr_assert_eq(here.inputs.first, before.confirmed);
    cr_assert_geq(here.inputs_carried, before.next_input - before.confirmed, "and sent again");
    cr_assert_eq(after.inputs_made - before.inputs_made, after.next_input - before.next_input);
}

Test(session_return, a_snapshot_is_taken_when_the_ticks_are_gone, .init = play)
{
    cut_and_come_back();
    fake_server_close_ticks(&here, 2000);
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 2);
    cr_assert_eq(here.joined_count, 1);
    check_plays_on(1);
    cr_assert_lt(fake_server_report(&here).steps, PLAYED_TICKS + 200);
}

/* A server that came back without the newest ticks, and found nobody who has them. */
Test(session_return, a_snapshot_may_lie_before_what_was_played, .init = play)
{
    cut_and_come_back();
    ls_sim_instance_destroy(here.instance);
    here.instance = NULL;
    here.closed = 0;
    cr_assert_eq(ls_sim_instance_create(&here.simulation, &here.offer.config, ls_allocator_heap(),
                                        &here.instance, NULL),
                 LS_OK);
    fake_server_close_ticks(&here, PLAYED_TICKS - 100);
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    fake_server_send_join(&here, &join);
    cr_assert_eq(here.inputs.next, PLAYED_TICKS - 100);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 2);
    check_plays_on(1);
}

Test(session_return, a_history_begins_at_the_start_again, .init = play)
{
    cut_and_come_back();
    fake_server_close_ticks(&here, 200);
    ls_join join = join_by(LS_JOIN_HISTORY);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 20);
    check_plays_on(1);
    cr_assert_geq(fake_server_report(&here).steps, 2 * PLAYED_TICKS + 200);
}

Test(session_return, a_link_lost_while_a_blob_comes_keeps_the_ticks_and_takes_another_blob,
     .init = play)
{
    cut_and_come_back();
    fake_server_close_ticks(&here, 2000);
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    fake_server_send_join(&here, &join);
    fake_server_frame_on(&here, 20);
    cut();
    check_state(LS_SESSION_RECONNECTING);
    wait_frames(5);
    come_back();
    cr_assert_eq(here.hello.back.match_id, FAKE_MATCH_ID);
    cr_assert(here.hello.back.is_joining);
    cr_assert_gt(here.hello.back.confirmed, join.tick);
    join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    fake_server_send_join(&here, &join);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 2);
    check_plays_on(1);
}

Test(session_return, a_player_that_holds_nothing_may_begin_at_the_start, .init = play)
{
    cut_and_come_back();
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    fake_server_send_join(&here, &join);
    cut_and_come_back();
    cr_assert_eq(here.hello.back.confirmed, 0);
    here.keyframe_tick = 0;
    join_held();
    fake_server_frame_on(&here, 30);
    check_plays_on(1);
}

Test(session_return, a_link_lost_on_the_way_keeps_what_was_there, .init = play)
{
    cut_and_come_back();
    fake_server_close_ticks(&here, 600);
    join_held();
    fake_server_send_ticks(&here);
    fake_server_frame(&here);
    check_state(LS_SESSION_JOINING);
    cut_and_come_back();
    cr_assert_eq(here.hello.back.confirmed, PLAYED_TICKS + 600);
    fake_server_close_ticks(&here, 50);
    join_held();
    fake_server_frame_on(&here, 10);
    check_plays_on(1);
}

/* ---- what a server that came back asks for ---- */

static void ask(ls_tick first, uint32_t count)
{
    ls_message message = {.kind = LS_MESSAGE_TICKS_REQUEST,
                          .body.ticks_request = {.first = first, .count = count}};
    fake_server_send(&here, &message);
}

static void check_closed_tick(const ls_tick_part *part, ls_tick tick)
{
    static ls_tick_cursor cursor;
    uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX];
    ls_slot_input slots[FAKE_SLOTS];
    fake_server_inputs(tick, bytes, slots);
    cr_assert_eq(part->tick, tick);
    cr_assert_eq(part->size, part->total_bytes);
    ls_tick_cursor_start(&cursor, FAKE_SLOTS, COUNTER_INPUT_BYTES_MAX, NULL);
    ls_bit_stream stream = ls_bit_reader(part->bytes, part->size);
    cr_assert(ls_ticks_read_tick(&stream, &cursor));
    cr_assert(ls_bits_is_complete(&stream));
    for (uint32_t slot = 0; slot < FAKE_SLOTS; slot++) {
        cr_assert_eq(cursor.sizes[slot], slots[slot].size);
        cr_assert_eq(memcmp(cursor.bytes[slot], slots[slot].bytes, cursor.sizes[slot]), 0);
    }
}

Test(session_return, closed_ticks_that_the_server_lost_are_given_back, .init = play)
{
    cut_and_come_back();
    ask(PLAYED_TICKS - 20, 32);
    cr_assert_geq(here.hello.back.held, 20);
    cr_assert_eq(here.closed_tick_count, 20, "as many as it holds");
    for (uint32_t i = 0; i < 20; i++) {
        check_closed_tick(&here.closed_ticks[i], PLAYED_TICKS - 20 + i);
    }
    ask(UINT32_MAX - 3, 32);
    ask(PLAYED_TICKS, 1);
    cr_assert_eq(here.closed_tick_count, 20);
    cr_assert_eq(fake_server_report(&here).packets_rejected, 0);
}

/* The first of them, too, though not the one before it. */
Test(session_return, ticks_behind_a_snapshot_are_given_back, .init = play)
{
    cut_and_come_back();
    fake_server_close_ticks(&here, 2000);
    ls_tick first = here.closed;
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 20);
    ls_tick confirmed = fake_server_report(&here).confirmed;
    cr_assert_gt(confirmed, first);
    cut_and_come_back();
    cr_assert_eq(here.hello.back.confirmed, confirmed);
    cr_assert_eq(here.hello.back.held, confirmed - first);
    ask(first - 1, 3);
    cr_assert_eq(here.closed_tick_count, 2);
    check_closed_tick(&here.closed_ticks[0], first);
    check_closed_tick(&here.closed_ticks[1], first + 1);
}

Test(session_return, a_request_for_ticks_in_the_middle_of_a_match_is_malformed, .init = play)
{
    ask(10, 5);
    cr_assert_eq(here.closed_tick_count, 0);
    cr_assert_eq(fake_server_report(&here).packets_rejected, 1);
}

Test(session_return, a_waiting_server_is_reported, .init = play)
{
    ls_session_event event;
    ls_message message = {.kind = LS_MESSAGE_RESUMING, .body.resuming = {{{2}}, 5000}};
    cut_and_come_back();
    fake_server_send(&here, &message);
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_RESUMING, &event));
    cr_assert_eq(event.resuming.slots.words[0], 2);
    cr_assert_eq(event.resuming.left_ms, 5000);
    uint32_t sent = here.inputs_sent;
    for (uint32_t i = 0; i < 15; i++) {
        wait_frames(20);
        fake_server_send(&here, &message);
    }
    check_state(LS_SESSION_RECONNECTING);
    cr_assert_geq(here.inputs_sent, sent + 5, "who waits says that it is there");
}

/* ---- refused ---- */

Test(session_return, a_refusal_ends_the_session, .init = play)
{
    cut_and_come_back();
    refuse(LS_NOT_FOUND);
    check_over(LS_NOT_FOUND);
}

Test(session_return, a_full_server_is_no_reason_to_give_up, .init = play)
{
    cut_and_come_back();
    refuse(LS_MATCH_FULL);
    check_state(LS_SESSION_RECONNECTING);
    cr_assert_lt(ls_session_reconnect_ns(here.session), UINT64_MAX);
}

Test(session_return, a_player_that_was_not_heard_comes_back, .init = play)
{
    refuse(LS_TIMED_OUT);
    check_state(LS_SESSION_RECONNECTING);
}

Test(session_return, another_match_is_not_the_one_that_was_left, .init = play)
{
    cut();
    here.offer.match_id++;
    come_back();
    check_over(LS_ALREADY_OVER);
}

Test(session_return, another_seat_is_taken_without_the_old_inputs, .init = play)
{
    cut();
    here.offer.slot = 1;
    come_back();
    join_held();
    fake_server_frame(&here);
    check_state(LS_SESSION_PLAYING);
    cr_assert_eq(fake_server_report(&here).slot, 1);
    cr_assert_gt(here.joined.first_input, PLAYED_TICKS);
    check_plays_on(1);
}

/* A server that was killed before it had written the end down does not know of it. */
Test(session_return, an_end_that_the_server_forgot_is_none, .init = play)
{
    say_end(here.closed + 20);
    cut_and_come_back();
    join_held();
    fake_server_frame_on(&here, 5);
    check_plays_on(1);
    cr_assert_not(fake_server_report(&here).has_end);
}

Test(session_return, a_match_that_was_complete_is_complete, .init = play)
{
    say_end(PLAYED_TICKS);
    cut();
    wait_frames(60);
    come_back();
    refuse(LS_ALREADY_OVER);
    check_over(LS_OK);
}

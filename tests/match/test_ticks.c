#include "lockstep/common/base/histogram.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/late_journal.h"

#include <stdlib.h>

/* ---- ticks ---- */

/* Matches that have been played for so long that the numbers of their ticks need all of 32 bits:
 * players and spectators come, come back and see the end, and the server resumes. */

#define HALF (UINT32_C(1) << 31)

static const ls_link_config usual_link = {.delay_ns = 20 * MS, .jitter_ns = 2 * MS};

/* The server dies, and goes on from a journal whose match has got to `tick`. */
static void resume_at(virtual_match *run, ls_tick tick)
{
    virtual_disk *disk = run->disk;
    virtual_match_crash(run, 100 * MS);
    size_t size = disk->size;
    uint8_t *bytes = malloc(size);
    cr_assert_not_null(bytes);
    memcpy(bytes, disk->bytes, size);
    late_journal_make(run->setup.match.simulation, tick, &bytes, &size);
    cr_assert_leq(size, disk->capacity);
    memcpy(disk->bytes, bytes, size);
    disk->size = size;
    disk->synchronised = size;
    free(bytes);
    virtual_match_run(run, 200 * MS);
    cr_assert_not(run->is_server_lost);
    cr_assert_geq(ls_match_tick(run->match), tick);
}

static ls_match_config config_of(uint32_t interval)
{
    ls_match_config config = ls_match_config_default(test_small_simulation());
    config.sim.players = 3;
    config.sim.tick_rate_hz = 60;
    config.hash_interval_ticks = interval;
    config.timeout_ms = 5000;
    config.resume_wait_ms = 4000;
    config.spectators_max = 2;
    config.spectator_delay_ticks = 30;
    return config;
}

static virtual_client *add_player(virtual_match *run, uint32_t predict_ticks)
{
    ls_session_config session = ls_session_config_default();
    session.reconnect_ms = 60000;
    session.predict_ticks = predict_ticks;
    return add_client_session(run, &session, &usual_link);
}

static virtual_client *add_spectator(virtual_match *run)
{
    ls_session_config session = ls_session_config_default();
    session.is_spectator = true;
    return add_client_session(run, &session, &usual_link);
}

/* A match of two players that has got to `tick`. */
static virtual_match *match_from(const ls_match_config *config, ls_tick tick)
{
    virtual_setup setup = setup_for(config, 11);
    setup.has_journal = true;
    setup.match.start_players = 2;
    setup.snapshot_ms = 500;
    virtual_match *run = virtual_match_create(&setup);
    add_player(run, 0);
    add_player(run, 4);
    virtual_match_run(run, 3 * SECOND);
    resume_at(run, tick);
    return run;
}

/* It plays or watches, and is not far behind. */
static void check_follows(const virtual_client *client)
{
    ls_session_report report = report_of(client);
    cr_assert_eq(report.state, LS_SESSION_PLAYING, "client %u: state %d, %s", client->index,
                 (int)report.state, ls_status_name(report.status));
    cr_assert_geq(report.tick + 90, ls_match_tick(client->run->match));
}

static void end(virtual_match *run)
{
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 0);
    virtual_match_destroy(run);
}

/* Somebody comes while the match is at `tick`, comes back after a lost link and as a newcomer, and
 * somebody watches. */
static void come_and_go(ls_tick tick, uint32_t interval)
{
    ls_match_config config = config_of(interval);
    virtual_match *run = match_from(&config, tick);
    const virtual_client *second = run->clients[1];
    virtual_client *first = run->clients[0];
    virtual_match_run(run, 5 * SECOND);
    check_follows(first);
    check_follows(second);
    const virtual_client *third = add_player(run, 0);
    const virtual_client *spectator = add_spectator(run);
    cut_link(first, true);
    virtual_match_run(run, 7 * SECOND);
    check_follows(third);
    cut_link(first, false);
    virtual_match_run(run, 5 * SECOND);
    check_follows(first);
    check_follows(second);
    check_follows(third);
    check_follows(spectator);
    virtual_match_crash(run, SECOND);
    virtual_match_run(run, 8 * SECOND);
    check_follows(first);
    check_follows(second);
    check_follows(third);
    cr_assert_eq(ls_match_packets_rejected(run->match), 0);
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run_to_end(run);
    check_played_to_the_end(run, first);
    check_played_to_the_end(run, second);
    check_played_to_the_end(run, third);
    cr_assert_gt(slot_of(run, report_of(first).slot).hashes_compared, 0);
    end(run);
}

Test(ticks, players_come_and_return_where_ticks_pass_half_of_32_bits)
{
    come_and_go(HALF - 100, 1);
}

Test(ticks, players_come_and_return_behind_half_of_32_bits)
{
    come_and_go(HALF + 12345, 1);
}

Test(ticks, states_that_are_hashed_now_and_then_are_compared_there_as_well)
{
    come_and_go(HALF - 400, 7);
}

Test(ticks, a_difference_is_found_and_healed_behind_half_of_32_bits)
{
    ls_match_config config = config_of(4);
    config.on_desync = LS_ON_DESYNC_HEAL;
    virtual_match *run = match_from(&config, HALF + 50);
    flip_bit(run->clients[1], HALF + 401, 12);
    virtual_match_run(run, 12 * SECOND);
    uint32_t slot = report_of(run->clients[1]).slot;
    const virtual_event *found = virtual_match_find_slot(run, LS_MATCH_DESYNC_CAUSE, slot);
    const virtual_event *healed = virtual_match_find_slot(run, LS_MATCH_HEALED, slot);
    cr_assert(found && healed);
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    cr_expect_eq(found->event.tick, HALF + 404);
    cr_expect_geq(healed->event.tick, HALF + 404);
    cr_expect_eq(finding->first_tick, HALF + 401);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    check_follows(run->clients[1]);
    virtual_match_destroy(run);
}

Test(ticks, a_match_without_a_last_tick_ends_before_numbers_would_repeat)
{
    ls_match_config config = config_of(1);
    virtual_match *run = match_from(&config, LS_MATCH_TICKS_MAX - 400);
    virtual_match_run(run, 3 * SECOND);
    const virtual_client *late = add_player(run, 0);
    virtual_match_run_to_end(run);
    cr_assert_eq(ls_match_tick(run->match), LS_MATCH_TICKS_MAX);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_ENDS_SOON, LS_PLAYERS_MAX), 1);
    for (uint32_t i = 0; i < run->client_count; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    cr_assert_gt(newest_join(late).tick, LS_MATCH_TICKS_MAX - 400);
    end(run);
}

/* How often it is said within a few seconds that the numbers of ticks end. */
static uint32_t warnings_from(ls_tick tick, uint32_t ticks)
{
    ls_match_config config = config_of(1);
    config.ticks = ticks;
    virtual_match *run = match_from(&config, tick);
    virtual_match_run(run, 8 * SECOND);
    check_follows(run->clients[0]);
    uint32_t count = virtual_match_count(run, LS_MATCH_ENDS_SOON, LS_PLAYERS_MAX);
    end(run);
    return count;
}

Test(ticks, operator_learns_ten_days_before_that_the_numbers_end)
{
    const ls_tick days = 10 * 24 * 3600 * 60;
    cr_expect_eq(warnings_from(LS_MATCH_TICKS_MAX - days - 60, 0), 1);
    cr_expect_eq(warnings_from(LS_MATCH_TICKS_MAX - days - 6000, 0), 0);
    cr_expect_eq(warnings_from(LS_MATCH_TICKS_MAX - 6000, LS_MATCH_TICKS_MAX - 1), 0);
    cr_expect_eq(warnings_from(LS_MATCH_TICKS_MAX - 6000, UINT32_MAX - 1), 1);
}

/* ---- pause ---- */

/* A match that its host pauses, goes on with, speaks in, and saves to go on another time: nothing
 * is closed meanwhile, nobody is lost by it, and everybody knows why. */

enum {
    PAUSE_S = 60
}; /* six times as long as a silence ends a connection */

static virtual_setup setup_with(ls_late_rule rule, uint32_t players, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, ticks);
    setup.match.late_rule = rule;
    return setup;
}

static void assert_notified(const virtual_client *client, ls_notice_kind kind, const char *text)
{
    const ls_notice *notice = newest_notice(client);
    cr_assert_not_null(notice, "client %u was told nothing", client->index);
    cr_assert_eq(notice->kind, kind, "client %u", client->index);
    cr_assert_str_eq(notice->text.bytes, text);
}

static void pause_match(virtual_match *run, const char *why)
{
    cr_assert_eq(ls_match_pause(run->match, why, run->now_ns), LS_OK);
    virtual_match_run(run, 200 * MS);
    cr_assert(ls_match_is_paused(run->match));
}

static void unpause_match(virtual_match *run, const char *why)
{
    cr_assert_eq(ls_match_unpause(run->match, why, run->now_ns), LS_OK);
    cr_assert_not(ls_match_is_paused(run->match));
}

/* Ticks closed while the match is paused for so long. */
static ls_tick closed_in(virtual_match *run, uint64_t ns)
{
    ls_tick before = ls_match_tick(run->match);
    virtual_match_run(run, ns);
    return ls_match_tick(run->match) - before;
}

static void play_with_pause(ls_late_rule rule, uint32_t hash_interval)
{
    virtual_setup setup = setup_with(rule, 3, 600);
    setup.match.hash_interval_ticks = hash_interval;
    virtual_match *run = match_at(&setup, 100);
    pause_match(run, "a word with the referee");
    cr_assert_leq(ls_match_tick(run->match), 100 + hash_interval);
    cr_assert_eq(closed_in(run, PAUSE_S * LS_NS_PER_SECOND), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_notified(run->clients[i], LS_NOTICE_PAUSED, "a word with the referee");
    }
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PAUSED, LS_PLAYERS_MAX), 1);
    unpause_match(run, "");
    cr_assert_geq(closed_in(run, 500 * MS), 28, "it goes on at once");
    for (uint32_t i = 0; i < 3; i++) {
        assert_notified(run->clients[i], LS_NOTICE_UNPAUSED, "");
        cr_assert_eq(report_of(run->clients[i]).rejoins, 0);
        cr_assert_leq(report_of(run->clients[i]).next_input, ls_match_tick(run->match) + 20,
                      "what a player does now counts soon, and not behind a pause of inputs");
    }
    cr_assert_eq(virtual_match_count(run, LS_MATCH_STALLED, LS_PLAYERS_MAX), 0);
    play_and_check(run);
    for (uint32_t slot = 0; slot < 3; slot++) {
        cr_assert_leq(slot_of(run, slot).inputs_substituted, 2, "slot %u", slot);
    }
    virtual_match_destroy(run);
}

Test(pause, closes_nothing_and_loses_nobody)
{
    play_with_pause(LS_LATE_REPEAT, 1);
    play_with_pause(LS_LATE_WAIT, 1);
    play_with_pause(LS_LATE_REPEAT, 8);
}

Test(pause, ends_a_wait_for_a_player)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 2, 600);
    virtual_match *run = match_at(&setup, 100);
    run->clients[1]->is_paused = true;
    virtual_match_run(run, 500 * MS);
    uint32_t stalls = virtual_match_count(run, LS_MATCH_STALLED, LS_PLAYERS_MAX);
    pause_match(run, "");
    virtual_match_run(run, 5 * LS_NS_PER_SECOND);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_STALLED, LS_PLAYERS_MAX), stalls);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PLAYER_LOST, LS_PLAYERS_MAX), 0);
    run->clients[1]->is_paused = false;
    virtual_match_run(run, LS_NS_PER_SECOND);
    unpause_match(run, "");
    play_out(run);
}

/* Players and spectators who come while the match is paused are told so, and get into it. */
Test(pause, those_who_come_are_told)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 3, 600);
    setup.match.spectators_max = 2;
    setup.clients = 2;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup far = virtual_client_setup_default(run);
    far.session.reconnect_ms = 60000;
    virtual_client *lost = virtual_match_add_client(run, &far);
    virtual_match_run_to_tick(run, 100);
    pause_match(run, "lunch");
    virtual_client_cut(lost);
    virtual_match_run(run, 12 * LS_NS_PER_SECOND);
    virtual_client_set_links(lost, &(ls_link_config){.delay_ns = 10 * MS});
    virtual_client_setup watching = virtual_client_setup_default(run);
    watching.session.is_spectator = true;
    const virtual_client *spectator = virtual_match_add_client(run, &watching);
    virtual_match_run(run, 5 * LS_NS_PER_SECOND);
    assert_notified(lost, LS_NOTICE_PAUSED, "lunch");
    assert_notified(spectator, LS_NOTICE_PAUSED, "lunch");
    cr_assert_eq(report_of(lost).rejoins, 1);
    unpause_match(run, "coffee is over as well");
    virtual_match_run(run, 500 * MS);
    assert_notified(spectator, LS_NOTICE_UNPAUSED, "coffee is over as well");
    play_out(run);
}

Test(pause, is_for_matches_that_run)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 100);
    virtual_match *run = checked_match_create(&setup);
    cr_assert_eq(ls_match_pause(run->match, "", run->now_ns), LS_NOT_FOUND, "in the lobby");
    virtual_match_run_to_tick(run, 10);
    cr_assert_eq(ls_match_unpause(run->match, "", run->now_ns), LS_NOT_FOUND);
    pause_match(run, "first");
    pause_match(run, "second");
    assert_notified(run->clients[0], LS_NOTICE_PAUSED, "second");
    unpause_match(run, "");
    play_and_check(run);
    cr_assert_eq(ls_match_pause(run->match, "", run->now_ns), LS_NOT_FOUND, "over");
    cr_assert_eq(ls_match_say(run->match, LS_PLAYERS_MAX, "", run->now_ns), LS_NOT_FOUND);
    virtual_match_destroy(run);
}

Test(pause, match_that_is_stopped_meanwhile_ends)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 0);
    virtual_match *run = match_at(&setup, 100);
    pause_match(run, "");
    ls_match_stop(run->match, run->now_ns);
    virtual_match_run_to_end(run);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    check_sound(run);
    virtual_match_destroy(run);
}

Test(pause, words_reach_one_or_all)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 200);
    virtual_match *run = match_at(&setup, 50);
    uint32_t slot = report_of(run->clients[0]).slot;
    cr_assert_eq(ls_match_say(run->match, slot, "only for you", run->now_ns), LS_OK);
    virtual_match_run(run, 200 * MS);
    assert_notified(run->clients[0], LS_NOTICE_TEXT, "only for you");
    cr_assert_null(newest_notice(run->clients[1]));
    cr_assert_eq(ls_match_say(run->match, LS_PLAYERS_MAX, "for all", run->now_ns), LS_OK);
    cr_assert_eq(ls_match_say(run->match, 2, "for none", run->now_ns), LS_NOT_FOUND);
    virtual_match_run(run, 200 * MS);
    assert_notified(run->clients[0], LS_NOTICE_TEXT, "for all");
    assert_notified(run->clients[1], LS_NOTICE_TEXT, "for all");
    play_out(run);
}

/* Clients stay away from a match that was saved, and know that it was. */
Test(pause, suspended_match_says_so)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 0);
    setup.match.spectators_max = 1;
    virtual_match *run = match_at(&setup, 50);
    virtual_client_setup watching = virtual_client_setup_default(run);
    watching.session.is_spectator = true;
    virtual_match_add_client(run, &watching);
    virtual_match_run(run, LS_NS_PER_SECOND);
    pause_match(run, "");
    ls_match_suspend(run->match, "see you on Friday", run->now_ns);
    virtual_match_run(run, 5 * LS_NS_PER_SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert_eq(report.state, LS_SESSION_OVER, "client %u", i);
        cr_assert_eq(report.status, LS_SAVED, "client %u: %s", i, ls_status_name(report.status));
    }
    virtual_match_destroy(run);
}

/* ---- latency ---- */

/* Latency: how long after it is made an input is confirmed on all clients, beyond the path, and how
 * many inputs are too late, on networks that lose much. The budgets of the design. */

enum {
    PLAYERS = 4,
    WARM_TICKS = 600,
    TICKS = 3600,
};

static const uint64_t GLANCE_NS = MS / 2;

typedef struct network {
    uint64_t rtt_ns;
    uint32_t loss_ppm;
    uint64_t p50_max_ns; /* beyond the path; 0: any */
    uint64_t p99_max_ns;
    uint32_t late_max; /* of ten thousand */
} network;

static ls_tick confirmed_by_all(const virtual_match *run)
{
    ls_tick least = UINT32_MAX;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        ls_tick confirmed = report_of(run->clients[i]).confirmed;
        least = confirmed < least ? confirmed : least;
    }
    return least;
}

static void watch(virtual_match *run, ls_histogram *latency)
{
    ls_tick seen = confirmed_by_all(run);
    ls_tick end = ls_match_tick(run->match) + TICKS;
    while (ls_match_tick(run->match) < end) {
        virtual_match_run(run, GLANCE_NS);
        for (ls_tick all = confirmed_by_all(run); seen < all; seen++) {
            for (uint32_t i = 0; i < PLAYERS; i++) {
                uint64_t made_ns = client_check_of(run->clients[i])->made_at[seen];
                if (made_ns != 0) {
                    ls_histogram_add(latency, run->now_ns - made_ns);
                }
            }
        }
    }
}

static void check_network(const network *one)
{
    static ls_histogram latency;
    latency = (ls_histogram){0};
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.link = (ls_link_config){.delay_ns = one->rtt_ns / 2, .loss_ppm = one->loss_ppm};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    uint64_t late = substituted(run);
    watch(run, &latency);
    late = substituted(run) - late;
    uint64_t p50_ns = ls_histogram_percentile_ns(&latency, 50) - one->rtt_ns;
    uint64_t p99_ns = ls_histogram_percentile_ns(&latency, 99) - one->rtt_ns;
    cr_assert_geq(latency.count, PLAYERS * TICKS * 9 / 10);
    cr_assert(one->p50_max_ns == 0 || p50_ns <= one->p50_max_ns, "%u ppm: p50 %lu us",
              one->loss_ppm, (unsigned long)(p50_ns / 1000));
    cr_assert_leq(p99_ns, one->p99_max_ns, "%u ppm: p99 %lu us", one->loss_ppm,
                  (unsigned long)(p99_ns / 1000));
    cr_assert_leq(late * 10000, one->late_max * PLAYERS * TICKS, "%u ppm: %lu late", one->loss_ppm,
                  (unsigned long)late);
    close_run(run);
}

Test(latency, a_loss_costs_as_many_ticks_as_it_may)
{
    static const network networks[] = {
        {.p99_max_ns = 3 * MS},
        {.loss_ppm = 50000, .p50_max_ns = DT_NS, .p99_max_ns = 2 * DT_NS, .late_max = 50},
        {.loss_ppm = 200000, .p50_max_ns = 2 * DT_NS, .p99_max_ns = 3 * DT_NS, .late_max = 110},
    };
    static const uint64_t rtts_ms[] = {67, 100};
    for (size_t i = 0; i < 2 * sizeof networks / sizeof networks[0]; i++) {
        network one = networks[i / 2];
        one.rtt_ns = rtts_ms[i % 2] * MS;
        check_network(&one);
    }
}

/* ---- jitter_buffer ---- */

/* When the ticks that come are stepped: as soon as a frame allows where they come evenly; where
 * they do not, as late as nearly all of them need; at a speed that nobody sees. */

enum {
    JITTER_BUFFER_PLAYERS = 3,
    JITTER_BUFFER_WARM_TICKS = 600,
    SPEED_MAX_PPM = 50000,
};

/* How often the match is looked at. */
static const uint64_t JITTER_BUFFER_GLANCE_NS = MS / 2;

typedef struct shown {
    uint64_t longest_wait_ns; /* of any tick: from its arrival to its step */
    uint64_t stalled_ticks;
    uint32_t most_backlog;
} shown;

/* Watches one client for so many ticks. */
static shown jitter_buffer_watch(virtual_client *client, ls_tick ticks)
{
    static uint64_t arrived_ns[LS_WINDOW_TICKS];
    virtual_match *run = client->run;
    ls_session_report before = report_of(client);
    ls_tick arrived = before.confirmed;
    ls_tick stepped = before.confirmed;
    shown seen = {0};
    while (stepped < before.confirmed + ticks) {
        virtual_match_run(run, JITTER_BUFFER_GLANCE_NS);
        ls_session_report now = report_of(client);
        cr_assert_leq(now.jitter_buffer_speed_ppm, SPEED_MAX_PPM);
        cr_assert_geq(now.jitter_buffer_speed_ppm, -SPEED_MAX_PPM);
        cr_assert_eq(now.state, LS_SESSION_PLAYING);
        for (; arrived < now.confirmed; arrived++) {
            arrived_ns[arrived % LS_WINDOW_TICKS] = run->now_ns;
        }
        for (; stepped < now.tick; stepped++) {
            uint64_t wait_ns = run->now_ns - arrived_ns[stepped % LS_WINDOW_TICKS];
            seen.longest_wait_ns = wait_ns > seen.longest_wait_ns ? wait_ns : seen.longest_wait_ns;
        }
        uint32_t backlog = now.confirmed - now.tick;
        seen.most_backlog = backlog > seen.most_backlog ? backlog : seen.most_backlog;
    }
    seen.stalled_ticks = report_of(client).stalled_ticks - before.stalled_ticks;
    return seen;
}

static virtual_match *start(uint32_t frame_hz, const ls_link_config *link)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 0);
    setup.match.sim.players = JITTER_BUFFER_PLAYERS;
    setup.match.start_delay_ms = 1000;
    setup.link = *link;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.frame_hz = frame_hz;
    add_clients(run, JITTER_BUFFER_PLAYERS, &client);
    virtual_match_run_to_tick(run, JITTER_BUFFER_WARM_TICKS);
    return run;
}

Test(jitter_buffer, an_even_tick_is_stepped_within_a_frame_and_two_milliseconds)
{
    static const uint32_t frame_rates_hz[] = {30, 60, 144};
    ls_link_config link = {.delay_ns = 33 * MS};
    for (size_t i = 0; i < sizeof frame_rates_hz / sizeof frame_rates_hz[0]; i++) {
        virtual_match *run = start(frame_rates_hz[i], &link);
        shown seen = jitter_buffer_watch(run->clients[1], 1200);
        cr_assert_leq(
            seen.longest_wait_ns, SECOND / frame_rates_hz[i] + 2 * MS + JITTER_BUFFER_GLANCE_NS,
            "%u fps: %lu us", frame_rates_hz[i], (unsigned long)(seen.longest_wait_ns / 1000));
        cr_assert_eq(seen.stalled_ticks, 0);
        cr_assert_leq(report_of(run->clients[1]).jitter_buffer_delay_ns, 2 * MS);
        close_run(run);
    }
}

Test(jitter_buffer, jitter_is_bought_off_with_its_width)
{
    static const uint64_t widths_ms[] = {5, 20, 50};
    for (size_t i = 0; i < sizeof widths_ms / sizeof widths_ms[0]; i++) {
        uint64_t width_ns = widths_ms[i] * MS;
        ls_link_config link = {.delay_ns = 20 * MS, .jitter_ns = width_ns};
        virtual_match *run = start(144, &link);
        shown seen = jitter_buffer_watch(run->clients[1], 3000);
        uint64_t delay_ns = report_of(run->clients[1]).jitter_buffer_delay_ns;
        cr_assert_lt(seen.stalled_ticks, 3000 / 100, "%lu stalls",
                     (unsigned long)seen.stalled_ticks);
        cr_assert_leq(delay_ns, width_ns + 3 * MS, "%lu us", (unsigned long)(delay_ns / 1000));
        cr_assert_geq(delay_ns, width_ns / 2, "%lu us", (unsigned long)(delay_ns / 1000));
        close_run(run);
    }
}

Test(jitter_buffer, losses_stall_less_than_one_tick_in_a_hundred)
{
    static const uint32_t losses_ppm[] = {50000, 200000};
    for (size_t i = 0; i < sizeof losses_ppm / sizeof losses_ppm[0]; i++) {
        ls_link_config link = {.delay_ns = 33 * MS, .loss_ppm = losses_ppm[i]};
        virtual_match *run = start(60, &link);
        shown seen = jitter_buffer_watch(run->clients[1], 3000);
        cr_assert_lt(seen.stalled_ticks, 3000 / 100, "%lu stalls",
                     (unsigned long)seen.stalled_ticks);
        cr_assert_leq(report_of(run->clients[1]).jitter_buffer_delay_ns, 3 * DT_NS);
        close_run(run);
    }
}

Test(jitter_buffer, drifting_clocks_stall_nothing_and_gather_nothing_in_ten_minutes)
{
    static const int32_t drifts_ppm[] = {-500, 500};
    enum {
        JITTER_BUFFER_TICKS = 10 * 60 * 60
    };
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, JITTER_BUFFER_TICKS);
    setup.match.sim.players = 2;
    setup.link.delay_ns = 20 * MS;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 2; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.drift_ppm = drifts_ppm[i];
        virtual_match_add_client(run, &client);
    }
    uint64_t stalled[2] = {0};
    for (ls_tick tick = JITTER_BUFFER_WARM_TICKS; tick < JITTER_BUFFER_TICKS; tick += 60) {
        virtual_match_run_to_tick(run, tick);
        for (uint32_t i = 0; i < 2; i++) {
            ls_session_report report = report_of(run->clients[i]);
            stalled[i] = tick == JITTER_BUFFER_WARM_TICKS ? report.stalled_ticks : stalled[i];
            cr_assert_eq(report.stalled_ticks, stalled[i], "%d ppm: at %u", drifts_ppm[i], tick);
            cr_assert_leq(report.confirmed - report.tick, 2, "%d ppm", drifts_ppm[i]);
            cr_assert_leq(report.jitter_buffer_delay_ns, 10 * MS);
        }
    }
    virtual_match_run(run, 2 * SECOND);
    check_complete(run);
    virtual_match_destroy(run);
}

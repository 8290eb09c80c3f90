#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

/* ---- spectators ---- */

/* Watching: closed ticks that come late and all the same to everybody, from any tick on, and
 * players who notice nothing of it. */

enum {
    DELAY_TICKS = 60,
    TICKS = 600,
    CROWD = 300,
    CROWD_TICKS = 300,
    THIN_CROWD = 120,
};

static const ls_link_config near_link = {.delay_ns = 5 * MS};
static const ls_link_config lossy_link = {
    .delay_ns = 30 * MS, .jitter_ns = 10 * MS, .loss_ppm = 50000, .duplicate_ppm = 10000};

static virtual_setup setup_of(const ls_simulation *simulation, uint32_t spectators)
{
    virtual_setup setup = virtual_setup_default(simulation, 2, TICKS);
    setup.match.spectators_max = spectators;
    setup.match.spectator_delay_ticks = DELAY_TICKS;
    return setup;
}

static ls_match_spectating watching_of(const virtual_match *run)
{
    return ls_match_spectating_of(run->match);
}

/* It saw the match to its end, late enough, and every state of it was the server's. */
static void check_watched(const virtual_match *run, const raw_spectator *spectator)
{
    cr_assert(spectator->has_finished, "refused: %s", spectator->peer->refusal.text.bytes);
    cr_assert_eq(raw_spectator_tick(spectator), ls_match_tick(run->match));
    cr_assert_eq(spectator->state_hash, ls_match_hash(run->match));
    cr_assert_geq(spectator->least_delay, run->setup.match.spectator_delay_ticks);
    cr_assert_eq(spectator->peer->refusal.negated_status, 0);
}

static void end(virtual_match *run, raw_spectator *spectator)
{
    virtual_match_destroy(run);
    raw_spectator_destroy(spectator);
}

static raw_spectator *open_watched(const virtual_setup *setup)
{
    return raw_spectator_create(checked_match_create(setup), &near_link, NULL);
}

static raw_spectator *watch_match(const ls_simulation *simulation, uint32_t spectators)
{
    virtual_setup setup = setup_of(simulation, spectators);
    return open_watched(&setup);
}

/* Plays on to the end, which it sees. */
static void play_and_end(virtual_match *run, raw_spectator *spectator)
{
    play_and_check(run);
    check_watched(run, spectator);
    end(run, spectator);
}

/* ---- one spectator ---- */

Test(spectators, every_tick_is_seen_late_from_the_lobby_to_the_end)
{
    raw_spectator *spectator = watch_match(ls_units_simulation(), 1);
    virtual_match *run = spectator->run;
    virtual_match_run_to_tick(run, TICKS / 2);
    cr_assert_geq(raw_spectator_tick(spectator), TICKS / 2 - DELAY_TICKS - 8);
    cr_assert_eq(ls_match_players(run->match), 2);
    cr_assert_eq(watching_of(run).now, 1);
    play_and_check(run);
    check_watched(run, spectator);
    virtual_match_run(run, 100 * MS);
    cr_assert(spectator->peer->is_closed);
    ls_match_spectating seen = watching_of(run);
    cr_assert_eq(seen.ever, 1);
    cr_assert_eq(seen.now, 0);
    cr_assert_eq(seen.finished, 1);
    cr_assert_eq(seen.hashes_compared, TICKS);
    uint64_t period_ns = 6 * SECOND / run->setup.match.sim.tick_rate_hz;
    cr_assert_leq(spectator->longest_pause_ns, period_ns + 10 * MS);
    cr_assert_leq(spectator->ticks_heard, (TICKS + DELAY_TICKS) / 6 + 10);
    cr_assert_leq(spectator->most_heard, 1);
    end(run, spectator);
}

static void join_at(const ls_simulation *simulation, ls_tick tick, uint32_t delay_ticks,
                    uint32_t interval, const ls_link_config *link)
{
    virtual_setup setup = setup_of(simulation, 4);
    setup.match.spectator_delay_ticks = delay_ticks;
    setup.match.hash_interval_ticks = interval;
    setup.match.ticks = tick + TICKS / 2;
    virtual_match *run = match_at(&setup, tick);
    raw_spectator *spectator = raw_spectator_create(run, link, NULL);
    play_and_check(run);
    cr_assert_leq(spectator->peer->join.tick, tick + 2 * DELAY_TICKS);
    check_watched(run, spectator);
    cr_assert_gt(watching_of(run).hashes_compared, 0);
    end(run, spectator);
}

Test(spectators, one_may_come_at_any_tick)
{
    static const ls_tick ticks[] = {1,   2,   59,  60,  61,  119,  120,
                                    121, 122, 180, 181, 500, 1024, 1500};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        join_at(test_simulation(), ticks[i], DELAY_TICKS, 1, &near_link);
    }
    join_at(ls_units_simulation(), 200, DELAY_TICKS, 1, &near_link);
}

Test(spectators, one_may_come_with_any_delay)
{
    static const uint32_t delays[] = {0, 1, 7, 200, LS_SPECTATOR_DELAY_TICKS_MAX};
    static const ls_tick ticks[] = {300, 970, 1023, 1400};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        for (size_t k = 0; k < sizeof ticks / sizeof ticks[0]; k++) {
            join_at(test_simulation(), ticks[k], delays[i], 1, &near_link);
        }
    }
}

Test(spectators, one_may_come_over_a_lossy_link_and_with_rare_hashes)
{
    join_at(ls_units_simulation(), 400, DELAY_TICKS, 1, &lossy_link);
    join_at(test_simulation(), 401, DELAY_TICKS, 7, &lossy_link);
    join_at(test_simulation(), 1200, DELAY_TICKS, LS_HASH_INTERVAL_MAX / 4, &lossy_link);
}

Test(spectators, a_spectator_that_returns_goes_on_with_what_it_has)
{
    virtual_setup setup = setup_of(ls_units_simulation(), 2);
    virtual_match *run = checked_match_create(&setup);
    raw_spectator *before = raw_spectator_create(run, &near_link, NULL);
    before->leave_tick = 200;
    virtual_match_run_to_tick(run, 400);
    cr_assert_eq(watching_of(run).now, 0);
    raw_spectator *after = raw_spectator_create(run, &near_link, before);
    play_and_check(run);
    cr_assert_eq(after->peer->join.source, LS_JOIN_HELD);
    cr_assert_geq(after->peer->join.tick, 200);
    cr_assert_leq(after->peer->join.tick, 210);
    check_watched(run, after);
    cr_assert_eq(watching_of(run).ever, 1);
    raw_spectator_destroy(before);
    end(run, after);
}

Test(spectators, a_spectator_that_returns_to_a_resumed_match_is_counted)
{
    enum {
        SPECTATORS = 2
    };
    virtual_setup setup = setup_of(test_simulation(), 2);
    setup.clients = 0;
    setup.has_journal = true;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup player = virtual_client_setup_default(run);
    player.session.reconnect_ms = 30000;
    add_clients(run, 2, &player);
    raw_spectator *before[SPECTATORS];
    raw_spectator *after[SPECTATORS];
    for (uint32_t i = 0; i < SPECTATORS; i++) {
        before[i] = raw_spectator_create(run, &near_link, NULL);
        before[i]->leave_tick = 200;
    }
    virtual_match_run_to_tick(run, 300);
    virtual_match_crash(run, SECOND);
    virtual_match_run(run, 5 * SECOND);
    for (uint32_t i = 0; i < SPECTATORS; i++) {
        after[i] = raw_spectator_create(run, &near_link, before[i]);
    }
    play_and_check(run);
    cr_assert_eq(check_of(run)->resumes.resumed, 1);
    cr_assert_eq(watching_of(run).ever, SPECTATORS);
    for (uint32_t i = 0; i < SPECTATORS; i++) {
        raw_spectator_destroy(before[i]);
        raw_spectator_destroy(after[i]);
    }
    virtual_match_destroy(run);
}

/* One leaves at tick `leave_tick`, and is back when the match has got to `tick`, with a claim about
 * ticks that were never closed. */
static void come_back_with_other_ticks(ls_tick leave_tick, ls_tick tick)
{
    virtual_setup setup = setup_of(ls_units_simulation(), 2);
    virtual_match *run = checked_match_create(&setup);
    raw_spectator *before = raw_spectator_create(run, &near_link, NULL);
    before->leave_tick = leave_tick;
    virtual_match_run_to_tick(run, tick);
    before->tick_chain ^= 1;
    raw_spectator *after = raw_spectator_create(run, &near_link, before);
    play_and_check(run);
    cr_assert_eq(after->peer->join.source, LS_JOIN_SNAPSHOT);
    check_watched(run, after);
    raw_spectator_destroy(before);
    end(run, after);
}

/* Where the match is so young that it could begin at state 0 again, too. */
Test(spectators, a_spectator_with_other_ticks_is_sent_a_snapshot)
{
    come_back_with_other_ticks(200, 400);
    come_back_with_other_ticks(20, 120);
}

/* ---- a simulation that cannot save ---- */

static uint64_t hash_test_simulation(const ls_sim_config *config, const void *state)
{
    (void)config;
    return ls_hash_bytes(state, sizeof(test_simulation_state), 0);
}

static virtual_client *late_one;

static void check_is_late(void *user, virtual_match *run)
{
    const ls_match_config *config = user;
    bool is_running = ls_match_state_of(run->match) == LS_MATCH_RUNNING;
    if (is_running && late_one && virtual_client_find(late_one, LS_SESSION_EVENT_JOINING)) {
        ls_tick shown = report_of(late_one).confirmed;
        cr_assert_leq(shown + config->spectator_delay_ticks, ls_match_tick(run->match), "%u of %u",
                      shown, ls_match_tick(run->match));
    }
}

/* Real sessions: two play, and one comes to watch after `tick` ticks and stays to the end. */
static void join_history_at(ls_tick tick, uint32_t delay_ticks, uint32_t interval,
                            const ls_link_config *link)
{
    ls_simulation unsaved = *test_simulation();
    unsaved.fields = NULL;
    unsaved.hash = hash_test_simulation;
    ls_match_config config = ls_match_config_default(&unsaved);
    config.sim.players = 2;
    config.spectators_max = 1;
    config.spectator_delay_ticks = delay_ticks;
    config.hash_interval_ticks = interval;
    config.ticks = tick + TICKS;
    ls_session_config session = ls_session_config_default();
    virtual_match *run = open_match(&config, 5);
    virtual_observer observer = {.user = &config, .server_turned = check_is_late};
    virtual_match_observe(run, &observer);
    late_one = NULL;
    add_client_session(run, &session, &near_link);
    add_client_session(run, &session, &near_link);
    while (ls_match_tick(run->match) < tick) {
        virtual_match_run(run, 100 * MS);
    }
    session.is_spectator = true;
    late_one = add_client_session(run, &session, link);
    virtual_match_run_to_end(run);
    ls_session_report report = report_of(late_one);
    cr_assert_eq(newest_join(late_one).source, LS_JOIN_HISTORY);
    cr_assert_geq(newest_join(late_one).tick + 2 * LS_SPECTATOR_DELAY_TICKS_MAX, tick);
    cr_assert_eq(report.status, LS_OK, "%s", ls_status_name(report.status));
    cr_assert_eq(report.tick, config.ticks);
    cr_assert_eq(report.steps, config.ticks, "every tick from the first on");
    cr_assert_eq(ls_match_spectating_of(run->match).finished, 1);
    cr_assert_gt(ls_match_spectating_of(run->match).hashes_compared, 0);
    close_match(run);
}

Test(spectators, a_simulation_that_cannot_save_is_watched_from_its_first_tick_on)
{
    join_history_at(200, DELAY_TICKS, 1, &near_link);
    join_history_at(1500, DELAY_TICKS, 1, &lossy_link);
    join_history_at(1501, LS_SPECTATOR_DELAY_TICKS_MAX, 1, &near_link);
    join_history_at(1200, 0, 7, &near_link);
}

/* ---- the players notice nothing ---- */

typedef struct play {
    uint64_t closed_ns[CROWD_TICKS];
    uint64_t states[CROWD_TICKS];
    uint64_t latency_ns[2][3];
    uint64_t inputs_late[2];
} play;

static void note_play(const virtual_match *run, play *out)
{
    for (ls_tick tick = 0; tick < CROWD_TICKS; tick++) {
        out->closed_ns[tick] = check_of(run)->ticks[tick].closed_ns;
        out->states[tick] = check_of(run)->ticks[tick].state;
    }
    for (uint32_t slot = 0; slot < 2; slot++) {
        ls_session_report report = report_of(check_of(run)->by_slot[slot]->core);
        out->latency_ns[slot][0] = report.confirm_latency_p50_ns;
        out->latency_ns[slot][1] = report.confirm_latency_p99_ns;
        out->latency_ns[slot][2] = report.confirm_latency_max_ns;
        out->inputs_late[slot] = slot_of(run, slot).inputs_late;
    }
}

static virtual_setup setup_of_crowd(void)
{
    virtual_setup setup = setup_of(test_simulation(), CROWD);
    setup.match.ticks = CROWD_TICKS;
    setup.link = (ls_link_config){.delay_ns = 20 * MS};
    return setup;
}

static void play_alone(play *out)
{
    virtual_setup setup = setup_of_crowd();
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    note_play(run, out);
    virtual_match_destroy(run);
}

/* They come one after the other, over the first half of the match. */
static void play_before_a_crowd(const virtual_setup *setup, uint32_t count, play *out)
{
    static raw_spectator *crowd[CROWD];
    virtual_match *run = checked_match_create(setup);
    for (uint32_t i = 0; i < count; i++) {
        virtual_match_run_to_tick(run, i * CROWD_TICKS / 2 / count);
        crowd[i] = raw_spectator_create(run, &lossy_link, NULL);
    }
    play_and_check(run);
    note_play(run, out);
    for (uint32_t i = 0; i < count; i++) {
        check_watched(run, crowd[i]);
    }
    ls_match_spectating seen = watching_of(run);
    cr_assert_eq(seen.finished, count);
    cr_assert_eq(seen.desynced, 0);
    cr_assert_gt(seen.hashes_compared, (uint64_t)count * (CROWD_TICKS / 2));
    bool is_thin = count == THIN_CROWD;
    cr_assert(is_thin ? seen.throttled_rounds > 100 : seen.throttled_rounds == 0, "%lu turns",
              (unsigned long)seen.throttled_rounds);
    virtual_match_destroy(run);
    for (uint32_t i = 0; i < count; i++) {
        raw_spectator_destroy(crowd[i]);
    }
}

Test(spectators, players_play_the_same_match_to_the_nanosecond_before_a_lossy_crowd)
{
    static play alone;
    static play watched;
    play_alone(&alone);
    virtual_setup setup = setup_of_crowd();
    play_before_a_crowd(&setup, CROWD, &watched);
    cr_assert_eq(memcmp(&alone, &watched, sizeof alone), 0);
}

Test(spectators, too_many_bytes_come_thinner_and_not_at_the_players_cost)
{
    static play alone;
    static play watched;
    play_alone(&alone);
    virtual_setup setup = setup_of_crowd();
    setup.match.spectator_bytes_per_s = 65536;
    play_before_a_crowd(&setup, THIN_CROWD, &watched);
    cr_assert_eq(memcmp(&alone, &watched, sizeof alone), 0);
}

/* ---- spectators that do not behave ---- */

/* Runs a match before one honest spectator and one that is spoilt at tick 100. */
static void play_before_two(void (*spoil)(raw_spectator *spectator), ls_status expected)
{
    virtual_setup setup = setup_of(test_simulation(), 2);
    setup.match.ticks = 1800;
    virtual_match *run = checked_match_create(&setup);
    raw_spectator *honest = raw_spectator_create(run, &near_link, NULL);
    raw_spectator *other = raw_spectator_create(run, &near_link, NULL);
    virtual_match_run_to_tick(run, 200);
    cr_assert(other->has_state);
    spoil(other);
    play_and_check(run);
    check_watched(run, honest);
    cr_assert_eq(other->peer->refusal.negated_status, (uint32_t)-expected, "%s (%u)",
                 other->peer->refusal.text.bytes, other->peer->refusal.negated_status);
    cr_assert_not(other->has_finished);
    cr_assert_eq(watching_of(run).finished, 1);
    cr_assert_eq(watching_of(run).desynced, expected == LS_DESYNCED ? 1 : 0);
    cr_assert_eq(watching_of(run).fell_behind, expected == LS_FELL_BEHIND ? 1 : 0);
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, slot), 0, "a player has differed");
    }
    raw_spectator_destroy(honest);
    end(run, other);
}

/* Each does something wrong from tick 200 on. */
static void make_wrong(raw_spectator *spectator)
{
    spectator->is_wrong = true;
}

static void make_silent(raw_spectator *spectator)
{
    spectator->is_silent = true;
}

static void make_stuck(raw_spectator *spectator)
{
    spectator->is_stuck = true;
}

static void flood(raw_spectator *spectator)
{
    const uint8_t nothing[1] = {LS_MESSAGE_INPUTS};
    for (uint32_t i = 0; i < 10000; i++) {
        raw_peer_send(spectator->peer, LS_CHANNEL_UNRELIABLE, nothing, 1);
    }
}

static void say_ready_again(raw_spectator *spectator)
{
    raw_peer_send_kind(spectator->peer, LS_MESSAGE_READY);
}

static void say_finished_too_early(raw_spectator *spectator)
{
    raw_peer_send_kind(spectator->peer, LS_MESSAGE_FINISHED);
}

static void say_healed(raw_spectator *spectator)
{
    raw_peer_send_kind(spectator->peer, LS_MESSAGE_HEALED);
}

Test(spectators, a_spectator_that_does_not_behave_is_let_go_and_told_why)
{
    play_before_two(make_wrong, LS_DESYNCED);
    play_before_two(make_silent, LS_TIMED_OUT);
    play_before_two(make_stuck, LS_FELL_BEHIND);
    play_before_two(flood, LS_MISBEHAVED);
    play_before_two(say_ready_again, LS_MISBEHAVED);
    play_before_two(say_finished_too_early, LS_MISBEHAVED);
    play_before_two(say_healed, LS_MISBEHAVED);
}

/* INPUTS of a spectator, with one input or none. */
static void send_inputs(raw_spectator *spectator, ls_inputs_header header, bool has_input)
{
    header.sequence = spectator->peer->sequence++;
    header.hold = LS_HOLD_NONE;
    raw_peer_send_inputs(spectator->peer, &header, has_input ? 1 : 0);
}

Test(spectators, an_input_and_an_acknowledgement_of_what_was_not_sent_are_malformed)
{
    raw_spectator *spectator = watch_match(test_simulation(), 2);
    virtual_match *run = spectator->run;
    virtual_match_run_to_tick(run, 200);
    uint64_t before = ls_match_packets_rejected(run->match);
    ls_inputs_header header = {.next = spectator->next,
                               .first = spectator->next,
                               .chain_tick = spectator->chain_tick,
                               .chain = (uint32_t)spectator->chain};
    send_inputs(spectator, header, true);
    virtual_match_run(run, 20 * MS);
    cr_assert_eq(ls_match_packets_rejected(run->match), before + 1, "an input");
    header.next = ls_match_tick(run->match); /* closed, but not shown yet */
    header.first = header.next;
    send_inputs(spectator, header, false);
    virtual_match_run(run, 20 * MS);
    cr_assert_eq(ls_match_packets_rejected(run->match), before + 2, "a tick that was not sent");
    play_and_end(run, spectator);
}

Test(spectators, a_chain_that_was_altered_on_its_way_is_forgiven)
{
    raw_spectator *spectator = watch_match(test_simulation(), 2);
    virtual_match *run = spectator->run;
    virtual_match_run_to_tick(run, 200);
    uint64_t before = ls_match_packets_rejected(run->match);
    spectator->is_altered = true;
    play_and_check(run);
    cr_assert_eq(ls_match_packets_rejected(run->match), before + 1);
    check_watched(run, spectator);
    end(run, spectator);
}

/* ---- how many, and what they are to the match ---- */

Test(spectators, there_are_as_many_places_as_were_made)
{
    virtual_setup setup = setup_of(test_simulation(), 1);
    virtual_match *run = checked_match_create(&setup);
    raw_spectator *first = raw_spectator_create(run, &near_link, NULL);
    virtual_match_run(run, 100 * MS);
    raw_spectator *second = raw_spectator_create(run, &near_link, NULL);
    virtual_match_run_to_tick(run, 100);
    cr_assert_eq(second->peer->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    first->leave_tick = 1;
    virtual_match_run_to_tick(run, 200);
    raw_spectator *third = raw_spectator_create(run, &near_link, NULL);
    play_and_check(run);
    check_watched(run, third);
    raw_spectator_destroy(first);
    raw_spectator_destroy(second);
    end(run, third);
}

Test(spectators, nobody_watches_where_there_are_no_places)
{
    raw_spectator *spectator = watch_match(test_simulation(), 0);
    virtual_match *run = spectator->run;
    play_and_check(run);
    cr_assert_eq(spectator->peer->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    end(run, spectator);
}

Test(spectators, spectators_do_not_start_a_match)
{
    virtual_setup setup = setup_of(test_simulation(), 4);
    setup.clients = 1;
    raw_spectator *spectator = open_watched(&setup);
    virtual_match *run = spectator->run;
    virtual_match_run(run, 30 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    cr_assert_eq(watching_of(run).now, 1, "and they may wait for it as long as the players do");
    cr_assert_not(spectator->has_join);
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run(run, SECOND);
    cr_assert_eq(spectator->peer->refusal.negated_status, (uint32_t)-LS_ALREADY_OVER);
    end(run, spectator);
}

Test(spectators, spectators_do_not_keep_a_match_alive)
{
    virtual_setup setup = setup_of(test_simulation(), 4);
    setup.match.ticks = 0;
    raw_spectator *spectator = open_watched(&setup);
    virtual_match *run = spectator->run;
    virtual_match_run_to_tick(run, 300);
    virtual_client_leave(run->clients[0]);
    virtual_client_leave(run->clients[1]);
    virtual_match_run(run, 3 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    check_watched(run, spectator);
    end(run, spectator);
}

Test(spectators, one_who_never_gets_there_does_not_hold_up_the_end)
{
    raw_spectator *spectator = watch_match(test_simulation(), 4);
    virtual_match *run = spectator->run;
    spectator->is_lazy = true;
    virtual_match_run_to_tick(run, TICKS);
    uint64_t ended_ns = run->now_ns;
    virtual_match_run_to_end(run);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    uint64_t limit_ns = ended_ns + SECOND + 6 * SECOND;
    cr_assert_leq(run->now_ns, limit_ns);
    cr_assert_gt(spectator->peer->refusal.negated_status, 0);
    check_complete(run);
    end(run, spectator);
}

Test(spectators, players_are_let_go_before_spectators)
{
    virtual_setup setup = setup_of(test_simulation(), 1);
    setup.match.spectator_delay_ticks = 300;
    raw_spectator *spectator = open_watched(&setup);
    virtual_match *run = spectator->run;
    virtual_match_run_to_tick(run, TICKS);
    virtual_match_run(run, SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_ENDING);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(run->clients[i]->is_over);
    }
    play_and_end(run, spectator);
}

/* ---- the real session watches ---- */

static virtual_client *add_session(virtual_match *run)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.session.is_spectator = true;
    return virtual_match_add_client(run, &setup);
}

Test(spectators, a_match_is_over_although_the_last_spectator_fell_silent)
{
    virtual_setup setup = setup_of(test_simulation(), 1);
    setup.match.ticks = 120;
    setup.match.timeout_ms = 2500;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *spectator = add_session(run);
    virtual_match_run_to_tick(run, 100);
    virtual_client_vanish(spectator);
    virtual_match_run(run, 10 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    close_run(run);
}

/* That the match asks to be called again at once is noted as a fault. */
Test(spectators, ticks_that_an_input_closes_are_shown_in_their_turn)
{
    for (uint32_t i = 0; i < 20; i++) {
        virtual_setup setup = setup_of(test_simulation(), 1);
        setup.match.ticks = 40;
        setup.match.sim.tick_rate_hz = 20;
        setup.match.late_rule = LS_LATE_WAIT;
        setup.match.send_rate = LS_SEND_DOUBLE; /* half a tick later */
        setup.seed = i;
        setup.link = (ls_link_config){.delay_ns = 150 * MS, .jitter_ns = 3 * MS};
        setup.link.loss_ppm = 300000;
        virtual_match *run = checked_match_create(&setup);
        add_session(run);
        virtual_match_run(run, 20 * SECOND);
        check_sound(run);
        cr_assert_gt(check_of(run)->tick_count, 20);
        virtual_match_destroy(run);
    }
}

/* ---- spectators that differ ---- */

static virtual_client *add_spectator(virtual_match *run)
{
    virtual_client_setup client = virtual_client_setup_default(run);
    client.session.is_spectator = true;
    return virtual_match_add_client(run, &client);
}

/* It is the same report as a player's, and it is dropped behind it. No player is told. */
static const ls_desync_finding *check_named(virtual_match *run, const virtual_client *bad)
{
    uint32_t slot = ls_match_players(run->match);
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    ls_match_slot known = ls_match_slot_of(run->match, slot);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, slot), 1);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, slot), 1);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    cr_assert_not_null(finding);
    cr_assert(known.is_desynced);
    cr_assert_str_neq(known.name, "");
    cr_assert_eq(report_of(bad).status, LS_DESYNCED, "%s", ls_status_name(report_of(bad).status));
    cr_assert(report_of(bad).is_desynced);
    cr_assert(report_of(bad).has_own_cause);
    cr_assert_eq(report_of(bad).own_cause.kind, (uint32_t)finding->verdict.kind);
    cr_assert_eq(watching_of(run).desynced, 1);
    check_others_played(run, bad);
    return finding;
}

Test(spectators, one_whose_bit_is_flipped_is_named_with_its_field_and_its_class)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        virtual_setup setup = setup_of(test_simulation(), 2);
        setup.seed = seed;
        setup.match.hash_interval_ticks = seed % 2 == 0 ? 16 : 1;
        setup.match.on_desync = seed % 3 == 0 ? LS_ON_DESYNC_STOP : LS_ON_DESYNC_REPORT;
        setup.link.delay_ns = 50 * MS;
        setup.link.loss_ppm = 50000;
        virtual_match *run = checked_match_create(&setup);
        virtual_client *bad = add_spectator(run);
        flip_bit(bad, 90, offsetof(test_simulation_state, slots[7].joins));
        virtual_match_run_to_end(run);
        check_sound(run);
        const ls_desync_finding *finding = check_named(run, bad);
        cr_assert_eq(finding->first_tick, 90);
        cr_assert_eq(finding->elements, 1);
        cr_assert_str_eq(finding->places[0].name, "slots[7].joins");
        cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s",
                     finding->verdict.why.bytes);
        cr_assert_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
        cr_assert_leq(finding->took_ns, 2 * SECOND);
        virtual_match_destroy(run);
    }
}

Test(spectators, one_that_differs_in_the_end_is_named_too)
{
    virtual_setup setup = setup_of(test_simulation(), 2);
    setup.match.hash_interval_ticks = 7;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *bad = add_spectator(run);
    flip_bit(bad, setup.match.ticks, offsetof(test_simulation_state, slots[7].joins));
    virtual_match_run_to_end(run);
    check_sound(run);
    cr_assert_str_eq(check_named(run, bad)->places[0].name, "slots[7].joins");
    virtual_match_destroy(run);
}

Test(spectators, of_many_that_differ_one_is_looked_into_and_all_are_let_go)
{
    virtual_setup setup = setup_of(test_simulation(), 4);
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 4; i++) {
        flip_bit(add_spectator(run), 90, offsetof(test_simulation_state, slots[7].joins));
    }
    virtual_match_run_to_end(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX), 1);
    cr_assert_eq(watching_of(run).desynced, 4);
    virtual_match_destroy(run);
}

/* ---- spectating_share ---- */

/* The share of spectators: one that comes and goes again and again, or takes its state at a
 * trickle, neither costs more than its part nor keeps others out. */

enum {
    SPECTATING_SHARE_DELAY_TICKS = 6,
    PLACES = 16,
    STREAMS = 8, /* of states to spectators, at a time */
    OWN = 7,     /* an origin, and another one */
    OTHER = 8,
};

static const ls_link_config spectating_share_near_link = {.delay_ns = MS};

/* The run pumps them to its end. */
static raw_peer *peers[64];
static uint32_t peer_count;

static virtual_match *spectating_share_open_watched(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 0);
    setup.match.spectators_max = PLACES;
    setup.match.spectator_delay_ticks = SPECTATING_SHARE_DELAY_TICKS;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run_to_tick(run,
                              300); /* there is another state than the first one to begin with */
    return run;
}

/* Comes from this origin to watch, and takes nothing of its state. */
static raw_peer *come(virtual_match *run, uint64_t origin)
{
    const raw_peer_owner owner = {.origin = origin};
    raw_peer *peer = raw_peer_create_for(run, &spectating_share_near_link, &owner);
    peers[peer_count++] = peer;
    peer->takes_no_parts = true;
    virtual_match_run(run, 5 * MS);
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    message.body.hello.is_spectator = true;
    raw_peer_send_message(peer, &message);
    virtual_match_run(run, 5 * MS);
    raw_peer_say_ready(peer);
    virtual_match_run(run, 200 * MS);
    return peer;
}

/* Takes its state too. */
static raw_peer *come_and_watch(virtual_match *run, uint64_t origin)
{
    raw_peer *peer = come(run, origin);
    peer->takes_no_parts = false; /* a late one has a stream when this one is done */
    virtual_match_run(run, 200 * MS);
    raw_peer_send_joined(peer, peer->join.tick, peer->join.state_hash, 0);
    return peer;
}

static void go(const raw_peer *peer)
{
    ls_transport_disconnect(peer->transport, peer->server);
    virtual_match_run(peer->run, 5 * MS);
}

/* JOINs with a state that so many visits get. */
static uint32_t visit(virtual_match *run, uint64_t origin, uint32_t visits)
{
    uint32_t sent = 0;
    for (uint32_t i = 0; i < visits; i++) {
        raw_peer *peer = come(run, origin);
        sent += peer->heard[LS_MESSAGE_JOIN] > 0 && peer->join.blob_bytes > 0;
        go(peer);
    }
    return sent;
}

static void spectating_share_end(virtual_match *run)
{
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run_to_end(run);
    close_run(run);
    while (peer_count > 0) {
        raw_peer_destroy(peers[--peer_count]);
    }
}

Test(spectating_share, an_origin_that_watches_again_and_again_is_sent_so_many_states)
{
    virtual_match *run = spectating_share_open_watched();
    uint32_t sent = visit(run, OWN, 14); /* in three seconds */
    cr_expect(sent >= 8 && sent <= 10, "%u", sent);
    raw_peer *waiting = come(run, OWN);
    virtual_match_run(run, 2 * SECOND);
    cr_expect_eq(waiting->heard[LS_MESSAGE_JOIN], 1, "its turn comes");
    cr_expect_eq(waiting->heard[LS_MESSAGE_REFUSE], 0);
    go(waiting);
    spectating_share_end(run);
}

Test(spectating_share, others_come_in_meanwhile)
{
    virtual_match *run = spectating_share_open_watched();
    visit(run, OWN, 12);
    raw_peer *waiting = come(run, OWN);
    cr_expect_eq(waiting->heard[LS_MESSAGE_JOIN], 0);
    cr_expect_eq(visit(run, OTHER, 1), 1);
    cr_expect_eq(visit(run, 0, 12), 12, "of nobody knows whom");
    go(waiting);
    spectating_share_end(run);
}

Test(spectating_share, a_crowd_behind_one_address_comes_in_at_once)
{
    virtual_match *run = spectating_share_open_watched();
    raw_peer *crowd[PLACES];
    for (uint32_t i = 0; i < PLACES; i++) {
        crowd[i] = come_and_watch(run, OWN);
    }
    virtual_match_run(run, SECOND);
    for (uint32_t i = 0; i < PLACES; i++) {
        cr_expect_eq(crowd[i]->heard[LS_MESSAGE_JOIN], 1, "%u", i);
    }
    spectating_share_end(run); /* to which they stay */
}

Test(spectating_share, whoever_takes_its_state_at_a_trickle_makes_room_for_others)
{
    virtual_match *run = spectating_share_open_watched();
    raw_peer *slow[STREAMS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        slow[i] = come(run, OWN);
        cr_expect_eq(slow[i]->heard[LS_MESSAGE_JOIN], 1, "%u", i);
    }
    raw_peer *honest = come(run, OTHER);
    virtual_match_run(run, 3500 * MS);
    cr_expect_eq(honest->heard[LS_MESSAGE_JOIN], 1, "a stream is free within seconds");
    uint32_t gone = 0;
    for (uint32_t i = 0; i < STREAMS; i++) {
        gone += slow[i]->is_closed;
    }
    cr_expect(gone > 0 && gone < STREAMS, "%u", gone);
    spectating_share_end(run);
}

/* They wait in no order, so to speak: where they come from counts. */
Test(spectating_share, an_origin_with_many_connections_does_not_wait_in_front_of_others)
{
    virtual_match *run = spectating_share_open_watched();
    for (uint32_t i = 0; i < PLACES - 1; i++) {
        (void)come(run, OWN); /* 3.1 s: all streams, and more that wait for one */
    }
    raw_peer *honest = come(run, OTHER);
    virtual_match_run(run, 300 * MS);
    cr_expect_eq(honest->heard[LS_MESSAGE_JOIN], 1, "the next stream is its own");
    spectating_share_end(run);
}

Test(spectating_share, an_origin_that_has_taken_all_places_makes_room_down_to_half_of_them)
{
    virtual_match *run = spectating_share_open_watched();
    raw_peer *crowd[PLACES];
    for (uint32_t i = 0; i < PLACES; i++) {
        crowd[i] = come_and_watch(run, OWN);
    }
    cr_expect_eq(come(run, OWN)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    for (uint32_t i = 0; i < PLACES / 2; i++) {
        cr_expect_eq(come(run, OTHER + i)->heard[LS_MESSAGE_REFUSE], 0, "%u", i);
    }
    cr_expect_eq(come(run, OTHER)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    uint32_t left = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        left += !crowd[i]->is_closed;
    }
    cr_expect_eq(left, PLACES / 2, "%u", left);
    spectating_share_end(run);
}

Test(spectating_share, nobody_is_too_slow_while_nobody_waits)
{
    virtual_match *run = spectating_share_open_watched();
    raw_peer *slow = come(run, OWN);
    virtual_match_run(run, 6 * SECOND);
    cr_expect_not(slow->is_closed);
    spectating_share_end(run);
}

/* Matches that have been played for so long that the numbers of their ticks need all of 32 bits:
 * players and spectators come, come back and see the end, and the server resumes. */
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/late_journal.h"

#include <stdlib.h>

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

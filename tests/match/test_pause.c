/* A match that its host pauses, goes on with, speaks in, and saves to go on another time: nothing
 * is closed meanwhile, nobody is lost by it, and everybody knows why. */
#include "lockstep/tests/match/match_test.h"

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

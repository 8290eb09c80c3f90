/* Several matches in one server process. */
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static ls_hosted hosted;

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    ls_hosted_close(&hosted);
}

TestSuite(programs_matches, .init = open_hosted, .fini = close_hosted);

static void join_bots(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%u", hosted.client_count + 1);
        ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", seed, "--name", seed));
    }
}

/* How many of the clients ended with this match's hash. */
static uint32_t count_who_agree(const cJSON *match)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        const cJSON *client = ls_hosted_client_summary(&hosted, i);
        bool agrees =
            strcmp(ls_hosted_word(client, "final_hash"), ls_hosted_word(match, "final_hash")) == 0;
        count += agrees ? 1 : 0;
    }
    return count;
}

static void expect_perfect_match(const cJSON *match, int players, double ticks)
{
    cr_expect_str_eq(ls_hosted_word(match, "status"), "OK");
    cr_expect_eq(ls_hosted_number(match, "final_tick"), ticks);
    cr_expect_eq(ls_hosted_number(match, "hashes_compared"), players * (ticks + 1));
    cr_expect_eq(ls_hosted_count(match, "desyncs"), 0);
    cr_expect_eq(ls_hosted_count(match, "players"), players);
    for (int i = 0; i < ls_hosted_count(match, "players"); i++) {
        const cJSON *player = ls_hosted_item(match, "players", i);
        cr_expect_gt(ls_hosted_number(player, "inputs_on_time"), 0);
        cr_expect_gt(ls_hosted_number(player, "bytes_up"), 0);
        cr_expect_gt(ls_hosted_number(player, "bytes_down"), 0);
    }
}

Test(programs_matches, two_matches_of_two_play_in_one_server)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "120",
                                          "--matches", "2"));
    join_bots(4);
    ls_hosted_expect_clean_exits(&hosted);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    cr_expect_str_eq(ls_hosted_word(server, "program"), "lockstep-server");
    cr_expect_str_eq(ls_hosted_word(server, "status"), "OK");
    cr_assert_eq(ls_hosted_count(server, "matches"), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *match = ls_hosted_item(server, "matches", i);
        expect_perfect_match(match, 2, 120);
        cr_expect_eq(count_who_agree(match), 2);
    }
    /* Which of the four players the second match gets depends on who connects first. */
    const cJSON *second = ls_hosted_item(server, "matches", 1);
    char about_player[80];
    snprintf(about_player, sizeof about_player, "match 1: %s (slot 1): ",
             ls_hosted_word(ls_hosted_item(second, "players", 1), "name"));
    ls_hosted_expect_all(&hosted.server,
                         LS_ARGUMENTS("2 matches of arena for 2 players",
                                      "match 0: the match starts", "match 1: the match starts",
                                      about_player,
                                      "match 0: 120 ticks, 242 hashes compared, 0 differences",
                                      "match 1: 120 ticks, 242 hashes compared, 0 differences"));
}

Test(programs_matches, a_desync_in_one_match_is_told_of_that_match)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "90",
                                          "--matches", "2"));
    join_bots(1);
    ls_hosted_expect_words(&hosted.server, "match 0: the match starts");
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--flip-bit", "20:64"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 0);
    ls_hosted_expect_exit(&hosted.clients[1], 3);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    cr_expect_str_eq(ls_hosted_word(server, "status"), "DESYNCED");
    expect_perfect_match(ls_hosted_item(server, "matches", 0), 1, 90);
    cr_expect_str_eq(ls_hosted_word(ls_hosted_item(server, "matches", 1), "status"), "DESYNCED");
    ls_hosted_expect_all(&hosted.server, LS_ARGUMENTS("match 1: DESYNC: "));
    ls_hosted_expect_none(&hosted.server, LS_ARGUMENTS("match 0: DESYNC"));
}

/* A match that waits for players needs nothing of its host, and must not put it to sleep either. */
Test(programs_matches, a_match_plays_beside_one_that_nobody_joins)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "90",
                                          "--matches", "3"));
    join_bots(2);
    ls_hosted_expect_exit(&hosted.clients[0], 0);
    ls_hosted_expect_exit(&hosted.clients[1], 0);
    ls_process_signal(&hosted.server, SIGTERM);
    ls_hosted_expect_exit(&hosted.server, 0);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    expect_perfect_match(ls_hosted_item(server, "matches", 0), 2, 90);
    cr_expect_eq(ls_hosted_number(ls_hosted_item(server, "matches", 1), "final_tick"), 0);
}

Test(programs_matches, a_server_ends_when_it_is_told_to_and_tells_of_every_match)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--matches", "3"));
    join_bots(2);
    ls_hosted_expect_words(&hosted.server, "match 0: the match starts");
    ls_hosted_expect_words(&hosted.server, "match 1: the match starts");
    ls_process_signal(&hosted.server, SIGTERM);
    ls_hosted_expect_clean_exits(&hosted);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    cr_assert_eq(ls_hosted_count(server, "matches"), 3);
    cr_expect_eq(ls_hosted_number(ls_hosted_item(server, "matches", 2), "final_tick"), 0);
}

Test(programs_matches, more_players_than_fit_are_a_usage_error)
{
    const char *errors = ls_hosted_run(
        &hosted, LS_TEST_SERVER,
        LS_ARGUMENTS("--sim", "arena", "--players", "16", "--matches", "1000", "--port", "0"), 2);
    cr_expect(strstr(errors, "1000 matches of 16 players"), "%s", errors);
}

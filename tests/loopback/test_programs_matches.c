/* Several matches in one server process. */
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <string.h>

TestSuite(programs_matches, .init = hosted_open, .fini = hosted_close);

/* How many of the clients ended with this match's hash. */
static uint32_t count_who_agree(const cJSON *match)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        const cJSON *client = hosted_client_summary(i);
        count += strcmp(hosted_word(client, "final_hash"), hosted_word(match, "final_hash")) == 0;
    }
    return count;
}

static void expect_perfect_match(const cJSON *match, int players, double ticks)
{
    cr_expect_str_eq(hosted_word(match, "status"), "OK");
    cr_expect_eq(hosted_number(match, "final_tick"), ticks);
    cr_expect_eq(hosted_number(match, "hashes_compared"), players * (ticks + 1));
    cr_expect_eq(hosted_count(match, "desyncs"), 0);
    cr_expect_eq(hosted_count(match, "players"), players);
    for (int i = 0; i < hosted_count(match, "players"); i++) {
        const cJSON *player = hosted_item(match, "players.%d", i);
        cr_expect_gt(hosted_number(player, "inputs_on_time"), 0);
        cr_expect_gt(hosted_number(player, "bytes_up"), 0);
        cr_expect_gt(hosted_number(player, "bytes_down"), 0);
    }
}

Test(programs_matches, two_matches_of_two_play_in_one_server)
{
    hosted_serve(ARENA("2", "120"), "--matches", "2");
    hosted_join_bots(4);
    hosted_expect_clean_exits();
    const cJSON *server = hosted_server_summary();
    cr_expect_str_eq(hosted_word(server, "program"), "lockstep-server");
    cr_expect_str_eq(hosted_word(server, "status"), "OK");
    cr_assert_eq(hosted_count(server, "matches"), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *match = hosted_item(server, "matches.%d", i);
        expect_perfect_match(match, 2, 120);
        cr_expect_eq(count_who_agree(match), 2);
    }
    /* Which of the four players the second match gets depends on who connects first. */
    hosted_expect_all(
        &hosted.server, "2 matches of arena for 2 players", "match 0: the match starts",
        "match 1: the match starts", "match 0: 120 ticks, 242 hashes compared, 0 differences",
        "match 1: 120 ticks, 242 hashes compared, 0 differences",
        hosted_text("match 1: %s (slot 1): ", hosted_word(server, "matches.1.players.1.name")));
}

Test(programs_matches, each_match_draws_a_seed_of_its_own)
{
    hosted_serve(ARENA("1", "60"), "--matches", "2", "--seed", "random");
    hosted_join_bots(2);
    hosted_expect_clean_exits();
    const cJSON *server = hosted_server_summary();
    const char *first = hosted_word(server, "matches.0.seed");
    const char *second = hosted_word(server, "matches.1.seed");
    cr_expect_str_neq(first, second);
    hosted_expect_all(&hosted.server, hosted_text("match 0: the seed is %s", first),
                      hosted_text("match 1: the seed is %s", second));
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(count_who_agree(hosted_item(server, "matches.%d", i)), 1);
    }
}

Test(programs_matches, a_desync_in_one_match_is_told_of_that_match)
{
    hosted_serve(ARENA("1", "90"), "--matches", "2");
    hosted_join_bots(1);
    hosted_expect_words(&hosted.server, "match 0: the match starts");
    hosted_join("--bot", "1", "--flip-bit", "20:64");
    hosted_expect_exits(3, 0, 3);
    const cJSON *server = hosted_server_summary();
    cr_expect_str_eq(hosted_word(server, "status"), "DESYNCED");
    expect_perfect_match(hosted_item(server, "matches.0"), 1, 90);
    cr_expect_str_eq(hosted_word(server, "matches.1.status"), "DESYNCED");
    hosted_expect_all(&hosted.server, "match 1: DESYNC: ");
    hosted_expect_none(&hosted.server, "match 0: DESYNC");
}

/* A match that waits for players needs nothing of its host, and must not put it to sleep either. */
Test(programs_matches, a_match_plays_beside_one_that_nobody_joins)
{
    hosted_serve(ARENA("2", "90"), "--matches", "3");
    hosted_join_bots(2);
    hosted_expect_exit(&hosted.clients[0], 0);
    hosted_expect_exit(&hosted.clients[1], 0);
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
    const cJSON *server = hosted_server_summary();
    expect_perfect_match(hosted_item(server, "matches.0"), 2, 90);
    cr_expect_eq(hosted_number(server, "matches.1.final_tick"), 0);
}

Test(programs_matches, a_server_ends_when_it_is_told_to_and_tells_of_every_match)
{
    hosted_serve("--sim", "arena", "--players", "1", "--matches", "3");
    hosted_join_bots(2);
    hosted_expect_words(&hosted.server, "match 0: the match starts");
    hosted_expect_words(&hosted.server, "match 1: the match starts");
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_clean_exits();
    const cJSON *server = hosted_server_summary();
    cr_assert_eq(hosted_count(server, "matches"), 3);
    cr_expect_eq(hosted_number(server, "matches.2.final_tick"), 0);
}

Test(programs_matches, more_players_than_fit_are_a_usage_error)
{
    hosted_expect_refusal(2, LS_TEST_SERVER, "16384 matches of 16 players", "--sim", "arena",
                          "--players", "16", "--matches", "16384", "--port", "0");
}

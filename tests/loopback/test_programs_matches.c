#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <string.h>

/* ---- programs_matches ---- */

/* Several matches in one server process. */

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

/* ---- programs_spectators ---- */

/* Spectators: the real programs, over UDP. */

TestSuite(programs_spectators, .init = hosted_open, .fini = hosted_close);

Test(programs_spectators, spectators_from_the_start_and_from_the_middle_agree_with_the_server)
{
    hosted_serve(ARENA("2", "360"), "--seed", "5", "--spectators", "8", "--spectator-delay", "20");
    uint32_t early = hosted_join("--spectate", "--name", "early");
    uint32_t brief = hosted_join("--spectate", "--name", "brief", "--ticks", "120");
    hosted_join("--bot", "1", "--name", "one");
    hosted_join("--bot", "2", "--name", "two");
    hosted_expect_words(&hosted.server, "spectator early");
    /* By now the match is two seconds old. */
    hosted_expect_exit(&hosted.clients[brief], 0);
    uint32_t late = hosted_join("--spectate", "--name", "late");
    hosted_expect_clean_exits();
    hosted_expect_agreement(early);
    hosted_expect_agreement(late);
    cr_expect(hosted_is_null(hosted_client_summary(late), "players.0.slot"));
    hosted_expect_agreement(brief + 1);
    hosted_expect_agreement(brief + 2);
    const cJSON *server = hosted_server_summary();
    cr_expect_eq(hosted_number(server, "spectators"), 3);
    cr_expect_eq(hosted_number(server, "final_tick"), 360);
    cr_expect_eq(hosted_number(server, "hashes_compared"), 2 * 361, "those of the players");
    cr_expect_eq(hosted_count(server, "players"), 2);
    cr_expect_eq(hosted_count(server, "desyncs"), 0);
    hosted_expect_all(&hosted.server, "spectator late, with a snapshot of",
                      "spectator late: watched to the end", "spectator early: watched to the end");
    hosted_expect_none(&hosted.server, "DESYNC", "early joined", "late joined");
}

Test(programs_spectators, a_spectator_without_a_place_is_told_so)
{
    hosted_serve(ARENA("1", "60"), "--spectators", "0");
    uint32_t spectator = hosted_join("--spectate");
    hosted_expect_exit(&hosted.clients[spectator], 1);
    hosted_expect_all(&hosted.clients[spectator], "places for spectators");
    uint32_t player = hosted_join("--bot", "1");
    hosted_expect_exit(&hosted.clients[player], 0);
    hosted_expect_exit(&hosted.server, 0);
    cr_expect_eq(hosted_number(hosted_server_summary(), "spectators"), 0);
}

Test(programs_spectators, a_view_says_that_it_is_a_spectators)
{
    hosted_serve(ARENA("1", "120"), "--spectators", "1");
    uint32_t player = hosted_join("--bot", "1");
    hosted_run(0, LS_TEST_CLIENT, hosted_address(), "--spectate", "--view=text");
    const char *pictures = ls_process_output(&hosted.other);
    cr_expect(strstr(pictures, "arena, spectator of 1 players, 60 Hz, watching"), "%s", pictures);
    hosted_expect_exit(&hosted.clients[player], 0);
}

Test(programs_spectators, a_view_without_a_picture_says_why)
{
    hosted_serve("--sim", LS_PLUGIN("good"), "--players", "1", "--ticks", "60");
    hosted_run(0, LS_TEST_CLIENT, "--sim", LS_PLUGIN("good"), hosted_address(), "--view=text");
    hosted_expect_all(&hosted.other, "simulation counter has no draw function");
}

/* ---- programs_repeat ---- */

/* Whole matches of real processes that can be repeated: bots that answer the state of 60 ticks ago
 * under the rule wait. The result depends neither on frame rates nor on the compiler: every
 * build of every preset has to end in the states pinned here. */

TestSuite(programs_repeat, .init = hosted_open, .fini = hosted_close);

/* Slots are given in the order of joining, and each bot has a seed of its own. */
static void join(const char *seed, const char *rate, const char *predict)
{
    uint32_t index =
        hosted_join("--bot", seed, "--bot-delay", "60", "--fps", rate, "--predict", predict);
    hosted_expect_words(&hosted.clients[index], "joined");
}

static void serve(const char *simulation, const char *ticks)
{
    hosted_serve("--sim", simulation, "--players", "2", "--ticks", ticks, "--late", "wait",
                 "--wait-limit", "30000");
}

static void expect_final_hash(const char *hash, const char *rate)
{
    hosted_expect_clean_exits();
    cr_expect_str_eq(hosted_word(hosted_server_summary(), "final_hash"), hash, "at %s", rate);
    hosted_expect_all_agree();
}

static const char arena_hash[] = "00b67620dd778d71";
static const char units_hash[] = "4f3da6e8b94b18b9";

static void play(const char *simulation, const char *ticks, const char *hash)
{
    static const char *const rates[] = {"20", "60", "240"};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        hosted_reopen();
        serve(simulation, ticks);
        join("1", rates[i], "0");
        join("2", rates[i], "0");
        expect_final_hash(hash, rates[i]);
    }
}

Test(programs_repeat, arena_at_20_60_and_240_frames_a_second_ends_as_always)
{
    play("arena", "300", arena_hash);
}

Test(programs_repeat, units_at_20_60_and_240_frames_a_second_ends_as_always)
{
    play("units", "180", units_hash);
}

/* ---- with prediction: guesses change nothing in the match ---- */

static void play_predicted(const char *simulation, const char *ticks, const char *hash)
{
    serve(simulation, ticks);
    hosted_condition("--delay", "30");
    join("1", "60", "8");
    join("2", "144", "0");
    expect_final_hash(hash, "60 and 144");
}

Test(programs_repeat, arena_with_prediction_ends_as_always)
{
    HOSTED_REPEAT_UNTIL(hosted_rollbacks_of(0) > 0, play_predicted("arena", "300", arena_hash));
}

Test(programs_repeat, units_with_prediction_ends_as_always)
{
    HOSTED_REPEAT_UNTIL(hosted_rollbacks_of(0) > 0, play_predicted("units", "180", units_hash));
}

static void play_predicted_by_both(void)
{
    serve("arena", "300");
    hosted_condition("--delay", "20");
    join("1", "20", "32");
    join("2", "240", "3");
    expect_final_hash(arena_hash, "20 and 240");
}

Test(programs_repeat, arena_predicted_by_both_ends_as_always)
{
    HOSTED_REPEAT_UNTIL(hosted_rollbacks_of(0) > 0 && hosted_rollbacks_of(1) > 0,
                        play_predicted_by_both());
}

/* Matches of the real programs: players who agree, several matches, the same inputs again,
 * spectators, every simulation, games with files, clocks that step, and machines of cores. */
#define _GNU_SOURCE
#include "lockstep/tests/loopback/hosted.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

/* ==== programs_agree ==== */

TestSuite(programs_agree, .init = hosted_open, .fini = hosted_close);

/* Inputs were made, arrived and were used: agreement on nothing would prove nothing. */
static void expect_inputs(uint32_t ticks)
{
    const cJSON *server = hosted_server_summary();
    for (int i = 0; i < hosted_count(server, "players"); i++) {
        const cJSON *player = hosted_item(server, "players.%d", i);
        double on_time = hosted_number(player, "inputs_on_time");
        cr_expect_gt(on_time, 0);
        cr_expect_eq(on_time + hosted_number(player, "inputs_substituted"), ticks);
        cr_expect_gt(hosted_number(player, "bytes_up"), 0);
        cr_expect_gt(hosted_number(player, "bytes_down"), 0);
        cr_expect_gt(hosted_number(player, "frames"), 0);
    }
}

static void play_at_four_frame_rates(const char *simulation, uint32_t ticks)
{
    static const char *const rates[] = {"20", "60", "144", "240"};
    hosted_serve("--sim", simulation, "--players", "4", "--ticks", hosted_text("%u", ticks),
                 "--seed", "5");
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        hosted_join("--bot", hosted_text("%zu", i + 1), "--fps", rates[i], "--name", rates[i]);
    }
    hosted_expect_perfect(ticks);
    expect_inputs(ticks);
}

Test(programs_agree, four_bots_at_four_frame_rates_agree_on_every_tick_of_arena)
{
    play_at_four_frame_rates("arena", 180);
}

Test(programs_agree, four_bots_at_four_frame_rates_agree_on_every_tick_of_units)
{
    play_at_four_frame_rates("units", 120);
}

Test(programs_agree, a_client_alone_agrees_at_every_frame_rate)
{
    static const char *const rates[] = {"20", "60", "240", "1000"};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        hosted_reopen();
        hosted_serve(ARENA("1", "120"));
        hosted_join("--bot", "1", "--fps", rates[i], "--name", rates[i]);
        hosted_expect_perfect(120);
        expect_inputs(120);
    }
}

Test(programs_agree, a_name_of_any_script_reaches_everybody)
{
    hosted_serve(ARENA("1", "60"));
    hosted_join("--bot", "1", "--name", " Zoe\xcc\x88 \xe4\xb8\xad ");
    hosted_expect_perfect(60);
    const cJSON *player = hosted_item(hosted_server_summary(), "players.0");
    cr_expect_str_eq(hosted_word(player, "name"), "Zo\xc3\xab \xe4\xb8\xad");
    hosted_expect_all(&hosted.server, "Zo\xc3\xab \xe4\xb8\xad (slot 0)");
}

/* The second is written in wide letters. */
Test(programs_agree, players_of_one_name_are_told_from_each_other)
{
    hosted_serve(ARENA("2", "20"));
    hosted_join("--bot", "1", "--name", "Zoe");
    hosted_join("--bot", "2", "--name", "\uff3a\uff4f\uff45");
    hosted_expect_perfect(20);
    const cJSON *summary = hosted_server_summary();
    cr_expect_str_eq(hosted_word(hosted_item(summary, "players.0"), "name"), "Zoe");
    cr_expect_str_eq(hosted_word(hosted_item(summary, "players.1"), "name"), "Zoe (2)");
}

Test(programs_agree, sixteen_clients_share_a_match)
{
    hosted_serve(ARENA("16", "120"), "--timeout", "20000");
    hosted_join_bots(16);
    hosted_expect_perfect(120);
    expect_inputs(120);
}

Test(programs_agree, a_plug_in_is_hosted_and_joined_like_a_built_in)
{
    const char *const file = LS_PLUGIN("variant");
    hosted_serve("--sim", file, "--ticks", "90", "--param", "bonus=7");
    hosted_join("--sim", file, "--bot", "1");
    hosted_join("--sim", file, "--bot", "2");
    hosted_expect_perfect(90);
    cr_expect_str_eq(hosted_word(hosted_server_summary(), "sim"), "variant");
    expect_inputs(90);
}

static void expect_prediction(uint32_t index, double ticks)
{
    const cJSON *prediction = hosted_item(hosted_client_summary(index), "players.0.prediction");
    double rollbacks = hosted_rollbacks_of(index);
    double wasted = hosted_number(prediction, "resimulated_ticks");
    cr_expect_eq(hosted_number(prediction, "ticks"), ticks);
    /* Until it hears that the match ends a client guesses ticks that nobody plays: they were not
     * taken back. The sums are of so many steps. */
    double kept = wasted / (hosted_number(prediction, "steps_per_tick") - 1);
    cr_expect(kept > 180 - 0.01 && kept < 180 + ticks + 0.01, "%f steps were kept", kept);
    cr_expect_float_eq(hosted_number(prediction, "rollbacks_per_s"), rollbacks * 60 / kept, 1e-3);
    cr_expect_float_eq(hosted_number(prediction, "depth_ticks.mean"), wasted / rollbacks, 1e-6);
    cr_expect_geq(hosted_number(prediction, "depth_ticks.max") + 1e-6, wasted / rollbacks);
    hosted_expect_all(&hosted.clients[index], "prediction: ", "steps a tick");
}

static void play_with_and_without_prediction(void)
{
    hosted_serve(ARENA("4", "180"));
    hosted_condition("--delay", "25", "--loss", "2");
    hosted_join("--bot", "1", "--predict", "8");
    hosted_join("--bot", "2", "--fps", "144");
    hosted_join("--bot", "3", "--predict", "32", "--fps", "30");
    hosted_join("--bot", "4", "--predict", "0");
    hosted_expect_perfect(180);
}

Test(programs_agree, clients_with_and_without_prediction_share_a_match)
{
    HOSTED_REPEAT_UNTIL(hosted_rollbacks_of(0) > 0 && hosted_rollbacks_of(2) > 0,
                        play_with_and_without_prediction());
    expect_prediction(0, 8);
    expect_prediction(2, 32);
    hosted_expect_none(&hosted.clients[1], "prediction: ");
    hosted_expect_none(&hosted.clients[3], "prediction: ");
}

Test(programs_agree, a_simulation_that_cannot_save_plays_without_prediction)
{
    const char *const file = LS_PLUGIN("unsaved");
    hosted_serve("--sim", file, "--players", "1", "--ticks", "30");
    hosted_join("--sim", file, "--bot", "1", "--predict", "8");
    hosted_expect_perfect(30);
    hosted_expect_all(&hosted.clients[0], "--predict: 'variant' cannot save its state");
    cr_expect(hosted_is_null(hosted_client_summary(0), "players.0.prediction"));
}

/* State 0 and every seventh. */
Test(programs_agree, only_every_kth_state_is_compared_on_request)
{
    hosted_serve(ARENA("2", "70"), "--hash-interval", "7");
    hosted_join_bots(2);
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_number(hosted_server_summary(), "hashes_compared"), 2 * 11);
}

Test(programs_agree, a_client_may_leave_as_planned)
{
    hosted_serve(ARENA("2", "90"));
    hosted_join("--bot", "1", "--name", "short", "--ticks", "30");
    hosted_join("--bot", "2", "--name", "long");
    hosted_expect_clean_exits();
    hosted_expect_agreement(1);
    cr_expect_geq(hosted_number(hosted_client_summary(0), "final_tick"), 30);
    hosted_expect_left("short", "DISCONNECTED", "has played as long as planned");
}

/* ---- what the summary says ---- */

static void expect_keys(const cJSON *object, const char *const *keys)
{
    int count = 0;
    for (; keys[count]; count++) {
        cr_expect(cJSON_HasObjectItem(object, keys[count]), "no %s", keys[count]);
    }
    cr_expect_eq(cJSON_GetArraySize(object), count, "more keys than the contract's");
}

static void expect_contract(const cJSON *summary)
{
    expect_keys(summary,
                LS_ARGUMENTS("program", "status", "sim", "seed", "tick_rate_hz", "ticks",
                             "final_tick", "final_hash", "hashes_compared", "packets_rejected",
                             "spectators", "journal", "network", "players", "desyncs"));
    for (int i = 0; i < hosted_count(summary, "players"); i++) {
        const cJSON *player = hosted_item(summary, "players.%d", i);
        expect_keys(player, LS_ARGUMENTS("slot", "name", "status", "why", "hashes_compared",
                                         "inputs_on_time", "inputs_late", "inputs_substituted",
                                         "input_delay_ticks", "joined_tick", "rejoins", "lag",
                                         "stalled_ticks", "rtt_ms", "confirm_latency_ms", "frames",
                                         "wakes_per_s", "prediction", "bytes_up", "bytes_down"));
        expect_keys(hosted_item(player, "confirm_latency_ms"), LS_ARGUMENTS("p50", "p99", "max"));
        const cJSON *lag = hosted_item(player, "lag");
        if (!cJSON_IsNull(lag)) {
            expect_keys(lag, LS_ARGUMENTS("cause", "text", "lost_ms", "late_share", "uplink_loss",
                                          "uplink_jitter_ms", "downlink_loss", "downlink_jitter_ms",
                                          "longest_frame_ms", "suggested_input_delay_ticks"));
        }
    }
    for (int i = 0; i < hosted_count(summary, "desyncs"); i++) {
        expect_keys(hosted_item(summary, "desyncs.%d", i),
                    LS_ARGUMENTS("tick", "slot", "server_hash", "client_hash",
                                 "clients_against_server", "first_tick", "first_tick_min",
                                 "first_tick_max", "part", "field", "server_value", "client_value",
                                 "unit", "differing", "differing_is_lower_bound", "fields", "pass",
                                 "values_after_pass", "class", "culprit", "why", "inputs",
                                 "circumstances", "bundle", "next", "values_ms", "found_ms",
                                 "times", "healed", "first"));
    }
    const char *hash = hosted_word(summary, "final_hash");
    cr_expect_eq(strlen(hash), 16);
    cr_expect_eq(strspn(hash, "0123456789abcdef"), 16);
}

Test(programs_agree, summaries_hold_to_the_contract)
{
    hosted_serve(ARENA("2", "60"), "--seed", "18446744073709551615", "--tick-rate", "120");
    hosted_join("--name", "ann", "--bot", "1");
    hosted_join("--name", "bob", "--flip-bit", "20:64");
    hosted_expect_exits(3, 0, 3);
    const cJSON *server = hosted_server_summary();
    const cJSON *good = hosted_client_summary(0);
    const cJSON *bad = hosted_client_summary(1);
    cr_expect_str_eq(hosted_word(server, "program"), "lockstep-server");
    cr_expect_str_eq(hosted_word(good, "program"), "lockstep-client");
    cr_expect_str_eq(hosted_word(server, "status"), "DESYNCED");
    cr_expect_str_eq(hosted_word(good, "status"), "OK");
    cr_expect_eq(hosted_count(server, "desyncs"), 1);
    cr_expect_eq(hosted_count(good, "desyncs"), 0);
    cr_expect_eq(hosted_count(bad, "desyncs"), 1);
    const cJSON *all[] = {server, good, bad};
    for (size_t i = 0; i < 3; i++) {
        expect_contract(all[i]);
        cr_expect_str_eq(hosted_word(all[i], "sim"), "arena");
        cr_expect_str_eq(hosted_word(all[i], "seed"), "18446744073709551615");
        cr_expect_eq(hosted_number(all[i], "tick_rate_hz"), 120);
        cr_expect_eq(hosted_number(all[i], "final_tick"), 60);
    }
    cr_expect_eq(hosted_number(server, "ticks"), 60);
    const cJSON *ann = hosted_player("ann");
    cr_expect_gt(hosted_number(ann, "rtt_ms"), 0);
    cr_expect_leq(hosted_number(ann, "confirm_latency_ms.p50"),
                  hosted_number(ann, "confirm_latency_ms.p99"));
    cr_expect_leq(hosted_number(ann, "confirm_latency_ms.p99"),
                  hosted_number(ann, "confirm_latency_ms.max"));
}

Test(programs_agree, a_summary_goes_to_standard_output_on_request)
{
    hosted_serve(ARENA("1", "10"), "--json", "-");
    hosted_join("--json", "-");
    hosted_expect_clean_exits();
    ls_process *const both[] = {&hosted.server, &hosted.clients[0]};
    for (size_t i = 0; i < 2; i++) {
        cJSON *summary = cJSON_Parse(ls_process_output(both[i]));
        cr_assert_not_null(summary, "no JSON on standard output: %s", both[i]->text);
        expect_contract(summary);
        cJSON_Delete(summary);
    }
}

Test(programs_agree, quiet_programs_have_nothing_to_say_about_a_good_match)
{
    hosted_serve(ARENA("1", "20"), "--quiet");
    hosted_join("--bot", "1", "--quiet");
    hosted_expect_perfect(20);
    ls_process *const both[] = {&hosted.server, &hosted.clients[0]};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_str_empty(ls_process_errors(both[i]));
        cr_expect_str_empty(ls_process_output(both[i]));
    }
}

Test(programs_agree, the_last_line_counts_ticks_hashes_and_differences)
{
    hosted_serve(ARENA("1", "20"));
    hosted_join("--bot", "1");
    hosted_expect_perfect(20);
    const char *last =
        hosted_text("lockstep-server: 20 ticks, 21 hashes compared, 0 differences, final hash %s\n",
                    hosted_word(hosted_server_summary(), "final_hash"));
    const char *errors = ls_process_errors(&hosted.server);
    const char *found = strstr(errors, last);
    cr_assert(found, "no \"%s\" in: %s", last, errors);
    cr_expect_eq(strlen(found), strlen(last), "that was not the last line");
}

/* Programs without a person are ready as soon as the lobby asks them. */
Test(programs_agree, a_lobby_of_bots_begins)
{
    hosted_serve(ARENA("2", "60"), "--lobby", "--chat", "off");
    hosted_join_bots(2);
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    hosted_expect_all(&hosted.clients[1], " of 2 players are here", "the match starts");
}

/* ==== programs_matches ==== */

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

/* ==== programs_simulations ==== */

/* Every simulation in a match of the real programs: two bots, every hash compared. */

TestSuite(programs_simulations, .init = hosted_open, .fini = hosted_close);

static void simulation_play(const char *simulation, const char *ticks_text, uint32_t ticks)
{
    hosted_serve("--sim", simulation, "--players", "2", "--ticks", ticks_text);
    hosted_join("--sim", simulation, "--bot", "1");
    hosted_join("--sim", simulation, "--bot", "2");
    hosted_expect_perfect(ticks);
}

Test(programs_simulations, rope_plays_at_a_thousand_ticks_a_second)
{
    simulation_play("rope", "2000", 2000);
}

Test(programs_simulations, spring_plays)
{
    simulation_play("spring", "120", 120);
}

Test(programs_simulations, tumble_plays)
{
    simulation_play("tumble", "150", 150);
}

#if defined(LS_TEST_BOX2D)
Test(programs_simulations, an_engine_that_is_not_ours_plays_from_its_plug_in)
{
    simulation_play(LS_TEST_BOX2D, "150", 150);
}
#endif

#if defined(LS_TEST_CHIPMUNK)
/* The late one gets a state in which everything moves and touches. */
Test(programs_simulations, an_engine_under_a_flat_state_is_joined_late_and_predicted)
{
    hosted_serve("--sim", LS_TEST_CHIPMUNK, "--players", "3", "--start-players", "2", "--ticks",
                 "0");
    hosted_join("--sim", LS_TEST_CHIPMUNK, "--bot", "1", "--predict", "8");
    uint32_t other = hosted_join("--sim", LS_TEST_CHIPMUNK, "--bot", "2");
    hosted_expect_words(&hosted.clients[other], "the match starts");
    hosted_pause_ms(500); /* so that something has happened */
    uint32_t late = hosted_join("--sim", LS_TEST_CHIPMUNK, "--bot", "3", "--predict", "8");
    hosted_expect_words(&hosted.clients[late], " with a snapshot of");
    hosted_end_when_playing(late);
    hosted_expect_clean_exits();
    hosted_expect_agreement(0);
    hosted_expect_agreement(late);
}
#endif

#if defined(LS_TEST_LUA)
/* A state of tables and coroutines is predicted, and loaded by the one who comes late. */
Test(programs_simulations, a_script_is_predicted_and_joined_in_mid_match)
{
#define PONG "--sim", LS_TEST_LUA, "--param", "script=" LS_TEST_PONG
    hosted_serve(PONG, "--players", "3", "--start-players", "2", "--ticks", "0");
    hosted_join(PONG, "--bot", "1", "--predict", "8");
    hosted_join(PONG, "--bot", "2");
    hosted_expect_words(&hosted.server, "the match starts");
    hosted_pause_ms(500);
    uint32_t late = hosted_join(PONG, "--bot", "3");
    hosted_end_when_playing(late);
    hosted_expect_exits(0, 0, 0, 0);
    for (uint32_t i = 0; i < 3; i++) {
        hosted_expect_agreement(i);
    }
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}
#endif

/* ==== programs_files ==== */

/* A game with a map in a file and a motto, which every machine has to have: in a match of the real
 * programs, and in every tool that runs its ticks again. */

TestSuite(programs_files, .init = hosted_open, .fini = hosted_close);

#define LEVEL LS_PLUGIN("level")

/* The assignment of a new file with this content. */
static const char *made(const char *param, const char *name, const char *content)
{
    const char *path = hosted_path(name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(content, file), 0);
    cr_assert_eq(fclose(file), 0);
    return hosted_text("%s=%s", param, path);
}

static void files_serve(const char *map, const char *ticks)
{
    hosted_serve("--sim", LEVEL, "--ticks", ticks, "--players", "1", "--journal", hosted.folder,
                 "--bundle-dir", hosted.folder, "--param", map, "--param", "motto=a b = c");
}

/* The one file in the folder whose name ends so. */
static const char *found(const char *ending)
{
    const char *list = hosted_text("ls %s/*%s", hosted.folder, ending);
    FILE *output = popen(list, "r");
    char path[512] = "";
    cr_assert(output && fgets(path, sizeof path, output), "no file ends in %s", ending);
    cr_assert_eq(pclose(output), 0);
    path[strcspn(path, "\n")] = '\0';
    return hosted_text("%s", path);
}

Test(programs_files, the_same_map_at_another_path_plays_and_is_verified_again)
{
    const char *copy = made("map", "copy", "M and so on");
    const char *other = made("map", "other", "M and so forth");
    files_serve(made("map", "original", "M and so on"), "60");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", copy);
    hosted_expect_perfect(60);
    const char *journal = found(".journal");
    hosted_run(0, LS_TEST_REPLAY, "verify", journal, "--sim", LEVEL, "--param", copy);
    cr_expect(strstr(hosted_run(2, LS_TEST_REPLAY, "verify", journal, "--sim", LEVEL),
                     "needs the file 'map' (digest "));
    cr_expect(
        strstr(hosted_run(2, LS_TEST_REPLAY, "verify", journal, "--sim", LEVEL, "--param", other),
               "file 'map': this machine has digest "));
}

Test(programs_files, a_client_without_the_map_or_with_another_is_refused_in_words)
{
    files_serve(made("map", "original", "M and so on"), "30");
    const char *without = hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--sim", LEVEL);
    cr_expect(strstr(without, "the match needs the file 'map' (digest "), "%s", without);
    cr_expect(strstr(without, "11 bytes): give it with --param map=PATH"), "%s", without);
    const char *other = hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--sim", LEVEL, "--param",
                                   made("map", "other", "M and so forth"));
    cr_expect(strstr(other, "file 'map': this machine has digest "), "%s", other);
    hosted_expect_words(&hosted.server, "file 'map': this machine has digest ");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", made("map", "copy", "M and so on"));
    hosted_expect_perfect(30);
}

Test(programs_files, a_server_says_what_is_wrong_with_a_file)
{
    hosted_expect_refusal(2, LS_TEST_SERVER, "'level' needs a file: --param map=PATH", "--sim",
                          LEVEL);
    hosted_expect_refusal(2, LS_TEST_SERVER, "--param map: cannot read /nowhere: ", "--sim", LEVEL,
                          "--param", "map=/nowhere");
    hosted_expect_refusal(2, LS_TEST_SERVER,
                          "could not make its first state: map: byte 0 is 0x4e, and not an M",
                          "--sim", LEVEL, "--param", made("map", "bad", "No map"));
}

Test(programs_files, a_helper_that_runs_ticks_again_gets_the_map)
{
    const char *copy = made("map", "copy", "M and so on");
    files_serve(made("map", "original", "M and so on"), "90");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", copy, "--flip-bit", "40:3");
    hosted_expect_exits(3, 3);
    const cJSON *summary = hosted_server_summary();
    cr_expect_str_eq(hosted_word(summary, "desyncs.0.class"), "one-off");
    const char *bundle = found(".bundle");
    const char *line =
        hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", LEVEL, "--param", copy);
    (void)line;
    cr_expect(strstr(hosted_run(2, LS_TEST_DESYNC, "explain", bundle, "--sim", LEVEL),
                     "needs the file 'map' (digest "));
}

Test(programs_files, synctest_plays_with_a_map)
{
    hosted_run(0, LS_TEST_SYNCTEST, LEVEL, "--ticks", "40", "--param",
               made("map", "original", "M and so on"));
}

/* Not a file, but what its journal says of the match has to come through as well. */
Test(programs_files, a_rate_that_is_no_whole_number_comes_through)
{
    const char *map = made("map", "original", "M and so on");
    hosted_serve("--sim", LEVEL, "--ticks", "120", "--players", "1", "--journal", hosted.folder,
                 "--param", map, "--tick-rate", "262144/4389");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", map);
    hosted_expect_perfect(120);
    double hz = hosted_number(hosted_server_summary(), "tick_rate_hz");
    cr_expect(hz > 59.7275 && hz < 59.7276, "%f", hz);
    cr_expect_eq(hosted_number(hosted_client_summary(0), "tick_rate_hz"), hz);
    hosted_run(0, LS_TEST_REPLAY, "verify", found(".journal"), "--sim", LEVEL, "--param", map);
    hosted_run(0, LS_TEST_SYNCTEST, LEVEL, "--ticks", "20", "--param", map, "--tick-rate",
               "59.7275", "--only", "save");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--tick-rate takes 1 to 1000, as in 60, 59.7275 or",
                          "--sim", LEVEL, "--tick-rate", "59.7275000001");
}

/* ==== programs_clock ==== */

static void open_on_stepping_clock(void)
{
    hosted_open();
    hosted.preload = LS_TEST_STEPPING_CLOCK;
}

TestSuite(programs_clock, .init = open_on_stepping_clock, .fini = hosted_close);

enum {
    WATCH_MS = 1100,
    HOUR_MS = 3600 * 1000,
};

typedef int time_function(struct timeval *restrict now, void *restrict zone);

static int64_t wall_ms(time_function *read_wall)
{
    struct timeval now;
    cr_assert_eq(read_wall(&now, NULL), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_usec / 1000;
}

/* Of the helper itself: steps that did not happen would prove nothing. */
Test(programs_clock, the_clock_of_these_tests_steps_by_hours)
{
    void *library = dlopen(LS_TEST_STEPPING_CLOCK, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    void *symbol = dlsym(library, "gettimeofday");
    time_function *read_wall = NULL;
    memcpy(&read_wall, &symbol, sizeof read_wall);
    cr_assert_not_null(read_wall);
    uint32_t steps = 0;
    uint64_t end_ms = ls_process_now_ms() + WATCH_MS;
    int64_t before_ms = wall_ms(read_wall);
    while (ls_process_now_ms() < end_ms || steps == 0) {
        int64_t now_ms = wall_ms(read_wall);
        int64_t step_ms = now_ms - before_ms;
        steps += step_ms > HOUR_MS / 2 || step_ms < -HOUR_MS / 2 ? 1 : 0;
        before_ms = now_ms;
        ls_process_pause();
    }
    dlclose(library);
}

static void expect_loaded(const ls_process *process)
{
    char line[512];
    bool is_loaded = false;
    FILE *maps = fopen(hosted_text("/proc/%d/maps", (int)process->pid), "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps)) {
        is_loaded = is_loaded || strstr(line, LS_TEST_STEPPING_CLOCK);
    }
    fclose(maps);
    cr_assert(is_loaded, "%s is not loaded", LS_TEST_STEPPING_CLOCK);
}

static void clock_play(const char *late_rule)
{
    hosted_serve(ARENA("2", "300"), "--late", late_rule);
    expect_loaded(&hosted.server);
    hosted_join_bots(2);
    hosted_expect_words(&hosted.clients[0], "the match starts");
    expect_loaded(&hosted.clients[0]);
    hosted_expect_perfect(300); /* five seconds: nine steps or more */
    /* A wait of hours would have dropped a player; a short one a busy machine may have. */
    hosted_expect_none(&hosted.server, "left at tick");
}

Test(programs_clock, a_wall_clock_that_steps_by_hours_makes_nobody_wait_for_long)
{
    clock_play("wait");
}

Test(programs_clock, a_wall_clock_that_steps_by_hours_drops_nobody)
{
    clock_play("repeat");
}

/* ==== programs_libretro ==== */

/* Machines of libretro cores in matches of the real programs: late players, guessed ticks, a server
 * that comes back, and a difference with its name. */
#if defined(LS_TEST_LIBRETRO)

TestSuite(programs_libretro, .init = hosted_open, .fini = hosted_close);

#define GAME(core, cartridge)                                                                      \
    "--sim", LS_TEST_LIBRETRO, "--param", "core=" core, "--param",                                 \
        "content=" LS_TEST_CARTRIDGES "/" cartridge
#define NES GAME(LS_TEST_NESTOPIA, "paint.nes")
#define GAME_BOY GAME(LS_TEST_GAMBATTE, "paint.gb")

static void play_with_late_player(void)
{
    hosted_serve(NES, "--start-players", "1", "--ticks", "0");
    hosted_condition("--delay", "40", "--loss", "5");
    hosted_join(NES, "--bot", "1", "--predict", "8");
    hosted_expect_words(&hosted.server, "starts");
    hosted_pause_ms(500);
    uint32_t late = hosted_join(NES, "--bot", "2", "--predict", "8");
    hosted_end_when_playing(late);
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}

Test(programs_libretro, a_late_player_and_one_who_guesses_see_the_same_console)
{
    HOSTED_REPEAT_UNTIL(hosted_rollbacks_of(0) > 0, play_with_late_player());
}

Test(programs_libretro, a_game_boy_plays_at_its_own_rate)
{
    hosted_serve(GAME_BOY, "--players", "1", "--ticks", "120", "--tick-rate", "59.7275");
    hosted_join(GAME_BOY, "--bot", "1");
    hosted_expect_perfect(120);
}

Test(programs_libretro, a_flipped_bit_has_the_name_of_the_memory_that_it_is_in)
{
    hosted_serve(NES, "--players", "1", "--ticks", "120", "--bundle-dir", "none");
    hosted_join(NES, "--bot", "1", "--name", "bob", "--flip-bit", "40:1600");
    hosted_expect_exits(3, 3);
    hosted_expect_all(&hosted.server, "bob (slot 0)", "system_ram[");
}

Test(programs_libretro, a_client_without_the_core_is_refused)
{
    hosted_serve(NES, "--players", "1", "--ticks", "30");
    hosted_join("--sim", LS_TEST_LIBRETRO, "--bot", "1");
    hosted_expect_exit(&hosted.clients[0], 1);
    hosted_expect_all(&hosted.clients[0], "'core'");
}

#endif

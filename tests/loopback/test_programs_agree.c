#include "lockstep/tests/loopback/hosted.h"

#include <string.h>

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

#include "lockstep/tests/loopback/hosted.h"

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

TestSuite(programs_agree, .init = open_hosted, .fini = close_hosted);

/* Inputs were made, arrived and were used: agreement on nothing would prove nothing. */
static void expect_inputs(uint32_t ticks)
{
    const cJSON *server = ls_hosted_server_summary(&hosted);
    for (int i = 0; i < ls_hosted_count(server, "players"); i++) {
        const cJSON *player = ls_hosted_item(server, "players", i);
        double on_time = ls_hosted_number(player, "inputs_on_time");
        cr_expect_gt(on_time, 0);
        cr_expect_eq(on_time + ls_hosted_number(player, "inputs_substituted"), ticks);
        cr_expect_gt(ls_hosted_number(player, "bytes_up"), 0);
        cr_expect_gt(ls_hosted_number(player, "bytes_down"), 0);
        cr_expect_gt(ls_hosted_number(player, "frames"), 0);
    }
}

static void play_at_four_frame_rates(const char *simulation, uint32_t ticks)
{
    static const char *const rates[] = {"20", "60", "144", "240"};
    char ticks_text[16];
    char seed[16];
    snprintf(ticks_text, sizeof ticks_text, "%u", ticks);
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", simulation, "--players", "4", "--ticks",
                                          ticks_text, "--seed", "5"));
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        snprintf(seed, sizeof seed, "%zu", i + 1);
        ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", seed, "--fps", rates[i], "--name", rates[i]));
    }
    ls_hosted_expect_perfect(&hosted, ticks);
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

static void play_alone(const char *rate)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "120"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--fps", rate));
    ls_hosted_expect_perfect(&hosted, 120);
    expect_inputs(120);
}

Test(programs_agree, a_client_at_20_frames_a_second_agrees)
{
    play_alone("20");
}

Test(programs_agree, a_client_at_60_frames_a_second_agrees)
{
    play_alone("60");
}

Test(programs_agree, a_client_at_240_frames_a_second_agrees)
{
    play_alone("240");
}

Test(programs_agree, a_client_at_1000_frames_a_second_agrees)
{
    play_alone("1000");
}

Test(programs_agree, sixteen_clients_share_a_match)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "16", "--ticks", "120",
                                          "--timeout", "20000"));
    for (uint32_t i = 0; i < 16; i++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%u", i);
        ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", seed, "--name", seed));
    }
    ls_hosted_expect_perfect(&hosted, 120);
    expect_inputs(120);
}

Test(programs_agree, a_plug_in_is_hosted_and_joined_like_a_built_in)
{
    const char *const file = LS_PLUGIN("variant");
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", file, "--ticks", "90", "--param", "bonus=7"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--sim", file, "--bot", "1"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--sim", file, "--bot", "2"));
    ls_hosted_expect_perfect(&hosted, 90);
    cr_expect_str_eq(ls_hosted_word(ls_hosted_server_summary(&hosted), "sim"), "variant");
    expect_inputs(90);
}

static double prediction_number(const cJSON *prediction, const char *object, const char *key)
{
    return ls_hosted_number(object ? ls_hosted_object(prediction, object) : prediction, key);
}

static void expect_prediction(uint32_t index, double ticks)
{
    const cJSON *player = ls_hosted_item(ls_hosted_client_summary(&hosted, index), "players", 0);
    const cJSON *prediction = ls_hosted_object(player, "prediction");
    double rollbacks = prediction_number(prediction, NULL, "rollbacks");
    double wasted = prediction_number(prediction, NULL, "resimulated_ticks");
    cr_expect_eq(prediction_number(prediction, NULL, "ticks"), ticks);
    cr_expect_gt(rollbacks, 0);
    cr_expect_float_eq(prediction_number(prediction, NULL, "rollbacks_per_s"), rollbacks / 3, 1e-6);
    cr_expect_float_eq(prediction_number(prediction, "depth_ticks", "mean"), wasted / rollbacks,
                       1e-6);
    cr_expect_geq(prediction_number(prediction, "depth_ticks", "max") + 1e-6, wasted / rollbacks);
    cr_expect_geq(prediction_number(prediction, NULL, "steps_per_tick") + 1e-6, 1 + wasted / 180);
    ls_hosted_expect_all(&hosted.clients[index], LS_ARGUMENTS("prediction: ", "steps a tick"));
}

Test(programs_agree, clients_with_and_without_prediction_share_a_match)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "4", "--ticks", "180"));
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--delay", "25", "--loss", "2"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--predict", "8"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--fps", "144"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "3", "--predict", "32", "--fps", "30"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "4", "--predict", "0"));
    ls_hosted_expect_perfect(&hosted, 180);
    expect_prediction(0, 8);
    expect_prediction(2, 32);
    ls_hosted_expect_none(&hosted.clients[1], LS_ARGUMENTS("prediction: "));
    ls_hosted_expect_none(&hosted.clients[3], LS_ARGUMENTS("prediction: "));
}

Test(programs_agree, a_simulation_that_cannot_save_plays_without_prediction)
{
    const char *const file = LS_PLUGIN("unsaved");
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", file, "--players", "1", "--ticks", "30"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--sim", file, "--bot", "1", "--predict", "8"));
    ls_hosted_expect_perfect(&hosted, 30);
    ls_hosted_expect_all(&hosted.clients[0],
                         LS_ARGUMENTS("--predict: 'variant' cannot save its state"));
    const cJSON *player = ls_hosted_item(ls_hosted_client_summary(&hosted, 0), "players", 0);
    cr_expect(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(player, "prediction")));
}

/* State 0 and every seventh. */
Test(programs_agree, only_every_kth_state_is_compared_on_request)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "70",
                                          "--hash-interval", "7"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2"));
    ls_hosted_expect_clean_exits(&hosted);
    ls_hosted_expect_agreement(&hosted, 0);
    ls_hosted_expect_agreement(&hosted, 1);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    cr_expect_eq(ls_hosted_number(server, "hashes_compared"), 2 * 11);
}

Test(programs_agree, a_client_may_leave_as_planned)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "90"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--name", "short", "--ticks", "30"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--name", "long"));
    ls_hosted_expect_clean_exits(&hosted);
    ls_hosted_expect_agreement(&hosted, 1);
    cr_expect_geq(ls_hosted_number(ls_hosted_client_summary(&hosted, 0), "final_tick"), 30);
    ls_hosted_expect_left(&hosted, "short", "DISCONNECTED", "has played as long as planned");
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
                             "spectators", "journal", "players", "desyncs"));
    for (int i = 0; i < ls_hosted_count(summary, "players"); i++) {
        const cJSON *player = ls_hosted_item(summary, "players", i);
        expect_keys(player, LS_ARGUMENTS("slot", "name", "status", "hashes_compared",
                                         "inputs_on_time", "inputs_late", "inputs_substituted",
                                         "input_delay_ticks", "joined_tick", "rejoins", "lag",
                                         "stalled_ticks", "rtt_ms", "confirm_latency_ms", "frames",
                                         "prediction", "bytes_up", "bytes_down"));
        expect_keys(cJSON_GetObjectItemCaseSensitive(player, "confirm_latency_ms"),
                    LS_ARGUMENTS("p50", "p99", "max"));
        const cJSON *lag = cJSON_GetObjectItemCaseSensitive(player, "lag");
        if (!cJSON_IsNull(lag)) {
            expect_keys(lag, LS_ARGUMENTS("cause", "text", "late_share", "uplink_loss",
                                          "uplink_jitter_ms", "downlink_loss", "downlink_jitter_ms",
                                          "longest_frame_ms", "suggested_input_delay_ticks"));
        }
    }
    for (int i = 0; i < ls_hosted_count(summary, "desyncs"); i++) {
        expect_keys(ls_hosted_item(summary, "desyncs", i),
                    LS_ARGUMENTS("tick", "slot", "server_hash", "client_hash", "part", "field",
                                 "server_value", "client_value", "unit", "differing",
                                 "differing_is_lower_bound", "fields", "pass", "class", "culprit",
                                 "why", "inputs", "bundle", "found_ms", "times", "healed"));
    }
    const char *hash = ls_hosted_word(summary, "final_hash");
    cr_expect_eq(strlen(hash), 16);
    cr_expect_eq(strspn(hash, "0123456789abcdef"), 16);
}

Test(programs_agree, summaries_hold_to_the_contract)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "60",
                                          "--seed", "18446744073709551615", "--tick-rate", "120"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--name", "ann", "--bot", "1"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--name", "bob", "--flip-bit", "20:64"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 0);
    ls_hosted_expect_exit(&hosted.clients[1], 3);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    const cJSON *clients[] = {ls_hosted_client_summary(&hosted, 0),
                              ls_hosted_client_summary(&hosted, 1)};
    expect_contract(server);
    expect_contract(clients[0]);
    expect_contract(clients[1]);
    cr_expect_str_eq(ls_hosted_word(server, "program"), "lockstep-server");
    cr_expect_str_eq(ls_hosted_word(clients[0], "program"), "lockstep-client");
    cr_expect_str_eq(ls_hosted_word(server, "status"), "DESYNCED");
    cr_expect_str_eq(ls_hosted_word(clients[0], "status"), "OK");
    cr_expect_eq(ls_hosted_count(server, "desyncs"), 1);
    cr_expect_eq(ls_hosted_count(clients[0], "desyncs"), 0);
    cr_expect_eq(ls_hosted_count(clients[1], "desyncs"), 1);
    const cJSON *all[] = {server, clients[0], clients[1]};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_str_eq(ls_hosted_word(all[i], "sim"), "arena");
        cr_expect_str_eq(ls_hosted_word(all[i], "seed"), "18446744073709551615");
        cr_expect_eq(ls_hosted_number(all[i], "tick_rate_hz"), 120);
        cr_expect_eq(ls_hosted_number(all[i], "final_tick"), 60);
    }
    cr_expect_eq(ls_hosted_number(server, "ticks"), 60);
    const cJSON *ann = ls_hosted_player(&hosted, "ann");
    const cJSON *latency = cJSON_GetObjectItemCaseSensitive(ann, "confirm_latency_ms");
    cr_expect_gt(ls_hosted_number(ann, "rtt_ms"), 0);
    cr_expect_leq(ls_hosted_number(latency, "p50"), ls_hosted_number(latency, "p99"));
    cr_expect_leq(ls_hosted_number(latency, "p99"), ls_hosted_number(latency, "max"));
}

Test(programs_agree, a_summary_goes_to_standard_output_on_request)
{
    ls_hosted_serve(
        &hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "10", "--json", "-"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--json", "-"));
    ls_hosted_expect_clean_exits(&hosted);
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
    ls_hosted_serve(&hosted,
                    LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "20", "--quiet"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--quiet"));
    ls_hosted_expect_perfect(&hosted, 20);
    ls_process *const both[] = {&hosted.server, &hosted.clients[0]};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_str_empty(ls_process_errors(both[i]));
        cr_expect_str_empty(ls_process_output(both[i]));
    }
}

Test(programs_agree, the_last_line_counts_ticks_hashes_and_differences)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "20"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_expect_perfect(&hosted, 20);
    char last[128];
    snprintf(last, sizeof last,
             "lockstep-server: 20 ticks, 21 hashes compared, 0 differences, final hash %s\n",
             ls_hosted_word(ls_hosted_server_summary(&hosted), "final_hash"));
    const char *errors = ls_process_errors(&hosted.server);
    const char *found = strstr(errors, last);
    cr_assert(found, "no \"%s\" in: %s", last, errors);
    cr_expect_eq(strlen(found), strlen(last), "that was not the last line");
}

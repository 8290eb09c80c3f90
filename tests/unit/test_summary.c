#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/summary.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ls_summary example(void)
{
    ls_summary summary = {.program = "lockstep-server",
                          .status = "OK",
                          .ticks = 1200,
                          .sim = "arena",
                          .seed = UINT64_MAX,
                          .tick_rate_hz = 60,
                          .final_tick = 1200,
                          .final_hash = 0xab,
                          .has_comparison = true,
                          .hashes_compared = 2402,
                          .packets_rejected = 3,
                          .has_spectators = true,
                          .spectators = 12,
                          .journal = {.file = "arena.journal",
                                      .bytes = 5000000001,
                                      .records = 81,
                                      .failures = 2,
                                      .ticks_missing = 7},
                          .player_count = 2,
                          .desync_count = 1};
    summary.players[0] = (ls_summary_player){.slot = 0,
                                             .name = "Ada \"q\"",
                                             .status = "OK",
                                             .has_server_figures = true,
                                             .hashes_compared = 1201,
                                             .inputs_on_time = 1190,
                                             .inputs_late = 4,
                                             .inputs_substituted = 10,
                                             .input_delay_ticks = 1,
                                             .joined_tick = 77,
                                             .rejoins = 2,
                                             .lag = {.cause = "uplink",
                                                     .text = {"uplink loses 4.8 %"},
                                                     .late_share = 0.0625,
                                                     .uplink_loss = 0.5,
                                                     .uplink_jitter_ms = 1.5,
                                                     .downlink_loss = 0.25,
                                                     .downlink_jitter_ms = 2.5,
                                                     .longest_frame_ms = 20,
                                                     .suggested_input_delay_ticks = 3},
                                             .has_client_figures = true,
                                             .stalled_ticks = 2,
                                             .rtt_ms = 20.5,
                                             .confirm_latency_p50_ms = 25.25,
                                             .confirm_latency_p99_ms = 42,
                                             .confirm_latency_max_ms = 50,
                                             .frames = 4800,
                                             .prediction = {.ticks = 8,
                                                            .rollbacks = 40,
                                                            .rollbacks_per_s = 2,
                                                            .depth_mean = 2.5,
                                                            .depth_p99 = 5,
                                                            .depth_max = 6,
                                                            .resimulated_ticks = 100,
                                                            .steps_per_tick = 1.125},
                                             .bytes_up = 5000000000,
                                             .bytes_down = 7};
    summary.players[1] = (ls_summary_player){.slot = 1, .name = "Bo", .status = "TIMED_OUT"};
    summary.desyncs[0] =
        (ls_summary_desync){.tick = 77,
                            .slot = 1,
                            .server_hash = 1,
                            .client_hash = UINT64_C(0xffffffffffffffff),
                            .has_cause = true,
                            .times = 2,
                            .healed = 1,
                            .elements = 40,
                            .is_lower_bound = true,
                            .pass = "move",
                            .class_word = "build",
                            .culprit = "both",
                            .why = "each side repeats its own result",
                            .inputs = "slot 0: 2 bytes 01e8; slot 1: nothing",
                            .found_ms = 250.5,
                            .place_count = 1,
                            .places = {{"ships", "ships[3].x", "1.5 m", "2.5 m", "m"}}};
    return summary;
}

/* The keys are a contract with scripts; 64-bit values are strings; what is not known is null. */
static const char expected[] = "{\n"
                               "\t\"program\":\t\"lockstep-server\",\n"
                               "\t\"status\":\t\"OK\",\n"
                               "\t\"ticks\":\t1200,\n"
                               "\t\"sim\":\t\"arena\",\n"
                               "\t\"seed\":\t\"18446744073709551615\",\n"
                               "\t\"tick_rate_hz\":\t60,\n"
                               "\t\"final_tick\":\t1200,\n"
                               "\t\"final_hash\":\t\"00000000000000ab\",\n"
                               "\t\"hashes_compared\":\t2402,\n"
                               "\t\"packets_rejected\":\t3,\n"
                               "\t\"spectators\":\t12,\n"
                               "\t\"journal\":\t{\n"
                               "\t\t\"file\":\t\"arena.journal\",\n"
                               "\t\t\"bytes\":\t5000000001,\n"
                               "\t\t\"records\":\t81,\n"
                               "\t\t\"failures\":\t2,\n"
                               "\t\t\"ticks_missing\":\t7\n"
                               "\t},\n"
                               "\t\"players\":\t[{\n"
                               "\t\t\t\"slot\":\t0,\n"
                               "\t\t\t\"name\":\t\"Ada \\\"q\\\"\",\n"
                               "\t\t\t\"status\":\t\"OK\",\n"
                               "\t\t\t\"hashes_compared\":\t1201,\n"
                               "\t\t\t\"inputs_on_time\":\t1190,\n"
                               "\t\t\t\"inputs_late\":\t4,\n"
                               "\t\t\t\"inputs_substituted\":\t10,\n"
                               "\t\t\t\"input_delay_ticks\":\t1,\n"
                               "\t\t\t\"joined_tick\":\t77,\n"
                               "\t\t\t\"rejoins\":\t2,\n"
                               "\t\t\t\"lag\":\t{\n"
                               "\t\t\t\t\"cause\":\t\"uplink\",\n"
                               "\t\t\t\t\"text\":\t\"uplink loses 4.8 %\",\n"
                               "\t\t\t\t\"late_share\":\t0.0625,\n"
                               "\t\t\t\t\"uplink_loss\":\t0.5,\n"
                               "\t\t\t\t\"uplink_jitter_ms\":\t1.5,\n"
                               "\t\t\t\t\"downlink_loss\":\t0.25,\n"
                               "\t\t\t\t\"downlink_jitter_ms\":\t2.5,\n"
                               "\t\t\t\t\"longest_frame_ms\":\t20,\n"
                               "\t\t\t\t\"suggested_input_delay_ticks\":\t3\n"
                               "\t\t\t},\n"
                               "\t\t\t\"stalled_ticks\":\t2,\n"
                               "\t\t\t\"rtt_ms\":\t20.5,\n"
                               "\t\t\t\"confirm_latency_ms\":\t{\n"
                               "\t\t\t\t\"p50\":\t25.25,\n"
                               "\t\t\t\t\"p99\":\t42,\n"
                               "\t\t\t\t\"max\":\t50\n"
                               "\t\t\t},\n"
                               "\t\t\t\"frames\":\t4800,\n"
                               "\t\t\t\"prediction\":\t{\n"
                               "\t\t\t\t\"ticks\":\t8,\n"
                               "\t\t\t\t\"rollbacks\":\t40,\n"
                               "\t\t\t\t\"rollbacks_per_s\":\t2,\n"
                               "\t\t\t\t\"depth_ticks\":\t{\n"
                               "\t\t\t\t\t\"mean\":\t2.5,\n"
                               "\t\t\t\t\t\"p99\":\t5,\n"
                               "\t\t\t\t\t\"max\":\t6\n"
                               "\t\t\t\t},\n"
                               "\t\t\t\t\"resimulated_ticks\":\t100,\n"
                               "\t\t\t\t\"steps_per_tick\":\t1.125\n"
                               "\t\t\t},\n"
                               "\t\t\t\"bytes_up\":\t5000000000,\n"
                               "\t\t\t\"bytes_down\":\t7\n"
                               "\t\t}, {\n"
                               "\t\t\t\"slot\":\t1,\n"
                               "\t\t\t\"name\":\t\"Bo\",\n"
                               "\t\t\t\"status\":\t\"TIMED_OUT\",\n"
                               "\t\t\t\"hashes_compared\":\tnull,\n"
                               "\t\t\t\"inputs_on_time\":\tnull,\n"
                               "\t\t\t\"inputs_late\":\tnull,\n"
                               "\t\t\t\"inputs_substituted\":\tnull,\n"
                               "\t\t\t\"input_delay_ticks\":\tnull,\n"
                               "\t\t\t\"joined_tick\":\tnull,\n"
                               "\t\t\t\"rejoins\":\tnull,\n"
                               "\t\t\t\"lag\":\tnull,\n"
                               "\t\t\t\"stalled_ticks\":\tnull,\n"
                               "\t\t\t\"rtt_ms\":\tnull,\n"
                               "\t\t\t\"confirm_latency_ms\":\t{\n"
                               "\t\t\t\t\"p50\":\tnull,\n"
                               "\t\t\t\t\"p99\":\tnull,\n"
                               "\t\t\t\t\"max\":\tnull\n"
                               "\t\t\t},\n"
                               "\t\t\t\"frames\":\tnull,\n"
                               "\t\t\t\"prediction\":\tnull,\n"
                               "\t\t\t\"bytes_up\":\t0,\n"
                               "\t\t\t\"bytes_down\":\t0\n"
                               "\t\t}],\n"
                               "\t\"desyncs\":\t[{\n"
                               "\t\t\t\"tick\":\t77,\n"
                               "\t\t\t\"slot\":\t1,\n"
                               "\t\t\t\"server_hash\":\t\"0000000000000001\",\n"
                               "\t\t\t\"client_hash\":\t\"ffffffffffffffff\",\n"
                               "\t\t\t\"part\":\t\"ships\",\n"
                               "\t\t\t\"field\":\t\"ships[3].x\",\n"
                               "\t\t\t\"server_value\":\t\"1.5 m\",\n"
                               "\t\t\t\"client_value\":\t\"2.5 m\",\n"
                               "\t\t\t\"unit\":\t\"m\",\n"
                               "\t\t\t\"differing\":\t40,\n"
                               "\t\t\t\"differing_is_lower_bound\":\ttrue,\n"
                               "\t\t\t\"fields\":\t[{\n"
                               "\t\t\t\t\t\"part\":\t\"ships\",\n"
                               "\t\t\t\t\t\"field\":\t\"ships[3].x\",\n"
                               "\t\t\t\t\t\"server_value\":\t\"1.5 m\",\n"
                               "\t\t\t\t\t\"client_value\":\t\"2.5 m\",\n"
                               "\t\t\t\t\t\"unit\":\t\"m\"\n"
                               "\t\t\t\t}],\n"
                               "\t\t\t\"pass\":\t\"move\",\n"
                               "\t\t\t\"class\":\t\"build\",\n"
                               "\t\t\t\"culprit\":\t\"both\",\n"
                               "\t\t\t\"why\":\t\"each side repeats its own result\",\n"
                               "\t\t\t\"inputs\":\t\"slot 0: 2 bytes 01e8; slot 1: nothing\",\n"
                               "\t\t\t\"bundle\":\tnull,\n"
                               "\t\t\t\"found_ms\":\t250.5,\n"
                               "\t\t\t\"times\":\t2,\n"
                               "\t\t\t\"healed\":\t1\n"
                               "\t\t}]\n"
                               "}\n";

/* A file name in a directory of its own. */
static void make_path(char *path, size_t capacity)
{
    const char *base = getenv("TMPDIR");
    char directory[256];
    snprintf(directory, sizeof directory, "%s/summary-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, capacity, "%s/summary.json", directory);
}

static void remove_path(const char *path)
{
    char directory[300];
    snprintf(directory, sizeof directory, "%s", path);
    cr_assert_eq(unlink(path), 0);
    *strrchr(directory, '/') = '\0';
    cr_assert_eq(rmdir(directory), 0);
}

static size_t read_file(const char *path, char *text, size_t capacity)
{
    int file = open(path, O_RDONLY);
    cr_assert_geq(file, 0);
    ssize_t size = read(file, text, capacity - 1);
    cr_assert_geq(size, 0);
    close(file);
    text[size] = '\0';
    return (size_t)size;
}

Test(summary, writes_every_key_to_a_file)
{
    char path[300];
    char text[4096];
    ls_text why = {{0}};
    ls_summary summary = example();
    make_path(path, sizeof path);
    cr_assert_eq(ls_summary_write(&summary, path, &why), LS_OK);
    read_file(path, text, sizeof text);
    cr_assert_str_eq(text, expected);
    remove_path(path);
}

Test(summary, replaces_what_was_in_the_file)
{
    char path[300];
    char text[4096];
    ls_text why = {{0}};
    ls_summary summary = example();
    make_path(path, sizeof path);
    cr_assert_eq(ls_summary_write(&summary, path, &why), LS_OK);
    summary.player_count = 0;
    summary.desync_count = 0;
    cr_assert_eq(ls_summary_write(&summary, path, &why), LS_OK);
    read_file(path, text, sizeof text);
    cr_assert_not_null(strstr(text, "\"players\":\t[],\n\t\"desyncs\":\t[]\n}\n"));
    remove_path(path);
}

Test(summary, a_dash_is_standard_output, .init = cr_redirect_stdout)
{
    ls_text why = {{0}};
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "-", &why), LS_OK);
    cr_assert_stdout_eq_str(expected);
}

Test(summary, a_path_that_cannot_be_written_is_named)
{
    ls_text why = {{0}};
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "/nonexistent/summary.json", &why), LS_IO);
    cr_assert_not_null(strstr(why.bytes, "/nonexistent/summary.json"));
    cr_assert_not_null(strstr(why.bytes, "No such file"));
}

Test(summary, a_full_disk_is_noticed)
{
    if (access("/dev/full", W_OK) != 0) {
        cr_skip("no /dev/full here");
    }
    ls_text why = {{0}};
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "/dev/full", &why), LS_IO);
    cr_assert_not_null(strstr(why.bytes, "No space left"));
}

Test(summary, without_a_match_everything_about_it_is_null)
{
    static const char *const lines[] = {"\"status\":\t\"REFUSED\"",  "\"sim\":\tnull",
                                        "\"seed\":\tnull",           "\"tick_rate_hz\":\tnull",
                                        "\"final_tick\":\tnull",     "\"final_hash\":\tnull",
                                        "\"hashes_compared\":\tnull"};
    char path[300];
    char text[4096];
    ls_text why = {{0}};
    ls_summary summary = {.program = "lockstep-client", .status = "REFUSED", .seed = 5};
    make_path(path, sizeof path);
    cr_assert_eq(ls_summary_write(&summary, path, &why), LS_OK);
    read_file(path, text, sizeof text);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_assert_not_null(strstr(text, lines[i]), "%s in %s", lines[i], text);
    }
    remove_path(path);
}

Test(summary, several_matches_stand_in_one_array_below_their_worst_status)
{
    char path[300];
    char text[8192];
    ls_text why = {{0}};
    ls_summary summaries[] = {example(), example(), example()};
    summaries[0].status = "OK";
    summaries[1].status = "DESYNCED";
    summaries[2].status = "OK";
    summaries[2].final_tick = 77777;
    make_path(path, sizeof path);
    cr_assert_eq(ls_summary_write_matches(summaries, 3, path, &why), LS_OK);
    read_file(path, text, sizeof text);
    char head[128];
    snprintf(head, sizeof head,
             "{\n\t\"program\":\t\"%s\",\n\t\"status\":\t\"DESYNCED\",\n\t\"matches\":\t[{",
             summaries[0].program);
    cr_assert_eq(strncmp(text, head, strlen(head)), 0, "%s", text);
    const char *last = strstr(text, "\"final_tick\":\t77777");
    cr_assert_not_null(last);
    cr_assert_null(strstr(last, "\"final_tick\":\t1"), "it stands last");
    remove_path(path);
}

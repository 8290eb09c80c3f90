#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/summary.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_desyncs(ls_summary *summary)
{
    summary->desyncs[0] =
        (ls_summary_desync){.tick = 77,
                            .slot = 1,
                            .server_hash = 1,
                            .client_hash = UINT64_C(0xffffffffffffffff),
                            .has_cause = true,
                            .first_tick = 75,
                            .first_tick_min = 75,
                            .first_tick_max = 75,
                            .times = 2,
                            .healed = 1,
                            .elements = 40,
                            .is_lower_bound = true,
                            .pass = "move",
                            .values_after_pass = "move",
                            .class_word = "build",
                            .culprit = "both",
                            .why = "each side repeats its own result",
                            .inputs = "slot 0: 2 bytes 01e8; slot 1: nothing",
                            .circumstances = "other clients",
                            .next = {"explain it"},
                            .values_ms = 120.25,
                            .found_ms = 250.5,
                            .place_count = 1,
                            .places = {{"ships", "ships[3].x", "1.5 m", "2.5 m", "m"}}};
    summary->firsts[0] = (ls_summary_desync){.tick = 12, .slot = 1, .bundle = "a.bundle"};
}

static const ls_summary_network network = {
    .dropped = {.count = 2, .rows = {{"forged", 5}, {"limited", 0}}},
    .clients_refused = {.count = 1, .rows = {{"full", 6}}},
};

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
                                                     .lost_ms = 250,
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
                                             .wakes_per_s = 64.5,
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
    summary.players[1] = (ls_summary_player){
        .slot = 1, .name = "Bo", .status = "TIMED_OUT", .why = "no answer for 10 s"};
    add_desyncs(&summary);
    summary.network = &network;
    return summary;
}

/* The keys are a contract with scripts; 64-bit values are strings; what is not known is null.
 * Quotes are single ones here, and there is no white space. */
static const char expected[] =
    "{'program':'lockstep-server','status':'OK','ticks':1200,'sim':'arena',"
    "'seed':'18446744073709551615','tick_rate_hz':60,'final_tick':1200,"
    "'final_hash':'00000000000000ab','hashes_compared':2402,'packets_rejected':3,'spectators':12,"
    "'journal':{'file':'arena.journal','bytes':5000000001,'records':81,'failures':2,"
    "'ticks_missing':7},"
    "'network':{'datagrams_dropped':{'forged':5,'limited':0},'clients_refused':{'full':6},"
    "'tokens_refused':null},"
    "'players':[{'slot':0,'name':'Ada \\'q\\'','status':'OK','why':null,'hashes_compared':1201,"
    "'inputs_on_time':1190,'inputs_late':4,'inputs_substituted':10,'input_delay_ticks':1,"
    "'joined_tick':77,'rejoins':2,"
    "'lag':{'cause':'uplink','text':'uplink loses 4.8 "
    "%','lost_ms':250,'late_share':0.0625,'uplink_loss':0.5,"
    "'uplink_jitter_ms':1.5,'downlink_loss':0.25,'downlink_jitter_ms':2.5,'longest_frame_ms':20,"
    "'suggested_input_delay_ticks':3},"
    "'stalled_ticks':2,'rtt_ms':20.5,"
    "'confirm_latency_ms':{'p50':25.25,'p99':42,'max':50},"
    "'frames':4800,'wakes_per_s':64.5,"
    "'prediction':{'ticks':8,'rollbacks':40,'rollbacks_per_s':2,"
    "'depth_ticks':{'mean':2.5,'p99':5,'max':6},"
    "'resimulated_ticks':100,'steps_per_tick':1.125},"
    "'bytes_up':5000000000,'bytes_down':7},"
    "{'slot':1,'name':'Bo','status':'TIMED_OUT','why':'no answer for 10 "
    "s','hashes_compared':null,'inputs_on_time':null,"
    "'inputs_late':null,'inputs_substituted':null,'input_delay_ticks':null,'joined_tick':null,"
    "'rejoins':null,'lag':null,'stalled_ticks':null,'rtt_ms':null,"
    "'confirm_latency_ms':{'p50':null,'p99':null,'max':null},"
    "'frames':null,'wakes_per_s':null,'prediction':null,'bytes_up':0,'bytes_down':0}],"
    "'desyncs':[{'tick':77,'slot':1,'server_hash':'0000000000000001',"
    "'client_hash':'ffffffffffffffff','clients_against_server':0,'first_tick':75,'first_tick_min':"
    "75,'first_tick_max':75,'part':'ships',"
    "'field':'ships[3].x','server_value':'1.5 m','client_value':'2.5 m','unit':'m',"
    "'differing':40,'differing_is_lower_bound':true,"
    "'fields':[{'part':'ships','field':'ships[3].x','server_value':'1.5 m',"
    "'client_value':'2.5 m','unit':'m'}],"
    "'pass':'move','values_after_pass':'move','class':'build','culprit':'both','why':'each side "
    "repeats its own result',"
    "'inputs':'slot 0: 2 bytes 01e8; slot 1: "
    "nothing','circumstances':'other "
    "clients','bundle':null,'next':'explain it','values_ms':120.25,'found_ms':250.5,'times':2,"
    "'healed':1,"
    "'first':{'tick':12,'slot':1,'server_hash':'0000000000000000',"
    "'client_hash':'0000000000000000','clients_against_server':0,'first_tick':null,'first_tick_min'"
    ":null,'first_tick_max':null,'part':null,'"
    "field':null,"
    "'server_"
    "value':null,"
    "'client_value':null,'unit':null,'differing':null,'differing_is_lower_bound':null,"
    "'fields':[],'pass':null,'values_after_pass':null,'class':null,'culprit':null,'why':null,'"
    "inputs':null,'circumstances':null,"
    "'bundle':'a.bundle','next':null,'values_ms':null,'found_ms':null,'times':null,'healed':null}}]"
    "}";

static char directory[256];
static char path[300];
static char text[16384];
static ls_text why;

static void make_directory(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/summary-XXXXXX", base ? base : "/tmp");
    cr_assert_not_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/summary.json", directory);
}

static void remove_directory(void)
{
    unlink(path);
    cr_assert_eq(rmdir(directory), 0);
}

TestSuite(summary, .init = make_directory, .fini = remove_directory);

static void read_text(void)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

/* The file's text. */
static const char *write_text(const ls_summary *summary)
{
    cr_assert_eq(ls_summary_write(summary, path, &why), LS_OK);
    read_text();
    return text;
}

/* Without the white space between its parts, and with single quotes. */
static const char *plain(const char *json)
{
    static char bare[8192];
    size_t size = 0;
    cr_assert_lt(strlen(json), sizeof bare);
    for (const char *at = json; *at != '\0'; at++) {
        bool is_space = *at == '\t' || *at == '\n' || (*at == ' ' && at[-1] == ',' && at[1] == '{');
        if (!is_space) {
            bare[size++] = *at == '"' ? '\'' : *at;
        }
    }
    bare[size] = '\0';
    return bare;
}

Test(summary, every_key_is_written_to_a_file)
{
    ls_summary summary = example();
    write_text(&summary);
    cr_assert_str_eq(plain(text), expected);
    cr_assert_eq(strstr(text, "{\n\t\"program\":\t\"lockstep-server\",\n\t\"status\":\t"), text);
    cr_assert_str_eq(text + strlen(text) - 7, "\t\t}]\n}\n", "indented, and a line's end");
}

Test(summary, a_summary_replaces_the_one_in_the_file)
{
    ls_summary summary = example();
    write_text(&summary);
    summary.player_count = 0;
    summary.desync_count = 0;
    cr_assert_not_null(strstr(write_text(&summary), "\"players\":\t[],\n\t\"desyncs\":\t[]\n}\n"));
}

Test(summary, a_dash_is_standard_output, .init = cr_redirect_stdout)
{
    ls_summary summary = example();
    cr_assert_eq(ls_summary_write(&summary, "-", &why), LS_OK);
    cr_assert_stdout_eq_str(write_text(&summary));
}

Test(summary, a_path_that_cannot_be_written_is_named)
{
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
    ls_summary summary = {.program = "lockstep-client", .status = "REFUSED", .seed = 5};
    write_text(&summary);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_assert_not_null(strstr(text, lines[i]), "%s in %s", lines[i], text);
    }
}

Test(summary, several_matches_stand_in_one_array_below_their_worst_status)
{
    ls_summary summaries[] = {example(), example(), example()};
    summaries[0].status = "OK";
    summaries[1].status = "DESYNCED";
    summaries[2].status = "OK";
    summaries[2].final_tick = 77777;
    cr_assert_eq(ls_summary_write_matches(summaries, 3, NULL, path, &why), LS_OK);
    read_text();
    char head[128];
    snprintf(head, sizeof head,
             "{\n\t\"program\":\t\"%s\",\n\t\"status\":\t\"DESYNCED\",\n\t\"network\":\tnull,"
             "\n\t\"matches\":\t[{",
             summaries[0].program);
    cr_assert_eq(strncmp(text, head, strlen(head)), 0, "%s", text);
    const char *last = strstr(text, "\"final_tick\":\t77777");
    cr_assert_not_null(last);
    cr_assert_null(strstr(last, "\"final_tick\":\t1"), "it stands last");
}

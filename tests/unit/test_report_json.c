#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/json.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/self_test.h"
#include "lockstep/tools/netcond/netcond.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name as hostile as a player's may be: what ends a string, what escapes, what no string may
 * hold. And what a reader must find in its place. */
#define NAME "q\" b\\ n\n e\x1b"
#define ESCAPED "q\\\" b\\\\ n\\n e\\u001b"

static char path[] = "/tmp/report-XXXXXX";
static char text[65536];

static void open_file(void)
{
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
}

static void remove_file(void)
{
    remove(path);
}

TestSuite(report_json, .init = open_file, .fini = remove_file);

static void expect_written(ls_status status, const char *words)
{
    FILE *file = fopen(path, "rb");
    cr_assert_eq(status, LS_OK);
    cr_assert_not_null(file);
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = '\0';
    fclose(file);
    cr_expect(strstr(text, words), "no %s in: %s", words, text);
}

Test(report_json, fault_simulation_escapes_what_a_failure_says)
{
    faultsim_config config = {.first_seed = 1, .last_seed = UINT64_MAX};
    faultsim_report *report = calloc(1, sizeof *report);
    report->config = &config;
    report->failure_count = report->failures_kept = 1;
    report->failures[0].seed = 7;
    ls_text_set(&report->failures[0].fault, "%s", NAME);
    expect_written(faultsim_report_write(report, path, NULL), "\"" ESCAPED "\"");
    expect_written(LS_OK, "\"18446744073709551615\"");
    free(report);
}

Test(report_json, self_test_escapes_the_name_of_its_simulation)
{
    static faultsim_self_test_score score = {.simulation = NAME, .flips = 12};
    expect_written(faultsim_self_test_write(path, &score, 1, NULL), "\"" ESCAPED "\"");
    cr_expect(strstr(text, "\"flips\":\t12"), "%s", text);
}

Test(report_json, conditioner_writes_what_was_asked_and_measured)
{
    static netcond_conditioner_figures figures[NETCOND_DIRECTION_COUNT];
    netcond_proxy_config config = netcond_proxy_config_default();
    config.server = config.listen; /* any address */
    netcond_report report = {.config = &config, .figures = {&figures[0], &figures[1]}};
    config.links[0].loss_ppm = 50000;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        figures[i].delay.magnified = figures[i].late.magnified = 1;
    }
    figures[0].received = 10;
    figures[0].lost[NETCOND_LOSS_RANDOM] = 3;
    expect_written(netcond_report_write(&report, path, NULL), "\"loss_percent\":\t5,");
    cr_expect(strstr(text, "\"loss_percent\":\t30,"), "%s", text);
    cr_expect(strstr(text, "\"received\":\t10,"), "%s", text);
}

Test(report_json, summary_escapes_what_a_player_is_called)
{
    static ls_summary summary = {.program = "lockstep-server", .status = "OK", .player_count = 1};
    snprintf(summary.players[0].name, sizeof summary.players[0].name, "%s", NAME);
    expect_written(ls_summary_write(&summary, path, NULL), "\"" ESCAPED "\"");
}

/* ---- tables of fields ---- */

typedef struct sample {
    uint16_t port;
    uint32_t count;
    uint64_t bytes;
    double share;
    bool is_open;
    const char *word;
    const char *missing;
    char name[16];
    ls_text sentence;
} sample;

#define FIELD(member) LS_JSON_FIELD(sample, member)

static const ls_json_field sample_fields[] = {FIELD(port),    FIELD(count),   FIELD(bytes),
                                              FIELD(share),   FIELD(is_open), FIELD(word),
                                              FIELD(missing), FIELD(name),    FIELD(sentence)};

static void fill_sample(ls_json *json, const void *from)
{
    LS_JSON_ADD(json, sample_fields, from);
}

Test(report_json, a_field_of_every_type_becomes_a_member)
{
    sample all = {.port = 65535,
                  .count = UINT32_MAX,
                  .bytes = UINT64_C(1) << 40,
                  .share = 0.25,
                  .is_open = true,
                  .word = "a",
                  .name = "b\"",
                  .sentence = {"c\\"}};
    expect_written(ls_json_save(fill_sample, &all, path, NULL),
                   "\t\"port\":\t65535,\n\t\"count\":\t4294967295,\n\t\"bytes\":\t1099511627776,\n"
                   "\t\"share\":\t0.25,\n\t\"is_open\":\ttrue,\n\t\"word\":\t\"a\",\n"
                   "\t\"missing\":\tnull,\n\t\"name\":\t\"b\\\"\",\n\t\"sentence\":\t\"c\\\\\"\n");
    expect_written(ls_json_save(fill_sample, NULL, path, NULL), "\"port\":\tnull,");
    cr_expect_null(strstr(text, "65535"));
}

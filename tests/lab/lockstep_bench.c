/* lockstep-bench: reads the command line, runs the sections, reports. */
#include "lockstep/common/base/log.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tests/lab/bench/comparison.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <stdlib.h>
#include <string.h>

enum {
    SECTIONS_MAX = 64, /* more than there are: one may be named again */
    DEFAULT_ROUNDS = 51,
    DEFAULT_TOLERANCE_PERCENT = 10,
};

/* Short enough that others who use the machine come between few of the rounds. */
#define ROUND_NS UINT64_C(500000)
#define SMOKE_ROUND_NS UINT64_C(20000)

typedef struct arguments {
    const bench_section *sections[SECTIONS_MAX];
    uint32_t section_count;
    uint32_t rounds;
    bool is_smoke;
    const char *json;
    const char *old_report;
    uint32_t tolerance_percent;
} arguments;

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_U32, FIELD(rounds), .min = 1, .max = BENCH_ROUNDS_MAX, .flag = "rounds",
     .letter = 'r', .argument = "N", .help = "Rounds of which the median is taken"},
    {LS_SETTING_IS_TEXT, FIELD(json), .flag = "json", .argument = "FILE|-",
     .help = "Write the figures as JSON; with - the table goes to stderr"},
    {LS_SETTING_IS_TEXT, FIELD(old_report), .flag = "compare", .argument = "OLD.json",
     .default_text = "", .help = "Show what has changed since the run that wrote OLD.json"},
    {LS_SETTING_IS_U32, FIELD(tolerance_percent), .min = 1, .max = 1000, .flag = "tolerance",
     .argument = "PERCENT", .help = "Changes below it are not shown, and are not worse"},
    {LS_SETTING_IS_SWITCH, FIELD(is_smoke), .flag = "smoke",
     .help = "Only show that everything runs: the figures mean nothing"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status take_section(void *user, char *name, ls_text *why)
{
    arguments *args = user;
    const bench_section *section = bench_section_find(name);
    if (!section) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there is no section '%s'", name);
    }
    if (args->section_count == SECTIONS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "at most %d sections", SECTIONS_MAX);
    }
    args->sections[args->section_count++] = section;
    return LS_OK;
}

static void add_all_sections(arguments *args)
{
    for (uint32_t i = 0; i < SECTIONS_MAX && bench_section_at(i); i++) {
        args->sections[args->section_count++] = bench_section_at(i);
    }
}

static void print_sections(FILE *file)
{
    fprintf(file, "Sections:\n");
    for (uint32_t i = 0; bench_section_at(i); i++) {
        fprintf(file, "  %-10s %s\n", bench_section_at(i)->name, bench_section_at(i)->about);
    }
}

/* The figures of a smoke run mean nothing: neither do its budgets. */
static ls_status finish(const arguments *args, const bench_report *report, bool *is_missed,
                        ls_text *why)
{
    bench_comparison comparison = {.worse = 0};
    ls_status status = bench_report_end(report, args->json, why);
    if (status == LS_OK && args->old_report) {
        status = bench_comparison_print(report, args->old_report, args->tolerance_percent / 100.0,
                                        &comparison, why);
    }
    *is_missed = !args->is_smoke && (report->missed > 0 || comparison.worse > 0);
    return status;
}

static ls_status run(const arguments *args, bench_report *report, bool *is_missed, ls_text *why)
{
    bench_plan plan = {.rounds = args->is_smoke ? 1 : args->rounds,
                       .round_ns = args->is_smoke ? SMOKE_ROUND_NS : ROUND_NS,
                       .is_smoke = args->is_smoke};
    ls_status status = args->json ? ls_output_check_path(args->json, why) : LS_OK;
    if (status != LS_OK) {
        return status;
    }
    bool is_json_on_stdout = args->json && strcmp(args->json, "-") == 0;
    bench_report_begin(report, is_json_on_stdout ? stderr : stdout, &plan);
    for (uint32_t i = 0; status == LS_OK && i < args->section_count; i++) {
        status = bench_section_run_in(args->sections[i], &plan, report, why);
    }
    return status == LS_OK ? finish(args, report, is_missed, why) : status;
}

int main(int argc, char **argv)
{
    arguments args = {.rounds = DEFAULT_ROUNDS, .tolerance_percent = DEFAULT_TOLERANCE_PERCENT};
    const ls_command_line line = {
        .summary = "Measures Lockstep against its budgets: every section, or those named.",
        .words = "[SECTION...]",
        .ending =
            "Exit codes: 0 measured and within all budgets, 1 environment, 2 usage, 3 a budget "
            "is missed, a figure is worse than in OLD.json, or a match in memory desynced, "
            "4 internal.",
        .print_lists = print_sections,
        .parts = {{&table, &args, NULL}},
        .take_word = take_section,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    if (args.section_count == 0) {
        add_all_sections(&args);
    }

    const ls_log log = ls_log_stderr("lockstep-bench", LS_LOG_INFO);
    ls_text why = {{0}};
    bench_report report = {.count = 0};
    bool is_missed = false;
    ls_status status = run(&args, &report, &is_missed, &why);
    bench_report_release(&report);
    if (status != LS_OK) {
        ls_log_line(&log, LS_LOG_ERROR, "%s", why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    return status == LS_OK && is_missed ? LS_EXIT_DESYNC : ls_exit_code_of(status);
}

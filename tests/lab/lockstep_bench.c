/* lockstep-bench: reads the command line, runs the sections, reports. */
#include "lockstep/common/base/log.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tests/lab/bench/report.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <stdlib.h>
#include <string.h>

/* The figures of this run beside those that an older build wrote as JSON. They are held against
 * each other at the reference's speed, as budgets are, so that a slow hour of the machine is no
 * regression. */
typedef struct bench_comparison {
    uint32_t compared; /* figures that both runs have */
    uint32_t worse;    /* of them, by more than the tolerance */
} bench_comparison;

enum {
    SECTIONS_MAX = 64, /* more than there are: one may be named again */
    DEFAULT_ROUNDS = 51,
    DEFAULT_TOLERANCE_PERCENT = 10,
};

/* Short enough that others who use the machine come between few of the rounds. */
#define ROUND_NS UINT64_C(500000)
#define SMOKE_ROUND_NS UINT64_C(20000)

/* ---- the sections ---- */

typedef ls_status (*bench_section_run)(const bench_plan *plan, bench_report *report, ls_text *why);

typedef struct bench_section {
    const char *name;
    const char *about; /* one line */
    bench_section_run run;
} bench_section;

static const bench_section sections[] = {
    {"sims", "the built-in simulations, and Box2D 2.4 where its plug-in is there, 4 bots",
     bench_sims},
    {"hash", "hashing, saving and loading states, against what memory can do", bench_hash},
    {"session", "a match in memory, without system calls, hashes every tick", bench_session},
    {"matches", "many small matches in memory: bytes of one, a tick of one that is in no cache",
     bench_matches},
    {"causes", "keeping states to find causes of desyncs, against not", bench_causes},
    {"sealed", "sealed packets, key exchanges, floods of forged datagrams", bench_sealed},
    {"net", "sockets against a bare ENet relay: bytes, latency by RTT and loss", bench_net},
    {"relay", "lockstep-relay: datagrams on real sockets, against those that go directly",
     bench_relay},
    {"client", "lockstep-client in a match of two on real sockets against bare ENet", bench_client},
    {"service", "lockstep-server --config on two workers, rooms of four in the arena",
     bench_service},
    {"rooms", "how many rooms of four a core carries in time, their players on another one",
     bench_rooms},
    {"watch", "a match of four on real sockets, alone and with 1,000 spectators", bench_watch},
    {"growth", "what a client takes of its link by players, rate and loss, in virtual time",
     bench_growth},
    {"start", "connecting and starting a match of four at 60 ms RTT, by loss", bench_start},
    {"join", "joining a match at 100 ms RTT, 1 MiB/s, and by links: time, others' latency",
     bench_join},
    {"journal", "writing a match down, verifying it and seeking in it", bench_journal},
    {"timestep", "one frame through each stepping strategy", bench_timestep},
    {"view", "painting a frame of 1280 x 720, without showing it", bench_view},
    {"math", "fixed point, random numbers, sorting", bench_math},
};

enum {
    SECTION_COUNT = sizeof sections / sizeof sections[0],
};

static const bench_section *find_section(const char *name)
{
    for (uint32_t i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(sections[i].name, name) == 0) {
            return &sections[i];
        }
    }
    return NULL;
}

/* ---- the command line ---- */

typedef struct arguments {
    const bench_section *sections[SECTIONS_MAX];
    uint32_t section_count;
    uint32_t rounds;
    bool is_smoke;
    const char *json;
    const char *old_report;
    const char *drawn;
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
    {LS_SETTING_IS_TEXT, FIELD(drawn), .flag = "draw", .argument = "FILE.json", .default_text = "",
     .help = "Measure nothing: draw what a run wrote as FILE-players.svg, -state and -rooms"},
    {LS_SETTING_IS_SWITCH, FIELD(is_smoke), .flag = "smoke",
     .help = "Only show that everything runs: the figures mean nothing"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

/* ---- comparison ---- */

static const ls_json *find_old(const ls_json *report, const bench_figure *figure)
{
    const ls_json *old = ls_json_read_members(report, "figures");
    for (; old; old = ls_json_next(old)) {
        const char *section = ls_json_read_text(old, "section");
        const char *name = ls_json_read_text(old, "name");
        if (section && name && strcmp(section, figure->section) == 0 &&
            strcmp(name, figure->name) == 0) {
            return old;
        }
    }
    return NULL;
}

/* 1: more is worse; -1: less is; 0: neither. */
static int direction_of(const bench_figure *figure)
{
    switch (figure->budget.rule) {
    case BENCH_AT_MOST:
        return 1;
    case BENCH_AT_LEAST:
        return -1;
    case BENCH_NO_BUDGET:
        break;
    }
    return figure->unit[0] != '\0' ? 1 : 0;
}

static void compare(const bench_report *report, const bench_figure *figure, double old,
                    double tolerance, bench_comparison *out)
{
    double change = old != 0 ? figure->held / old - 1 : 0;
    int direction = direction_of(figure);
    bool is_worse = direction != 0 && direction * change > tolerance;
    out->compared++;
    out->worse += is_worse ? 1 : 0;
    if (change > tolerance || change < -tolerance) {
        fprintf(report->table, "  %-10s %-46s %10.4g -> %-10.4g %+6.1f %%  %s\n", figure->section,
                figure->name, old, figure->held, 100 * change,
                is_worse         ? "WORSE"
                : direction != 0 ? "better"
                                 : "");
    }
}

static ls_status compare_all(const bench_report *report, const ls_json *old_report,
                             double tolerance, bench_comparison *out)
{
    if (!ls_json_read_members(old_report, "figures")) {
        return LS_MALFORMED;
    }
    fprintf(report->table, "\nChanges of more than %.0f %%:\n", 100 * tolerance);
    for (uint32_t i = 0; i < report->count; i++) {
        const ls_json *old = find_old(old_report, &report->figures[i]);
        double held = 0;
        if (old && ls_json_read_number(old, "held", &held)) {
            compare(report, &report->figures[i], held, tolerance, out);
        }
    }
    fprintf(report->table, "%u figures compared, %u worse\n", out->compared, out->worse);
    return LS_OK;
}

/* Prints a row for each figure that differs by more than `tolerance` (0.1: a tenth) either way, and
 * a sum. For a figure with a budget more or less is worse as the budget has it; for one without,
 * more of a unit is worse, and a ratio is only shown. IO, or MALFORMED: the file is no report. */
static ls_status bench_comparison_print(const bench_report *report, const char *path,
                                        double tolerance, bench_comparison *out, ls_text *why)
{
    ls_mapped_file file = {NULL, 0};
    *out = (bench_comparison){.compared = 0};
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    ls_json *old = ls_json_parse((const char *)file.bytes, file.size);
    status = old ? compare_all(report, old, tolerance, out) : LS_MALFORMED;
    ls_json_destroy(old);
    ls_mapped_file_close(&file);
    return status == LS_OK ? LS_OK
                           : ls_fail(status, why, "%s is no report of lockstep-bench --json", path);
}

/* ---- the run ---- */

static ls_status read_section(void *user, char *name, ls_text *why)
{
    arguments *args = user;
    const bench_section *section = find_section(name);
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
    for (uint32_t i = 0; i < SECTION_COUNT; i++) {
        args->sections[args->section_count++] = &sections[i];
    }
}

static void print_sections(FILE *file)
{
    fprintf(file, "Sections:\n");
    for (uint32_t i = 0; i < SECTION_COUNT; i++) {
        ls_text head = {{0}};
        ls_text_set(&head, "  %-10s ", sections[i].name);
        ls_command_line_print_row(file, head.bytes, sections[i].about, 13);
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
        bench_report_section(report, args->sections[i]->name, args->sections[i]->about);
        status = args->sections[i]->run(&plan, report, why);
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
        .read_word = read_section,
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
    ls_status status =
        args.drawn ? bench_pictures_draw(args.drawn, &why) : run(&args, &report, &is_missed, &why);
    bench_report_release(&report);
    if (status != LS_OK) {
        ls_log_line(&log, LS_LOG_ERROR, "%s", why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    return status == LS_OK && is_missed ? LS_EXIT_DESYNC : ls_exit_code_of(status);
}

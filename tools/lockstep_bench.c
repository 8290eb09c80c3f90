/* lockstep-bench: reads the command line, runs the sections, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/program/output.h"
#include "lockstep/tools/bench/sections.h"

#include <stdlib.h>
#include <string.h>

enum {
    SECTIONS_MAX = 16,
    DEFAULT_ROUNDS = 51,
};

/* Short enough that others who use the machine come between few of the rounds. */
#define ROUND_NS UINT64_C(500000)
#define SMOKE_ROUND_NS UINT64_C(20000)

enum option_key {
    KEY_ROUNDS = 'r',
    KEY_JSON = 0x100,
    KEY_SMOKE,
};

static const struct argp_option options[] = {
    {"rounds", KEY_ROUNDS, "N", 0, "Rounds of which the median is taken, 1 to 101 (51)", 0},
    {"json", KEY_JSON, "FILE|-", 0, "Write the figures as JSON; with - the table goes to stderr",
     0},
    {"smoke", KEY_SMOKE, 0, 0, "Only show that everything runs: the figures mean nothing", 0},
    {0},
};

typedef struct arguments {
    const bench_section *sections[SECTIONS_MAX];
    uint32_t section_count;
    uint64_t rounds;
    bool is_smoke;
    const char *json;
} arguments;

static void add_section(struct argp_state *state, arguments *args, const char *name)
{
    const bench_section *section = bench_section_find(name);
    if (!section) {
        argp_error(state, "there is no section '%s'", name);
    } else if (args->section_count == SECTIONS_MAX) {
        argp_error(state, "at most %d sections", SECTIONS_MAX);
    } else {
        args->sections[args->section_count++] = section;
    }
}

static void add_all_sections(arguments *args)
{
    for (uint32_t i = 0; bench_section_at(i); i++) {
        args->sections[args->section_count++] = bench_section_at(i);
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_ROUNDS:
        ls_command_line_number(state, "rounds", value, (ls_option_range){1, BENCH_ROUNDS_MAX},
                               &args->rounds);
        return 0;
    case KEY_JSON:
        args->json = value;
        return 0;
    case KEY_SMOKE:
        args->is_smoke = true;
        return 0;
    case ARGP_KEY_ARG:
        add_section(state, args, value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The end of --help: the sections. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    char *extended = NULL;
    size_t bytes = 0;
    FILE *stream = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&extended, &bytes) : NULL;
    if (!stream) {
        return (char *)(uintptr_t)text;
    }
    fprintf(stream, "Sections:\n");
    for (uint32_t i = 0; bench_section_at(i); i++) {
        fprintf(stream, "  %-10s %s\n", bench_section_at(i)->name, bench_section_at(i)->about);
    }
    fprintf(stream, "\n%s", text ? text : "");
    fclose(stream);
    return extended;
}

static ls_status run(const arguments *args, bench_report *report, ls_text *why)
{
    bench_plan plan = {.rounds = args->is_smoke ? 1 : (uint32_t)args->rounds,
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
    return status == LS_OK ? bench_report_end(report, args->json, why) : status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[SECTION...]",
        .doc = "Measures Lockstep against its budgets: every section, or those named.\v"
               "Exit codes: 0 measured (also when budgets are missed), 1 environment, 2 usage, 3 a "
               "match in memory desynced, 4 internal.",
        .help_filter = help_filter,
    };
    arguments args = {.rounds = DEFAULT_ROUNDS};
    ls_command_line_parse(&argp, argc, argv, &args);
    if (args.section_count == 0) {
        add_all_sections(&args);
    }

    const ls_log log = ls_log_stderr("lockstep-bench", LS_LOG_INFO);
    ls_text why = {{0}};
    bench_report *report = ls_allocate(ls_allocator_heap(), sizeof *report);
    ls_status status = report ? run(&args, report, &why) : LS_NO_MEMORY;
    ls_release(ls_allocator_heap(), report);
    if (status != LS_OK) {
        ls_log_line(&log, LS_LOG_ERROR, "%s", why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    return ls_exit_code_of(status);
}

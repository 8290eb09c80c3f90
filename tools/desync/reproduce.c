#define _GNU_SOURCE
#include "lockstep/tools/desync/reproduce.h"

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/signals.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_SANITIZER_VARIABLES 4u

/* The needs of a plug-in that was built with sanitizers, of the process that runs it, and the place
 * of their reports, of which the first says what was wrong, and the file and line. */
typedef struct explain_sanitizer_report {
    char directory[64];
    char variables[EXPLAIN_SANITIZER_VARIABLES][4096]; /* "NAME=value" for the process; "": none */
} explain_sanitizer_report;

enum {
    TIME_MAX_MS = 20000, /* of one run */
    VARIABLES_MAX = 1024,
    NOISES = 4, /* of memory that is not set, tried one after the other */
    WORKERS_TRIED_MAX = 8,
};

/* One change is one run, or several of which each differs a little. */
typedef enum change_kind {
    CHANGE_ONCE,
    CHANGE_NOISE,    /* NOISES times */
    CHANGE_WORKERS,  /* 2, 3, ... */
    CHANGE_RELOADED, /* is known from the run with nothing changed */
    CHANGE_APART,    /* likewise */
} change_kind;

/* Variables of one change, as many as there are up to a NULL. */
typedef struct change {
    const char *word;
    const char *text;
    const char *cause;
    change_kind kind;
    bool is_harmless;
    uint32_t surroundings;
    const char *variables[EXPLAIN_SANITIZER_VARIABLES + 1];
} change;

#define HOLD_THE_MODE                                                                              \
    "run init and every pass through ls_strict_double_init and ls_strict_double_pass "             \
    "(lockstep/detail/common/simulation/strict_double.h)"

/* The most basic one first: what another process alone changes is no matter of any other. */
static const change changes[] = {
    {.word = "nothing", .text = "nothing changed", .cause = ""},
    {.word = "apart",
     .text = "another process, at other addresses",
     .cause = "the step depends on addresses, statics, seeds or the time; lockstep-synctest "
              "GAME.so --only fresh,addresses,clock names it",
     .kind = CHANGE_APART,
     .is_harmless = true,
     .surroundings = LS_RERUN_WITH_OTHER_ADDRESSES},
    {.word = "no-fma",
     .text = "CPU features off (AVX2, AVX-512, FMA)",
     .cause =
         "results depend on the CPU: the C library's mathematics, or functions that the plug-in "
         "has for some CPUs (target_clones, ifunc), take other instructions with FMA and AVX "
         "than without; let every CPU take the same",
     .is_harmless = true,
     .variables = {LS_SURROUNDING_NO_CPU_FEATURES}},
    {.word = "flush-to-zero",
     .text = "denormal numbers flushed to zero",
     .cause = "on the client something sets flush-to-zero, such as a library built with "
              "-ffast-math; " HOLD_THE_MODE,
     .surroundings = LS_RERUN_WITH_FLUSH_TO_ZERO},
    {.word = "rounding-down",
     .text = "rounding downwards",
     .cause = "on the client something sets another rounding mode; " HOLD_THE_MODE,
     .surroundings = LS_RERUN_WITH_ROUNDING_DOWN},
    {.word = "one-core",
     .text = "one processor",
     .cause = "results depend on the number of processors; let no order of threads reach the state",
     .is_harmless = true,
     .surroundings = LS_RERUN_WITH_ONE_CORE},
    {.word = "workers",
     .text = "other numbers of workers",
     .cause = "results depend on the number of workers, or on their order; add up in a fixed order",
     .kind = CHANGE_WORKERS,
     .is_harmless = true},
    {.word = "noise",
     .text = "other bytes in memory that is not set",
     .cause = "a step reads memory that it has not set; lockstep-synctest GAME.so --only "
              "stack,heap,scratch names the pass",
     .kind = CHANGE_NOISE,
     .is_harmless = true},
    {.word = "reloaded",
     .text = "saved and loaded at every tick",
     .cause = "the step depends on something outside the saved state; lockstep-synctest GAME.so "
              "--only save,join,scratch names it",
     .kind = CHANGE_RELOADED,
     .is_harmless = true},
    {.word = "directory",
     .text = "another working directory",
     .cause = "a step reads files by relative paths; read them before the match, into parameters "
              "or content",
     .is_harmless = true,
     .surroundings = LS_RERUN_WITH_ROOT_DIRECTORY},
    {.word = "locale",
     .text = "another language and time zone",
     .cause = "results depend on the language or the time zone",
     .is_harmless = true,
     .variables = {"LC_ALL=de_DE.UTF-8", "TZ=Pacific/Chatham"}},
};

static const change sanitized = {
    .word = "sanitized",
    .text = "the build with sanitizers",
    .cause = "a build with other flags gets another result: look at what it reports, or for code "
             "whose result the compiler chooses"};

static const change other = {.word = "other-build",
                             .text = "the other build",
                             .cause = "the two builds give other results; lockstep-synctest and "
                                      "lint tell what a compiler may change"};

_Static_assert(sizeof changes / sizeof changes[0] + 2 <= EXPLAIN_REPRODUCTIONS_MAX,
               "two for the builds");

typedef struct reproducing {
    const explain_runs *runs;
    ls_rerun_figures unchanged; /* of the run with nothing changed */
} reproducing;

/* ---- sanitizers, before a run ---- */

enum {
    LINE_BYTES_MAX = 1024,
    NAME_BYTES_MAX = 256,
};

/* Among the names in the plug-in's file, of which those of libraries that it needs are some. */
static bool names_library(const ls_mapped_file *file, const char *beginning, char *name)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->size;
    size_t size = strlen(beginning);
    /* Names begin behind the end of another one. */
    while ((at = memchr(at, '\0', (size_t)(end - at))) != NULL) {
        at++;
        size_t length = strnlen(at, (size_t)(end - at));
        if (length >= size && memcmp(at, beginning, size) == 0 && at + length < end &&
            length < NAME_BYTES_MAX && strstr(at, ".so")) {
            memcpy(name, at, length + 1);
            return true;
        }
    }
    return false;
}

/* The sanitizers' own libraries come first in the process: they replace malloc, and are there
 * before anything else. */
static ls_status set_preload(explain_sanitizer_report *report, const char *plugin, ls_text *why)
{
    static const char *const runtimes[] = {"libasan.so", "libtsan.so", "liblsan.so", "libubsan.so",
                                           "libclang_rt."};
    char name[NAME_BYTES_MAX];
    char *variable = report->variables[0];
    size_t capacity = sizeof report->variables[0];
    size_t used = 0;
    ls_mapped_file file = {NULL, 0};
    ls_status status = ls_mapped_file_open(plugin, &file, why);
    for (size_t i = 0; status == LS_OK && i < sizeof runtimes / sizeof runtimes[0]; i++) {
        if (names_library(&file, runtimes[i], name)) {
            used += (size_t)snprintf(variable + used, capacity - used, "%s%s",
                                     used == 0 ? "LD_PRELOAD=" : ":", name);
        }
    }
    ls_mapped_file_close(&file);
    return status;
}

/* For the plug-in in this file. IO, NOT_FOUND with `why`. */
static ls_status explain_sanitizer_report_open(explain_sanitizer_report *report, const char *plugin,
                                               ls_text *why)
{
    static const char *const options[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};
    *report = (explain_sanitizer_report){.directory = ""};
    if (!ls_folder_make_temporary(report->directory, sizeof report->directory)) {
        return ls_fail(LS_IO, why, "no folder can be made for what a sanitizer reports");
    }
    ls_status status = set_preload(report, plugin, why);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        snprintf(report->variables[1 + i], sizeof report->variables[1 + i],
                 "%s=log_path=%s/%zu:detect_leaks=0:halt_on_error=1:print_stacktrace=1", options[i],
                 report->directory, i);
    }
    return status;
}

/* ---- sanitizers, after a run ---- */

static void cut_line(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
}

/* "    #1 0x7f... in fill game.c:41": the first frame with a line of a file, which is not one of
 * the sanitizer's own. */
static bool is_place(const char *line)
{
    const char *in = strstr(line, " in ");
    const char *colon = strrchr(line, ':');
    return strstr(line, "#") && in && colon && colon > in && colon[1] >= '0' && colon[1] <= '9' &&
           !strstr(line, "libsanitizer") && !strstr(line, "interceptor");
}

/* AddressSanitizer tells first what it is and then, in the stack below, where. False: it does not
 * tell where; the process may have been killed while it wrote. */
static bool read_report(FILE *file, ls_text *out)
{
    char line[LINE_BYTES_MAX];
    bool has_begun = false;
    while (fgets(line, sizeof line, file)) {
        char *error = strstr(line, "runtime error:");
        cut_line(line);
        if (error && !has_begun) {
            const char *slash = strrchr(line, '/');
            bool is_before = slash && slash < error;
            ls_text_set(out, "%s", is_before ? slash + 1 : line);
            return true;
        }
        error = strstr(line, "ERROR: ");
        error = error ? error : strstr(line, "WARNING: ");
        if (error && !has_begun) {
            has_begun = true;
            char *address = strstr(error, " on address");
            error[address ? (size_t)(address - error) : strlen(error)] = '\0';
            ls_text_set(out, "%s", strchr(error, ' ') + 1);
        } else if (has_begun && is_place(line)) {
            const char *slash = strrchr(line, '/');
            ls_text_add(out, ", in %s", slash ? slash + 1 : strstr(line, " in ") + 4);
            return true;
        }
    }
    return false;
}

/* Calls `visit` for the files until it says true. */
static bool visit_files(const explain_sanitizer_report *report,
                        bool (*visit)(const char *path, ls_text *out), ls_text *out)
{
    ls_folder *folder = ls_folder_open(report->directory);
    const char *name = NULL;
    bool is_done = false;
    while (folder && !is_done && (name = ls_folder_next(folder)) != NULL) {
        char path[NAME_BYTES_MAX + sizeof report->directory];
        snprintf(path, sizeof path, "%s/%.200s", report->directory, name);
        is_done = name[0] != '.' && visit(path, out);
    }
    ls_folder_close(folder);
    return is_done;
}

static bool read_file_at(const char *path, ls_text *out)
{
    FILE *file = fopen(path, "r");
    bool has_report = file && read_report(file, out); /* whole; else another one may be */
    if (file) {
        fclose(file);
    }
    return has_report;
}

static bool remove_file_at(const char *path, ls_text *out)
{
    (void)out;
    remove(path);
    return false;
}

/* The first report in one line: "game.c:41:9: runtime error: ...". `out` is empty before. False:
 * there is none. */
static bool explain_sanitizer_report_read(const explain_sanitizer_report *report, ls_text *out)
{
    return visit_files(report, read_file_at, out) || out->bytes[0] != '\0';
}

/* Removes the files. */
static void explain_sanitizer_report_close(explain_sanitizer_report *report)
{
    if (report->directory[0] != '\0') {
        visit_files(report, remove_file_at, NULL);
        remove(report->directory);
    }
}

/* ---- a run ---- */

static ls_status write_request(const explain_runs *runs, const explain_variation *run,
                               uint8_t **bytes, size_t *size)
{
    const ls_desync_bundle *bundle = runs->evidence->bundle;
    ls_replay_stretch stretch;
    ls_status status = ls_bundle_reading_stretch(runs->reading, &stretch);
    ls_rerun_match match = {.config = bundle->config,
                            .input_bytes_max = bundle->input_bytes_max,
                            .state_bytes = (uint32_t)bundle->state_bytes,
                            .surroundings = run->surroundings,
                            .workers = run->workers,
                            .noise = run->noise};
    if (status != LS_OK ||
        !ls_child_process_file(run->name, match.simulation, sizeof match.simulation)) {
        return LS_NOT_FOUND;
    }
    const ls_rerun_request request = {
        .stretch = &stretch, .pass = LS_NO_PASS, .time_max_ms = TIME_MAX_MS};
    return ls_rerun_pipe_write_request(&match, &request, ls_allocator_heap(), bytes, size);
}

/* Takes what a helper has written into `output`. */
static bool read_outcome(const explain_evidence *evidence, const uint8_t *output, size_t size,
                         ls_rerun_figures *figures, ls_text *why)
{
    ls_rerun_outcome outcome;
    ls_rerun_crash crash;
    uint32_t state_bytes = (uint32_t)evidence->bundle->state_bytes;
    if (ls_rerun_pipe_read(output, size, state_bytes, &outcome, &crash) != LS_OK) {
        ls_text_set(why, "it ended early, or took too long");
        return false;
    }
    if (crash.signal != 0) {
        ls_text_set(why, "it crashed in tick %u (%s)", crash.tick,
                    ls_crash_signal_text((int)crash.signal));
        return false;
    }
    if (!(outcome.figures.known & LS_RERUN_FRESH)) {
        ls_text_set(why, "%s",
                    outcome.failure.bytes[0] ? outcome.failure.bytes : "it gave no result");
        return false;
    }
    *figures = outcome.figures;
    return true;
}

enum {
    WORDS_MAX = 16, /* of a command line */
};

/* The program that the helper runs in, and its arguments. */
static const char *make_command(const explain_runs *runs, const char *argument,
                                const explain_wrapper *wrapper, const char *words[WORDS_MAX])
{
    const char *const *before = wrapper ? wrapper->words : NULL;
    static char self[LS_RERUN_NAME_BYTES_MAX];
    uint32_t count = 0;
    bool has_path = before && ls_machine_program_path(self, sizeof self);
    for (uint32_t i = 0; before && before[i] && count < WORDS_MAX - 3; i++) {
        words[count++] = before[i];
    }
    words[count++] = has_path ? self : "lockstep-rerun-helper";
    words[count++] = argument;
    words[count] = NULL;
    return before ? before[0] : runs->builds->helper;
}

bool explain_variation_run(const explain_runs *runs, const explain_variation *run,
                           const char *argument, const explain_wrapper *wrapper, uint8_t *output,
                           size_t room, size_t *size, ls_text *why)
{
    const char *words[WORDS_MAX];
    const char *variables[VARIABLES_MAX + 1];
    uint8_t *input = NULL;
    size_t input_bytes = 0;
    if (write_request(runs, run, &input, &input_bytes) != LS_OK) {
        ls_text_set(why, "the bundle has no snapshot, or not the inputs since");
        return false;
    }
    static const char *const none[] = {NULL};
    ls_child_process_variables(run->variables ? run->variables : none, NULL, variables,
                               VARIABLES_MAX);
    const ls_child_process_config config = {.program = make_command(runs, argument, wrapper, words),
                                            .arguments = words,
                                            .environment = variables,
                                            .streams = {0, 0, wrapper ? wrapper->errors : 0},
                                            .has_plain_heap = true};
    const ls_child_process_exchange exchange = {.input = input,
                                                .input_bytes = input_bytes,
                                                .output = output,
                                                .output_bytes_max = room,
                                                .time_max_ms = TIME_MAX_MS + 1000};
    ls_child_process_end end = {0};
    bool is_run = ls_child_process_run(&config, &exchange, &end, why) == LS_OK;
    *size = end.output_bytes;
    ls_release(ls_allocator_heap(), input);
    return is_run;
}

static bool run_once(const reproducing *made, const explain_variation *run,
                     ls_rerun_figures *figures, ls_text *why)
{
    const explain_evidence *evidence = made->runs->evidence;
    size_t room = ls_rerun_pipe_outcome_bytes((uint32_t)evidence->bundle->state_bytes);
    size_t size = 0;
    uint8_t *output = ls_allocate(ls_allocator_heap(), room);
    if (!output) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return false;
    }
    bool is_known = explain_variation_run(made->runs, run, LS_RERUN_HELPER_ARGUMENT, NULL, output,
                                          room, &size, why) &&
                    read_outcome(evidence, output, size, figures, why);
    ls_release(ls_allocator_heap(), output);
    return is_known;
}

/* ---- a change ---- */

/* A side's result tells more than neither's, and what nothing changed does not get more than what
 * it gets anyway. */
static void add_result(const reproducing *made, const explain_variation *run, uint64_t state_hash,
                       explain_reproduction *out)
{
    const ls_desync_bundle *bundle = made->runs->evidence->bundle;
    explain_agreement agreement = explain_agreement_with(bundle, state_hash);
    bool is_plain_known = made->unchanged.known & LS_RERUN_FRESH; /* else nothing is compared */
    bool is_other = is_plain_known && state_hash != made->unchanged.fresh;
    bool tells_more =
        is_other && (out->other_results == 0 || out->agreement == EXPLAIN_AGREES_NEITHER);
    if (out->results == 0 || tells_more) {
        out->agreement = agreement;
        out->run = *run;
    }
    out->results++;
    out->other_results += is_other ? 1 : 0;
}

/* Several runs of one kind: each result counts, as those of a race differ from run to run. */
static void add_results(const reproducing *made, const explain_variation *run,
                        const ls_rerun_figures *figures, explain_reproduction *out)
{
    bool is_noise_alone = (figures->known & LS_RERUN_REPEATED) != 0; /* and no static's doing */
    add_result(made, run, figures->fresh, out);
    if (figures->known & LS_RERUN_AGAIN && (is_noise_alone || figures->again == figures->fresh)) {
        add_result(made, run, figures->again, out);
    }
}

static void run_several(const reproducing *made, const change *changed, explain_reproduction *out)
{
    bool is_noise = changed->kind == CHANGE_NOISE;
    uint32_t workers_max = LS_MIN(made->runs->builds->workers_max, (uint32_t)WORKERS_TRIED_MAX);
    uint32_t count = is_noise ? NOISES : workers_max;
    for (uint32_t i = is_noise ? 1 : 2; i <= count; i++) {
        ls_rerun_figures figures;
        const explain_variation run = {.name = made->runs->builds->name,
                                       .noise = is_noise ? i : 0,
                                       .workers = is_noise ? 1 : i,
                                       .variables = changed->variables};
        if (run_once(made, &run, &figures, &out->why)) {
            add_results(made, &run, &figures, out);
        }
    }
    if (out->other_results > 0) {
        ls_text_set(&out->why, "another result in %u of %u runs", out->other_results, out->results);
    }
}

/* The run with nothing changed has found out more than its own result. */
static void note_known(const reproducing *made, const change *changed, explain_reproduction *out)
{
    const ls_rerun_figures *figures = &made->unchanged;
    bool is_apart = changed->kind == CHANGE_APART;
    if (figures->known & (is_apart ? LS_RERUN_APART : LS_RERUN_RELOADED)) {
        const explain_variation apart = {.name = made->runs->builds->name,
                                         .surroundings = LS_RERUN_WITH_OTHER_ADDRESSES};
        add_result(made, is_apart ? &apart : &(explain_variation){0},
                   is_apart ? figures->apart : figures->reloaded, out);
    } else {
        ls_text_set(&out->why, "%s",
                    figures->known & LS_RERUN_RACES ? "processes that begin alike differ already"
                                                    : "it took too long");
    }
}

static void run_single(reproducing *made, const change *changed, const char *name,
                       explain_reproduction *out)
{
    ls_rerun_figures figures;
    const explain_variation run = {
        .name = name, .surroundings = changed->surroundings, .variables = changed->variables};
    if (!run_once(made, &run, &figures, &out->why)) {
        return;
    }
    if (changed == &changes[0]) {
        made->unchanged = figures;
    }
    if (figures.known & LS_RERUN_RACES) {
        out->is_race = true;
        ls_text_set(&out->why, "another result was seen %u of %u times", (unsigned)figures.apart,
                    LS_RERUN_TIMES);
    }
    add_result(made, &run, figures.fresh, out);
}

static explain_reproduction *add_change(const change *changed, explain_reproductions *all)
{
    explain_reproduction *out = &all->runs[all->count++];
    *out = (explain_reproduction){.word = changed->word,
                                  .change = changed->text,
                                  .cause = changed->cause,
                                  .is_harmless = changed->is_harmless};
    return out;
}

/* The first thing that its sanitizers report is worth more than its result. */
static void run_sanitized(reproducing *made, explain_reproductions *all)
{
    explain_reproduction *out = add_change(&sanitized, all);
    explain_sanitizer_report report;
    change with_options = sanitized;
    uint32_t count = 0;
    ls_text first = {{0}};
    if (explain_sanitizer_report_open(&report, made->runs->builds->sanitized, &out->why) == LS_OK) {
        for (uint32_t i = 0; i < EXPLAIN_SANITIZER_VARIABLES; i++) {
            if (report.variables[i][0] != '\0') {
                with_options.variables[count++] = report.variables[i];
            }
        }
        run_single(made, &with_options, made->runs->builds->sanitized, out);
    }
    out->run.name = NULL; /* its variables end here */
    if (explain_sanitizer_report_read(&report, &first)) {
        out->has_report = true;
        out->why = first;
    }
    explain_sanitizer_report_close(&report);
}

static const char *open_features_of(const char *name)
{
    ls_plugin_contents file;
    const char *why = NULL;
    if (ls_plugin_contents_open(name, &file)) {
        why = ls_plugin_contents_open_features(&file);
        ls_plugin_contents_close(&file);
    }
    return why;
}

void explain_reproduce(const explain_runs *runs, explain_reproductions *out)
{
    const explain_builds *builds = runs->builds;
    reproducing made = {.runs = runs};
    *out = (explain_reproductions){.open_features = open_features_of(builds->name),
                                   .has_other = builds->other != NULL,
                                   .has_sanitized = builds->sanitized != NULL};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const change *changed = &changes[i];
        if (changed->kind == CHANGE_WORKERS && builds->workers_max < 2) {
            continue; /* it has none */
        }
        explain_reproduction *run = add_change(changed, out);
        if (changed->kind == CHANGE_ONCE) {
            run_single(&made, changed, builds->name, run);
        } else if (changed->kind == CHANGE_NOISE || changed->kind == CHANGE_WORKERS) {
            run_several(&made, changed, run);
        } else {
            note_known(&made, changed, run);
        }
        if (changed->kind == CHANGE_APART) { /* that one was a copy of the same process */
            run_single(&made, changed, builds->name, run);
        }
    }
    if (builds->sanitized) {
        run_sanitized(&made, out);
    }
    if (builds->other) {
        run_single(&made, &other, builds->other, add_change(&other, out));
    }
}

/* ---- what follows ---- */

static explain_agreement other_side_of(const explain_reproductions *reproductions)
{
    bool is_client = reproductions->runs[0].agreement == EXPLAIN_AGREES_CLIENT;
    return is_client ? EXPLAIN_AGREES_SERVER : EXPLAIN_AGREES_CLIENT;
}

const explain_reproduction *explain_reproductions_cause(const explain_reproductions *reproductions)
{
    for (uint32_t i = 1; i < reproductions->count; i++) {
        if (reproductions->runs[i].agreement == other_side_of(reproductions)) {
            return &reproductions->runs[i];
        }
    }
    return NULL;
}

const explain_reproduction *
explain_reproductions_suspect(const explain_reproductions *reproductions)
{
    for (uint32_t i = 1; i < reproductions->count; i++) {
        const explain_reproduction *run = &reproductions->runs[i];
        if (run->is_harmless && run->other_results > 0) {
            return run;
        }
    }
    return NULL;
}

static const explain_reproduction *find_report(const explain_reproductions *reproductions)
{
    for (uint32_t i = 1; i < reproductions->count; i++) {
        if (reproductions->runs[i].has_report) {
            return &reproductions->runs[i];
        }
    }
    return NULL;
}

static void add_next(const explain_reproductions *reproductions, ls_text *out)
{
    ls_text_add(out,
                " Next:%s%s explain the bundle on the client's machine, and run "
                "lockstep-synctest GAME.so there.",
                reproductions->has_other ? "" : " run the client's own file (--against FILE.so);",
                reproductions->has_sanitized || reproductions->memory.bytes[0]
                    ? ""
                    : " a build with -fsanitize=address,undefined (--sanitized FILE.so);");
}

void explain_reproductions_text(const explain_reproductions *reproductions, ls_text *out)
{
    ls_text_set(out, "%s", "");
    if (reproductions->count == 0) {
        ls_text_set(out, "The ticks were not run again here under changes: %s.",
                    reproductions->not_run.bytes);
        return;
    }
    explain_agreement unchanged = reproductions->runs[0].agreement;
    if (unchanged == EXPLAIN_AGREES_NOT_RUN) {
        ls_text_set(out, "The ticks could not be run again: %s.", reproductions->runs[0].why.bytes);
        return;
    }
    if (reproductions->runs[0].is_race) {
        ls_text_set(out,
                    "Nothing needs to be changed for another result: in processes that begin alike "
                    "%s. So it is a race between threads, or chance; lockstep-synctest GAME.so "
                    "--only still,workers "
                    "repeats it, and a build with -fsanitize=thread names the race.",
                    reproductions->runs[0].why.bytes);
        return;
    }
    const char *side = other_side_of(reproductions) == EXPLAIN_AGREES_CLIENT ? "client" : "server";
    const explain_reproduction *cause = explain_reproductions_cause(reproductions);
    const explain_reproduction *suspect = explain_reproductions_suspect(reproductions);
    const explain_reproduction *report = find_report(reproductions);
    if (cause) {
        ls_text_set(out, "The %s's result comes out with this changed: %s. So %s.", side,
                    cause->change, cause->cause);
    } else {
        ls_text_set(out, "The tick was run again here under %u changes: none gets the %s's result.",
                    reproductions->count - 1, side);
    }
    if (report) {
        ls_text_add(out, " The build with sanitizers reports: %s.", report->why.bytes);
    }
    if (!cause && suspect) {
        ls_text_add(out, " But the result changes with this, as it never should: %s. So %s.",
                    suspect->change, suspect->cause);
    } else if (!cause && !report) {
        add_next(reproductions, out);
    }
    if (reproductions->open_features) {
        ls_text_add(out,
                    " With CPU features off it may take the same code as before, so that no change "
                    "here tells machines with other processors apart: %s.",
                    reproductions->open_features);
    }
    if (reproductions->memory.bytes[0]) {
        ls_text_add(out, " %s.", reproductions->memory.bytes);
    }
}

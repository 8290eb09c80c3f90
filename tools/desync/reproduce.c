#define _GNU_SOURCE
#include "lockstep/tools/desync/reproduce.h"

#include "lockstep/common/diagnosis/rerun_helper.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/protocol/loop/child_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TIME_MAX_MS = 20000, /* of one run */
    VARIABLES_MAX = 1024,
};

/* Variables of one change, at most two. */
typedef struct change {
    const char *word;
    const char *text;
    const char *cause;
    uint32_t surroundings;
    const char *variables[2];
} change;

static const change changes[] = {
    {"nothing", "nothing changed", "", 0, {NULL}},
    {"no-fma",
     "CPU features off (AVX2, AVX-512, FMA)",
     "results depend on the CPU: the C library's mathematics takes other code with FMA than "
     "without; take functions that give the same bits everywhere instead of libm's",
     0,
     {"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4"}},
    {"flush-to-zero",
     "denormal numbers flushed to zero",
     "on the client something sets flush-to-zero, such as a library built with -ffast-math; set "
     "the mode in init and at the start of each step",
     LS_RERUN_WITH_FLUSH_TO_ZERO,
     {NULL}},
    {"rounding-down",
     "rounding downwards",
     "on the client something sets another rounding mode; set the mode in init and at the start of "
     "each step",
     LS_RERUN_WITH_ROUNDING_DOWN,
     {NULL}},
    {"one-core",
     "one processor",
     "results depend on the number of processors; let no order of threads reach the state",
     LS_RERUN_WITH_ONE_CORE,
     {NULL}},
    {"directory",
     "another working directory",
     "a step reads files by relative paths; read them before the match, into parameters or "
     "content",
     LS_RERUN_WITH_ROOT_DIRECTORY,
     {NULL}},
    {"locale",
     "another language and time zone",
     "results depend on the language or the time zone",
     0,
     {"LC_ALL=de_DE.UTF-8", "TZ=Pacific/Chatham"}},
};

static const change other = {"other-build",
                             "the other build",
                             "the two builds give other results; lockstep-synctest and lint tell "
                             "what a compiler may change",
                             0,
                             {NULL}};

_Static_assert(sizeof changes / sizeof changes[0] < EXPLAIN_REPRODUCTIONS_MAX, "one for the build");

/* ---- a run ---- */

static bool sets(const char *variable, const char *name_of)
{
    size_t size = strcspn(name_of, "=") + 1;
    return strncmp(variable, name_of, size) == 0;
}

/* This process's variables, with those of the change in place of its own. */
static void make_environment(const change *made, const char *variables[VARIABLES_MAX + 1])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2 && made->variables[i]; i++) {
        variables[count++] = made->variables[i];
    }
    for (char **own = environ; *own && count < VARIABLES_MAX; own++) {
        bool is_replaced = false;
        for (uint32_t i = 0; i < 2 && made->variables[i]; i++) {
            is_replaced = is_replaced || sets(*own, made->variables[i]);
        }
        if (!is_replaced) {
            variables[count++] = *own;
        }
    }
    variables[count] = NULL;
}

static ls_status write_request(const explain_evidence *evidence, const ls_bundle_reading *reading,
                               const char *name, uint32_t surroundings, uint8_t **bytes,
                               size_t *size)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_replay_stretch stretch;
    ls_status status = ls_bundle_reading_stretch(reading, &stretch);
    ls_rerun_match match = {.config = bundle->config,
                            .input_bytes_max = bundle->input_bytes_max,
                            .state_bytes = (uint32_t)bundle->state_bytes,
                            .surroundings = surroundings};
    if (status != LS_OK || strlen(name) >= sizeof match.simulation) {
        return LS_NOT_FOUND;
    }
    memcpy(match.simulation, name, strlen(name));
    /* A helper may have another working directory. */
    char *path = strchr(name, '/') || strstr(name, ".so") ? realpath(name, NULL) : NULL;
    if (path && strlen(path) < sizeof match.simulation) {
        memset(match.simulation, 0, sizeof match.simulation);
        memcpy(match.simulation, path, strlen(path));
    }
    free(path);
    const ls_rerun_request request = {.stretch = &stretch, .pass = LS_NO_PASS};
    return ls_rerun_pipe_write_request(&match, &request, TIME_MAX_MS, ls_allocator_heap(), bytes,
                                       size);
}

static explain_agreement agreement_with(const ls_desync_bundle *bundle,
                                        const ls_rerun_outcome *outcome, ls_text *why)
{
    if (!(outcome->figures.known & LS_RERUN_FRESH)) {
        ls_text_set(why, "%s",
                    outcome->failure.bytes[0] ? outcome->failure.bytes : "it gave no result");
        return EXPLAIN_AGREES_NOT_RUN;
    }
    return explain_agreement_with(bundle, outcome->figures.fresh);
}

static void run_helper(const explain_evidence *evidence, const char *helper, const uint8_t *input,
                       size_t input_bytes, const change *made, explain_reproduction *out)
{
    const char *const arguments[] = {"lockstep-rerun-helper", LS_RERUN_HELPER_ARGUMENT, NULL};
    const char *variables[VARIABLES_MAX + 1];
    atomic_bool is_stopped = false;
    uint32_t state_bytes = (uint32_t)evidence->bundle->state_bytes;
    size_t room = ls_rerun_pipe_outcome_bytes(state_bytes);
    uint8_t *output = ls_allocate(ls_allocator_heap(), room);
    if (!output) {
        ls_text_set(&out->why, "%s", ls_status_text(LS_NO_MEMORY));
        return;
    }
    make_environment(made, variables);
    const ls_child_process_config config = {.program = helper,
                                            .arguments = arguments,
                                            .environment = variables,
                                            .input = input,
                                            .input_bytes = input_bytes,
                                            .output = output,
                                            .output_bytes_max = room,
                                            .time_max_ms = TIME_MAX_MS + 1000,
                                            .is_stopped = &is_stopped};
    ls_child_process_end end;
    ls_rerun_outcome outcome;
    ls_rerun_crash crash;
    if (ls_child_process_run(&config, &end, &out->why) == LS_OK) {
        bool is_outcome =
            ls_rerun_pipe_read(output, end.output_bytes, state_bytes, &outcome, &crash) == LS_OK &&
            crash.signal == 0;
        if (is_outcome) {
            out->agreement = agreement_with(evidence->bundle, &outcome, &out->why);
        } else {
            ls_text_set(&out->why, "it crashed or took too long");
        }
    }
    ls_release(ls_allocator_heap(), output);
}

static void run_change(const explain_evidence *evidence, const ls_bundle_reading *reading,
                       const explain_builds *builds, const change *made, explain_reproductions *all)
{
    const char *name = made == &other ? builds->other : builds->name;
    explain_reproduction *out = &all->runs[all->count++];
    uint8_t *bytes = NULL;
    size_t size = 0;
    *out =
        (explain_reproduction){made->word, made->text, made->cause, EXPLAIN_AGREES_NOT_RUN, {{0}}};
    if (write_request(evidence, reading, name, made->surroundings, &bytes, &size) == LS_OK) {
        run_helper(evidence, builds->helper, bytes, size, made, out);
    } else {
        ls_text_set(&out->why, "the bundle has no snapshot, or not the inputs since");
    }
    ls_release(ls_allocator_heap(), bytes);
}

void explain_reproduce(const explain_evidence *evidence, const ls_bundle_reading *reading,
                       const explain_builds *builds, explain_reproductions *out)
{
    *out = (explain_reproductions){0};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        run_change(evidence, reading, builds, &changes[i], out);
    }
    if (builds->other) {
        run_change(evidence, reading, builds, &other, out);
    }
}

/* ---- what follows ---- */

/* The only change, or the first of several, that gets what nothing changed does not get. */
void explain_reproductions_text(const explain_reproductions *reproductions, ls_text *out)
{
    ls_text_set(out, "%s", "");
    if (reproductions->count == 0) {
        return;
    }
    explain_agreement unchanged = reproductions->runs[0].agreement;
    if (unchanged == EXPLAIN_AGREES_NOT_RUN) {
        ls_text_set(out, "The ticks could not be run again: %s.", reproductions->runs[0].why.bytes);
        return;
    }
    explain_agreement wanted =
        unchanged == EXPLAIN_AGREES_CLIENT ? EXPLAIN_AGREES_SERVER : EXPLAIN_AGREES_CLIENT;
    const char *side = wanted == EXPLAIN_AGREES_CLIENT ? "client" : "server";
    for (uint32_t i = 1; i < reproductions->count; i++) {
        const explain_reproduction *run = &reproductions->runs[i];
        if (run->agreement == wanted) {
            ls_text_set(out, "The %s's result comes out with this changed: %s. So %s.", side,
                        run->change, run->cause);
            return;
        }
    }
    ls_text_set(out,
                "None of these gets the %s's result: another build (--against FILE.so), a static, "
                "a thread or uninitialised memory may; lockstep-synctest looks for those.",
                side);
}

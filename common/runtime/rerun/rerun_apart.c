#define _GNU_SOURCE
#include "lockstep/common/runtime/rerun/rerun_apart.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/system_clock.h"

#include <string.h>

enum {
    VARIABLES_MAX = 4096,
    CHANGES_MAX = 4,    /* variables that are set */
    RUNS_MAX = 8,       /* most often it is three; a kind that changes the result takes two */
    CHANGING_SHARE = 3, /* of the time, for the surroundings: a report should not wait for longer */
    OUTPUT_BYTES = sizeof(ls_rerun_outcome) + LS_RERUN_FIGURES_BYTES,
};

typedef struct apart_runs {
    const ls_rerun_apart_config *config;
    uint64_t began_ns;
    uint32_t time_max_ms;
    ls_clock clock;
    char **variables; /* room for VARIABLES_MAX and NULL */
    uint8_t *output;
    bool has_failed; /* a run gave nothing, or there was no time for it */
} apart_runs;

static uint32_t elapsed_ms(const apart_runs *runs)
{
    return (uint32_t)((ls_clock_now_ns(&runs->clock) - runs->began_ns) / LS_NS_PER_MS);
}

/* ---- the environment of a process ---- */

/* The process needs these to start as this one did, or they are of another kind. */
static bool is_kept(const char *variable)
{
    static const char *const beginnings[] = {
        "LD_",           "GLIBC_TUNABLES=", "LANG",  "LC_",   "TZ=",
        "ASAN_OPTIONS=", "UBSAN_OPTIONS=",  "TSAN_", "LSAN_", "GCOV_"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const *make_environment(apart_runs *runs, uint32_t changes)
{
    const char *changed[CHANGES_MAX] = {NULL};
    uint32_t changed_count = 0;
    if (changes & LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES)) {
        changed[changed_count++] = LS_SURROUNDING_NO_CPU_FEATURES;
    }
    if (changes & LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE)) {
        changed[changed_count++] = "LC_ALL=C";
        changed[changed_count++] = "TZ=UTC0";
    }
    const char **variables = (const char **)(uintptr_t)runs->variables;
    bool is_emptied = changes & LS_SURROUNDING_BIT(LS_SURROUNDING_VARIABLES);
    ls_child_process_variables(changed, is_emptied ? is_kept : NULL, variables, VARIABLES_MAX);
    return variables;
}

/* ---- one process ---- */

static uint32_t surroundings_of(uint32_t changes)
{
    uint32_t surroundings = LS_RERUN_WITH_FIRST_RUN_ALONE | LS_RERUN_WITH_OTHER_ADDRESSES;
    if (changes & LS_SURROUNDING_BIT(LS_SURROUNDING_CORES)) {
        surroundings |= LS_RERUN_WITH_ONE_CORE;
    }
    if (changes & LS_SURROUNDING_BIT(LS_SURROUNDING_DIRECTORY)) {
        surroundings |= LS_RERUN_WITH_ROOT_DIRECTORY;
    }
    return surroundings;
}

static bool run_process(apart_runs *runs, uint32_t changes, uint32_t time_ms, uint64_t *state_hash)
{
    const ls_rerun_apart_config *config = runs->config;
    const char *const arguments[] = {"lockstep-rerun-helper", LS_RERUN_HELPER_ARGUMENT, NULL};
    const ls_child_process_config child = {.program = config->executable,
                                           .arguments = arguments,
                                           .environment = make_environment(runs, changes)};
    const ls_child_process_exchange exchange = {.input = config->request,
                                                .input_bytes = config->request_bytes,
                                                .output = runs->output,
                                                .output_bytes_max = OUTPUT_BYTES,
                                                .time_max_ms = time_ms,
                                                .is_stopped = config->is_stopped};
    ls_child_process_end end;
    ls_rerun_outcome outcome;
    ls_rerun_crash crash;
    ls_text why;
    ls_rerun_pipe_set_surroundings(config->request, surroundings_of(changes));
    bool is_read = ls_child_process_run(&child, &exchange, &end, &why) == LS_OK &&
                   ls_rerun_pipe_read(runs->output, end.output_bytes, config->state_bytes, &outcome,
                                      &crash) == LS_OK &&
                   crash.signal == 0 && (outcome.figures.known & LS_RERUN_FRESH);
    if (is_read) {
        *state_hash = outcome.figures.fresh;
    }
    return is_read;
}

static bool run_once(apart_runs *runs, uint32_t changes, uint64_t *state_hash)
{
    uint32_t spent_ms = elapsed_ms(runs);
    bool is_run = !runs->has_failed && spent_ms < runs->time_max_ms &&
                  run_process(runs, changes, runs->time_max_ms - spent_ms, state_hash);
    runs->has_failed = !is_run;
    return is_run;
}

/* ---- all of them ---- */

/* Whether another process gives the same, here and in the helper, whose other process has its heap
 * in another order, and the same addresses otherwise. */
static bool is_same_apart(apart_runs *runs, ls_rerun_figures *figures)
{
    uint64_t state_hash = 0;
    bool is_known = (figures->known & LS_RERUN_APART) != 0;
    if (is_known && figures->apart != figures->fresh) {
        return false;
    }
    if (!run_once(runs, 0, &state_hash)) {
        return false;
    }
    figures->apart = state_hash;
    figures->known |= LS_RERUN_APART;
    return state_hash == figures->fresh;
}

/* The result changes, and to the same one each time: a process that has something of its own could
 * give any. */
static bool is_moved(apart_runs *runs, const ls_rerun_figures *figures, uint32_t changes)
{
    uint64_t first = figures->fresh;
    uint64_t second = figures->fresh;
    return run_once(runs, changes, &first) && first != figures->fresh &&
           run_once(runs, changes, &second) && second == first;
}

static uint32_t changing_ms(const apart_runs *runs)
{
    return runs->config->time_max_ms / CHANGING_SHARE;
}

/* Those that could be made equal: the code of a plug-in may go by features that it finds out in a
 * way that nothing here hides. */
static uint32_t changeable(const apart_runs *runs)
{
    ls_plugin_contents file;
    uint32_t kinds = LS_SURROUNDINGS_ALL;
    if (runs->config->plugin && ls_plugin_contents_open(runs->config->plugin, &file)) {
        bool is_open = ls_plugin_contents_open_features(&file) != NULL;
        kinds &= is_open ? ~LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES) : kinds;
        ls_plugin_contents_close(&file);
    }
    return kinds;
}

/* One process with everything changed tells most often that nothing of it matters. */
static void change_surroundings(apart_runs *runs, ls_rerun_figures *figures)
{
    uint64_t state_hash = 0;
    uint32_t moved = 0;
    runs->time_max_ms = changing_ms(runs);
    if (!run_once(runs, LS_SURROUNDINGS_ALL, &state_hash)) {
        return;
    }
    for (uint32_t kind = 0; state_hash != figures->fresh && kind < LS_SURROUNDING_COUNT; kind++) {
        uint32_t bit = LS_SURROUNDING_BIT(kind);
        moved |= is_moved(runs, figures, bit) ? bit : 0;
    }
    /* Where several change it only together nothing is told. */
    bool is_told = state_hash == figures->fresh || moved != 0;
    if (is_told && is_same_apart(runs, figures)) {
        figures->tried = changeable(runs) | moved;
        figures->moved = moved;
    }
}

/* Every run gave what the match gave, and there is time for as many again. */
static bool is_worth_changing(const apart_runs *runs, const ls_rerun_figures *figures)
{
    const uint32_t all = LS_RERUN_LIVE | LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED;
    return (figures->known & all) == all && figures->strayed == figures->tick &&
           figures->fresh == figures->live && figures->again == figures->fresh &&
           figures->reloaded == figures->fresh && elapsed_ms(runs) * RUNS_MAX < changing_ms(runs);
}

void ls_rerun_apart_run(const ls_rerun_apart_config *config, ls_rerun_figures *figures)
{
    const ls_allocator *heap = ls_allocator_heap();
    apart_runs runs = {.config = config,
                       .time_max_ms = config->time_max_ms,
                       .clock = ls_clock_system(),
                       .variables = ls_allocate_array(heap, VARIABLES_MAX + 1, sizeof(char *)),
                       .output = ls_allocate(heap, OUTPUT_BYTES)};
    runs.began_ns = ls_clock_now_ns(&runs.clock);
    bool is_race = figures->known & LS_RERUN_RACES;
    if (!is_race && runs.variables && runs.output && is_same_apart(&runs, figures) &&
        is_worth_changing(&runs, figures)) {
        change_surroundings(&runs, figures);
    }
    ls_release(heap, runs.output);
    ls_release(heap, runs.variables);
}

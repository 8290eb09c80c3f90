#define _GNU_SOURCE
#include "lockstep/common/runtime/rerun/rerun_process.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/signals.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* ---- Rerun apart: runs ticks once more in processes of their own: as they are, since addresses,
 * seeds and time are other in each process, and with the surroundings changed. It adds their
 * results to the figures of the run before. It waits, so it is called from the thread of a job
 * ---- */

typedef struct rerun_apart_config {
    const char *executable;
    const char *plugin; /* its file; NULL: the simulation is built in */
    uint8_t *request;   /* ls_rerun_pipe_write_request; its surroundings are written over */
    size_t request_bytes;
    uint32_t state_bytes;
    uint32_t time_max_ms; /* for all processes; what is not known by then stays unknown */
    const atomic_bool *is_stopped;
} rerun_apart_config;

enum {
    VARIABLES_MAX = 4096,
    CHANGES_MAX = 4,          /* variables that are set */
    RERUN_APART_RUNS_MAX = 8, /* most often it is three; a kind that changes the result takes two */
    CHANGING_SHARE = 3, /* of the time, for the surroundings: a report should not wait for longer */
    OUTPUT_BYTES = sizeof(ls_rerun_outcome) + LS_RERUN_FIGURES_BYTES,
};

typedef struct apart_runs {
    const rerun_apart_config *config;
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
    const char *changed[CHANGES_MAX + 1] = {LS_RERUN_HELPER_VARIABLE};
    uint32_t changed_count = 1;
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
    const rerun_apart_config *config = runs->config;
    const ls_child_process_config child = {.program = config->executable,
                                           .arguments = ls_rerun_helper_words(),
                                           .environment = make_environment(runs, changes),
                                           .has_plain_heap = true};
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
           figures->reloaded == figures->fresh &&
           elapsed_ms(runs) * RERUN_APART_RUNS_MAX < changing_ms(runs);
}

/* Sets `apart`; where every run on this machine gave the result of the match, `tried` and `moved`
 * as well. */
static void rerun_apart_run(const rerun_apart_config *config, ls_rerun_figures *figures)
{
    const ls_allocator *heap = ls_allocator_heap();
    apart_runs runs = {.config = config,
                       .time_max_ms = config->time_max_ms,
                       .clock = ls_clock_system(),
                       .variables = ls_allocate_array(heap, VARIABLES_MAX + 1, sizeof(char *)),
                       .output = ls_allocate(heap, OUTPUT_BYTES)};
    runs.began_ns = ls_clock_now_ns(&runs.clock);
    bool is_race = figures->known & LS_RERUN_RACES;
    bool is_noise = figures->known & LS_RERUN_REPEATED && figures->known & LS_RERUN_APART &&
                    figures->apart == figures->fresh; /* as copies have shown */
    if (!is_race && !is_noise && runs.variables && runs.output && is_same_apart(&runs, figures) &&
        is_worth_changing(&runs, figures)) {
        change_surroundings(&runs, figures);
    }
    ls_release(heap, runs.output);
    ls_release(heap, runs.variables);
}

/* ---- reruns in helper processes ---- */

enum {
    RUNS_MAX = 64,         /* that run, wait, or have not been released */
    RUNNING_MAX = 2,       /* at a time */
    APART_MS_MAX = 1500,   /* for the same in other processes */
    GRACE_MS = 500,        /* for a helper to start, and to give out what it has */
    LARGE_GRACE_MS = 2500, /* which is a large state, at the lowest priority */
};

typedef struct rerun_run {
    struct ls_rerun_process *process;
    uint32_t ticket; /* 0: free */
    bool is_started;
    bool is_done;
    uint32_t time_max_ms;
    bool is_single;   /* no other process adds to what is wanted */
    bool is_released; /* its outcome is not wanted any more; free once its job has ended */
    ls_loop_job *job;
    uint32_t state_bytes;
    uint8_t *input;
    size_t input_bytes;
    bool has_input_file;
    int input_file;                 /* behind the input, for a large state: a file without a name */
    ls_monitor *writing;            /* the file: entered by who writes it */
    const uint8_t *snapshot;        /* that goes there; not this run's own */
    const ls_replay_window *lender; /* of the snapshot; NULL: it is not on loan */
    ls_status written;
    atomic_bool is_written; /* or never will be: the snapshot is not read any more */
    uint8_t *output;
    size_t output_bytes_max;
    atomic_bool is_stopped;
    ls_status status; /* of starting the child */
    ls_child_process_end end;
    ls_rerun_outcome outcome;
} rerun_run;

struct ls_rerun_process {
    const ls_allocator *allocator;
    ls_rerun_process_config config;
    ls_rerun_host host;
    ls_event_loop *loop; /* NULL: not attached */
    uint32_t tickets;    /* given out so far */
    uint32_t running;
    uint32_t run_count; /* RUNS_MAX from the first run on */
    rerun_run *runs;    /* NULL before: many matches never have one */
};

/* ---- what came out ---- */

static void describe_crash(const ls_rerun_crash *crash, ls_text *out)
{
    if (crash->is_in_init) {
        ls_text_set(out, "crashed while it was started (%s)",
                    ls_crash_signal_text((int)crash->signal));
    } else {
        ls_text_set(out, "crashed in tick %u (%s)", crash->tick,
                    ls_crash_signal_text((int)crash->signal));
    }
}

/* A large state is never a second time in this process's memory. */
static bool copy_left(void *reader, ls_rerun_which which, uint8_t *canonical)
{
    const rerun_run *run = reader;
    uint64_t place = run->input_bytes + (uint64_t)which * run->state_bytes;
    return run->has_input_file &&
           ls_shared_memory_read(run->input_file, canonical, run->state_bytes, place);
}

static bool is_large(const rerun_run *run)
{
    return run->state_bytes > LS_RERUN_PIPE_SMALL_BYTES;
}

static uint32_t limit_ms(const rerun_run *run)
{
    return run->time_max_ms + (is_large(run) ? LARGE_GRACE_MS : GRACE_MS);
}

static void read_outcome(rerun_run *run)
{
    ls_rerun_crash crash;
    ls_rerun_outcome outcome;
    ls_status status =
        ls_rerun_pipe_read(run->output, run->end.output_bytes, run->state_bytes, &outcome, &crash);
    if (run->status != LS_OK) {
        return; /* the failure says why it could not be started */
    }
    if (status == LS_OK && crash.signal == 0) {
        run->outcome = outcome;
        run->outcome.copy = copy_left;
        run->outcome.reader = run;
    } else if (status == LS_OK) {
        describe_crash(&crash, &run->outcome.failure);
    } else if (run->end.is_overdue) {
        ls_text_set(&run->outcome.failure, "took longer than %u ms", limit_ms(run));
    } else {
        ls_text_set(&run->outcome.failure, "its process ended early (%s)",
                    run->end.signal ? ls_crash_signal_text(run->end.signal) : "without an outcome");
    }
}

/* ---- the snapshot of a large state ---- */

static bool open_input_file(rerun_run *run, const uint8_t *snapshot)
{
    run->writing = ls_monitor_create();
    run->input_file = run->writing ? ls_shared_memory_make("lockstep-rerun") : -1;
    run->has_input_file = run->input_file >= 0;
    run->snapshot = snapshot;
    atomic_store(&run->is_written, !run->has_input_file);
    return run->has_input_file;
}

/* The helper maps the file: the snapshot is in memory once, and in neither process's own. The pages
 * of a new file take as long as a few ticks, so the thread of the job writes it; the match writes
 * it or waits where it needs the snapshot's place sooner. */
static void write_input_file(rerun_run *run)
{
    ls_monitor_enter(run->writing);
    if (!atomic_load(&run->is_written)) {
        ls_text *why = &run->outcome.failure;
        bool is_wanted = !atomic_load(&run->is_stopped);
        run->written =
            is_wanted ? ls_loop_file_write(run->input_file, run->input, run->input_bytes, 0, why)
                      : LS_IO;
        if (run->written == LS_OK) {
            run->written = ls_loop_file_write(run->input_file, run->snapshot, run->state_bytes,
                                              run->input_bytes, why);
        }
        atomic_store(&run->is_written, true);
    }
    ls_monitor_leave(run->writing);
}

static void close_input_file(rerun_run *run)
{
    if (run->has_input_file) {
        ls_shared_memory_close(run->input_file);
    }
    run->has_input_file = false;
}

static rerun_run *find_run(ls_rerun_process *process, uint32_t ticket)
{
    for (uint32_t i = 0; i < process->run_count; i++) {
        if (process->runs[i].ticket == ticket) {
            return &process->runs[i];
        }
    }
    return NULL;
}

static bool is_loan_over(void *reader, uint32_t ticket)
{
    rerun_run *run = find_run(reader, ticket);
    bool is_over = !run || atomic_load(&run->is_written);
    if (run && is_over) {
        run->lender = NULL;
    }
    return is_over;
}

static void end_loan(void *reader, uint32_t ticket)
{
    rerun_run *run = find_run(reader, ticket);
    if (run) {
        write_input_file(run);
        run->lender = NULL;
    }
}

/* ---- a run, in the thread of its job ---- */

static void run_helper(rerun_run *run)
{
    const ls_clock clock = ls_clock_system();
    uint64_t began_ns = ls_clock_now_ns(&clock);
    const ls_rerun_process *process = run->process;
    static const char *const changed[] = {LS_RERUN_HELPER_VARIABLE, NULL};
    const char *variables[VARIABLES_MAX + 1];
    ls_child_process_variables(changed, NULL, variables, VARIABLES_MAX);
    const ls_child_process_config config = {.program = process->config.executable,
                                            .arguments = ls_rerun_helper_words(),
                                            .environment = variables,
                                            .streams = {run->has_input_file ? run->input_file : 0},
                                            .has_plain_heap = true};
    const ls_child_process_exchange exchange = {
        .input = run->has_input_file ? NULL : run->input,
        .input_bytes = run->input_bytes,
        .output = run->output,
        .output_bytes_max = run->output_bytes_max,
        .time_max_ms = LS_RERUN_BUSY_TIMES * limit_ms(run),
        .work_max_ms = limit_ms(run),
        .is_stopped = &run->is_stopped,
    };
    run->status = ls_child_process_run(&config, &exchange, &run->end, &run->outcome.failure);
    read_outcome(run);
    uint64_t spent_ms = (ls_clock_now_ns(&clock) - began_ns) / LS_NS_PER_MS;
    if (!run->is_single && !is_large(run) && (run->outcome.figures.known & LS_RERUN_FRESH) &&
        spent_ms < run->time_max_ms) {
        const rerun_apart_config apart = {.executable = process->config.executable,
                                          .plugin = process->config.name,
                                          .request = run->input,
                                          .request_bytes = run->input_bytes,
                                          .state_bytes = run->state_bytes,
                                          .time_max_ms = run->time_max_ms - (uint32_t)spent_ms,
                                          .is_stopped = &run->is_stopped};
        rerun_apart_run(&apart, &run->outcome.figures);
    }
}

/* Giving back the pages of a file takes long as well: a file that nothing is left in ends here, and
 * so does that of a run that was released, which comes here once more for it. */
static void work(void *user)
{
    rerun_run *run = user;
    if (is_large(run) && !atomic_load(&run->is_stopped)) {
        write_input_file(run);
        run->status = run->written;
    }
    if (run->status == LS_OK && !atomic_load(&run->is_stopped)) {
        run_helper(run);
    }
    bool is_left =
        run->outcome.is_left[LS_RERUN_REACHED] || run->outcome.is_left[LS_RERUN_BEHIND_PASS];
    if (is_large(run) && (!is_left || atomic_load(&run->is_stopped))) {
        write_input_file(run); /* it is not written any more */
        close_input_file(run);
    }
}

/* ---- runs ---- */

static void free_run(rerun_run *run)
{
    const ls_allocator *allocator = run->process->allocator;
    if (run->lender) {
        ls_replay_window_reclaim(run->lender);
    }
    ls_loop_job_destroy(run->job);
    ls_release(allocator, run->output);
    ls_release(allocator, run->input);
    close_input_file(run);
    struct ls_rerun_process *process = run->process;
    ls_monitor_destroy(run->writing);
    memset(run, 0, sizeof *run);
    run->process = process;
}

static void start_waiting(ls_rerun_process *process);

static void on_done(void *user, uint64_t now_ns)
{
    (void)now_ns;
    rerun_run *run = user;
    ls_rerun_process *process = run->process;
    process->running--;
    run->is_done = true;
    start_waiting(process);
}

/* The oldest first. */
static rerun_run *next_waiting(ls_rerun_process *process)
{
    rerun_run *next = NULL;
    for (uint32_t i = 0; i < process->run_count; i++) {
        rerun_run *run = &process->runs[i];
        bool is_waiting = run->ticket != 0 && !run->is_started;
        if (is_waiting && (!next || (int32_t)(run->ticket - next->ticket) < 0)) {
            next = run;
        }
    }
    return next;
}

static void start_waiting(ls_rerun_process *process)
{
    rerun_run *run = NULL;
    while (process->running < RUNNING_MAX && (run = next_waiting(process)) != NULL) {
        run->is_started = true;
        process->running++;
        ls_loop_job_start(run->job);
    }
}

/* A run that was released before its job ended can be used again: not from within its own
 * handler, which is why this happens here. */
static rerun_run *find_free(ls_rerun_process *process)
{
    for (uint32_t i = 0; i < process->run_count; i++) {
        rerun_run *run = &process->runs[i];
        if (run->is_released && run->is_done) {
            free_run(run);
        }
    }
    for (uint32_t i = 0; i < process->run_count; i++) {
        if (process->runs[i].ticket == 0) {
            return &process->runs[i];
        }
    }
    return NULL;
}

static ls_status make_runs(ls_rerun_process *process)
{
    if (!process->runs) {
        process->runs = ls_allocate_array(process->allocator, RUNS_MAX, sizeof *process->runs);
        process->run_count = process->runs ? RUNS_MAX : 0;
        for (uint32_t i = 0; i < process->run_count; i++) {
            process->runs[i].process = process;
        }
    }
    return process->runs ? LS_OK : LS_NO_MEMORY;
}

static ls_status write_request(rerun_run *run, const ls_rerun_request *request)
{
    const ls_rerun_process *process = run->process;
    const ls_sim_instance *instance = request->instance;
    ls_rerun_match match = {.config = *ls_sim_instance_config(instance),
                            .input_bytes_max =
                                ls_sim_instance_simulation(instance)->input_bytes_max,
                            .state_bytes = run->state_bytes,
                            .surroundings = request->is_single ? LS_RERUN_WITH_FIRST_RUN_ALONE : 0};
    if (request->is_state_had && is_large(run)) {
        match.surroundings |= LS_RERUN_WITHOUT_STATE;
    }
    const char *name =
        process->config.name ? process->config.name : ls_sim_instance_simulation(instance)->name;
    if (!ls_child_process_file(name, match.simulation, sizeof match.simulation)) {
        return LS_BAD_ARGUMENT;
    }
    if (!is_large(run)) {
        return ls_rerun_pipe_write_request(&match, request, process->allocator, &run->input,
                                           &run->input_bytes);
    }
    ls_status status = ls_rerun_pipe_write_request_head(&match, request, process->allocator,
                                                        &run->input, &run->input_bytes);
    if (status == LS_OK && !open_input_file(run, request->stretch->snapshot)) {
        status = LS_IO;
    }
    return status;
}

static ls_status prepare(rerun_run *run, const ls_rerun_request *request)
{
    const ls_rerun_process *process = run->process;
    run->time_max_ms = request->time_max_ms;
    run->state_bytes = (uint32_t)ls_sim_instance_image_bytes(request->instance);
    ls_status status = write_request(run, request);
    if (status != LS_OK) {
        return status;
    }
    run->is_single = request->is_single;
    run->output_bytes_max = ls_rerun_pipe_leaves_states(run->state_bytes, request->pass)
                                ? ls_rerun_pipe_outcome_bytes(0)
                                : ls_rerun_pipe_outcome_bytes(run->state_bytes);
    run->output = ls_allocate(process->allocator, run->output_bytes_max);
    if (!run->output) {
        return LS_NO_MEMORY;
    }
    return ls_loop_job_create(process->loop, work, (ls_loop_handler){on_done, run}, &run->job);
}

/* Where its job has to wait the snapshot is taken at once: no other state could be shown or added
 * until then. */
static void lend(rerun_run *run, const ls_replay_window *window)
{
    if (window && run->is_started) {
        run->lender = window;
        ls_replay_window_lend(window,
                              &(ls_state_loan){run->process, run->ticket, is_loan_over, end_loan});
    } else {
        write_input_file(run);
    }
}

static ls_status start(void *context, const ls_rerun_request *request, uint32_t *ticket)
{
    ls_rerun_process *process = context;
    if (!process->loop) {
        return LS_IO;
    }
    ls_status status = make_runs(process);
    if (status != LS_OK) {
        return status;
    }
    rerun_run *run = find_free(process);
    if (!run) {
        return LS_FULL;
    }
    status = prepare(run, request);
    if (status != LS_OK) {
        free_run(run);
        return status;
    }
    process->tickets += process->tickets + 1 == 0 ? 2 : 1;
    run->ticket = process->tickets;
    *ticket = run->ticket;
    bool has_input_file = run->has_input_file; /* the job may close it at any time */
    start_waiting(process);
    if (has_input_file) {
        lend(run, request->window);
    }
    return LS_OK;
}

static rerun_run *find(ls_rerun_process *process, uint32_t ticket)
{
    rerun_run *run = find_run(process, ticket);
    return run && !run->is_released ? run : NULL;
}

static const ls_rerun_outcome *poll(void *context, uint32_t ticket, uint64_t now_ns)
{
    (void)now_ns;
    const rerun_run *run = find(context, ticket);
    return run && run->is_done ? &run->outcome : NULL;
}

static void release(void *context, uint32_t ticket)
{
    rerun_run *run = find(context, ticket);
    if (!run) {
        return;
    }
    run->is_released = true;
    atomic_store(&run->is_stopped, true);
    if (run->is_done && run->has_input_file) {
        run->is_done = false;
        run->process->running++;
        ls_loop_job_start(run->job);
    } else if (!run->is_started || run->is_done) {
        free_run(run);
    }
}

/* ---- life ---- */

ls_status ls_rerun_process_create(const ls_rerun_process_config *config,
                                  const ls_allocator *allocator, ls_rerun_process **out)
{
    if (config->name && strlen(config->name) >= LS_RERUN_NAME_BYTES_MAX) {
        return LS_BAD_ARGUMENT;
    }
    ls_rerun_process *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->allocator = allocator;
    made->config = *config;
    if (!config->executable) {
        made->config.executable = LS_CHILD_THIS_PROGRAM;
    }
    made->host = (ls_rerun_host){made, start, poll, release};
    *out = made;
    return LS_OK;
}

void ls_rerun_process_destroy(ls_rerun_process *process)
{
    if (process) {
        LS_ASSERT(!process->loop);
        ls_release(process->allocator, process->runs);
        ls_release(process->allocator, process);
    }
}

void ls_rerun_process_attach(ls_rerun_process *process, ls_event_loop *loop)
{
    process->loop = loop;
}

void ls_rerun_process_detach(ls_rerun_process *process)
{
    if (!process || !process->loop) {
        return;
    }
    for (uint32_t i = 0; i < process->run_count; i++) {
        atomic_store(&process->runs[i].is_stopped, true);
    }
    for (uint32_t i = 0; i < process->run_count; i++) {
        if (process->runs[i].ticket != 0) {
            free_run(&process->runs[i]);
        }
    }
    process->running = 0;
    process->loop = NULL;
}

const ls_rerun_host *ls_rerun_process_host(const ls_rerun_process *process)
{
    return &process->host;
}

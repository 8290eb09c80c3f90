#define _DEFAULT_SOURCE
#include "lockstep/tests/lab/faultsim/faultsim.h"

#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tests/lab/faultsim/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum {
    LAST_EVENTS = 40,
    LINE_BYTES = 200,
    DESCRIPTION_BYTES = 16384,
    PROGRESS_EVERY = 10, /* looks */
};

#define LOOK_NS (20 * LS_NS_PER_MS)

/* ---- one seed again, with its log ---- */

/* The last lines of a log, or all of them as they come. */
typedef struct tail {
    FILE *file;
    bool is_all;
    uint64_t count;
    char lines[LAST_EVENTS][LINE_BYTES];
} tail;

static void write_line(void *user, const char *line)
{
    tail *last = user;
    if (last->is_all) {
        fprintf(last->file, "%s\n", line);
        fflush(last->file);
        return;
    }
    char *kept = last->lines[last->count++ % LAST_EVENTS];
    size_t bytes = strlen(line);
    bytes = bytes < LINE_BYTES - 1 ? bytes : LINE_BYTES - 1;
    memcpy(kept, line, bytes);
    kept[bytes] = '\0';
}

static void print_tail(const tail *last)
{
    uint64_t first = last->count > LAST_EVENTS ? last->count - LAST_EVENTS : 0;
    if (first > 0) {
        fprintf(last->file, "... %" PRIu64 " events before\n", first);
    }
    for (uint64_t i = first; i < last->count; i++) {
        fprintf(last->file, "%s\n", last->lines[i % LAST_EVENTS]);
    }
}

static void show(const faultsim_config *config, uint64_t seed, tail *last)
{
    ls_play *play = faultsim_play_create(&config->scenario);
    faultsim_scenario *scenario = malloc(sizeof *scenario);
    char *text = malloc(DESCRIPTION_BYTES);
    if (play && scenario && text) {
        faultsim_scenario_draw(scenario, seed, &config->scenario);
        faultsim_scenario_describe(scenario, text, DESCRIPTION_BYTES);
        fprintf(last->file, "%s\n\n", text);
        fflush(last->file);
        faultsim_play_totals totals = {0};
        faultsim_play_outcome outcome = faultsim_play_seed(play, seed, write_line, last, &totals);
        print_tail(last);
        fprintf(last->file, "seed %" PRIu64 ": %s, digest %016" PRIx64 "\n", seed,
                outcome.is_sound ? "every invariant held" : outcome.fault.bytes, outcome.digest);
    }
    free(text);
    free(scenario);
    faultsim_play_destroy(play);
}

typedef struct show_task {
    const faultsim_config *config;
    uint64_t seed;
    tail *last;
} show_task;

static int show_in_copy(const void *user, int channel)
{
    const show_task *task = user;
    (void)channel;
    faultsim_jobs_limit_time(task->config);
    show(task->config, task->seed, task->last);
    fflush(task->last->file);
    return LS_EXIT_CLEAN;
}

/* In a process of its own: what it shows may be how it dies. Its last lines outlive it. */
static void show_apart(const faultsim_config *config, uint64_t seed, bool is_all, FILE *file)
{
    tail *last =
        mmap(NULL, sizeof *last, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (last == MAP_FAILED) {
        return;
    }
    *last = (tail){.file = file, .is_all = is_all};
    const show_task task = {config, seed, last};
    const ls_child_process_work work = {.run = show_in_copy, .user = &task};
    ls_child_process process;
    ls_child_process_end end;
    fflush(NULL);
    if (ls_child_process_fork(&work, &process, NULL, NULL) == LS_OK &&
        ls_child_process_wait(&process, LS_CHILD_WAIT_FOREVER, &end) &&
        (end.signal != 0 || end.exit_code != 0)) {
        print_tail(last);
        fprintf(file, "seed %" PRIu64 ": the process that played it died\n", seed);
    }
    munmap(last, sizeof *last);
}

/* ---- all of them ---- */

static void draw_progress(const faultsim_jobs *jobs, uint64_t elapsed_ns, ls_console *console)
{
    uint64_t seeds = jobs->config->last_seed - jobs->config->first_seed + 1;
    uint64_t played = 0;
    uint64_t broken = 0;
    for (uint32_t i = 0; i < jobs->count; i++) {
        played += jobs->jobs[i].totals.matches;
        broken += jobs->jobs[i].failure_count;
    }
    double seconds = (double)elapsed_ns / 1e9;
    ls_console_begin(console);
    ls_console_line(console,
                    "%" PRIu64 " of %" PRIu64 " matches, %.0f a second, %" PRIu64 " broken", played,
                    seeds, seconds > 0 ? (double)played / seconds : 0, broken);
    ls_console_end(console);
}

/* Keeps the failures of the lowest seeds, in their order. */
static void keep_failure(faultsim_report *report, const faultsim_job_failure *failure)
{
    uint32_t at = report->failures_kept;
    while (at > 0 && report->failures[at - 1].seed > failure->seed) {
        at--;
    }
    if (at == FAULTSIM_JOB_FAILURES_MAX) {
        return;
    }
    if (report->failures_kept < FAULTSIM_JOB_FAILURES_MAX) {
        report->failures_kept++;
    }
    memmove(&report->failures[at + 1], &report->failures[at],
            (report->failures_kept - at - 1) * sizeof report->failures[0]);
    report->failures[at] = *failure;
}

static void collect(const faultsim_jobs *jobs, faultsim_report *report)
{
    report->jobs = jobs->count;
    for (uint32_t i = 0; i < jobs->count; i++) {
        const faultsim_job *job = &jobs->jobs[i];
        report->digest += job->digest;
        report->failure_count += job->failure_count;
        faultsim_play_totals_add(&report->totals, &job->totals);
        for (uint32_t j = 0; j < job->failure_count && j < FAULTSIM_JOB_FAILURES_MAX; j++) {
            keep_failure(report, &job->failures[j]);
        }
    }
}

/* The CPU time of processes that have ended. */
static uint64_t children_cpu_ns(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_CHILDREN, &usage);
    uint64_t seconds = (uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec;
    uint64_t us = (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec;
    return seconds * LS_NS_PER_SECOND + us * LS_NS_PER_US;
}

static ls_status play_all(const faultsim_config *config, ls_console *console,
                          faultsim_report *report)
{
    ls_clock clock = ls_clock_system();
    uint64_t start_ns = ls_clock_now_ns(&clock);
    uint64_t cpu_ns = children_cpu_ns();
    faultsim_jobs jobs = {0};
    ls_status status = faultsim_jobs_start(&jobs, config);
    for (uint32_t looks = 1; status == LS_OK && faultsim_jobs_watch(&jobs); looks++) {
        if (looks % PROGRESS_EVERY == 0) {
            draw_progress(&jobs, ls_clock_now_ns(&clock) - start_ns, console);
        }
        struct timespec pause = {.tv_nsec = LOOK_NS};
        nanosleep(&pause, NULL);
    }
    ls_console_clear(console);
    for (uint32_t i = 0; status == LS_OK && i < jobs.count; i++) {
        status = jobs.jobs[i].is_starved ? LS_NO_MEMORY : LS_OK;
    }
    report->elapsed_ns = ls_clock_now_ns(&clock) - start_ns;
    report->cpu_ns = children_cpu_ns() - cpu_ns;
    if (status == LS_OK) {
        collect(&jobs, report);
    }
    faultsim_jobs_stop(&jobs);
    return status;
}

static void print_failures(const faultsim_report *report, FILE *file)
{
    const faultsim_config *config = report->config;
    for (uint32_t i = 0; i < report->failures_kept; i++) {
        fprintf(file, "seed %" PRIu64 ": %s\n", report->failures[i].seed,
                report->failures[i].fault.bytes);
    }
    if (report->failures_kept > 0 && !config->is_replay) {
        uint64_t seed = report->failures[0].seed;
        fprintf(file, "\nThe first of them, up to its last %d events:\n", LAST_EVENTS);
        show_apart(config, seed, false, file);
        fprintf(file, "again: lockstep-faultsim --seed %" PRIu64 "%s\n\n", seed, config->again);
    }
}

ls_exit_code faultsim_run(const faultsim_config *config, ls_console *console)
{
    FILE *file = config->json_path && strcmp(config->json_path, "-") == 0 ? stderr : stdout;
    ls_text why = {{0}};
    ls_status status = config->json_path ? ls_output_check_path(config->json_path, &why) : LS_OK;
    if (config->is_replay && status == LS_OK) {
        show_apart(config, config->first_seed, true, file);
    }
    faultsim_report report = {.config = config};
    if (status == LS_OK) {
        ls_text_set(&why, "no processes or no memory to play the matches");
        status = play_all(config, console, &report);
    }
    if (status == LS_OK) {
        print_failures(&report, file);
        faultsim_report_print(file, &report);
        fflush(file);
        status =
            config->json_path ? faultsim_report_write(&report, config->json_path, &why) : LS_OK;
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    if (report.failure_count == 0 && report.totals.hashes_compared == 0) {
        ls_log_line(&console->log, LS_LOG_ERROR, "not one hash was compared: that proves nothing");
        return LS_EXIT_INTERNAL;
    }
    return report.failure_count > 0 ? LS_EXIT_DESYNC : LS_EXIT_CLEAN;
}

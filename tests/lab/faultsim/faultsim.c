#define _DEFAULT_SOURCE
#include "lockstep/tests/lab/faultsim/faultsim.h"

#include "lockstep/common/program/json.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

/* ==== jobs ==== */

static void note_failure(faultsim_job *job, check_invariant broken, const ls_text *fault)
{
    if (job->failure_count < FAULTSIM_JOB_FAILURES_MAX) {
        job->failures[job->failure_count] =
            (faultsim_job_failure){.seed = job->seed, .broken = broken, .fault = *fault};
    }
    job->failure_count++;
}

void faultsim_jobs_limit_time(const faultsim_config *config)
{
    uint32_t ticks = config->scenario.ticks;
    struct itimerval limit = {.it_value = {.tv_sec = 60 + (time_t)ticks / 10}};
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

/* Plays from job->seed on. */
static void play_seeds(const faultsim_jobs *jobs, faultsim_job *job)
{
    const faultsim_config *config = jobs->config;
    ls_play *play = faultsim_play_create(&config->scenario);
    if (!play) {
        job->is_starved = true;
        return;
    }
    while (job->seed <= config->last_seed) {
        faultsim_jobs_limit_time(config);
        faultsim_play_outcome outcome =
            faultsim_play_seed(play, job->seed, NULL, NULL, &job->totals);
        job->digest += outcome.digest;
        if (!outcome.is_sound) {
            note_failure(job, outcome.broken, &outcome.fault);
        }
        if (config->last_seed - job->seed < jobs->count) {
            break;
        }
        job->seed += jobs->count;
    }
    faultsim_play_destroy(play);
}

typedef struct job_task {
    const faultsim_jobs *jobs;
    faultsim_job *job;
} job_task;

static int work(const void *user, int channel)
{
    const job_task *task = user;
    (void)channel;
    play_seeds(task->jobs, task->job);
    task->job->is_done = true;
    return LS_EXIT_CLEAN;
}

static ls_status start(const faultsim_jobs *jobs, faultsim_job *job)
{
    const job_task task = {jobs, job};
    const ls_child_process_work copy = {.run = work, .user = &task};
    fflush(NULL);
    return ls_child_process_fork(&copy, &job->process, NULL, NULL);
}

ls_status faultsim_jobs_start(faultsim_jobs *jobs, const faultsim_config *config)
{
    uint64_t seeds = config->last_seed - config->first_seed + 1;
    *jobs = (faultsim_jobs){.config = config, .count = config->jobs};
    if (jobs->count > seeds) {
        jobs->count = (uint32_t)seeds;
    }
    void *memory = mmap(NULL, jobs->count * sizeof *jobs->jobs, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return LS_NO_MEMORY;
    }
    jobs->jobs = memory;
    for (uint32_t i = 0; i < jobs->count; i++) {
        jobs->jobs[i].seed = config->first_seed + i;
        if (start(jobs, &jobs->jobs[i]) != LS_OK) {
            return LS_IO;
        }
    }
    return LS_OK;
}

/* The death of a process that plays a match breaks an invariant: hostile bytes never crash. */
static void note_death(faultsim_jobs *jobs, faultsim_job *job, const ls_child_process_end *end)
{
    ls_text fault;
    bool is_stuck = end->signal == SIGVTALRM;
    if (is_stuck) {
        ls_text_set(&fault, "I4: the match goes round in circles");
    } else if (end->signal != 0) {
        ls_text_set(&fault, "I6: the process died of signal %d", end->signal);
    } else {
        ls_text_set(&fault, "I6: the process ended with code %d%s", (int)end->exit_code,
                    end->exit_code == LS_EXIT_INTERNAL ? ": an assertion failed" : "");
    }
    note_failure(job, is_stuck ? CHECK_I4 : CHECK_I6, &fault);
    if (jobs->config->last_seed - job->seed < jobs->count) {
        job->is_done = true;
        return;
    }
    job->seed += jobs->count;
    if (start(jobs, job) != LS_OK) {
        job->is_starved = true;
    }
}

bool faultsim_jobs_watch(faultsim_jobs *jobs)
{
    bool is_any_running = false;
    for (uint32_t i = 0; i < jobs->count; i++) {
        faultsim_job *job = &jobs->jobs[i];
        ls_child_process_end end;
        if (job->process.id != 0 && ls_child_process_wait(&job->process, 0, &end) &&
            !job->is_done && !job->is_starved) {
            note_death(jobs, job, &end);
        }
        is_any_running = is_any_running || job->process.id != 0;
    }
    return is_any_running;
}

void faultsim_jobs_stop(faultsim_jobs *jobs)
{
    if (!jobs->jobs) {
        return;
    }
    for (uint32_t i = 0; i < jobs->count; i++) {
        ls_child_process_kill(&jobs->jobs[i].process);
    }
    munmap(jobs->jobs, jobs->count * sizeof *jobs->jobs);
    jobs->jobs = NULL;
}

/* ==== report ==== */

static double per_second(uint64_t count, uint64_t ns)
{
    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static void print_resumes(FILE *file, const faultsim_play_totals *totals)
{
    const check_resumes *resumes = &totals->resumes;
    fprintf(file,
            "servers killed %" PRIu64 ", matches resumed %" PRIu64
            ", over by their journals %" PRIu64 ", without journals %" PRIu64 "\n"
            "closed ticks that players brought back %" PRIu64 ", that nobody who came back had "
            "%" PRIu64 ", lost %" PRIu64 "\n"
            "let into running matches %" PRIu64 ", watched to the end %" PRIu64
            ", failed writes %" PRIu64 "\n",
            resumes->crashes, resumes->resumed, resumes->finished, resumes->hopeless,
            resumes->recovered, resumes->forgotten, resumes->lost, totals->joins, totals->watched,
            totals->disk_failures);
}

static void print_bounds(FILE *file, const faultsim_play_totals *totals)
{
    fprintf(file, "the most that one peer caused of what it may:");
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        fprintf(file, "%s %s %.0f %%", i == 0 ? "" : ",", check_bound_key((check_bound)i),
                (double)totals->shares[i] / 10);
    }
    fputc('\n', file);
}

void faultsim_report_print(FILE *file, const faultsim_report *report)
{
    const faultsim_play_totals *totals = &report->totals;
    fprintf(file, "faults injected:");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        fprintf(file, "%s %s %" PRIu64, i == 0 ? "" : ",",
                faultsim_fault_class_key((faultsim_fault_class)i), totals->faults[i]);
    }
    fprintf(file,
            "\nticks %" PRIu64 ", packets %" PRIu64 ", hashes compared %" PRIu64
            ", inputs on time %" PRIu64 ", late %" PRIu64 ", substituted %" PRIu64 "\n"
            "packets rejected %" PRIu64 ", players left %" PRIu64 ", desyncs reported %" PRIu64
            ", digest %016" PRIx64 "\n",
            totals->ticks, totals->packets, totals->hashes_compared, totals->inputs_on_time,
            totals->inputs_late, totals->inputs_substituted, totals->packets_rejected,
            totals->players_left, totals->desyncs, report->digest);
    print_resumes(file, totals);
    print_bounds(file, totals);
    fprintf(file,
            "%" PRIu64 " matches in %.1f s on %" PRIu32 " processes: %.0f a second, %.0f a second "
            "of CPU time; %" PRIu64 " broke an invariant\n",
            totals->matches, (double)report->elapsed_ns / 1e9, report->jobs,
            per_second(totals->matches, report->elapsed_ns),
            per_second(totals->matches, report->cpu_ns), report->failure_count);
}

/* ---- JSON ---- */

static void add_failures(ls_json *json, const faultsim_report *report)
{
    ls_json *failures = ls_json_array(json, "failures");
    for (uint32_t i = 0; i < report->failures_kept; i++) {
        const faultsim_job_failure *failure = &report->failures[i];
        ls_json *item = ls_json_append(failures);
        char invariant[16];
        snprintf(invariant, sizeof invariant, "I%d", (int)failure->broken);
        ls_json_decimal(item, "seed", failure->seed);
        ls_json_text(item, "invariant", invariant);
        ls_json_text(item, "text", failure->fault.bytes);
    }
}

static void add_totals(ls_json *json, const faultsim_play_totals *totals)
{
#define FIELD(member) LS_JSON_FIELD(faultsim_play_totals, member)
    static const ls_json_field fields[] = {FIELD(matches),
                                           FIELD(ticks),
                                           FIELD(packets),
                                           FIELD(hashes_compared),
                                           FIELD(packets_rejected),
                                           FIELD(inputs_on_time),
                                           FIELD(inputs_late),
                                           FIELD(inputs_substituted),
                                           FIELD(players_left),
                                           FIELD(desyncs),
                                           FIELD(joins),
                                           FIELD(watched),
                                           FIELD(disk_failures)};
#undef FIELD
#define FIELD(key, member) LS_JSON_FIELD_AS(key, check_resumes, member)
    static const ls_json_field resumes[] = {FIELD("killed", crashes),
                                            FIELD("resumed", resumed),
                                            FIELD("finished", finished),
                                            FIELD("hopeless", hopeless),
                                            FIELD("ticks_recovered", recovered),
                                            FIELD("ticks_forgotten", forgotten),
                                            FIELD("ticks_lost", lost)};
#undef FIELD
    LS_JSON_ADD(json, fields, totals);
    LS_JSON_ADD(ls_json_object(json, "resumes"), resumes, &totals->resumes);
    ls_json *used = ls_json_object(json, "bounds");
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        ls_json_number(used, check_bound_key((check_bound)i), (double)totals->shares[i] / 1000);
    }
    ls_json *faults = ls_json_object(json, "faults");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        ls_json_number(faults, faultsim_fault_class_key((faultsim_fault_class)i),
                       (double)totals->faults[i]);
    }
}

static void fill_json(ls_json *json, const void *of)
{
    const faultsim_report *report = of;
    const faultsim_play_totals *totals = &report->totals;
    ls_json_text(json, "program", "lockstep-faultsim");
    ls_json_decimal(json, "first_seed", report->config->first_seed);
    ls_json_decimal(json, "last_seed", report->config->last_seed);
    ls_json_number(json, "jobs", report->jobs);
    ls_json_number(json, "seconds", (double)report->elapsed_ns / 1e9);
    ls_json_number(json, "cpu_seconds", (double)report->cpu_ns / 1e9);
    ls_json_number(json, "matches_per_second", per_second(totals->matches, report->elapsed_ns));
    ls_json_number(json, "matches_per_cpu_second", per_second(totals->matches, report->cpu_ns));
    ls_json_hash(json, "digest", report->digest);
    add_totals(json, totals);
    ls_json_number(json, "failure_count", (double)report->failure_count);
    add_failures(json, report);
}

ls_status faultsim_report_write(const faultsim_report *report, const char *path, ls_text *why)
{
    return ls_json_save(fill_json, report, path, why);
}

/* ==== faultsim ==== */

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

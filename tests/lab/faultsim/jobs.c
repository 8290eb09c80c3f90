#define _DEFAULT_SOURCE
#include "lockstep/tests/lab/faultsim/jobs.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>

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

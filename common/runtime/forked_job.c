#include "lockstep/common/runtime/forked_job.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/socket.h"

#include <stddef.h>
#include <string.h>

enum {
    RUNNING_MAX = 16,
};

typedef struct forked_job {
    struct ls_forked_jobs *jobs;
    ls_child_process process;
    int channel; /* its turn goes out by it, and its report comes in */
    uint64_t number;
    ls_loop_source *source;
    ls_forked_work work;
} forked_job;

struct ls_forked_jobs {
    const ls_allocator *allocator;
    ls_event_loop *loop;
    uint32_t time_max_ms;
    uint32_t running;
    uint64_t started; /* so far */
    forked_job running_jobs[RUNNING_MAX];
};

/* ---- in the copy ---- */

/* The copy has what this process had open: sockets whose port another server may want, journals. */
static int work_in_copy(const void *user, int channel)
{
    const ls_forked_work *work = user;
    ls_forked_report report = {0};
    uint8_t turn = 0;
    channel = ls_child_process_keep(channel);
    if (ls_socket_receive_all(channel, &turn, sizeof turn, LS_CHILD_WAIT_FOREVER) != LS_OK) {
        return 1;
    }
    work->run(work->user, &report);
    size_t size = offsetof(ls_forked_report, bytes) + report.size;
    return ls_socket_send_all(channel, &report, size) == LS_OK ? 0 : 1;
}

/* ---- here ---- */

static bool read_report(const forked_job *job, ls_forked_report *report)
{
    return ls_socket_receive_all(job->channel, &report->size, sizeof report->size, 0) == LS_OK &&
           report->size <= sizeof report->bytes &&
           ls_socket_receive_all(job->channel, report->bytes, report->size, 0) == LS_OK;
}

static void describe_end(const forked_job *job, const ls_child_process_end *end, bool has_report,
                         ls_text *why)
{
    if (end->is_overdue) {
        ls_text_set(why, "took longer than %u ms", job->jobs->time_max_ms);
    } else if (end->signal != 0) {
        ls_text_set(why, "its process was ended by signal %d", end->signal);
    } else if (!has_report) {
        ls_text_set(why, "its process ended early");
    }
}

static forked_job *find_oldest(ls_forked_jobs *jobs)
{
    forked_job *oldest = NULL;
    for (uint32_t i = 0; i < RUNNING_MAX; i++) {
        forked_job *job = &jobs->running_jobs[i];
        if (job->process.id != 0 && (!oldest || job->number < oldest->number)) {
            oldest = job;
        }
    }
    return oldest;
}

/* The oldest has the turn, and is told so whenever there may be another one. */
static void give_turn(ls_forked_jobs *jobs)
{
    const forked_job *oldest = find_oldest(jobs);
    if (oldest) {
        (void)ls_socket_send_all(oldest->channel, "", 1);
    }
}

static void finish(forked_job *job, const ls_child_process_end *end)
{
    ls_forked_jobs *jobs = job->jobs;
    const ls_forked_work work = job->work;
    ls_text why = {{0}};
    ls_forked_report report;
    describe_end(job, end, read_report(job, &report), &why);
    ls_loop_source_remove(job->source);
    ls_socket_close(job->channel);
    *job = (forked_job){0};
    jobs->running--;
    give_turn(jobs);
    work.done(work.user, why.bytes[0] ? NULL : &report, &why);
}

static void on_ended(void *user, uint64_t now_ns)
{
    (void)now_ns;
    forked_job *job = user;
    ls_child_process_end end;
    if (ls_child_process_wait(&job->process, 0, &end)) {
        finish(job, &end);
    }
}

/* ---- life ---- */

ls_status ls_forked_jobs_create(ls_event_loop *loop, uint32_t time_max_ms,
                                const ls_allocator *allocator, ls_forked_jobs **out)
{
    ls_forked_jobs *jobs = ls_allocate(allocator, sizeof *jobs);
    if (!jobs) {
        return LS_NO_MEMORY;
    }
    *jobs = (ls_forked_jobs){.allocator = allocator, .loop = loop, .time_max_ms = time_max_ms};
    *out = jobs;
    return LS_OK;
}

void ls_forked_jobs_destroy(ls_forked_jobs *jobs)
{
    if (!jobs) {
        return;
    }
    for (forked_job *job = find_oldest(jobs); job; job = find_oldest(jobs)) {
        ls_child_process_end end;
        (void)ls_child_process_wait(&job->process, LS_CHILD_WAIT_FOREVER, &end);
        finish(job, &end);
    }
    ls_release(jobs->allocator, jobs);
}

uint32_t ls_forked_jobs_running(const ls_forked_jobs *jobs)
{
    return jobs->running;
}

static forked_job *find_free(ls_forked_jobs *jobs)
{
    for (uint32_t i = 0; i < RUNNING_MAX; i++) {
        if (jobs->running_jobs[i].process.id == 0) {
            return &jobs->running_jobs[i];
        }
    }
    return NULL;
}

ls_status ls_forked_jobs_start(ls_forked_jobs *jobs, const ls_forked_work *work)
{
    forked_job *job = find_free(jobs);
    if (!job) {
        return LS_FULL;
    }
    *job = (forked_job){.jobs = jobs, .number = ++jobs->started, .work = *work};
    const ls_child_process_work copy = {.run = work_in_copy,
                                        .user = work,
                                        .time_max_ms = jobs->time_max_ms,
                                        .outlives_parent = true,
                                        .is_background = true};
    ls_status status = ls_child_process_fork(&copy, &job->process, &job->channel, NULL);
    if (status != LS_OK) {
        return status;
    }
    ls_loop_handler handler = {on_ended, job};
    status = ls_event_loop_watch(jobs->loop, job->process.ended, handler, &job->source);
    if (status != LS_OK) {
        ls_child_process_kill(&job->process);
        ls_socket_close(job->channel);
        return status;
    }
    jobs->running++;
    give_turn(jobs);
    return LS_OK;
}

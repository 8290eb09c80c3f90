/* Forked job: work on what the memory of this process holds now, done by a copy of the process
 * (fork), so that the loop does not wait for it and its owner may change the memory at once. The
 * copy runs the work and ends; it opens no connection, draws nothing, and touches no file that this
 * process has open. Copies wait for one another: one works at a time. Called by the server program.
 */
#ifndef LOCKSTEP_COMMON_RUNTIME_FORKED_JOB_H
#define LOCKSTEP_COMMON_RUNTIME_FORKED_JOB_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"

LS_C_BEGIN

#define LS_FORKED_REPORT_BYTES_MAX 2048u

/* A copy tells its result in bytes of the work's own kind, without pointers. */
typedef struct ls_forked_report {
    uint32_t size; /* 0 .. LS_FORKED_REPORT_BYTES_MAX */
    uint8_t bytes[LS_FORKED_REPORT_BYTES_MAX];
} ls_forked_report;

typedef struct ls_forked_work {
    void (*run)(void *user, ls_forked_report *report); /* in the copy */

    /* In the loop's thread, once the copy has ended. NULL: it ended early, `why` says how. May
     * start another one. */
    void (*done)(void *user, const ls_forked_report *report, const ls_text *why);
    void *user;
} ls_forked_work;

typedef struct ls_forked_jobs ls_forked_jobs;

/* NO_MEMORY or IO. `time_max_ms` is what a copy may take, the wait for others included; then it is
 * killed. The loop must outlive the jobs. */
ls_status ls_forked_jobs_create(ls_event_loop *loop, uint32_t time_max_ms,
                                const ls_allocator *allocator, ls_forked_jobs **out);

/* Waits for the copies to end, as long as their time lasts; their `done` is called. NULL is
 * allowed. */
void ls_forked_jobs_destroy(ls_forked_jobs *jobs);

/* FULL: too many are at work. NO_MEMORY or IO: the system makes no copy. Then nothing is called. */
ls_status ls_forked_jobs_start(ls_forked_jobs *jobs, const ls_forked_work *work);

/* How many copies are at work. */
uint32_t ls_forked_jobs_running(const ls_forked_jobs *jobs);

LS_C_END

#endif

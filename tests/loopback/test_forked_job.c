/* Work that copies of this process do, on the memory as it was when they were made. */
#include "lockstep/common/runtime/forked_job.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TIME_MAX_MS = 60000,
    SHORT_MS = 200,
    COPIES = 5,
};

typedef struct worked {
    ls_event_loop *loop;
    uint32_t ends;
    uint32_t ends_wanted;
    ls_text why; /* of the last one */
    uint32_t said;
    uint32_t value; /* what a copy says: what it was when the copy was made */
    int pipe[2];    /* of this process: no copy has it */
} worked;

static void report_value(void *user, ls_forked_report *report)
{
    const worked *seen = user;
    report->size = sizeof seen->value;
    memcpy(report->bytes, &seen->value, sizeof seen->value);
}

static void report_open_files(void *user, ls_forked_report *report)
{
    const worked *seen = user;
    report->size = sizeof(uint32_t);
    report->bytes[0] = write(seen->pipe[1], "x", 1) == 1;
}

static void be_killed(void *user, ls_forked_report *report)
{
    (void)user;
    (void)report;
    raise(SIGKILL);
}

static void never_end(void *user, ls_forked_report *report)
{
    (void)user;
    (void)report;
    for (;;) {
        pause();
    }
}

static void note_end(void *user, const ls_forked_report *report, const ls_text *why)
{
    worked *seen = user;
    seen->ends++;
    seen->why = *why;
    seen->said = 0;
    cr_assert_eq(report == NULL, why->bytes[0] != '\0');
    if (report && report->size == sizeof seen->said) {
        memcpy(&seen->said, report->bytes, sizeof seen->said);
    }
    if (seen->ends == seen->ends_wanted) {
        ls_event_loop_stop(seen->loop);
    }
}

typedef void work_function(void *user, ls_forked_report *report);

static ls_forked_jobs *start(worked *seen, work_function *run, uint32_t time_max_ms)
{
    ls_forked_jobs *jobs = NULL;
    const ls_forked_work work = {run, note_end, seen};
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &seen->loop), LS_OK);
    cr_assert_eq(ls_forked_jobs_create(seen->loop, time_max_ms, ls_allocator_heap(), &jobs), LS_OK);
    seen->ends_wanted = 1;
    cr_assert_eq(ls_forked_jobs_start(jobs, &work), LS_OK);
    cr_assert_eq(ls_forked_jobs_running(jobs), 1);
    return jobs;
}

static void finish(worked *seen, ls_forked_jobs *jobs)
{
    ls_event_loop_run(seen->loop);
    cr_assert_eq(seen->ends, seen->ends_wanted);
    cr_assert_eq(ls_forked_jobs_running(jobs), 0);
    ls_forked_jobs_destroy(jobs);
    ls_event_loop_destroy(seen->loop);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "a process is left");
}

Test(forked_job, a_copy_has_the_memory_as_it_was)
{
    worked seen = {.value = 7};
    ls_forked_jobs *jobs = start(&seen, report_value, TIME_MAX_MS);
    seen.value = 8;
    finish(&seen, jobs);
    cr_expect_eq(seen.said, 7);
    cr_expect_str_empty(seen.why.bytes);
}

Test(forked_job, a_copy_that_ends_early_is_told)
{
    worked seen = {0};
    finish(&seen, start(&seen, be_killed, TIME_MAX_MS));
    cr_expect_str_eq(seen.why.bytes, "its process was ended by signal 9");
}

Test(forked_job, a_copy_that_takes_too_long_is_ended)
{
    worked seen = {0};
    finish(&seen, start(&seen, never_end, SHORT_MS));
    cr_expect_str_eq(seen.why.bytes, "took longer than 200 ms");
}

Test(forked_job, a_copy_has_no_file_of_the_process)
{
    worked seen = {0};
    cr_assert_eq(pipe(seen.pipe), 0);
    finish(&seen, start(&seen, report_open_files, TIME_MAX_MS));
    cr_expect_str_empty(seen.why.bytes);
    cr_expect_eq(seen.said, 0);
}

Test(forked_job, destroying_waits_for_all)
{
    worked seen = {.value = 7};
    ls_forked_jobs *jobs = start(&seen, report_value, TIME_MAX_MS);
    const ls_forked_work work = {report_value, note_end, &seen};
    while (ls_forked_jobs_running(jobs) < COPIES) {
        cr_assert_eq(ls_forked_jobs_start(jobs, &work), LS_OK);
    }
    ls_forked_jobs_destroy(jobs);
    cr_expect_eq(seen.ends, COPIES);
    cr_expect_eq(seen.said, 7);
    ls_event_loop_destroy(seen.loop);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "a process is left");
}

Test(forked_job, copies_beyond_the_limit_are_refused)
{
    worked seen = {0};
    ls_forked_jobs *jobs = start(&seen, never_end, SHORT_MS);
    const ls_forked_work work = {never_end, note_end, &seen};
    ls_status status = LS_OK;
    while (status == LS_OK) {
        seen.ends_wanted = ls_forked_jobs_running(jobs);
        status = ls_forked_jobs_start(jobs, &work);
    }
    cr_expect_eq(status, LS_FULL);
    finish(&seen, jobs);
}

#define _GNU_SOURCE
#include "lockstep/common/runtime/forked_job.h"

#include "lockstep/common/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RUNNING_MAX = 16,
    WATCH_MS = 100, /* between two looks at the time */
    FIRST_OF_OTHERS = STDERR_FILENO + 1,
    NICENESS = 19,
};

typedef struct forked_job {
    struct ls_forked_jobs *jobs;
    pid_t process; /* 0: free */
    int report;    /* the end of a pipe that the copy's report comes out of */
    ls_loop_source *source;
    uint64_t began_ns;
    size_t received;
    ls_forked_report said;
    ls_forked_work work;
    bool is_overdue;
} forked_job;

struct ls_forked_jobs {
    const ls_allocator *allocator;
    ls_event_loop *loop;
    ls_loop_source *timer; /* active while a copy is at work */
    uint32_t time_max_ms;
    int turn; /* a file without a name, whose lock the copy has that works */
    uint32_t running;
    forked_job running_jobs[RUNNING_MAX];
};

/* ---- in the copy ---- */

/* The copy has what this process had open: sockets whose port another server may want, journals. */
static void close_others(int kept, int also_kept)
{
    int low = kept < also_kept ? kept : also_kept;
    int high = kept < also_kept ? also_kept : kept;
    close_range(FIRST_OF_OTHERS, (unsigned)low - 1, 0);
    if (high - low > 1) {
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    }
    close_range((unsigned)high + 1, ~0u, 0);
}

/* A stop signal goes to a terminal's whole group, and is meant for the server alone. */
static void ignore_stop_signals(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        signal(stops[i], SIG_IGN);
    }
}

/* The lock ends with the copy, however it ends. */
static void await_turn(int turn)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(turn, F_SETLKW, &lock) != 0 && errno == EINTR) {
    }
}

static void send_report(int pipe, const ls_forked_report *report)
{
    const uint8_t *bytes = report->bytes;
    size_t left = LS_MIN(report->size, LS_FORKED_REPORT_BYTES_MAX);
    while (left > 0) {
        ssize_t written = write(pipe, bytes, left);
        if (written < 0 && errno != EINTR) {
            _exit(1);
        }
        bytes += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
}

static _Noreturn void work_in_copy(const ls_forked_jobs *jobs, const ls_forked_work *work, int pipe)
{
    ls_forked_report report = {0};
    ignore_stop_signals();
    close_others(pipe, jobs->turn);
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    await_turn(jobs->turn);
    work->run(work->user, &report);
    send_report(pipe, &report);
    _exit(0); /* what is left of the process's own belongs to the process */
}

/* ---- here ---- */

static void describe_end(const forked_job *job, int end, ls_text *why)
{
    if (job->is_overdue) {
        ls_text_set(why, "took longer than %u ms", job->jobs->time_max_ms);
    } else if (WIFSIGNALED(end)) {
        ls_text_set(why, "its process was ended by signal %d", WTERMSIG(end));
    } else if (!WIFEXITED(end) || WEXITSTATUS(end) != 0) {
        ls_text_set(why, "its process ended early");
    }
}

/* The pipe has come to its end, and the copy with it. */
static void finish(forked_job *job)
{
    ls_forked_jobs *jobs = job->jobs;
    const ls_forked_work work = job->work;
    ls_text why = {{0}};
    int end = 0;
    pid_t ended = 0;
    while ((ended = waitpid(job->process, &end, 0)) < 0 && errno == EINTR) {
    }
    if (ended == job->process) {
        describe_end(job, end, &why);
    } else {
        ls_text_set(&why, "its process is lost");
    }
    ls_loop_source_remove(job->source);
    close(job->report);
    job->source = NULL;
    job->said.size = (uint32_t)job->received;
    ls_forked_report said = job->said;
    job->process = 0;
    jobs->running--;
    ls_loop_source_set_active(jobs->timer, jobs->running > 0);
    work.done(work.user, why.bytes[0] ? NULL : &said, &why);
}

/* True: there is no more to come. */
static bool read_some(forked_job *job)
{
    uint8_t beyond[64];
    size_t room = LS_FORKED_REPORT_BYTES_MAX - job->received;
    void *to = room > 0 ? job->said.bytes + job->received : beyond;
    ssize_t size = read(job->report, to, room > 0 ? room : sizeof beyond);
    if (size < 0) {
        return errno != EAGAIN && errno != EINTR;
    }
    job->received += room > 0 ? (size_t)size : 0;
    return size == 0;
}

static void on_readable(void *user, uint64_t now_ns)
{
    (void)now_ns;
    if (read_some(user)) {
        finish(user);
    }
}

static void kill_overdue(ls_forked_jobs *jobs, uint64_t now_ns)
{
    for (uint32_t i = 0; i < RUNNING_MAX; i++) {
        forked_job *job = &jobs->running_jobs[i];
        if (job->process != 0 && !job->is_overdue &&
            now_ns - job->began_ns >= jobs->time_max_ms * LS_NS_PER_MS) {
            job->is_overdue = kill(job->process, SIGKILL) == 0;
        }
    }
}

static void on_timer(void *user, uint64_t now_ns)
{
    kill_overdue(user, now_ns);
}

/* ---- life ---- */

ls_status ls_forked_jobs_create(ls_event_loop *loop, uint32_t time_max_ms,
                                const ls_allocator *allocator, ls_forked_jobs **out)
{
    ls_forked_jobs *jobs = ls_allocate(allocator, sizeof *jobs);
    if (!jobs) {
        return LS_NO_MEMORY;
    }
    jobs->allocator = allocator;
    jobs->loop = loop;
    jobs->time_max_ms = time_max_ms;
    jobs->turn = memfd_create("lockstep-forked-job", MFD_CLOEXEC);
    ls_status status = jobs->turn >= 0 ? LS_OK : LS_IO;
    if (status == LS_OK) {
        ls_loop_handler handler = {on_timer, jobs};
        status = ls_event_loop_add_timer(loop, WATCH_MS, handler, &jobs->timer);
    }
    if (status != LS_OK) {
        ls_forked_jobs_destroy(jobs);
        return status;
    }
    ls_loop_source_set_active(jobs->timer, false);
    *out = jobs;
    return LS_OK;
}

static void wait_for_end(forked_job *job)
{
    struct pollfd report = {.fd = job->report, .events = POLLIN};
    bool is_ended = false;
    while (!is_ended) {
        kill_overdue(job->jobs, ls_event_loop_now_ns(job->jobs->loop));
        is_ended = poll(&report, 1, WATCH_MS) > 0 && read_some(job);
    }
    finish(job);
}

void ls_forked_jobs_destroy(ls_forked_jobs *jobs)
{
    if (!jobs) {
        return;
    }
    for (uint32_t i = 0; i < RUNNING_MAX; i++) {
        if (jobs->running_jobs[i].process != 0) {
            wait_for_end(&jobs->running_jobs[i]);
        }
    }
    ls_loop_source_remove(jobs->timer);
    if (jobs->turn >= 0) {
        close(jobs->turn);
    }
    ls_release(jobs->allocator, jobs);
}

uint32_t ls_forked_jobs_running(const ls_forked_jobs *jobs)
{
    return jobs->running;
}

/* ---- starting one ---- */

static forked_job *find_free(ls_forked_jobs *jobs)
{
    for (uint32_t i = 0; i < RUNNING_MAX; i++) {
        if (jobs->running_jobs[i].process == 0) {
            return &jobs->running_jobs[i];
        }
    }
    return NULL;
}

/* The parent keeps the pipe's first end. */
static ls_status fork_copy(const ls_forked_jobs *jobs, const ls_forked_work *work, int ends[2],
                           pid_t *process)
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return LS_IO;
    }
    *process = fork();
    if (*process == 0) {
        work_in_copy(jobs, work, ends[1]);
    }
    close(ends[1]);
    if (*process < 0) {
        close(ends[0]);
        return errno == ENOMEM ? LS_NO_MEMORY : LS_IO;
    }
    return LS_OK;
}

ls_status ls_forked_jobs_start(ls_forked_jobs *jobs, const ls_forked_work *work)
{
    int ends[2];
    pid_t process = 0;
    forked_job *job = find_free(jobs);
    ls_status status = job ? fork_copy(jobs, work, ends, &process) : LS_FULL;
    if (status != LS_OK) {
        return status;
    }
    *job = (forked_job){.jobs = jobs,
                        .process = process,
                        .report = ends[0],
                        .began_ns = ls_event_loop_now_ns(jobs->loop),
                        .work = *work};
    ls_loop_handler handler = {on_readable, job};
    status = ls_event_loop_watch(jobs->loop, job->report, handler, &job->source);
    if (status != LS_OK) {
        kill(process, SIGKILL);
        while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {
        }
        close(job->report);
        job->process = 0;
        return status;
    }
    jobs->running++;
    ls_loop_source_set_active(jobs->timer, true);
    return LS_OK;
}

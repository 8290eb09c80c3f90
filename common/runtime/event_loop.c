#define _GNU_SOURCE
#include "lockstep/common/runtime/event_loop.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/signals.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"

#include <errno.h>
#include <stdbool.h>
#include <uv.h>

/* After a wait of so long the caches have what others did meanwhile. */
#define COLD_NS LS_NS_PER_MS

/* The loop waits by itself, for the one descriptor that stands for all that libuv waits for, until
 * the first alarm is due: libuv's own waiting counts whole milliseconds, and an alarm by a
 * descriptor of its own takes a system call each time that it is set. */
struct ls_event_loop {
    uv_loop_t uv;
    const ls_allocator *allocator;
    ls_clock clock;
    int descriptor;      /* stands for all that libuv waits for; -1: there is none */
    uv_timer_t patience; /* where there is none: libuv waits until then */
    ls_loop_source *alarms;
    uv_async_t has_alarms; /* never sent: libuv counts it as something to wait for */
    uint64_t idle_ns;
    uint64_t wakes;
    bool is_running;
    bool is_stopped;
    bool is_calling_alarms;
    bool has_stop_signals;
    ls_loop_handler leave; /* around waiting, for a thread beside this one; all zero: none */
    ls_loop_handler enter;
};

/* libuv keeps a handle's memory until its close callback, so each source is a block of its own. */
struct ls_loop_source {
    union {
        uv_handle_t any;
        uv_poll_t poll;
        uv_timer_t timer;
        uv_signal_t signal;
    } handle; /* of what is no alarm */
    ls_event_loop *loop;
    ls_loop_handler handler;
    int events; /* of a watch: what it waits for */
    bool is_alarm;
    bool is_removed;
    uint64_t due_ns;      /* UINT64_MAX: never */
    ls_loop_source *next; /* of the alarms */
};

enum {
    DESCRIPTORS = 3 /* without which libuv aborts the process: a waiting one, and a pipe's two */
};

static bool has_descriptors(void)
{
    uv_file files[DESCRIPTORS];
    uv_fs_t request;
    int count = 0;
    while (count < DESCRIPTORS &&
           (files[count] = uv_fs_open(NULL, &request, "/", UV_FS_O_RDONLY, 0, NULL)) >= 0) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        uv_fs_close(NULL, &request, files[i], NULL);
    }
    return count == DESCRIPTORS;
}

ls_status ls_event_loop_create(const ls_allocator *allocator, ls_event_loop **loop)
{
    ls_event_loop *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    if (!has_descriptors() || uv_loop_init(&made->uv) != 0) {
        ls_release(allocator, made);
        return LS_IO;
    }
    if (uv_async_init(&made->uv, &made->has_alarms, NULL) != 0) {
        uv_loop_close(&made->uv);
        ls_release(allocator, made);
        return LS_IO;
    }
    uv_unref((uv_handle_t *)&made->has_alarms);
    uv_timer_init(&made->uv, &made->patience);
    made->allocator = allocator;
    made->clock = ls_clock_system();
    made->descriptor = uv_backend_fd(&made->uv);
    *loop = made;
    return LS_OK;
}

static void on_closed(uv_handle_t *handle)
{
    const ls_loop_source *source = handle->data;
    ls_release(source->loop->allocator, handle->data);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, handle->data ? on_closed : NULL);
    }
}

static void release_removed_alarms(ls_event_loop *loop)
{
    for (ls_loop_source **at = &loop->alarms; *at;) {
        ls_loop_source *alarm = *at;
        if (alarm->is_removed) {
            *at = alarm->next;
            ls_release(loop->allocator, alarm);
        } else {
            at = &alarm->next;
        }
    }
    if (!loop->alarms) {
        uv_unref((uv_handle_t *)&loop->has_alarms);
    }
}

void ls_loop_source_remove(ls_loop_source *source)
{
    if (source && !source->is_alarm) {
        close_handle(&source->handle.any, NULL);
    } else if (source) {
        source->is_removed = true;
        source->due_ns = UINT64_MAX;
        if (!source->loop->is_calling_alarms) {
            release_removed_alarms(source->loop);
        }
    }
}

static void close_all(ls_event_loop *loop)
{
    uv_walk(&loop->uv, close_handle, NULL);
    while (loop->alarms) {
        ls_loop_source_remove(loop->alarms);
    }
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&loop->uv);
    LS_ASSERT(busy == 0);
}

/* libuv gives a signal back to the system with its last handle, and the system would end the
 * program. */
static void close_without_stop(ls_event_loop *loop)
{
    ls_held_signals held;
    ls_signals_hold_stops(&held);
    close_all(loop);
    ls_signals_drop_stops(&held);
}

void ls_event_loop_destroy(ls_event_loop *loop)
{
    if (!loop) {
        return;
    }
    LS_ASSERT(!loop->is_running);
    if (loop->has_stop_signals) {
        close_without_stop(loop);
    } else {
        close_all(loop);
    }
    ls_release(loop->allocator, loop);
}

uint64_t ls_event_loop_idle_ns(const ls_event_loop *loop)
{
    return loop->idle_ns;
}

uint64_t ls_event_loop_wakes(const ls_event_loop *loop)
{
    return loop->wakes;
}

uv_loop_t *ls_event_loop_uv(ls_event_loop *loop)
{
    return &loop->uv;
}

uint64_t ls_event_loop_now_ns(const ls_event_loop *loop)
{
    return ls_clock_now_ns(&loop->clock);
}

void ls_event_loop_stop(ls_event_loop *loop)
{
    loop->is_stopped = true;
}

static void call_handler(const ls_loop_source *source)
{
    source->handler.call(source->handler.user, ls_event_loop_now_ns(source->loop));
}

static ls_loop_source *make_source(ls_event_loop *loop, ls_loop_handler handler)
{
    ls_loop_source *source = ls_allocate(loop->allocator, sizeof *source);
    if (source) {
        source->loop = loop;
        source->handler = handler;
    }
    return source;
}

/* Ends the making of a source whose handle libuv has taken: `failure` is what starting gave. */
static ls_status finish_source(ls_loop_source *made, int failure, ls_loop_source **source)
{
    made->handle.any.data = made;
    if (failure) {
        ls_loop_source_remove(made);
        return LS_IO;
    }
    if (source) {
        *source = made;
    }
    return LS_OK;
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
    (void)events;
    ls_loop_source *source = handle->data;
    if (status < 0) {
        /* libuv stops watching a descriptor with a pending error, such as a refused datagram. */
        uv_poll_start(handle, source->events, on_ready);
    }
    call_handler(source);
}

static void on_timer(uv_timer_t *handle)
{
    call_handler(handle->data);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    ls_signals_answer();
    call_handler(handle->data);
}

ls_status ls_event_loop_watch(ls_event_loop *loop, int descriptor, ls_loop_handler handler,
                              ls_loop_source **source)
{
    ls_loop_source *made = make_source(loop, handler);
    if (!made) {
        return LS_NO_MEMORY;
    }
    if (uv_poll_init_socket(&loop->uv, &made->handle.poll, (uv_os_sock_t)descriptor) != 0) {
        ls_release(loop->allocator, made);
        return LS_IO;
    }
    made->events = UV_READABLE;
    return finish_source(made, uv_poll_start(&made->handle.poll, made->events, on_ready), source);
}

void ls_loop_watch_for(ls_loop_source *watch, bool reads, bool writes)
{
    LS_ASSERT(reads || writes);
    watch->events = (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0);
    ls_loop_source_set_active(watch, true);
}

ls_status ls_event_loop_add_alarm(ls_event_loop *loop, ls_loop_handler handler,
                                  ls_loop_source **source)
{
    ls_loop_source *made = make_source(loop, handler);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->is_alarm = true;
    made->due_ns = UINT64_MAX;
    made->next = loop->alarms;
    loop->alarms = made;
    uv_ref((uv_handle_t *)&loop->has_alarms);
    if (source) {
        *source = made;
    }
    return LS_OK;
}

void ls_loop_alarm_set(ls_loop_source *alarm, uint64_t due_ns)
{
    LS_ASSERT(alarm->is_alarm);
    alarm->due_ns = due_ns;
}

ls_status ls_event_loop_add_timer(ls_event_loop *loop, uint32_t period_ms, ls_loop_handler handler,
                                  ls_loop_source **source)
{
    LS_ASSERT(period_ms > 0);
    ls_loop_source *made = make_source(loop, handler);
    if (!made) {
        return LS_NO_MEMORY;
    }
    uv_timer_init(&loop->uv, &made->handle.timer);
    uv_update_time(&loop->uv); /* a timer counts from then */
    int failure = uv_timer_start(&made->handle.timer, on_timer, period_ms, period_ms);
    return finish_source(made, failure, source);
}

void ls_loop_source_set_active(ls_loop_source *source, bool is_active)
{
    uv_handle_t *handle = &source->handle.any;
    int failure = 0;
    LS_ASSERT(!source->is_alarm);
    if (handle->type == UV_POLL) {
        uv_poll_t *watch = &source->handle.poll;
        failure = is_active ? uv_poll_start(watch, source->events, on_ready) : uv_poll_stop(watch);
    } else if ((uv_is_active(handle) != 0) != is_active) { /* else its period would begin anew */
        uv_timer_t *timer = &source->handle.timer;
        uv_update_time(&source->loop->uv);
        failure = is_active ? uv_timer_again(timer) : uv_timer_stop(timer);
    }
    LS_ASSERT(failure == 0);
}

static ls_status add_signal(ls_event_loop *loop, int number, ls_loop_handler handler)
{
    ls_loop_source *made = make_source(loop, handler);
    if (!made) {
        return LS_NO_MEMORY;
    }
    if (uv_signal_init(&loop->uv, &made->handle.signal) != 0) {
        ls_release(loop->allocator, made);
        return LS_IO;
    }
    uv_unref(&made->handle.any);
    return finish_source(made, uv_signal_start(&made->handle.signal, on_signal, number), NULL);
}

ls_status ls_event_loop_add_signals(ls_event_loop *loop, ls_loop_handler stop,
                                    ls_loop_handler hangup)
{
    ls_status status = add_signal(loop, SIGINT, stop);
    if (status == LS_OK) {
        status = add_signal(loop, SIGTERM, stop);
    }
    if (status == LS_OK && !ls_signals_outlive_terminal()) {
        status = add_signal(loop, SIGHUP, hangup);
    }
    loop->has_stop_signals = true;
    ls_signals_end_unanswered();
    return status;
}

ls_status ls_event_loop_add_stop_signals(ls_event_loop *loop, ls_loop_handler handler)
{
    return ls_event_loop_add_signals(loop, handler, handler);
}

/* ---- running ---- */

/* Until libuv's first timer is due: UINT64_MAX is for ever, 0 when there is something to do, such
 * as to tell the system of new descriptors, or nothing that it waits for. */
static uint64_t uv_patience_ns(ls_event_loop *loop)
{
    int timeout_ms = uv_backend_timeout(&loop->uv);
    if (timeout_ms > 0) { /* counted from when libuv looked at its clock last */
        uv_update_time(&loop->uv);
        timeout_ms = uv_backend_timeout(&loop->uv);
    }
    return timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * LS_NS_PER_MS;
}

static uint64_t alarm_patience_ns(const ls_event_loop *loop, uint64_t now_ns)
{
    uint64_t due_ns = UINT64_MAX;
    for (const ls_loop_source *alarm = loop->alarms; alarm; alarm = alarm->next) {
        due_ns = LS_MIN(due_ns, alarm->due_ns);
    }
    return due_ns == UINT64_MAX ? UINT64_MAX : due_ns > now_ns ? due_ns - now_ns : 0;
}

static void note_wait(ls_event_loop *loop, uint64_t patience_ns, uint64_t waited_ns)
{
    if (patience_ns > 0) {
        loop->idle_ns += waited_ns;
        loop->wakes++;
    }
}

static void on_patience(uv_timer_t *timer)
{
    (void)timer;
}

/* Where no descriptor stands for the loop libuv waits itself, in whole milliseconds, and does what
 * there is. It calls its timers before it waits: one that was due by then has to come again, or the
 * waiting has no end. */
static void run_until_alarm(ls_event_loop *loop, uint64_t time_ns)
{
    uint64_t began_ns = ls_event_loop_now_ns(loop);
    uint64_t patience_ns = LS_MIN(time_ns, alarm_patience_ns(loop, began_ns));
    if (loop->leave.call) {
        loop->leave.call(loop->leave.user, began_ns);
    }
    if (patience_ns == UINT64_MAX) {
        uv_timer_stop(&loop->patience);
    } else {
        uv_update_time(&loop->uv);
        uv_timer_start(&loop->patience, on_patience, 1 + (patience_ns - 1) / LS_NS_PER_MS, 1);
    }
    uv_run(&loop->uv, patience_ns == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    if (loop->enter.call) {
        loop->enter.call(loop->enter.user, began_ns);
    }
    note_wait(loop, patience_ns, ls_event_loop_now_ns(loop) - began_ns);
}

/* Until something is ready, an alarm is due or `uv_ns` are over; whether libuv has something to do.
 */
static bool wait(ls_event_loop *loop, uint64_t uv_ns)
{
    uint64_t began_ns = ls_event_loop_now_ns(loop);
    uint64_t patience_ns = LS_MIN(uv_ns, alarm_patience_ns(loop, began_ns));
    if (loop->leave.call) {
        loop->leave.call(loop->leave.user, began_ns);
    }
    bool is_ready = ls_socket_await(loop->descriptor, patience_ns);
    if (loop->enter.call) {
        loop->enter.call(loop->enter.user, began_ns);
    }
    uint64_t waited_ns = ls_event_loop_now_ns(loop) - began_ns;
    if (waited_ns >= COLD_NS) {
        ls_tick_code_fetch();
    }
    note_wait(loop, patience_ns, waited_ns);
    return is_ready || waited_ns >= uv_ns;
}

static void call_alarms(ls_event_loop *loop)
{
    loop->is_calling_alarms = true;
    for (ls_loop_source *alarm = loop->alarms; alarm; alarm = alarm->next) {
        uint64_t now_ns = alarm->due_ns == UINT64_MAX ? 0 : ls_event_loop_now_ns(loop);
        if (now_ns >= alarm->due_ns && !loop->is_stopped) {
            alarm->due_ns = UINT64_MAX;
            alarm->handler.call(alarm->handler.user, now_ns);
        }
    }
    loop->is_calling_alarms = false;
    release_removed_alarms(loop);
}

static uint64_t left_ns(const ls_event_loop *loop, uint64_t until_ns)
{
    uint64_t now_ns = until_ns == UINT64_MAX ? 0 : ls_event_loop_now_ns(loop);
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

LS_TICK_CODE static void run(ls_event_loop *loop, uint64_t until_ns)
{
    uint64_t time_ns = left_ns(loop, until_ns);
    for (bool is_first = true; !loop->is_stopped && (is_first || time_ns > 0); is_first = false) {
        uint64_t uv_ns = uv_patience_ns(loop);
        if (uv_ns == 0 && !uv_loop_alive(&loop->uv)) {
            break;
        }
        if (loop->descriptor < 0) {
            run_until_alarm(loop, time_ns);
        } else if (uv_ns == 0 || wait(loop, LS_MIN(uv_ns, time_ns))) {
            uv_run(&loop->uv, UV_RUN_NOWAIT);
        }
        call_alarms(loop);
        time_ns = left_ns(loop, until_ns);
    }
    loop->is_stopped = false;
}

void ls_event_loop_run(ls_event_loop *loop)
{
    ls_event_loop_run_until(loop, UINT64_MAX);
}

void ls_event_loop_share(ls_event_loop *loop, ls_loop_handler leave, ls_loop_handler enter)
{
    loop->leave = leave;
    loop->enter = enter;
}

void ls_event_loop_run_until(ls_event_loop *loop, uint64_t until_ns)
{
    LS_ASSERT(!loop->is_running);
    loop->is_running = true;
    uint32_t slack_ns = ls_machine_timer_slack(1);
    run(loop, until_ns);
    (void)ls_machine_timer_slack(slack_ns);
    loop->is_running = false;
}

/* ---- jobs ---- */

struct ls_loop_job {
    uv_work_t request;
    uv_sem_t worked; /* posted when `work` has returned */
    ls_event_loop *loop;
    void (*work)(void *user);
    ls_loop_handler done;
    bool is_running;
    bool is_destroyed; /* while it was running: released by the loop */
};

ls_status ls_loop_job_create(ls_event_loop *loop, void (*work)(void *user), ls_loop_handler done,
                             ls_loop_job **job)
{
    ls_loop_job *made = ls_allocate(loop->allocator, sizeof *made);
    if (!made || uv_sem_init(&made->worked, 0) != 0) {
        ls_release(loop->allocator, made);
        return LS_NO_MEMORY;
    }
    made->loop = loop;
    made->work = work;
    made->done = done;
    made->request.data = made;
    *job = made;
    return LS_OK;
}

static void release_job(ls_loop_job *job)
{
    uv_sem_destroy(&job->worked);
    ls_release(job->loop->allocator, job);
}

static void on_work(uv_work_t *request)
{
    ls_loop_job *job = request->data;
    job->work(job->done.user);
    uv_sem_post(&job->worked);
}

static void on_worked(uv_work_t *request, int status)
{
    ls_loop_job *job = request->data;
    (void)status;
    if (job->is_destroyed) {
        release_job(job);
        return;
    }
    uv_sem_wait(&job->worked);
    job->is_running = false;
    job->done.call(job->done.user, ls_event_loop_now_ns(job->loop));
}

void ls_loop_job_start(ls_loop_job *job)
{
    LS_ASSERT(!job->is_running);
    job->is_running = true;
    int failure = uv_queue_work(&job->loop->uv, &job->request, on_work, on_worked);
    LS_ASSERT(failure == 0);
}

bool ls_loop_job_is_running(const ls_loop_job *job)
{
    return job->is_running;
}

void ls_loop_job_destroy(ls_loop_job *job)
{
    if (!job) {
        return;
    }
    if (!job->is_running) {
        release_job(job);
        return;
    }
    uv_sem_wait(&job->worked);
    job->is_destroyed = true;
}

/* ---- files ---- */

/* Takes the result of a call that was made without a callback. */
static ls_status finish(uv_fs_t *request, const char *what, ls_text *why)
{
    ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    if (result < 0) {
        return ls_fail(LS_IO, why, "%s: %s", what, uv_strerror((int)result));
    }
    return LS_OK;
}

void ls_loop_file_close(int file)
{
    uv_fs_t request;
    uv_fs_close(NULL, &request, file, NULL);
    uv_fs_req_cleanup(&request);
}

/* A file system without locks is no reason not to write. */
static ls_status lock(const char *path, int file, ls_text *why)
{
    if (!ls_file_lock_open(file) && errno == EWOULDBLOCK) {
        return ls_fail(LS_ALREADY_STARTED, why, "%s: another process is writing to it", path);
    }
    return LS_OK;
}

ls_status ls_loop_file_open(const char *path, ls_loop_file_mode mode, int *file, ls_text *why)
{
    uv_fs_t request;
    ls_signals_ignore_file_limits(); /* a file that may not grow is an error like another */
    int flags = UV_FS_O_WRONLY | (mode == LS_LOOP_FILE_NEW ? UV_FS_O_CREAT | UV_FS_O_EXCL : 0);
    int opened = uv_fs_open(NULL, &request, path, flags, 0600, NULL);
    ls_status status = finish(&request, path, why);
    if (status != LS_OK) {
        return status;
    }
    status = lock(path, opened, why);
    if (status != LS_OK) {
        ls_loop_file_close(opened);
        return status;
    }
    *file = opened;
    return LS_OK;
}

ls_status ls_loop_file_write(int file, const uint8_t *bytes, size_t size, uint64_t offset,
                             ls_text *why)
{
    size_t written = 0;
    while (written < size) {
        uv_fs_t request;
        uv_buf_t rest =
            uv_buf_init((char *)(uintptr_t)(bytes + written), (unsigned)(size - written));
        int result = uv_fs_write(NULL, &request, file, &rest, 1, (int64_t)(offset + written), NULL);
        ls_status status = finish(&request, "writing", why);
        if (status != LS_OK) {
            return status;
        }
        if (result == 0) {
            return ls_fail(LS_IO, why, "writing: nothing was taken");
        }
        written += (size_t)result;
    }
    return LS_OK;
}

ls_status ls_loop_file_synchronise(int file, ls_text *why)
{
    uv_fs_t request;
    uv_fs_fdatasync(NULL, &request, file, NULL);
    return finish(&request, "synchronising", why);
}

bool ls_loop_file_is_deleted(int file)
{
    uv_fs_t request;
    bool is_deleted = uv_fs_fstat(NULL, &request, file, NULL) == 0 && request.statbuf.st_nlink == 0;
    uv_fs_req_cleanup(&request);
    return is_deleted;
}

ls_status ls_loop_file_cut(int file, uint64_t size, ls_text *why)
{
    uv_fs_t request;
    uv_fs_ftruncate(NULL, &request, file, (int64_t)size, NULL);
    return finish(&request, "cutting", why);
}

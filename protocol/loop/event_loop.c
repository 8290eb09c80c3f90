#define _GNU_SOURCE
#include "lockstep/protocol/loop/event_loop.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/loop/event_loop_uv.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

struct ls_event_loop {
    uv_loop_t uv;
    const ls_allocator *allocator;
    ls_clock clock;
    bool is_running;
};

/* libuv keeps a handle's memory until its close callback, so each source is a block of its own. */
struct ls_loop_source {
    union {
        uv_handle_t any;
        uv_poll_t poll;
        uv_timer_t timer;
        uv_signal_t signal;
    } handle;
    ls_event_loop *loop;
    ls_loop_handler handler;
    int owned_descriptor; /* the timerfd of a tick timer or an alarm, otherwise -1 */
    uint64_t due_ns;      /* an alarm: what it is set to */
};

ls_status ls_event_loop_create(const ls_allocator *allocator, ls_event_loop **loop)
{
    ls_event_loop *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    if (uv_loop_init(&made->uv) != 0) {
        ls_release(allocator, made);
        return LS_IO;
    }
    (void)uv_loop_configure(&made->uv, UV_METRICS_IDLE_TIME); /* a count, which cannot fail */
    made->allocator = allocator;
    made->clock = ls_clock_system();
    *loop = made;
    return LS_OK;
}

static void release_source(ls_loop_source *source)
{
    if (source->owned_descriptor >= 0) {
        close(source->owned_descriptor);
    }
    ls_release(source->loop->allocator, source);
}

static void on_closed(uv_handle_t *handle)
{
    release_source(handle->data);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, on_closed);
    }
}

void ls_loop_source_remove(ls_loop_source *source)
{
    if (source) {
        close_handle(&source->handle.any, NULL);
    }
}

void ls_event_loop_destroy(ls_event_loop *loop)
{
    if (!loop) {
        return;
    }
    LS_ASSERT(!loop->is_running);
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0) {
        /* A stop that nobody consumed ends the first round early. */
    }
    int busy = uv_loop_close(&loop->uv);
    LS_ASSERT(busy == 0);
    ls_release(loop->allocator, loop);
}

uint64_t ls_event_loop_idle_ns(const ls_event_loop *loop)
{
    return uv_metrics_idle_time((uv_loop_t *)&loop->uv); /* which only reads */
}

uv_loop_t *ls_event_loop_uv(ls_event_loop *loop)
{
    return &loop->uv;
}

void ls_event_loop_run(ls_event_loop *loop)
{
    LS_ASSERT(!loop->is_running);
    loop->is_running = true;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    loop->is_running = false;
}

void ls_event_loop_stop(ls_event_loop *loop)
{
    uv_stop(&loop->uv);
}

uint64_t ls_event_loop_now_ns(const ls_event_loop *loop)
{
    return ls_clock_now_ns(&loop->clock);
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
        source->owned_descriptor = -1;
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

static void on_readable(uv_poll_t *handle, int status, int events)
{
    (void)events;
    ls_loop_source *source = handle->data;
    if (status < 0) {
        /* libuv stops watching a descriptor with a pending error, such as a refused datagram. */
        uv_poll_start(handle, UV_READABLE, on_readable);
    }
    call_handler(source);
}

/* Setting it anew quietens the descriptor as well as reading it would: a handler that does that at
 * every tick saves a system call. */
static void on_alarm(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    ls_loop_source *source = handle->data;
    uint64_t now_ns = ls_event_loop_now_ns(source->loop);
    if (now_ns < source->due_ns) {
        return; /* set anew since it went off */
    }
    source->due_ns = 0;
    source->handler.call(source->handler.user, now_ns);
    if (source->due_ns == 0 && !uv_is_closing(&source->handle.any)) {
        ls_loop_alarm_set(source, UINT64_MAX);
    }
}

static void on_tick(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    ls_loop_source *source = handle->data;
    uint64_t expirations = 0;
    /* Reading re-arms the descriptor. How many ticks are due follows from the time alone. */
    if (read(source->owned_descriptor, &expirations, sizeof expirations) ==
        (ssize_t)sizeof expirations) {
        call_handler(source);
    }
}

static void on_timer(uv_timer_t *handle)
{
    call_handler(handle->data);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    call_handler(handle->data);
}

static ls_status start_poll(ls_loop_source *made, int descriptor, uv_poll_cb callback,
                            ls_loop_source **source)
{
    if (uv_poll_init(&made->loop->uv, &made->handle.poll, descriptor) != 0) {
        release_source(made);
        return LS_IO;
    }
    return finish_source(made, uv_poll_start(&made->handle.poll, UV_READABLE, callback), source);
}

ls_status ls_event_loop_watch(ls_event_loop *loop, int descriptor, ls_loop_handler handler,
                              ls_loop_source **source)
{
    ls_loop_source *made = make_source(loop, handler);
    if (!made) {
        return LS_NO_MEMORY;
    }
    return start_poll(made, descriptor, on_readable, source);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / LS_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % LS_NS_PER_SECOND)};
}

/* In a timerfd's words, a moment of 0 disarms it. */
static int arm(const ls_loop_source *source, uint64_t first_ns, uint64_t period_ns)
{
    uint64_t moment_ns = first_ns == UINT64_MAX ? 0 : first_ns == 0 ? 1 : first_ns;
    struct itimerspec times = {.it_value = timespec_of(moment_ns),
                               .it_interval = timespec_of(period_ns)};
    return timerfd_settime(source->owned_descriptor, TFD_TIMER_ABSTIME, &times, NULL);
}

static ls_status add_absolute_timer(ls_event_loop *loop, uint64_t first_ns, uint64_t period_ns,
                                    uv_poll_cb callback, ls_loop_handler handler,
                                    ls_loop_source **source)
{
    ls_loop_source *made = make_source(loop, handler);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->owned_descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (made->owned_descriptor < 0 || arm(made, first_ns, period_ns) != 0) {
        release_source(made);
        return LS_IO;
    }
    return start_poll(made, made->owned_descriptor, callback, source);
}

ls_status ls_event_loop_add_tick_timer(ls_event_loop *loop, const ls_tick_timer_config *config,
                                       ls_loop_handler handler, ls_loop_source **source)
{
    LS_ASSERT(config->period_ns > 0);
    return add_absolute_timer(loop, config->first_ns, config->period_ns, on_tick, handler, source);
}

ls_status ls_event_loop_add_alarm(ls_event_loop *loop, ls_loop_handler handler,
                                  ls_loop_source **source)
{
    return add_absolute_timer(loop, UINT64_MAX, 0, on_alarm, handler, source);
}

void ls_loop_alarm_set(ls_loop_source *alarm, uint64_t due_ns)
{
    LS_ASSERT(alarm->owned_descriptor >= 0);
    due_ns = due_ns > 0 ? due_ns : 1; /* long ago, either of them */
    alarm->due_ns = due_ns;
    int failure = arm(alarm, due_ns, 0);
    LS_ASSERT(failure == 0);
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
    int failure = uv_timer_start(&made->handle.timer, on_timer, period_ms, period_ms);
    return finish_source(made, failure, source);
}

void ls_loop_source_set_active(ls_loop_source *source, bool is_active)
{
    uv_handle_t *handle = &source->handle.any;
    int failure = 0;
    LS_ASSERT(source->owned_descriptor < 0);
    if (handle->type == UV_POLL) {
        uv_poll_t *watch = &source->handle.poll;
        failure = is_active ? uv_poll_start(watch, UV_READABLE, on_readable) : uv_poll_stop(watch);
    } else {
        uv_timer_t *timer = &source->handle.timer;
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
        release_source(made);
        return LS_IO;
    }
    uv_unref(&made->handle.any);
    return finish_source(made, uv_signal_start(&made->handle.signal, on_signal, number), NULL);
}

ls_status ls_event_loop_add_stop_signals(ls_event_loop *loop, ls_loop_handler handler)
{
    struct sigaction hangup;
    ls_status status = add_signal(loop, SIGINT, handler);
    if (status == LS_OK) {
        status = add_signal(loop, SIGTERM, handler);
    }
    bool is_ignored = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
    return status == LS_OK && !is_ignored ? add_signal(loop, SIGHUP, handler) : status;
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

#include "lockstep/client/window/painter.h"

#include "lockstep/client/window/window.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/thread.h"

enum {
    JOBS = 3, /* one being painted, one that waits, and one being composed */
    EVENTS_MAX = 512,
};

typedef enum job_state {
    JOB_IS_FREE,
    JOB_IS_TAKEN, /* the owner composes its scene */
    JOB_WAITS,
    JOB_IS_PAINTED,
    JOB_IS_WRITTEN, /* it has files, and the owner has not seen it yet */
} job_state;

struct ls_painter {
    const ls_allocator *allocator;
    const ls_window_config *config; /* while it is opened */
    ls_clock clock;
    ls_thread thread;
    bool is_apart; /* the thread has the window; else the owner's calls paint */
    bool is_started;
    ls_window *window; /* the thread's alone, or the owner's */

    /* All below is guarded: */
    ls_monitor *monitor;
    bool is_open; /* or failed to open */
    ls_status status;
    ls_text why;
    bool is_stopped;
    ls_painter_state state;
    job_state states[JOBS];
    uint32_t event_first;
    uint32_t event_count;
    ls_view_event events[EVENTS_MAX]; /* more are dropped */

    ls_painter_job jobs[JOBS]; /* the thread or the owner has one, as its state says */
};

/* ---- the thread ---- */

static void take_events(ls_painter *painter)
{
    ls_view_event event;
    while (ls_window_next_event(painter->window, &event)) {
        ls_monitor_enter(painter->monitor);
        if (painter->event_count < EVENTS_MAX) {
            painter->events[(painter->event_first + painter->event_count++) % EVENTS_MAX] = event;
        }
        ls_monitor_leave(painter->monitor);
    }
}

static void write_files(ls_painter *painter, const ls_canvas *canvas, ls_painter_job *job)
{
    job->written = LS_OK;
    for (uint32_t i = 0; i < job->file_count && job->written == LS_OK; i++) {
        job->written = ls_png_file_write(job->files[i], canvas, painter->allocator, &job->why);
    }
}

/* How large the next picture will be. */
static void measure(ls_painter *painter, const ls_canvas *canvas)
{
    painter->state.width = canvas->width;
    painter->state.height = canvas->height;
    painter->state.fonts = *ls_window_fonts(painter->window);
    painter->state.display_hz = ls_window_display_hz(painter->window);
}

static void note_shown(ls_painter *painter, const ls_canvas *canvas, uint64_t work_ns)
{
    ls_monitor_enter(painter->monitor);
    painter->state.work_ns = work_ns;
    painter->state.shown_ns = ls_clock_now_ns(&painter->clock);
    measure(painter, canvas);
    ls_monitor_leave(painter->monitor);
}

static void paint(ls_painter *painter, ls_painter_job *job)
{
    uint64_t begun_ns = ls_clock_now_ns(&painter->clock);
    ls_canvas *canvas = ls_window_canvas(painter->window);
    if (!canvas) {
        job->written = LS_NO_MEMORY;
        return;
    }
    ls_window_set_title(painter->window, job->scene.hud.title);
    ls_scene_paint(&job->scene, ls_window_fonts(painter->window), canvas);
    uint64_t work_ns = ls_clock_now_ns(&painter->clock) - begun_ns;
    ls_window_show(painter->window);
    note_shown(painter, canvas, work_ns);
    write_files(painter, canvas, job);
}

/* The job in this state, NULL: there is none. */
static ls_painter_job *find(ls_painter *painter, job_state state)
{
    for (uint32_t i = 0; i < JOBS; i++) {
        if (painter->states[i] == state) {
            return &painter->jobs[i];
        }
    }
    return NULL;
}

static void set_state(ls_painter *painter, const ls_painter_job *job, job_state state)
{
    painter->states[job - painter->jobs] = state;
}

/* Waits for a job; NULL: the painter is to stop, and no file is left to be written. */
static ls_painter_job *wait_for_job(ls_painter *painter)
{
    ls_monitor_enter(painter->monitor);
    ls_painter_job *job = find(painter, JOB_WAITS);
    while (!job && !painter->is_stopped) {
        ls_monitor_wait(painter->monitor);
        job = find(painter, JOB_WAITS);
    }
    if (job && painter->is_stopped && job->file_count == 0) {
        job = NULL;
    }
    if (job) {
        set_state(painter, job, JOB_IS_PAINTED);
    }
    ls_monitor_leave(painter->monitor);
    return job;
}

static void open_window(ls_painter *painter)
{
    ls_text why = {{0}};
    ls_status status = ls_window_open(painter->config, painter->allocator, &painter->window, &why);
    ls_monitor_enter(painter->monitor);
    painter->is_open = true;
    painter->status = status;
    painter->why = why;
    if (status == LS_OK) {
        measure(painter, ls_window_canvas(painter->window));
    }
    ls_monitor_wake_all(painter->monitor);
    ls_monitor_leave(painter->monitor);
}

static void do_job(ls_painter *painter, ls_painter_job *job)
{
    take_events(painter);
    paint(painter, job);
    take_events(painter);
    ls_monitor_enter(painter->monitor);
    set_state(painter, job, job->file_count > 0 ? JOB_IS_WRITTEN : JOB_IS_FREE);
    ls_monitor_leave(painter->monitor);
}

static void work(void *user)
{
    ls_painter *painter = user;
    open_window(painter);
    ls_painter_job *job = painter->window ? wait_for_job(painter) : NULL;
    while (job) {
        do_job(painter, job);
        job = wait_for_job(painter);
    }
    ls_window_close(painter->window);
}

/* ---- life ---- */

static ls_status start(ls_painter *painter, ls_text *why)
{
    ls_status status = painter->monitor ? LS_OK : LS_NO_MEMORY;
    for (uint32_t i = 0; status == LS_OK && i < JOBS; i++) {
        status = ls_scene_init(&painter->jobs[i].scene, painter->allocator);
    }
    if (status != LS_OK) {
        return status;
    }
    if (!painter->is_apart) {
        open_window(painter);
    }
    painter->is_started = painter->is_apart && ls_thread_start(&painter->thread, work, painter);
    if (painter->is_apart && !painter->is_started) {
        return ls_fail(LS_IO, why, "no thread can be started for the window");
    }
    ls_monitor_enter(painter->monitor);
    while (!painter->is_open) {
        ls_monitor_wait(painter->monitor);
    }
    ls_monitor_leave(painter->monitor);
    if (why && painter->why.bytes[0]) {
        *why = painter->why;
    }
    return painter->status;
}

ls_status ls_painter_open(const ls_window_config *config, const ls_allocator *allocator,
                          ls_painter **out, ls_text *why)
{
    ls_painter *painter = ls_allocate(allocator, sizeof *painter);
    if (!painter) {
        return LS_NO_MEMORY;
    }
    painter->allocator = allocator;
    painter->config = config;
    painter->is_apart = config->is_painted_apart;
    painter->clock = ls_clock_system();
    painter->monitor = ls_monitor_create();
    ls_status status = start(painter, why);
    if (status != LS_OK) {
        ls_painter_close(painter);
        return status;
    }
    *out = painter;
    return LS_OK;
}

void ls_painter_stop(ls_painter *painter)
{
    if (painter && !painter->is_apart) {
        ls_window_close(painter->window);
        painter->window = NULL;
    } else if (painter && painter->is_started) {
        ls_monitor_enter(painter->monitor);
        painter->is_stopped = true;
        ls_monitor_wake_all(painter->monitor);
        ls_monitor_leave(painter->monitor);
        ls_thread_join(&painter->thread);
        painter->is_started = false;
    }
}

void ls_painter_close(ls_painter *painter)
{
    if (!painter) {
        return;
    }
    ls_painter_stop(painter);
    for (uint32_t i = 0; i < JOBS; i++) {
        ls_scene_deinit(&painter->jobs[i].scene);
    }
    ls_monitor_destroy(painter->monitor);
    ls_release(painter->allocator, painter);
}

/* ---- the owner's thread ---- */

ls_painter_state ls_painter_look(ls_painter *painter)
{
    ls_monitor_enter(painter->monitor);
    ls_painter_state state = painter->state;
    ls_monitor_leave(painter->monitor);
    return state;
}

bool ls_painter_next_event(ls_painter *painter, ls_view_event *event)
{
    if (!painter->is_apart && painter->window) {
        take_events(painter);
    }
    ls_monitor_enter(painter->monitor);
    bool has_one = painter->event_count > 0;
    if (has_one) {
        *event = painter->events[painter->event_first];
        painter->event_first = (painter->event_first + 1) % EVENTS_MAX;
        painter->event_count--;
    }
    ls_monitor_leave(painter->monitor);
    return has_one;
}

ls_painter_job *ls_painter_take(ls_painter *painter)
{
    ls_monitor_enter(painter->monitor);
    const ls_painter_job *waiting = find(painter, JOB_WAITS);
    bool is_busy = waiting && waiting->file_count > 0;
    ls_painter_job *job = is_busy ? NULL : find(painter, JOB_IS_FREE);
    if (job) {
        job->file_count = 0;
        set_state(painter, job, JOB_IS_TAKEN);
    }
    ls_monitor_leave(painter->monitor);
    return job;
}

void ls_painter_put(ls_painter *painter, ls_painter_job *job)
{
    ls_monitor_enter(painter->monitor);
    const ls_painter_job *older = find(painter, JOB_WAITS);
    if (older) {
        set_state(painter, older, JOB_IS_FREE);
    }
    set_state(painter, job, painter->is_apart ? JOB_WAITS : JOB_IS_PAINTED);
    ls_monitor_wake_all(painter->monitor);
    ls_monitor_leave(painter->monitor);
    if (!painter->is_apart) {
        do_job(painter, job);
    }
}

const ls_painter_job *ls_painter_next_written(ls_painter *painter)
{
    ls_monitor_enter(painter->monitor);
    const ls_painter_job *job = find(painter, JOB_IS_WRITTEN);
    if (job) {
        set_state(painter, job, JOB_IS_FREE); /* the owner alone takes a free one */
    }
    ls_monitor_leave(painter->monitor);
    return job;
}

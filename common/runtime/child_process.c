#define _GNU_SOURCE
#include "lockstep/common/runtime/child_process.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum {
    WATCH_MS = 20, /* between two looks at whether the child is to be stopped */
};

typedef struct child_run {
    const ls_child_process_config *config;
    ls_child_process_end *end;
    uv_loop_t loop;
    uv_process_t process;
    uv_pipe_t input;
    uv_pipe_t output;
    uv_write_t write;
    uv_timer_t timer;
    uint64_t began_ms;
} child_run;

/* ---- files ---- */

bool ls_child_process_file(const char *name, char *out, size_t capacity)
{
    char path[PATH_MAX];
    bool is_file = strchr(name, '/') || strstr(name, ".so");
    const char *taken = is_file && realpath(name, path) ? path : name;
    size_t size = strlen(taken) + 1;
    if (size <= capacity) {
        memcpy(out, taken, size);
    }
    return size <= capacity;
}

/* ---- variables ---- */

static bool is_set_by(const char *variable, const char *const *changed)
{
    for (; *changed; changed++) {
        if (strncmp(variable, *changed, strcspn(*changed, "=") + 1) == 0) {
            return true;
        }
    }
    return false;
}

void ls_child_process_variables(const char *const *changed, bool (*keeps)(const char *variable),
                                const char **variables, uint32_t variables_max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; changed[i] && count < variables_max; i++) {
        variables[count++] = changed[i];
    }
    for (char **own = environ; own && *own && count < variables_max; own++) {
        if (!is_set_by(*own, changed) && (!keeps || keeps(*own))) {
            variables[count++] = *own;
        }
    }
    variables[count] = NULL;
}

/* ---- a run ---- */

static void close_once(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void on_ended(uv_process_t *process, int64_t exit_code, int signal)
{
    child_run *run = process->data;
    run->end->exit_code = exit_code;
    run->end->signal = signal;
    close_once((uv_handle_t *)&run->timer, NULL);
    close_once((uv_handle_t *)&run->input, NULL);
    close_once((uv_handle_t *)process, NULL);
}

/* A child that ends before it has read everything is judged by its end, not by this. */
static void on_written(uv_write_t *write, int status)
{
    (void)status;
    child_run *run = write->data;
    close_once((uv_handle_t *)&run->input, NULL);
}

/* Once the room is used up reading fails, and the child meets a closed pipe. */
static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    child_run *run = handle->data;
    size_t used = run->end->output_bytes;
    *out = uv_buf_init((char *)run->config->output + used,
                       (unsigned)(run->config->output_bytes_max - used));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *room)
{
    (void)room;
    child_run *run = stream->data;
    if (size < 0) {
        close_once((uv_handle_t *)stream, NULL);
    } else {
        run->end->output_bytes += (size_t)size;
    }
}

static void on_watch(uv_timer_t *timer)
{
    child_run *run = timer->data;
    run->end->is_overdue = uv_now(&run->loop) - run->began_ms >= run->config->time_max_ms;
    if (run->end->is_overdue || atomic_load(run->config->is_stopped)) {
        uv_process_kill(&run->process, SIGKILL);
        uv_timer_stop(timer);
    }
}

static int spawn(child_run *run)
{
    uv_stdio_container_t stdio[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&run->input},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->output},
        {.flags = UV_IGNORE}};
    if (run->config->input_file) {
        stdio[0] =
            (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = *run->config->input_file};
    }
    uv_process_options_t options = {.exit_cb = on_ended,
                                    .file = run->config->program,
                                    .args = (char **)(uintptr_t)run->config->arguments,
                                    .env = (char **)(uintptr_t)run->config->environment,
                                    .stdio = stdio,
                                    .stdio_count = 3};
    return uv_spawn(&run->loop, &run->process, &options);
}

static void init_handles(child_run *run)
{
    uv_pipe_init(&run->loop, &run->input, 0);
    uv_pipe_init(&run->loop, &run->output, 0);
    uv_timer_init(&run->loop, &run->timer);
    run->input.data = run->output.data = run->timer.data = run;
    run->process.data = run->write.data = run;
}

static void start(child_run *run)
{
    uv_buf_t bytes =
        uv_buf_init((char *)(uintptr_t)run->config->input, (unsigned)run->config->input_bytes);
    run->began_ms = uv_now(&run->loop);
    uv_timer_start(&run->timer, on_watch, WATCH_MS, WATCH_MS);
    uv_read_start((uv_stream_t *)&run->output, on_room, on_read);
    if (run->config->input_file) {
        close_once((uv_handle_t *)&run->input, NULL);
    } else if (uv_write(&run->write, (uv_stream_t *)&run->input, &bytes, 1, on_written) != 0) {
        close_once((uv_handle_t *)&run->input, NULL);
    }
}

static ls_status run_child(const ls_child_process_config *config, ls_child_process_end *end,
                           ls_text *why)
{
    child_run run = {.config = config, .end = end};
    *end = (ls_child_process_end){0};
    int failure = uv_loop_init(&run.loop);
    if (failure != 0) {
        return ls_fail(LS_IO, why, "%s: %s", config->program, uv_strerror(failure));
    }
    init_handles(&run);
    failure = spawn(&run);
    if (failure == 0) {
        start(&run);
        uv_run(&run.loop, UV_RUN_DEFAULT);
    }
    uv_walk(&run.loop, close_once, NULL);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_loop_close(&run.loop);
    return failure == 0 ? LS_OK
                        : ls_fail(LS_IO, why, "%s: %s", config->program, uv_strerror(failure));
}

/* A child that ends while it is written to raises SIGPIPE in the thread that writes, which would
 * end the whole program: the thread blocks it for the time, and takes it before it goes on. */
ls_status ls_child_process_run(const ls_child_process_config *config, ls_child_process_end *end,
                               ls_text *why)
{
    sigset_t broken_pipe;
    sigset_t before;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    ls_status status = run_child(config, end, why);
    const struct timespec at_once = {0};
    while (!sigismember(&before, SIGPIPE) &&
           sigtimedwait(&broken_pipe, NULL, &at_once) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

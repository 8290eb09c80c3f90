#define _GNU_SOURCE
#include "lockstep/common/runtime/supervised_process.h"

#include "lockstep/common/runtime/event_loop_uv.h"

#include <signal.h>
#include <uv.h>

enum {
    STANDARD_STREAMS = 3,
};

struct ls_supervised_process {
    uv_process_t process;
    const ls_allocator *allocator;
    void (*on_end)(void *user, int64_t exit_code, int signal_number);
    void *user;
    bool has_ended;
    bool has_group;
};

static void on_exit(uv_process_t *handle, int64_t exit_code, int signal_number)
{
    ls_supervised_process *process = handle->data;
    process->has_ended = true;
    if (process->on_end) {
        process->on_end(process->user, exit_code, signal_number);
    }
}

static void on_closed(uv_handle_t *handle)
{
    ls_supervised_process *process = handle->data;
    ls_release(process->allocator, process);
}

static int spawn(ls_supervised_process *process, const ls_supervised_process_config *config,
                 ls_event_loop *loop)
{
    uv_stdio_container_t streams[STANDARD_STREAMS + LS_SUPERVISED_DESCRIPTORS_MAX] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = 1},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
    };
    for (uint32_t i = 0; i < config->descriptor_count; i++) {
        streams[STANDARD_STREAMS + i].flags = UV_INHERIT_FD;
        streams[STANDARD_STREAMS + i].data.fd = config->descriptors[i];
    }
    const uv_process_options_t options = {.exit_cb = on_exit,
                                          .flags = config->has_group ? UV_PROCESS_DETACHED : 0,
                                          .file = config->program,
                                          .args = (char **)(uintptr_t)config->arguments,
                                          .stdio = streams,
                                          .stdio_count =
                                              (int)(STANDARD_STREAMS + config->descriptor_count)};
    return uv_spawn(ls_event_loop_uv(loop), &process->process, &options);
}

ls_status ls_supervised_process_create(const ls_supervised_process_config *config,
                                       ls_event_loop *loop, const ls_allocator *allocator,
                                       ls_supervised_process **out, ls_text *why)
{
    ls_supervised_process *process = ls_allocate(allocator, sizeof *process);
    if (!process) {
        return LS_NO_MEMORY;
    }
    process->allocator = allocator;
    process->on_end = config->on_end;
    process->user = config->user;
    process->has_group = config->has_group;
    process->process.data = process;
    int error = spawn(process, config, loop);
    if (error != 0) {
        process->has_ended = true;
        uv_close((uv_handle_t *)&process->process, on_closed);
        return ls_fail(LS_IO, why, "cannot start %s: %s", config->program, uv_strerror(error));
    }
    *out = process;
    return LS_OK;
}

void ls_supervised_process_destroy(ls_supervised_process *process)
{
    if (process) {
        process->on_end = NULL;
        ls_supervised_process_signal(process, SIGKILL);
        uv_close((uv_handle_t *)&process->process, on_closed);
    }
}

void ls_supervised_process_signal(ls_supervised_process *process, int signal_number)
{
    if (!process->has_ended) {
        int id = uv_process_get_pid(&process->process);
        (void)uv_kill(process->has_group ? -id : id, signal_number);
    }
}

uint32_t ls_supervised_process_id(const ls_supervised_process *process)
{
    return (uint32_t)uv_process_get_pid(&process->process);
}

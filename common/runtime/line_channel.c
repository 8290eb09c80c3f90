#define _GNU_SOURCE
#include "lockstep/common/runtime/line_channel.h"

#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/signals.h"
#include "lockstep/common/system/socket.h"

#include <string.h>
#include <uv.h>

struct ls_line_channel {
    uv_pipe_t pipe;
    const ls_allocator *allocator;
    ls_line_channel_config config;
    bool is_broken;
    size_t filled; /* bytes of a line that is not complete yet */
    char line[LS_LINE_BYTES_MAX];
};

/* A line on its way out. */
typedef struct sent_line {
    uv_write_t request;
    const ls_allocator *allocator;
    char bytes[];
} sent_line;

static void set_broken(ls_line_channel *channel)
{
    if (!channel->is_broken) {
        channel->is_broken = true;
        uv_read_stop((uv_stream_t *)&channel->pipe);
        channel->config.on_broken(channel->config.user);
    }
}

/* ---- in ---- */

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    ls_line_channel *channel = handle->data;
    (void)wanted;
    *room = uv_buf_init(channel->line + channel->filled,
                        (unsigned)(sizeof channel->line - channel->filled));
}

/* Hands on the complete lines, and moves the rest to the front. */
static void split_lines(ls_line_channel *channel, size_t size)
{
    char *begin = channel->line;
    char *end = channel->line + size;
    char *newline = NULL;
    while (!channel->is_broken && (newline = memchr(begin, '\n', (size_t)(end - begin))) != NULL) {
        *newline = '\0';
        channel->config.on_line(channel->config.user, begin, (size_t)(newline - begin));
        begin = newline + 1;
    }
    channel->filled = (size_t)(end - begin);
    memmove(channel->line, begin, channel->filled);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
    ls_line_channel *channel = stream->data;
    (void)bytes;
    if (size < 0) {
        set_broken(channel);
        return;
    }
    split_lines(channel, channel->filled + (size_t)size);
    if (channel->filled == sizeof channel->line) {
        set_broken(channel);
    }
}

/* ---- out ---- */

static void on_sent(uv_write_t *request, int status)
{
    sent_line *line = request->data;
    ls_line_channel *channel = request->handle->data;
    ls_release(line->allocator, line);
    if (status < 0 && status != UV_ECANCELED) {
        set_broken(channel);
    }
}

bool ls_line_channel_send(ls_line_channel *channel, const char *text, size_t size)
{
    if (channel->is_broken || size >= LS_LINE_BYTES_MAX) {
        return false;
    }
    if (ls_line_channel_backlog(channel) + size > LS_LINE_CHANNEL_BACKLOG_MAX) {
        set_broken(channel);
        return false;
    }
    sent_line *line = ls_allocate(channel->allocator, sizeof *line + size + 1);
    if (!line) {
        return false;
    }
    line->request.data = line;
    line->allocator = channel->allocator;
    memcpy(line->bytes, text, size);
    line->bytes[size] = '\n';
    const uv_buf_t bytes = uv_buf_init(line->bytes, (unsigned)size + 1);
    if (uv_write(&line->request, (uv_stream_t *)&channel->pipe, &bytes, 1, on_sent) != 0) {
        ls_release(channel->allocator, line);
        return false;
    }
    return true;
}

size_t ls_line_channel_backlog(const ls_line_channel *channel)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&channel->pipe);
}

/* ---- life ---- */

ls_status ls_line_channel_create(const ls_line_channel_config *config, ls_event_loop *loop,
                                 const ls_allocator *allocator, ls_line_channel **out)
{
    ls_line_channel *channel = ls_allocate(allocator, sizeof *channel);
    if (!channel) {
        ls_socket_close(config->descriptor);
        return LS_NO_MEMORY;
    }
    channel->allocator = allocator;
    channel->config = *config;
    ls_signals_ignore_broken_pipes();
    int error = uv_pipe_init(ls_event_loop_uv(loop), &channel->pipe, 0);
    if (error != 0) {
        ls_socket_close(config->descriptor);
        ls_release(allocator, channel);
        return LS_IO;
    }
    channel->pipe.data = channel;
    error = uv_pipe_open(&channel->pipe, config->descriptor);
    if (error != 0) {
        ls_socket_close(config->descriptor);
    } else {
        error = uv_read_start((uv_stream_t *)&channel->pipe, on_room, on_read);
    }
    if (error != 0) {
        ls_line_channel_destroy(channel);
        return LS_IO;
    }
    *out = channel;
    return LS_OK;
}

static void on_closed(uv_handle_t *handle)
{
    ls_line_channel *channel = handle->data;
    ls_release(channel->allocator, channel);
}

void ls_line_channel_destroy(ls_line_channel *channel)
{
    if (channel) {
        channel->is_broken = true; /* so that no callback is called any more */
        uv_close((uv_handle_t *)&channel->pipe, on_closed);
    }
}

/* Line channel: lines of text between two processes of one program, over a connected stream socket.
 * Never waits: lines that the other side does not take are kept, up to a limit, above which the
 * channel counts as broken. Knows nothing of what the lines say. Called by supervisor and worker.
 */
#ifndef LOCKSTEP_COMMON_RUNTIME_LINE_CHANNEL_H
#define LOCKSTEP_COMMON_RUNTIME_LINE_CHANNEL_H

#include "lockstep/common/runtime/event_loop.h"

LS_C_BEGIN

#define LS_LINE_BYTES_MAX (UINT32_C(1) << 20)           /* without the newline */
#define LS_LINE_CHANNEL_BACKLOG_MAX (UINT32_C(1) << 24) /* bytes that were not taken yet */

typedef struct ls_line_channel_config {
    int descriptor; /* of ls_socket_pair, say; is the channel's from then on, also when it cannot be
                       made */
    /* A line has come, without its newline; it may be changed. The channel may not be destroyed
     * within. */
    void (*on_line)(void *user, char *line, size_t size);
    /* The other side has gone, sent a line that is too long, or takes no lines: called once. */
    void (*on_broken)(void *user);
    void *user;
} ls_line_channel_config;

typedef struct ls_line_channel ls_line_channel;

/* From then on the process ignores SIGPIPE: the other side may go while it is written to. IO,
 * NO_MEMORY. */
ls_status ls_line_channel_create(const ls_line_channel_config *config, ls_event_loop *loop,
                                 const ls_allocator *allocator, ls_line_channel **out);
/* Lines that have not left may be lost. NULL is allowed. */
void ls_line_channel_destroy(ls_line_channel *channel);

/* Sends a copy of the text as a line; it holds no newline. False when it cannot: the channel is
 * broken, or memory is out. */
bool ls_line_channel_send(ls_line_channel *channel, const char *text, size_t size);

/* Bytes that were not taken yet. */
size_t ls_line_channel_backlog(const ls_line_channel *channel);

LS_C_END

#endif

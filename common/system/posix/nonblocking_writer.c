#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/nonblocking_writer.h"

#include "lockstep/common/base/language.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum {
    NEVER_WAITS,  /* a file, /dev/null */
    IS_OWN,       /* an opening of its own that does not wait */
    IS_SOCKET,    /* each call says that it does not wait */
    IS_LOOKED_AT, /* written to in small pieces, once poll() promises room */
};

static int open_own(const char *path)
{
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* That writing does not wait belongs to the open file, which a terminal's shell, standard error and
 * child processes share: it must not be set there. A second opening has it for itself. A terminal
 * that another user opened (su, sudo) cannot be opened by its name, but as the controlling terminal
 * of this process. A pipe that another user made (a container that runs as a user of its own)
 * cannot be opened again. */
static int open_again(int descriptor)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int own = open_own(path);
    return own < 0 && isatty(descriptor) && tcgetsid(descriptor) >= 0 ? open_own("/dev/tty") : own;
}

ls_nonblocking_writer ls_nonblocking_writer_open(int descriptor)
{
    struct stat found;
    ls_nonblocking_writer writer = {.descriptor = descriptor, .kind = NEVER_WAITS};
    bool is_known = fstat(descriptor, &found) == 0;
    if (is_known && S_ISSOCK(found.st_mode)) {
        writer.kind = IS_SOCKET; /* cannot be opened again, and need not be */
    } else if (isatty(descriptor) || (is_known && S_ISFIFO(found.st_mode))) {
        int own = open_again(descriptor);
        writer.kind = own >= 0 ? IS_OWN : IS_LOOKED_AT;
        writer.descriptor = own >= 0 ? own : descriptor;
    }
    return writer;
}

void ls_nonblocking_writer_close(ls_nonblocking_writer *writer)
{
    if (writer->kind == IS_OWN) {
        close(writer->descriptor);
    }
    *writer = (ls_nonblocking_writer){.descriptor = -1};
}

/* Room that poll() promises is a page of a pipe: pieces of 512 bytes fit in it even when some
 * processes that share the pipe look at it at the same time. */
static ssize_t write_some(const ls_nonblocking_writer *writer, const char *bytes, size_t size)
{
    if (writer->kind == IS_SOCKET) {
        return send(writer->descriptor, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (writer->kind == IS_LOOKED_AT && !ls_nonblocking_writer_wait(writer, 0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(writer->descriptor, bytes,
                 writer->kind == IS_LOOKED_AT ? LS_MIN(size, (size_t)_POSIX_PIPE_BUF) : size);
}

size_t ls_nonblocking_writer_write(ls_nonblocking_writer *writer, const char *bytes, size_t size)
{
    size_t written = 0;
    writer->has_failed = false;
    while (written < size) {
        ssize_t taken = write_some(writer, bytes + written, size - written);
        if (taken > 0) {
            written += (size_t)taken;
        } else if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return written;
        } else if (taken == 0 || errno != EINTR) {
            writer->has_failed = true;
            return size;
        }
    }
    return written;
}

bool ls_nonblocking_writer_wait(const ls_nonblocking_writer *writer, uint32_t patience_ms)
{
    struct pollfd room = {.fd = writer->descriptor, .events = POLLOUT};
    return poll(&room, 1, (int)patience_ms) > 0;
}

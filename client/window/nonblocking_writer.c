#define _POSIX_C_SOURCE 200809L
#include "lockstep/client/window/nonblocking_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool can_make_wait(int descriptor)
{
    struct stat found;
    return isatty(descriptor) ||
           (fstat(descriptor, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode)));
}

/* That writing does not wait belongs to the open file, which a terminal's shell and standard error
 * share: a second opening has it for itself. A socket, or a terminal that another user opened, has
 * to be shared. */
ls_nonblocking_writer ls_nonblocking_writer_open(int descriptor)
{
    ls_nonblocking_writer nonblocking_writer = {.descriptor = descriptor, .flags_before = -1};
    char path[32];
    if (!can_make_wait(descriptor)) {
        return nonblocking_writer;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        return (ls_nonblocking_writer){.descriptor = own, .flags_before = -1, .is_own = true};
    }
    nonblocking_writer.flags_before = fcntl(descriptor, F_GETFL);
    if (nonblocking_writer.flags_before >= 0) {
        fcntl(descriptor, F_SETFL, nonblocking_writer.flags_before | O_NONBLOCK);
    }
    return nonblocking_writer;
}

void ls_nonblocking_writer_close(ls_nonblocking_writer *nonblocking_writer)
{
    if (nonblocking_writer->is_own) {
        close(nonblocking_writer->descriptor);
    } else if (nonblocking_writer->flags_before >= 0) {
        fcntl(nonblocking_writer->descriptor, F_SETFL, nonblocking_writer->flags_before);
    }
    *nonblocking_writer = (ls_nonblocking_writer){.descriptor = -1, .flags_before = -1};
}

size_t ls_nonblocking_writer_write(ls_nonblocking_writer *nonblocking_writer, const char *bytes,
                                   size_t size)
{
    size_t written = 0;
    while (written < size) {
        ssize_t taken = write(nonblocking_writer->descriptor, bytes + written, size - written);
        if (taken > 0) {
            written += (size_t)taken;
        } else if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return written;
        } else if (taken == 0 || errno != EINTR) {
            return size;
        }
    }
    return written;
}

bool ls_nonblocking_writer_wait(const ls_nonblocking_writer *nonblocking_writer,
                                uint32_t patience_ms)
{
    struct pollfd room = {.fd = nonblocking_writer->descriptor, .events = POLLOUT};
    return poll(&room, 1, (int)patience_ms) > 0;
}

#define _POSIX_C_SOURCE 200809L
#include "lockstep/client/view/nonblocking_writer.h"

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
ls_outlet ls_outlet_open(int descriptor)
{
    ls_outlet outlet = {.descriptor = descriptor, .flags_before = -1};
    char path[32];
    if (!can_make_wait(descriptor)) {
        return outlet;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        return (ls_outlet){.descriptor = own, .flags_before = -1, .is_own = true};
    }
    outlet.flags_before = fcntl(descriptor, F_GETFL);
    if (outlet.flags_before >= 0) {
        fcntl(descriptor, F_SETFL, outlet.flags_before | O_NONBLOCK);
    }
    return outlet;
}

void ls_outlet_close(ls_outlet *outlet)
{
    if (outlet->is_own) {
        close(outlet->descriptor);
    } else if (outlet->flags_before >= 0) {
        fcntl(outlet->descriptor, F_SETFL, outlet->flags_before);
    }
    *outlet = (ls_outlet){.descriptor = -1, .flags_before = -1};
}

size_t ls_outlet_write(ls_outlet *outlet, const char *bytes, size_t size)
{
    size_t written = 0;
    while (written < size) {
        ssize_t taken = write(outlet->descriptor, bytes + written, size - written);
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

bool ls_outlet_wait(const ls_outlet *outlet, uint32_t patience_ms)
{
    struct pollfd room = {.fd = outlet->descriptor, .events = POLLOUT};
    return poll(&room, 1, (int)patience_ms) > 0;
}

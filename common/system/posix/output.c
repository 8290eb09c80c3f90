#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/output.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/system/file_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <termios.h>
#include <unistd.h>

enum {
    LOOK_MS = 50, /* for the reader of a pipe */
};

/* A closed standard output was replaced by one that can only be read, see ls_command_line_parse. */
static bool can_write_stdout(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return false;
    }
    return flags >= 0;
}

/* For writing, with what it holds. Where everybody may make files, anybody can make a link to a
 * file that only somebody else may write: a link has to be the user's own, or root's, and a file
 * behind it the user's own. -1, with errno. */
static int open_as_it_is(const char *path, int flags)
{
    struct stat found;
    bool is_link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
    bool is_trusted = !is_link || found.st_uid == geteuid() || found.st_uid == 0;
    int follow = is_link && is_trusted ? 0 : O_NOFOLLOW;
    int file = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | follow | flags, 0666);
    if (file >= 0 && is_link && fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
        found.st_uid != geteuid()) {
        close(file);
        errno = EPERM;
        return -1;
    }
    return file;
}

static FILE *open_in_place(const char *path, int flags)
{
    struct stat found;
    int file = open_as_it_is(path, flags);
    if (file < 0) {
        return NULL;
    }
    if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && ftruncate(file, 0) != 0) {
        close(file);
        return NULL;
    }
    return fdopen(file, "wb");
}

/* A pipe is not opened: its reader would take that for all there is. A file that was not there is
 * taken away again: a reader that waits for it finds a summary, and no file after a failed start.
 */
static bool can_write_file(const char *path)
{
    struct stat found;
    bool is_there = lstat(path, &found) == 0;
    if (is_there && S_ISFIFO(found.st_mode)) {
        return access(path, W_OK) == 0;
    }
    int file = open_as_it_is(path, 0);
    if (file < 0) {
        return false;
    }
    close(file);
    if (!is_there) {
        unlink(path);
    }
    return true;
}

FILE *ls_output_part_stream(int file)
{
    return fdopen(file, "w");
}

bool ls_output_part_can_write(const char *path)
{
    return strcmp(path, "-") == 0 ? can_write_stdout() : can_write_file(path);
}

bool ls_output_part_can_make_in(const char *folder)
{
    struct stat found;
    if (stat(folder, &found) == 0 && !S_ISDIR(found.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return access(folder, W_OK | X_OK) == 0;
}

FILE *ls_output_part_open(const char *path, ls_output_wait wait)
{
    FILE *file = open_in_place(path, wait == LS_OUTPUT_WAITS_FOR_READER ? 0 : O_NONBLOCK);
    uint32_t patience_ms = wait == LS_OUTPUT_IS_PATIENT ? LS_OUTPUT_PATIENCE_MS : 0;
    for (; !file && errno == ENXIO && patience_ms > 0; patience_ms -= LOOK_MS) {
        poll(NULL, 0, LOOK_MS);
        file = open_in_place(path, O_NONBLOCK);
    }
    return file;
}

bool ls_output_part_is_replaced(const char *path, int *rights)
{
    struct stat found;
    if (lstat(path, &found) != 0) {
        return true;
    }
    *rights = (int)(found.st_mode & 07777);
    return S_ISREG(found.st_mode) && access(path, W_OK) == 0;
}

bool ls_output_part_is_there(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

bool ls_output_is_same_file(const char *path, const char *other)
{
    struct stat one;
    struct stat two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

bool ls_output_space(const char *directory, uint64_t *free_bytes, uint64_t *bytes)
{
    struct statvfs disk;
    bool is_known = statvfs(directory, &disk) == 0;
    *free_bytes = is_known ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
    *bytes = is_known ? (uint64_t)disk.f_blocks * disk.f_frsize : 0;
    return is_known;
}

/* ---- nonblocking writer ---- */

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

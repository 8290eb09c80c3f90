#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/output.h"

#include "lockstep/common/system/file_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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

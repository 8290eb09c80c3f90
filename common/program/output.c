#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

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
    FILE *file = fopen(path, "a");
    if (!file) {
        return false;
    }
    fclose(file);
    if (!is_there) {
        unlink(path);
    }
    return true;
}

ls_status ls_output_check_path(const char *path, ls_text *why)
{
    if (strcmp(path, "-") == 0 ? can_write_stdout() : can_write_file(path)) {
        return LS_OK;
    }
    return ls_fail(LS_IO, why, "cannot write the summary to %s: %s", name_of(path),
                   strerror(errno));
}

bool ls_output_is_same_file(const char *path, const char *other)
{
    struct stat one;
    struct stat two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

ls_status ls_output_check_directory(const char *path, const char *what, ls_text *why)
{
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISDIR(found.st_mode)) {
        errno = ENOTDIR;
    } else if (access(path, W_OK | X_OK) == 0) {
        return LS_OK;
    }
    return ls_fail(LS_IO, why, "cannot write %s to %s: %s", what, path, strerror(errno));
}

/* `what` it is that is written, for the sentence about a failure. */
static ls_status write_all(const char *path, const char *what, const void *bytes, size_t size,
                           const char *end, ls_text *why)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    if (!file) {
        return ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, name_of(path),
                       strerror(errno));
    }
    size_t written = fwrite(bytes, 1, size, file);
    int ended = fputs(end, file);
    int flushed = fflush(file);
    int closed = file == stdout ? 0 : fclose(file);
    if (written != size || ended == EOF || flushed != 0 || closed != 0) {
        return ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, name_of(path),
                       strerror(errno));
    }
    return LS_OK;
}

ls_status ls_output_write_bytes(const char *path, const char *what, const void *bytes, size_t size,
                                ls_text *why)
{
    return write_all(path, what, bytes, size, "", why);
}

ls_status ls_output_write(const char *path, const char *text, ls_text *why)
{
    return write_all(path, "summary", text, strlen(text), "\n", why);
}

ls_status ls_output_write_port(const char *path, uint16_t port, ls_text *why)
{
    char text[8];
    snprintf(text, sizeof text, "%u", (unsigned)port);
    return write_all(path, "port", text, strlen(text), "\n", why);
}

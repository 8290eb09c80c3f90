#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/output.h"

#include "lockstep/common/base/language.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 4096,
    NAMES_TRIED = 10000,
};

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

/* ---- streams ---- */

FILE *ls_output_open(const char *path, ls_output_wait wait)
{
    int flags = wait == LS_OUTPUT_NEVER_WAITS ? O_NONBLOCK : 0;
    return strcmp(path, "-") == 0 ? stdout : open_in_place(path, flags);
}

bool ls_output_close(FILE *file)
{
    bool has_failed = ferror(file) != 0;
    bool is_closed = (file == stdout ? fflush(file) : fclose(file)) == 0;
    errno = is_closed && has_failed ? EIO : errno;
    return is_closed && !has_failed;
}

/* ---- writing: all of it, or nothing ---- */

typedef struct written_text {
    const char *what; /* for the sentence about a failure */
    const void *bytes;
    size_t size;
    const char *end;
} written_text;

static ls_status refuse(const char *path, const char *what, int error, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, name_of(path),
                   strerror(error));
}

/* 0, or the error's number. Closes the file. */
static int put(FILE *file, const written_text *text)
{
    errno = 0;
    bool is_whole = fwrite(text->bytes, 1, text->size, file) == text->size;
    is_whole = fputs(text->end, file) != EOF && is_whole;
    is_whole = fflush(file) == 0 && is_whole;
    int error = is_whole ? 0 : errno;
    if (file != stdout && fclose(file) != 0 && is_whole) {
        is_whole = false;
        error = errno;
    }
    return is_whole ? 0 : error != 0 ? error : EIO;
}

/* Where it is written before it has its name: beside it, with these rights. NULL, with errno, when
 * there is none. */
static FILE *open_beside(const char *path, const mode_t *rights, char *beside, size_t capacity)
{
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned number = 0; descriptor < 0 && errno == EEXIST && number < NAMES_TRIED; number++) {
        int bytes = snprintf(beside, capacity, "%s.part%ld-%u", path, (long)getpid(), number);
        if (bytes < 0 || (size_t)bytes >= capacity) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights ? 0600 : 0666);
    }
    if (descriptor < 0) {
        return NULL;
    }
    if (rights && fchmod(descriptor, *rights) != 0) {
        close(descriptor);
        unlink(beside);
        return NULL;
    }
    return fdopen(descriptor, "wb");
}

/* 0 when `beside` holds everything; else the error's number, and nothing is left. */
static int write_beside(const char *path, const mode_t *rights, const written_text *text,
                        char *beside, size_t capacity)
{
    FILE *file = open_beside(path, rights, beside, capacity);
    if (!file) {
        return errno;
    }
    int error = put(file, text);
    if (error != 0) {
        unlink(beside);
    }
    return error;
}

/* Pipes, devices, links, and files in folders where no other file can be made. */
static ls_status write_in_place(const char *path, const written_text *text, ls_text *why)
{
    FILE *file = ls_output_open(path, LS_OUTPUT_WAITS_FOR_READER);
    int error = file ? put(file, text) : errno;
    return error == 0 ? LS_OK : refuse(path, text->what, error, why);
}

/* A reader never finds half of a file, and a failure leaves what there was before. */
static ls_status write_all(const char *path, const written_text *text, ls_text *why)
{
    char beside[PATH_BYTES_MAX];
    struct stat found;
    bool is_there = lstat(path, &found) == 0;
    if (strcmp(path, "-") == 0 || (is_there && !S_ISREG(found.st_mode)) ||
        (is_there && access(path, W_OK) != 0)) {
        return write_in_place(path, text, why);
    }
    const mode_t rights = is_there ? found.st_mode & 07777 : 0;
    int error = write_beside(path, is_there ? &rights : NULL, text, beside, sizeof beside);
    if (error == 0 && rename(beside, path) != 0) {
        error = errno;
        unlink(beside);
    }
    bool has_no_room_beside = error == EACCES || error == EPERM || error == EBUSY ||
                              error == EXDEV || error == ENAMETOOLONG;
    if (is_there && has_no_room_beside) {
        return write_in_place(path, text, why);
    }
    return error == 0 ? LS_OK : refuse(path, text->what, error, why);
}

/* "desync.bundle" is number 1, "desync-2.bundle" number 2. False, with errno. */
static bool number_name(const char *path, unsigned number, char *name, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    char suffix[16] = "";
    if (number > 1) {
        snprintf(suffix, sizeof suffix, "-%u", number);
    }
    int bytes = snprintf(name, capacity, "%.*s%s%s", stem, path, suffix, path + stem);
    if (bytes < 0 || (size_t)bytes >= capacity) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

/* The first name that is not there, made as an empty file that is then replaced. False, with errno.
 */
static bool reserve(const char *path, char *name, size_t capacity)
{
    for (unsigned number = 1; number <= NAMES_TRIED; number++) {
        if (!number_name(path, number, name, capacity)) {
            return false;
        }
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (descriptor >= 0) {
            close(descriptor);
            return true;
        }
        if (errno != EEXIST) {
            return false;
        }
    }
    return false;
}

void ls_output_new_name(char *path, size_t capacity)
{
    char name[PATH_BYTES_MAX];
    struct stat found;
    for (unsigned number = 1; number <= NAMES_TRIED; number++) {
        if (!number_name(path, number, name, LS_MIN(capacity, sizeof name))) {
            return;
        }
        if (lstat(name, &found) != 0) {
            memcpy(path, name, strlen(name) + 1);
            return;
        }
    }
}

bool ls_output_space(const char *directory, uint64_t *free_bytes, uint64_t *bytes)
{
    struct statvfs disk;
    bool is_known = statvfs(directory, &disk) == 0;
    *free_bytes = is_known ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
    *bytes = is_known ? (uint64_t)disk.f_blocks * disk.f_frsize : 0;
    return is_known;
}

bool ls_output_has_room(const char *directory, uint64_t bytes)
{
    uint64_t free_bytes = 0;
    uint64_t all = 0;
    return !ls_output_space(directory, &free_bytes, &all) ||
           (free_bytes >= LS_OUTPUT_RESERVE_BYTES && free_bytes - LS_OUTPUT_RESERVE_BYTES >= bytes);
}

ls_status ls_output_write_new(char *path, size_t capacity, const char *what, const void *bytes,
                              size_t size, ls_text *why)
{
    const written_text text = {what, bytes, size, ""};
    char beside[PATH_BYTES_MAX], name[PATH_BYTES_MAX];
    const mode_t rights = 0600;
    int error = write_beside(path, &rights, &text, beside, sizeof beside);
    if (error != 0) {
        return refuse(path, what, error, why);
    }
    bool is_reserved = reserve(path, name, LS_MIN(capacity, sizeof name));
    if (!is_reserved || rename(beside, name) != 0) {
        error = errno;
        unlink(beside);
        if (is_reserved) {
            unlink(name);
        }
        return refuse(path, what, error, why);
    }
    memcpy(path, name, strlen(name) + 1);
    return LS_OK;
}

ls_status ls_output_write_bytes(const char *path, const char *what, const void *bytes, size_t size,
                                ls_text *why)
{
    const written_text text = {what, bytes, size, ""};
    return write_all(path, &text, why);
}

ls_status ls_output_write(const char *path, const char *text, ls_text *why)
{
    const written_text written = {"summary", text, strlen(text), "\n"};
    return write_all(path, &written, why);
}

ls_status ls_output_write_port(const char *path, uint16_t port, ls_text *why)
{
    char text[8];
    snprintf(text, sizeof text, "%u", (unsigned)port);
    const written_text written = {"port", text, strlen(text), "\n"};
    return write_all(path, &written, why);
}

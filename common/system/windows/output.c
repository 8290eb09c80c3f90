#include "lockstep/common/system/output.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

enum {
    PATH_BYTES_MAX = 4096,
    NAMES_TRIED = 10000,
    NEW = _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT,
    RIGHTS = _S_IREAD | _S_IWRITE,
};

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

/* A file that was not there is taken away again. */
static bool can_write_file(const char *path)
{
    bool is_there = ls_file_look(path, NULL);
    int file = _open(path, _O_WRONLY | _O_CREAT | _O_BINARY | _O_NOINHERIT, RIGHTS);
    if (file < 0) {
        return false;
    }
    _close(file);
    if (!is_there) {
        _unlink(path);
    }
    return true;
}

ls_status ls_output_check_path(const char *path, ls_text *why)
{
    if (strcmp(path, "-") == 0 || can_write_file(path)) {
        return LS_OK;
    }
    return ls_fail(LS_IO, why, "cannot write the summary to %s: %s", path, strerror(errno));
}

bool ls_output_is_same_file(const char *path, const char *other)
{
    ls_file_facts one, two;
    return ls_file_look(path, &one) && ls_file_look(other, &two) && one.number == two.number &&
           one.kind == LS_FILE_PLAIN && two.kind == LS_FILE_PLAIN;
}

/* A folder says what it allows only when it is tried. */
static bool can_make_file(const char *folder)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s\\.part%lu", folder, GetCurrentProcessId());
    HANDLE file = CreateFileA(path, GENERIC_WRITE, 0, NULL, CREATE_NEW,
                              FILE_FLAG_DELETE_ON_CLOSE | FILE_ATTRIBUTE_TEMPORARY, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return ls_windows_fail();
    }
    CloseHandle(file);
    return true;
}

ls_status ls_output_check_directory(const char *path, const char *what, ls_text *why)
{
    ls_file_facts facts;
    if (ls_file_look(path, &facts)) {
        if (facts.kind == LS_FILE_FOLDER && can_make_file(path)) {
            return LS_OK;
        }
        errno = facts.kind == LS_FILE_FOLDER ? errno : ENOTDIR;
    }
    return ls_fail(LS_IO, why, "cannot write %s to %s: %s", what, path, strerror(errno));
}

FILE *ls_output_open(const char *path, ls_output_wait wait)
{
    (void)wait; /* a file, which never waits for a reader */
    return strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
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
    bool is_whole = fwrite(text->bytes, 1, text->size, file) == text->size &&
                    fputs(text->end, file) != EOF && fflush(file) == 0;
    int error = is_whole ? 0 : errno;
    if (file != stdout && fclose(file) != 0 && is_whole) {
        is_whole = false;
        error = errno;
    }
    return is_whole ? 0 : error != 0 ? error : EIO;
}

/* Beside its place, until it is whole: 0, or the error's number, and nothing is left. */
static int write_beside(const char *path, const written_text *text, char *beside, size_t capacity)
{
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned number = 0; descriptor < 0 && errno == EEXIST && number < NAMES_TRIED; number++) {
        int bytes =
            snprintf(beside, capacity, "%s.part%lu-%u", path, GetCurrentProcessId(), number);
        if (bytes < 0 || (size_t)bytes >= capacity) {
            return ENAMETOOLONG;
        }
        descriptor = _open(beside, NEW, RIGHTS);
    }
    FILE *file = descriptor >= 0 ? _fdopen(descriptor, "wb") : NULL;
    int error = file ? put(file, text) : errno;
    if (error != 0 && descriptor >= 0) {
        _unlink(beside);
    }
    return error;
}

static int give_name(const char *beside, const char *path, bool may_replace)
{
    DWORD flags = MOVEFILE_WRITE_THROUGH | (may_replace ? MOVEFILE_REPLACE_EXISTING : 0);
    return MoveFileExA(beside, path, flags) || ls_windows_fail() ? 0 : errno;
}

static ls_status write_all(const char *path, const written_text *text, ls_text *why)
{
    char beside[PATH_BYTES_MAX];
    int error = 0;
    if (strcmp(path, "-") == 0) {
        error = put(stdout, text);
        return error == 0 ? LS_OK : refuse(path, text->what, error, why);
    }
    error = write_beside(path, text, beside, sizeof beside);
    if (error == 0) {
        error = give_name(beside, path, true);
        if (error != 0) {
            _unlink(beside);
        }
    }
    return error == 0 ? LS_OK : refuse(path, text->what, error, why);
}

/* "desync.bundle" is number 1, "desync-2.bundle" number 2. False, with errno. */
static bool number_name(const char *path, unsigned number, char *name, size_t capacity)
{
    const char *dot = strrchr(path, '.');
    bool has_ending = dot && !strpbrk(dot, "/\\");
    int stem = has_ending ? (int)(dot - path) : (int)strlen(path);
    char suffix[16] = "";
    if (number > 1) {
        snprintf(suffix, sizeof suffix, "-%u", number);
    }
    int bytes = snprintf(name, capacity, "%.*s%s%s", stem, path, suffix, path + stem);
    errno = ENAMETOOLONG;
    return bytes >= 0 && (size_t)bytes < capacity;
}

void ls_output_new_name(char *path, size_t capacity)
{
    char name[PATH_BYTES_MAX];
    for (unsigned number = 1; number <= NAMES_TRIED; number++) {
        if (!number_name(path, number, name, LS_MIN(capacity, sizeof name))) {
            return;
        }
        if (!ls_file_look(name, NULL)) {
            memcpy(path, name, strlen(name) + 1);
            return;
        }
    }
}

bool ls_output_space(const char *directory, uint64_t *free_bytes, uint64_t *bytes)
{
    ULARGE_INTEGER ours = {0}, all = {0};
    bool is_known = GetDiskFreeSpaceExA(directory, &ours, &all, NULL);
    *free_bytes = is_known ? ours.QuadPart : 0;
    *bytes = is_known ? all.QuadPart : 0;
    return is_known;
}

bool ls_output_has_room(const char *directory, uint64_t bytes)
{
    uint64_t free_bytes = 0;
    uint64_t all = 0;
    return !ls_output_space(directory, &free_bytes, &all) ||
           (free_bytes >= LS_OUTPUT_RESERVE_BYTES && free_bytes - LS_OUTPUT_RESERVE_BYTES >= bytes);
}

/* The first name that nothing has. */
ls_status ls_output_write_new(char *path, size_t capacity, const char *what, const void *bytes,
                              size_t size, ls_text *why)
{
    const written_text text = {what, bytes, size, ""};
    char beside[PATH_BYTES_MAX], name[PATH_BYTES_MAX];
    int error = write_beside(path, &text, beside, sizeof beside);
    if (error != 0) {
        return refuse(path, what, error, why);
    }
    error = EEXIST;
    for (unsigned number = 1; error == EEXIST && number <= NAMES_TRIED; number++) {
        error = number_name(path, number, name, LS_MIN(capacity, sizeof name))
                    ? give_name(beside, name, false)
                    : errno;
    }
    if (error != 0) {
        _unlink(beside);
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

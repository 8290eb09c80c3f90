#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/output.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/file_beside.h"
#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 4096,
    LOOK_MS = 100, /* a signal ends a wait early, and not the patience */
};

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

ls_status ls_output_check_path(const char *path, ls_text *why)
{
    if (ls_output_part_can_write(path)) {
        return LS_OK;
    }
    return ls_fail(LS_IO, why, "cannot write the summary to %s: %s", name_of(path),
                   strerror(errno));
}

ls_status ls_output_check_directory(const char *path, const char *what, ls_text *why)
{
    return ls_output_part_can_make_in(path)
               ? LS_OK
               : ls_fail(LS_IO, why, "cannot write %s to %s: %s", what, path, strerror(errno));
}

/* ---- streams ---- */

FILE *ls_output_open(const char *path, ls_output_wait wait)
{
    return strcmp(path, "-") == 0 ? stdout : ls_output_part_open(path, wait);
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
    bool is_unread = error == ENXIO || error == ETIMEDOUT;
    return ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, name_of(path),
                   is_unread ? "nobody reads it" : strerror(error));
}

/* False with errno: ETIMEDOUT when the reader takes nothing for as long as it has. */
static bool push(ls_nonblocking_writer *writer, const char *bytes, size_t size)
{
    uint32_t waited_ms = 0;
    while (size > 0) {
        size_t written = ls_nonblocking_writer_write(writer, bytes, size);
        if (writer->has_failed) {
            return false;
        }
        waited_ms = written > 0 ? 0 : waited_ms;
        bytes += written;
        size -= written;
        if (size > 0 && !ls_nonblocking_writer_wait(writer, LOOK_MS)) {
            waited_ms += LOOK_MS;
        }
        if (waited_ms >= LS_OUTPUT_PATIENCE_MS) {
            errno = ETIMEDOUT;
            return false;
        }
    }
    return true;
}

/* 0, or the error's number. Closes the file. */
static int put(FILE *file, const written_text *text)
{
    errno = 0;
    ls_nonblocking_writer writer = ls_nonblocking_writer_open(fileno(file));
    bool is_whole = fflush(file) == 0 && push(&writer, text->bytes, text->size) &&
                    push(&writer, text->end, strlen(text->end));
    int error = is_whole ? 0 : errno;
    ls_nonblocking_writer_close(&writer);
    if (file != stdout && fclose(file) != 0 && is_whole) {
        is_whole = false;
        error = errno;
    }
    return is_whole ? 0 : error != 0 ? error : EIO;
}

/* 0 when `beside` holds everything; else the error's number, and nothing is left. */
static int write_beside(const char *path, int rights, const written_text *text, char *beside,
                        size_t capacity)
{
    int made = ls_file_beside_make(path, rights, beside, capacity);
    FILE *file = made >= 0 ? fdopen(made, "wb") : NULL;
    int error = file ? put(file, text) : errno;
    if (error != 0 && made >= 0) {
        ls_file_beside_drop(beside);
    }
    return error;
}

/* Pipes, devices, links, and files in folders where no other file can be made. */
static ls_status write_in_place(const char *path, const written_text *text, ls_text *why)
{
    FILE *file = ls_output_open(path, LS_OUTPUT_IS_PATIENT);
    int error = file ? put(file, text) : errno;
    return error == 0 ? LS_OK : refuse(path, text->what, error, why);
}

/* A reader never finds half of a file, and a failure leaves what there was before. */
static ls_status write_all(const char *path, const written_text *text, ls_text *why)
{
    char beside[PATH_BYTES_MAX];
    int rights = LS_FILE_OF_ALL;
    if (strcmp(path, "-") == 0 || !ls_output_part_is_replaced(path, &rights)) {
        return write_in_place(path, text, why);
    }
    int error = write_beside(path, rights, text, beside, sizeof beside);
    if (error == 0 && !ls_file_give_name(beside, path, true)) {
        error = errno;
        ls_file_beside_drop(beside);
    }
    bool has_no_room_beside = error == EACCES || error == EPERM || error == EBUSY ||
                              error == EXDEV || error == ENAMETOOLONG;
    if (rights != LS_FILE_OF_ALL && has_no_room_beside) {
        return write_in_place(path, text, why);
    }
    return error == 0 ? LS_OK : refuse(path, text->what, error, why);
}

/* "desync.bundle" is number 1, "desync-2.bundle" number 2. False, with errno. */
static bool number_name(const char *path, unsigned number, char *name, size_t capacity)
{
    const char *dot = strrchr(path, '.');
    dot = dot && strpbrk(dot, LS_OUTPUT_PART_SLASHES) ? NULL : dot;
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
    for (unsigned number = 1; number <= LS_FILE_NAMES_TRIED; number++) {
        if (!number_name(path, number, name, capacity)) {
            return false;
        }
        int made = ls_file_make(name, LS_FILE_OF_OWNER);
        if (made >= 0) {
            close(made);
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
    for (unsigned number = 1; number <= LS_FILE_NAMES_TRIED; number++) {
        if (!number_name(path, number, name, LS_MIN(capacity, sizeof name))) {
            return;
        }
        if (!ls_output_part_is_there(name)) {
            memcpy(path, name, strlen(name) + 1);
            return;
        }
    }
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
    int error = write_beside(path, LS_FILE_OF_OWNER, &text, beside, sizeof beside);
    if (error != 0) {
        return refuse(path, what, error, why);
    }
    bool is_reserved = reserve(path, name, LS_MIN(capacity, sizeof name));
    if (!is_reserved || !ls_file_give_name(beside, name, true)) {
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

ls_status ls_output_write_by(const char *path, const char *what, ls_output_writer writer,
                             const void *content, ls_text *why)
{
    int memory = ls_shared_memory_make(what);
    FILE *stream = memory >= 0 ? ls_output_part_stream(memory) : NULL;
    ls_mapped_file written = {NULL, 0};
    ls_status status = LS_NO_MEMORY;
    if (!stream) {
        ls_shared_memory_close(memory);
        return ls_fail(status, why, "%s", ls_status_text(status));
    }
    writer(stream, content);
    if (fflush(stream) == 0 && ls_mapped_file_of(memory, what, &written, why) == LS_OK) {
        status = ls_output_write_bytes(path, what, written.bytes, written.size, why);
        ls_mapped_file_close(&written);
    } else {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    fclose(stream);
    return status;
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

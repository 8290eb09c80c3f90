#include "lockstep/common/system/output.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/file_beside.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

enum {
    PATH_BYTES_MAX = 4096,
};

bool ls_output_part_is_there(const char *path)
{
    return ls_file_look(path, NULL);
}

FILE *ls_output_part_stream(int file)
{
    return _fdopen(file, "wb");
}

/* A file that was not there is taken away again. */
bool ls_output_part_can_write(const char *path)
{
    bool is_there = ls_file_look(path, NULL);
    int file = strcmp(path, "-") == 0 ? _dup(_fileno(stdout))
                                      : _open(path, _O_WRONLY | _O_CREAT | _O_BINARY | _O_NOINHERIT,
                                              _S_IREAD | _S_IWRITE);
    if (file >= 0) {
        _close(file);
    }
    if (file >= 0 && !is_there) {
        _unlink(path);
    }
    return file >= 0;
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

bool ls_output_part_can_make_in(const char *folder)
{
    ls_file_facts facts;
    if (!ls_file_look(folder, &facts)) {
        return false;
    }
    errno = ENOTDIR;
    return facts.kind == LS_FILE_FOLDER && can_make_file(folder);
}

/* A file never waits for a reader. */
FILE *ls_output_part_open(const char *path, ls_output_wait wait)
{
    (void)wait;
    return fopen(path, "wb");
}

bool ls_output_part_is_replaced(const char *path, int *rights)
{
    (void)path;
    (void)rights;
    return true;
}

bool ls_output_space(const char *directory, uint64_t *free_bytes, uint64_t *bytes)
{
    ULARGE_INTEGER ours = {0}, all = {0};
    bool is_known = GetDiskFreeSpaceExA(directory, &ours, &all, NULL);
    *free_bytes = is_known ? ours.QuadPart : 0;
    *bytes = is_known ? all.QuadPart : 0;
    return is_known;
}

/* ---- nonblocking writer ---- */

/* Pipes and consoles of this system take what they are given, or wait: none says how much room it
 * has. A console whose text is being marked waits until that is over. */
ls_nonblocking_writer ls_nonblocking_writer_open(int descriptor)
{
    return (ls_nonblocking_writer){.descriptor = descriptor};
}

void ls_nonblocking_writer_close(ls_nonblocking_writer *writer)
{
    *writer = (ls_nonblocking_writer){.descriptor = -1};
}

size_t ls_nonblocking_writer_write(ls_nonblocking_writer *writer, const char *bytes, size_t size)
{
    size_t written = 0;
    writer->has_failed = false;
    while (written < size && !writer->has_failed) {
        unsigned piece = (unsigned)LS_MIN(size - written, (size_t)INT_MAX);
        int taken = _write(writer->descriptor, bytes + written, piece);
        writer->has_failed = taken <= 0;
        written += taken > 0 ? (size_t)taken : 0;
    }
    return size;
}

bool ls_nonblocking_writer_wait(const ls_nonblocking_writer *writer, uint32_t patience_ms)
{
    (void)writer;
    (void)patience_ms;
    return true;
}

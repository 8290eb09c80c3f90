#include "lockstep/common/system/file.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/system/file_beside.h"
#include "lockstep/common/system/windows/errors.h"

#include <direct.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <sddl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

/* 100 ns from 1601 to 1970. */
#define UNIX_EPOCH INT64_C(116444736000000000)

enum {
    PATH_BYTES_MAX = 4096,
    FOR_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
};

static HANDLE open_path(const char *path, DWORD access)
{
    return CreateFileA(path, access, FOR_ALL, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS,
                       NULL);
}

static ls_file_kind kind_of(HANDLE file, const BY_HANDLE_FILE_INFORMATION *info)
{
    return GetFileType(file) != FILE_TYPE_DISK                 ? LS_FILE_OTHER
           : info->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? LS_FILE_FOLDER
                                                               : LS_FILE_PLAIN;
}

static int64_t ns_of(FILETIME time)
{
    return ((int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) - UNIX_EPOCH) * 100;
}

bool ls_file_look(const char *path, ls_file_facts *out)
{
    BY_HANDLE_FILE_INFORMATION info;
    HANDLE file = open_path(path, FILE_READ_ATTRIBUTES);
    if (file == INVALID_HANDLE_VALUE) {
        return ls_windows_fail();
    }
    if (!GetFileInformationByHandle(file, &info)) {
        memset(&info, 0, sizeof info);
    }
    DWORD attributes = GetFileAttributesA(path);
    if (out) {
        *out = (ls_file_facts){
            .kind = kind_of(file, &info),
            .is_link = attributes != INVALID_FILE_ATTRIBUTES &&
                       (attributes & FILE_ATTRIBUTE_REPARSE_POINT),
            .bytes = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow,
            .changed_ns = ns_of(info.ftLastWriteTime),
            .number = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
        };
    }
    CloseHandle(file);
    return true;
}

/* ---- beneath a folder ---- */

static bool leaves(const char *path)
{
    size_t size;
    if (strchr("/\\", path[0]) || strchr(path, ':')) {
        return true;
    }
    for (const char *step = path; *step != '\0'; step += size + (step[size] != '\0' ? 1 : 0)) {
        size = strcspn(step, "/\\");
        if (size == 2 && memcmp(step, "..", 2) == 0) {
            return true;
        }
    }
    return false;
}

/* Where it is when all links have been followed. */
static bool find_place(HANDLE file, char place[PATH_BYTES_MAX])
{
    DWORD size = GetFinalPathNameByHandleA(file, place, PATH_BYTES_MAX, FILE_NAME_NORMALIZED);
    return (size > 0 && size < PATH_BYTES_MAX) || ls_windows_fail();
}

/* The open file is asked: a link to it may change meanwhile. */
static bool is_beneath(const char *folder, HANDLE file)
{
    char root[PATH_BYTES_MAX];
    char place[PATH_BYTES_MAX];
    HANDLE opened = open_path(folder, FILE_READ_ATTRIBUTES);
    if (opened == INVALID_HANDLE_VALUE) {
        return ls_windows_fail();
    }
    bool is_known = find_place(opened, root) && find_place(file, place);
    CloseHandle(opened);
    if (!is_known) {
        return false;
    }
    size_t size = strlen(root);
    errno = EXDEV;
    return _strnicmp(root, place, size) == 0 && (place[size] == '\\' || root[size - 1] == '\\');
}

int ls_file_open_beneath(const char *folder, const char *path)
{
    char whole[PATH_BYTES_MAX];
    int bytes = snprintf(whole, sizeof whole, "%s/%s", folder, path);
    if (leaves(path) || bytes < 0 || (size_t)bytes >= sizeof whole) {
        errno = leaves(path) ? EXDEV : ENAMETOOLONG;
        return -1;
    }
    HANDLE file = open_path(whole, GENERIC_READ);
    if (file == INVALID_HANDLE_VALUE) {
        (void)ls_windows_fail();
        return -1;
    }
    if (!is_beneath(folder, file)) {
        CloseHandle(file);
        return -1;
    }
    return _open_osfhandle((intptr_t)file, _O_RDONLY | _O_BINARY);
}

/* A name says here what is executable. */
bool ls_file_set_executable(const char *path)
{
    return ls_file_look(path, NULL);
}

/* ---- locks ---- */

/* Of a byte far behind every file's end: a lock forbids others to read what is locked. */
bool ls_file_lock_open(int file)
{
    OVERLAPPED place = {.OffsetHigh = 0x7fffffff};
    return LockFileEx((HANDLE)_get_osfhandle(file),
                      LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place) ||
           ls_windows_fail();
}

int ls_file_lock(const char *path)
{
    int lock = _open(path, _O_WRONLY | _O_CREAT | _O_NOINHERIT | _O_BINARY, _S_IREAD | _S_IWRITE);
    if (lock >= 0 && !ls_file_lock_open(lock)) {
        int error = errno;
        _close(lock);
        errno = error;
        return -1;
    }
    return lock;
}

void ls_file_unlock(int lock)
{
    if (lock >= 0) {
        _close(lock);
    }
}

/* ---- folders ---- */

/* Beneath the folders of a user nobody else looks. */
bool ls_folder_make(const char *path, bool is_private)
{
    (void)is_private;
    return _mkdir(path) == 0;
}

/* A file that has the name gives way to the folder. */
bool ls_folder_make_temporary(char *path, size_t capacity)
{
    char folder[MAX_PATH + 1];
    char name[MAX_PATH + 1];
    if (GetTempPathA(sizeof folder, folder) == 0 || GetTempFileNameA(folder, "ls", 0, name) == 0) {
        return ls_windows_fail();
    }
    size_t size = strlen(name) + 1;
    if (!DeleteFileA(name) || size > capacity || !ls_folder_make(name, true)) {
        return ls_windows_fail();
    }
    memcpy(path, name, size);
    return true;
}

bool ls_folder_enter(const char *path)
{
    return _chdir(path) == 0;
}

bool ls_folder_current(char *path, size_t capacity)
{
    return _getcwd(path, (int)capacity) != NULL;
}

bool ls_folder_of_user(char *path, size_t capacity)
{
    const char *folder = getenv("LOCALAPPDATA");
    size_t size = folder ? strlen(folder) + 1 : 0;
    if (size < sizeof "C:\\" || folder[1] != ':' || size > capacity) {
        return false;
    }
    memcpy(path, folder, size);
    return true;
}

ls_folder *ls_folder_open(const char *path)
{
    return (ls_folder *)opendir(path);
}

const char *ls_folder_next(ls_folder *folder)
{
    const struct dirent *entry = NULL;
    do {
        entry = readdir((DIR *)folder);
    } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

void ls_folder_close(ls_folder *folder)
{
    if (folder) {
        closedir((DIR *)folder);
    }
}

/* ---- parts of files that are made beside their place ---- */

/* Rights of its owner, the system and administrators, who may take what they want. */
#define PRIVATE_RIGHTS "D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)"

int ls_file_make(const char *path, int rights)
{
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof attributes};
    if (rights != LS_FILE_OF_ALL &&
        !ConvertStringSecurityDescriptorToSecurityDescriptorA(
            PRIVATE_RIGHTS, SDDL_REVISION_1, &attributes.lpSecurityDescriptor, NULL)) {
        (void)ls_windows_fail();
        return -1;
    }
    HANDLE file =
        CreateFileA(path, GENERIC_WRITE, 0, &attributes, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        (void)ls_windows_fail();
    }
    LocalFree(attributes.lpSecurityDescriptor);
    return file == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)file, _O_BINARY);
}

bool ls_file_give_name(const char *beside, const char *path, bool may_replace)
{
    DWORD flags = MOVEFILE_WRITE_THROUGH | (may_replace ? MOVEFILE_REPLACE_EXISTING : 0);
    return MoveFileExA(beside, path, flags) || ls_windows_fail();
}

bool ls_file_flush(int file)
{
    return _commit(file) == 0;
}

/* ---- mapped file ---- */

enum {
    READ_BYTES_MAX = 1 << 30,
};

static ls_status refuse(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot read %s: %s", path, reason);
}

/* Calls of the system have 32 bits for a size. */
static bool read_all(HANDLE file, uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        DWORD got = 0;
        size_t rest = size - at;
        DWORD wanted = rest < READ_BYTES_MAX ? (DWORD)rest : READ_BYTES_MAX;
        OVERLAPPED from = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)((uint64_t)at >> 32)};
        if (!ReadFile(file, bytes + at, wanted, &got, &from) || got == 0) {
            return false;
        }
        at += got;
    }
    return true;
}

/* A copy of any size: a file that is mapped could not be cut, as a journal is that goes on. */
ls_status ls_mapped_file_of(int descriptor, const char *path, ls_mapped_file *out, ls_text *why)
{
    HANDLE file = (HANDLE)_get_osfhandle(descriptor);
    LARGE_INTEGER size;
    if (file == INVALID_HANDLE_VALUE || GetFileType(file) != FILE_TYPE_DISK ||
        !GetFileSizeEx(file, &size)) {
        return refuse(path, "it is not a file", why);
    }
    size_t bytes = (size_t)size.QuadPart;
    uint8_t *copy =
        bytes > 0 ? VirtualAlloc(NULL, bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) : NULL;
    if (bytes > 0 && (!copy || !read_all(file, copy, bytes))) {
        ls_status status = refuse(path, ls_windows_words(), why);
        VirtualFree(copy, 0, MEM_RELEASE);
        return status;
    }
    *out = (ls_mapped_file){copy, bytes};
    return LS_OK;
}

ls_status ls_mapped_file_open(const char *path, ls_mapped_file *out, ls_text *why)
{
    ls_file_facts facts;
    if (ls_file_look(path, &facts) && facts.kind == LS_FILE_FOLDER) {
        return refuse(path, "it is not a file", why);
    }
    HANDLE file =
        CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return refuse(path, ls_windows_words(), why);
    }
    int descriptor = _open_osfhandle((intptr_t)file, _O_RDONLY | _O_BINARY);
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    _close(descriptor);
    return status;
}

ls_status ls_mapped_file_open_beneath(const char *folder, const char *path, ls_mapped_file *out,
                                      ls_text *why)
{
    int descriptor = ls_file_open_beneath(folder, path);
    if (descriptor < 0 && errno == EXDEV) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s leads out of the folder %s", path, folder);
    }
    if (descriptor < 0) {
        ls_status status = errno == ENOENT ? LS_NOT_FOUND : LS_IO;
        return ls_fail(status, why, "cannot read %s in %s: %s", path, folder, ls_windows_words());
    }
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    _close(descriptor);
    return status;
}

void ls_mapped_file_close(ls_mapped_file *file)
{
    if (file->bytes) {
        VirtualFree((void *)(uintptr_t)file->bytes, 0, MEM_RELEASE);
    }
    *file = (ls_mapped_file){0};
}

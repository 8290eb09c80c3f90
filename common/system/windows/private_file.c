#include "lockstep/common/system/private_file.h"

#include "lockstep/common/system/windows/errors.h"

#include <aclapi.h>
#include <errno.h>
#include <sddl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum {
    PATH_BYTES_MAX = LS_PRIVATE_FILE_PATH_BYTES_MAX,
    NAMES_TRIED = 100,
};

const char *ls_private_file_path(const char *path, char whole[LS_PRIVATE_FILE_PATH_BYTES_MAX])
{
    static const char given[] = LS_PRIVATE_FILE_CREDENTIALS;
    const size_t size = sizeof given - 1;
    if (strncmp(path, given, size) != 0) {
        return path;
    }
    const char *folder = getenv(given + 1); /* without its dollar sign */
    int bytes = folder ? snprintf(whole, PATH_BYTES_MAX, "%s%s", folder, path + size) : -1;
    return bytes >= 0 && bytes < PATH_BYTES_MAX ? whole : NULL;
}

bool ls_private_file_look(const char *path, ls_file_facts *out)
{
    char whole[PATH_BYTES_MAX];
    const char *found = ls_private_file_path(path, whole);
    errno = ENOENT;
    return found && ls_file_look(found, out);
}

/* ---- reading ---- */

/* Everybody, and the groups that everybody who uses this machine is in. */
static bool is_of_many(PSID who)
{
    static const WELL_KNOWN_SID_TYPE many[] = {
        WinWorldSid,     WinAuthenticatedUserSid, WinBuiltinUsersSid, WinBuiltinGuestsSid,
        WinAnonymousSid, WinInteractiveSid,       WinNetworkSid};
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
        if (IsWellKnownSid(who, many[i])) {
            return true;
        }
    }
    return false;
}

/* No list lets everybody do everything. */
static bool others_may(PACL list)
{
    const DWORD secret = FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | WRITE_DAC |
                         WRITE_OWNER | GENERIC_READ | GENERIC_WRITE | GENERIC_ALL;
    for (DWORD i = 0; list && i < list->AceCount; i++) {
        void *entry = NULL;
        if (!GetAce(list, i, &entry)) {
            return true;
        }
        ACCESS_ALLOWED_ACE *allowed = entry;
        if (allowed->Header.AceType == ACCESS_ALLOWED_ACE_TYPE && (allowed->Mask & secret) != 0 &&
            is_of_many(&allowed->SidStart)) {
            return true;
        }
    }
    return !list;
}

static ls_status refuse_file(HANDLE file, const char *path, ls_text *why)
{
    PACL list = NULL;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (GetFileType(file) != FILE_TYPE_DISK) {
        return ls_fail(LS_IO, why, "%s is no file", path);
    }
    bool is_open = GetSecurityInfo(file, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL,
                                   &list, NULL, &descriptor) != ERROR_SUCCESS ||
                   others_may(list);
    LocalFree(descriptor);
    return is_open ? ls_fail(LS_IO, why,
                             "other users may read or write %s, and it is secret: let its owner "
                             "alone do so, or make a new one if somebody may have read it",
                             path)
                   : LS_OK;
}

static ls_status read_open(HANDLE file, const char *path, uint8_t *bytes, size_t capacity,
                           size_t *size, ls_text *why)
{
    LARGE_INTEGER there;
    DWORD got = 0;
    ls_status status = refuse_file(file, path, why);
    if (status != LS_OK) {
        return status;
    }
    if (!GetFileSizeEx(file, &there)) {
        return ls_fail(LS_IO, why, "cannot read %s: %s", path, ls_windows_words());
    }
    if ((uint64_t)there.QuadPart > capacity) {
        return ls_fail(LS_IO, why, "%s is longer than %zu bytes", path, capacity);
    }
    if (!ReadFile(file, bytes, (DWORD)capacity, &got, NULL)) {
        return ls_fail(LS_IO, why, "cannot read %s: %s", path, ls_windows_words());
    }
    *size = got;
    return LS_OK;
}

ls_status ls_private_file_read(const char *path, uint8_t *bytes, size_t capacity, size_t *size,
                               ls_text *why)
{
    char whole[PATH_BYTES_MAX];
    const char *found = ls_private_file_path(path, whole);
    if (!found) {
        return ls_fail(LS_IO, why, "cannot read %s: the system gave this program no credentials",
                       path);
    }
    HANDLE file = CreateFileA(found, GENERIC_READ | READ_CONTROL, FILE_SHARE_READ, NULL,
                              OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        ls_text_set(why, "cannot read %s: %s", path, ls_windows_words());
        (void)ls_windows_fail();
        return errno == ENOENT ? LS_NOT_FOUND : LS_IO;
    }
    ls_status status = read_open(file, path, bytes, capacity, size, why);
    CloseHandle(file);
    return status;
}

/* ---- making ---- */

/* A new file beside `path`, for its owner, the system and administrators, who may take what they
 * want; INVALID_HANDLE_VALUE, with errno. */
static HANDLE open_new(const char *path, char beside[PATH_BYTES_MAX])
{
    SECURITY_ATTRIBUTES rights = {.nLength = sizeof rights};
    HANDLE file = INVALID_HANDLE_VALUE;
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorA(
            "D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)", SDDL_REVISION_1,
            &rights.lpSecurityDescriptor, NULL)) {
        (void)ls_windows_fail();
        return file;
    }
    errno = EEXIST;
    for (unsigned number = 0;
         file == INVALID_HANDLE_VALUE && errno == EEXIST && number < NAMES_TRIED; number++) {
        snprintf(beside, PATH_BYTES_MAX, "%s.part%lu-%u", path, GetCurrentProcessId(), number);
        file =
            CreateFileA(beside, GENERIC_WRITE, 0, &rights, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        if (file == INVALID_HANDLE_VALUE) {
            (void)ls_windows_fail();
        }
    }
    LocalFree(rights.lpSecurityDescriptor);
    return file;
}

/* It gets its name when it is whole: errno of the failure, 0 for none. */
static int write_new(const char *path, const uint8_t *bytes, size_t size, bool may_replace)
{
    char beside[PATH_BYTES_MAX];
    DWORD put = 0;
    HANDLE file = open_new(path, beside);
    if (file == INVALID_HANDLE_VALUE) {
        return errno;
    }
    bool is_whole =
        WriteFile(file, bytes, (DWORD)size, &put, NULL) && put == size && FlushFileBuffers(file);
    int error = is_whole || ls_windows_fail() ? 0 : errno;
    CloseHandle(file);
    DWORD flags = MOVEFILE_WRITE_THROUGH | (may_replace ? MOVEFILE_REPLACE_EXISTING : 0);
    if (error == 0 && !MoveFileExA(beside, path, flags)) {
        (void)ls_windows_fail();
        error = errno;
    }
    if (error != 0) {
        (void)DeleteFileA(beside);
    }
    return error;
}

ls_status ls_private_file_make(const char *path, const char *what, const uint8_t *bytes,
                               size_t size, ls_text *why)
{
    int error = write_new(path, bytes, size, false);
    if (error == 0) {
        return LS_OK;
    }
    return error == EEXIST
               ? ls_fail(LS_IO, why, "%s is there already, and is not written over", path)
               : ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, path, strerror(error));
}

ls_status ls_private_file_replace(const char *path, const char *what, const uint8_t *bytes,
                                  size_t size, ls_text *why)
{
    int error = write_new(path, bytes, size, true);
    return error == 0
               ? LS_OK
               : ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, path, strerror(error));
}

#include "lockstep/common/system/private_file.h"

#include "lockstep/common/system/windows/errors.h"

#include <aclapi.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <windows.h>

enum {
    PATH_BYTES_MAX = LS_PRIVATE_FILE_PATH_BYTES_MAX,
};

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
        (void)ls_windows_fail();
        return ls_fail(errno == ENOENT ? LS_NOT_FOUND : LS_IO, why, "cannot read %s: %s", path,
                       strerror(errno));
    }
    ls_status status = read_open(file, path, bytes, capacity, size, why);
    CloseHandle(file);
    return status;
}

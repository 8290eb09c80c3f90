#include "lockstep/common/system/library.h"

#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

enum {
    PATH_BYTES_MAX = 4096,
};

bool ls_library_is_file(const char *name)
{
    size_t size = strlen(name);
    return strpbrk(name, "/\\") || (size >= 4 && _stricmp(name + size - 4, ".dll") == 0);
}

/* By its whole path, so that the folders of the system are not searched for it, and its own is for
 * what it needs. */
void *ls_library_open(const char *file, const char **why)
{
    char path[PATH_BYTES_MAX];
    DWORD size = GetFullPathNameA(file, sizeof path, path, NULL);
    HMODULE library =
        size > 0 && size < sizeof path
            ? LoadLibraryExA(path, NULL,
                             LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
            : NULL;
    if (!library) {
        *why = ls_windows_words();
    }
    return library;
}

void *ls_library_open_installed(const char *file_name)
{
    return LoadLibraryExA(file_name, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
}

void ls_library_close(void *library)
{
    if (library) {
        FreeLibrary(library);
    }
}

void *ls_library_find(void *library, const char *name)
{
    FARPROC found = GetProcAddress(library, name);
    void *address = NULL;
    _Static_assert(sizeof found == sizeof address, "functions are found as void *");
    memcpy(&address, &found, sizeof address);
    return address;
}

uintptr_t ls_library_base(void *library, const void **table)
{
    (void)library;
    (void)table;
    return 0;
}

int ls_library_copy_name(int descriptor, char path[LS_LIBRARY_COPY_BYTES])
{
    (void)descriptor;
    path[0] = '\0';
    errno = ENOSYS;
    return -1;
}

const char *ls_library_loaded(const char *file_name)
{
    static _Thread_local char path[PATH_BYTES_MAX];
    HMODULE library = GetModuleHandleA(file_name);
    DWORD size = library ? GetModuleFileNameA(library, path, sizeof path) : 0;
    return size > 0 && size < sizeof path ? path : NULL;
}

const char *ls_library_of(const void *bytes, uintptr_t *offset)
{
    static char path[PATH_BYTES_MAX];
    HMODULE library = NULL;
    const DWORD how =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    bool is_found = GetModuleHandleExA(how, (const char *)bytes, &library) &&
                    GetModuleFileNameA(library, path, sizeof path) > 0;
    if (is_found && offset) {
        *offset = (uintptr_t)bytes - (uintptr_t)library;
    }
    return !is_found ? NULL : library == GetModuleHandleA(NULL) ? "" : path;
}

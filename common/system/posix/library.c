#define _GNU_SOURCE
#include "lockstep/common/system/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool ls_library_is_file(const char *name)
{
    size_t size = strlen(name);
    return strchr(name, '/') || (size >= 3 && strcmp(name + size - 3, ".so") == 0);
}

/* Without a '/' dlopen would search the system's folders instead of the current one. */
void *ls_library_open(const char *file, const char **why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", strchr(file, '/') ? "" : "./", file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#ifdef LS_LIBRARY_OF_MATHS
    /* Links of plug-ins leave it out, since programs have it. Ours have it once one needs it. */
    if (!library && dlopen(LS_LIBRARY_OF_MATHS, RTLD_NOW | RTLD_GLOBAL)) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
#endif
    if (!library) {
        const char *words = dlerror(); /* speaks of the last failure once, or has nothing to say */
        *why = words ? words : "the dynamic linker gives no reason";
    }
    return library;
}

void *ls_library_open_installed(const char *file_name)
{
    return dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
}

void ls_library_close(void *library)
{
    if (library) {
        dlclose(library);
    }
}

void *ls_library_find(void *library, const char *name)
{
    return dlsym(library ? library : RTLD_DEFAULT, name);
}

#define _GNU_SOURCE
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/shared_memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ls_shared_memory_make(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

uintptr_t ls_library_base(void *library, const void **table)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        return 0;
    }
    *table = map->l_ld;
    return map->l_addr;
}

/* The linker tells libraries apart by name and by inode. A file in memory has an inode of its own.
 * Its name is its number, which a copy that could not be unloaded may have had: such numbers are
 * passed over. */
int ls_library_copy_name(int descriptor, char path[LS_LIBRARY_COPY_BYTES])
{
    while (descriptor >= 0) {
        snprintf(path, LS_LIBRARY_COPY_BYTES, "/proc/self/fd/%d", descriptor);
        void *earlier = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!earlier) {
            return descriptor;
        }
        dlclose(earlier);
        int next = fcntl(descriptor, F_DUPFD_CLOEXEC, descriptor + 1);
        close(descriptor);
        descriptor = next;
    }
    return descriptor;
}

typedef struct wanted_library {
    const char *file_name;
    const char *path;
} wanted_library;

static int look_at(struct dl_phdr_info *loaded, size_t size, void *user)
{
    wanted_library *wanted = user;
    const char *slash = strrchr(loaded->dlpi_name, '/');
    (void)size;
    if (strcmp(slash ? slash + 1 : loaded->dlpi_name, wanted->file_name) == 0) {
        wanted->path = loaded->dlpi_name;
    }
    return wanted->path != NULL;
}

const char *ls_library_loaded(const char *file_name)
{
    wanted_library wanted = {.file_name = file_name};
    dl_iterate_phdr(look_at, &wanted);
    return wanted.path;
}

const char *ls_library_of(const void *bytes, uintptr_t *offset)
{
    Dl_info found;
    struct link_map *map = NULL;
    bool is_found = dladdr1(bytes, &found, (void **)&map, RTLD_DL_LINKMAP) != 0;
    if (!is_found || !map) {
        return NULL;
    }
    if (offset) {
        *offset = (uintptr_t)bytes - map->l_addr;
    }
    return map->l_name;
}

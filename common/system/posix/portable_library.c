#include "lockstep/common/system/library.h"
#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int ls_shared_memory_make(const char *name)
{
    char path[] = "/tmp/lockstep-XXXXXX";
    int descriptor = mkstemp(path);
    (void)name;
    if (descriptor >= 0) {
        unlink(path);
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
    return descriptor;
}

uintptr_t ls_library_base(void *library, const void **table)
{
    (void)library;
    (void)table;
    return 0;
}

int ls_library_copy_name(int descriptor, char path[LS_LIBRARY_COPY_BYTES])
{
    path[0] = '\0';
    close(descriptor);
    errno = ENOSYS;
    return -1;
}

const char *ls_library_loaded(const char *file_name)
{
    (void)file_name;
    return NULL;
}

const char *ls_library_of(const void *bytes, uintptr_t *offset)
{
    (void)bytes;
    (void)offset;
    return NULL;
}

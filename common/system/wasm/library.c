#include "lockstep/common/system/library.h"

#include <stddef.h>

/* A page's module is one piece. */
const char *ls_library_of(const void *bytes, uintptr_t *offset)
{
    (void)bytes;
    (void)offset;
    return NULL;
}

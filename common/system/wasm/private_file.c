/* A page has one private file, the seat of its player, and no other one. */
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/wasm/page.h"

#include <stdio.h>

ls_status ls_private_file_read(const char *path, uint8_t *bytes, size_t capacity, size_t *size,
                               ls_text *why)
{
    (void)path;
    (void)why;
    *size = ls_page_load(bytes, capacity);
    return *size > 0 ? LS_OK : LS_NOT_FOUND;
}

ls_status ls_private_file_replace(const char *path, const char *what, const uint8_t *bytes,
                                  size_t size, ls_text *why)
{
    (void)path;
    (void)what;
    (void)why;
    ls_page_store(bytes, size);
    return LS_OK;
}

/* The C library's, which would bring a file system along. */
int remove(const char *path)
{
    (void)path;
    ls_page_store(NULL, 0);
    return 0;
}

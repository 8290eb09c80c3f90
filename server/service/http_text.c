#include "lockstep/server/service/http_text.h"

#include "lockstep/common/base/allocator.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 1024
};

/* Whether so many bytes more have a place. */
static bool make_room(ls_http_text *text, size_t size)
{
    if (text->is_cut || size > LS_HTTP_TEXT_BYTES_MAX - text->size) {
        text->is_cut = true;
        return false;
    }
    size_t needed = text->size + size;
    if (needed <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *bytes = ls_allocate(ls_allocator_heap(), capacity);
    if (!bytes) {
        text->is_cut = true;
        return false;
    }
    memcpy(bytes, text->size > 0 ? text->bytes : "", text->size);
    ls_release(ls_allocator_heap(), text->bytes);
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void ls_http_text_add_bytes(ls_http_text *text, const void *bytes, size_t size)
{
    if (size > 0 && make_room(text, size)) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
}

void ls_http_text_add(ls_http_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    /* vsnprintf ends with a NUL, which is written over by what follows. */
    if (size < 0 || !make_room(text, (size_t)size + 1)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)size;
}

void ls_http_text_drop(ls_http_text *text, size_t size)
{
    size = LS_MIN(size, text->size);
    if (size > 0) {
        memmove(text->bytes, text->bytes + size, text->size - size);
        text->size -= size;
    }
}

void ls_http_text_deinit(ls_http_text *text)
{
    ls_release(ls_allocator_heap(), text->bytes);
    memset(text, 0, sizeof *text);
}

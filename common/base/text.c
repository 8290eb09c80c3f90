#include "lockstep/common/base/text.h"

#include "lockstep/common/base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void write_at(ls_text *text, size_t at, const char *format, va_list arguments)
{
    LS_ASSERT(at < sizeof text->bytes);
    vsnprintf(text->bytes + at, sizeof text->bytes - at, format, arguments);
}

ls_status ls_fail(ls_status status, ls_text *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (why) {
        write_at(why, 0, format, arguments);
    }
    va_end(arguments);
    return status;
}

void ls_text_set(ls_text *text, const char *format, ...)
{
    if (!text) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_at(text, 0, format, arguments);
    va_end(arguments);
}

void ls_text_add(ls_text *text, const char *format, ...)
{
    if (!text) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_at(text, strlen(text->bytes), format, arguments);
    va_end(arguments);
}

void ls_name_copy(char *field, size_t capacity, const char *name)
{
    LS_ASSERT(capacity > 0);
    size_t size = 0;
    for (; size + 1 < capacity && name[size] != '\0'; size++) {
        field[size] = name[size] >= 0x20 && name[size] < 0x7f ? name[size] : '?';
    }
    field[size] = '\0';
}

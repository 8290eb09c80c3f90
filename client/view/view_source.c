#include "lockstep/client/view/view_source.h"

#include <stdarg.h>
#include <stdio.h>

void ls_view_facts_add(ls_view_facts *facts, const char *format, ...)
{
    if (facts->line_count == LS_VIEW_LINES_MAX) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(facts->lines[facts->line_count], LS_VIEW_LINE_BYTES_MAX, format, arguments);
    va_end(arguments);
    facts->line_count++;
}

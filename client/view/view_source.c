#include "lockstep/client/view/view_source.h"

#include <stdarg.h>
#include <stdio.h>

void ls_hud_model_add(ls_hud_model *hud, const char *format, ...)
{
    if (hud->line_count == LS_VIEW_LINES_MAX) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(hud->lines[hud->line_count], LS_VIEW_LINE_BYTES_MAX, format, arguments);
    va_end(arguments);
    hud->line_count++;
}

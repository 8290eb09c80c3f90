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

static void copy_text(ls_hud_text *field, const ls_status_line *line)
{
    if (!field->text.bytes[0]) {
        field->colour = line->colour;
        ls_name_copy(field->text.bytes, sizeof field->text.bytes, line->text.bytes);
    }
}

static void add_status(ls_hud_model *hud, const ls_status_line *line)
{
    ls_hud_seat *seat = NULL;
    switch (line->kind) {
    case LS_STATUS_SEAT:
        seat = line->owner - 1 < hud->seat_count ? &hud->seats[line->owner - 1] : NULL;
        if (seat) {
            seat->colour = line->colour;
            ls_name_copy(seat->text, sizeof seat->text, line->text.bytes);
        }
        break;
    case LS_STATUS_MATCH:
        copy_text(&hud->match, line);
        break;
    case LS_STATUS_PERSON:
        copy_text(&hud->person, line);
        break;
    case LS_STATUS_KEYS:
        copy_text(&hud->keys, line);
        break;
    default: /* of a newer plug-in */
        break;
    }
}

void ls_hud_model_add_status(ls_hud_model *hud, const ls_sim_instance *instance, uint32_t slot)
{
    ls_status_line lines[LS_PLAYERS_MAX + 8];
    ls_status_list list = {.lines = lines, .capacity = sizeof lines / sizeof lines[0]};
    ls_sim_instance_status(instance, slot, &list);
    for (uint32_t i = 0; i < list.count && i < list.capacity; i++) {
        add_status(hud, &lines[i]);
    }
}

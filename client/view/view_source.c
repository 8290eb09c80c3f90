#include "lockstep/client/view/view_source.h"

#include "lockstep/common/simulation/plugin_place.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* The person's input of this state with one key down, or with none. */
static uint32_t input_with(const ls_sim_instance *instance, uint32_t slot, uint32_t key,
                           uint8_t bytes[LS_INPUT_BYTES_MAX])
{
    static _Alignas(max_align_t) uint8_t memory[LS_CONTROL_MEMORY_BYTES];
    ls_controls controls = {.memory = memory};
    memset(memory, 0, sizeof memory);
    if (key != LS_KEY_NONE) {
        controls.keys_held[key / 64] = UINT64_C(1) << key % 64;
        controls.keys_pressed[key / 64] = UINT64_C(1) << key % 64;
    }
    ls_plugin_place_enter(LS_PLUGIN_CALL_CONTROL);
    uint32_t size = ls_sim_instance_simulation(instance)->control(
        ls_sim_instance_config(instance), ls_sim_instance_view(instance), slot, &controls, bytes);
    ls_plugin_place_leave();
    return size;
}

bool ls_game_uses_key(const ls_sim_instance *instance, uint32_t slot, uint32_t key)
{
    uint8_t with[LS_INPUT_BYTES_MAX];
    uint8_t without[LS_INPUT_BYTES_MAX];
    if (!ls_sim_instance_simulation(instance)->control) {
        return false;
    }
    uint32_t size = input_with(instance, slot, key, with);
    return size != input_with(instance, slot, LS_KEY_NONE, without) ||
           memcmp(with, without, LS_MIN(size, LS_INPUT_BYTES_MAX)) != 0;
}

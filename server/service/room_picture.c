#define _POSIX_C_SOURCE 200809L
#include "lockstep/server/service/room_picture.h"

#include "lockstep/common/game/drawing.h"

#include <stdio.h>

/* The pixels that are kept of a bitmap: each one of so many columns and rows. */
static uint32_t step_of(const ls_draw_shape *shape)
{
    uint32_t step = 1;
    while ((uint64_t)(shape->columns / step) * (shape->rows / step) > LS_ROOM_PICTURE_PIXELS_MAX) {
        step++;
    }
    return step;
}

static void write_bitmap(const ls_drawing *on, const ls_draw_shape *shape)
{
    ls_draw_shape thin = *shape;
    uint32_t step = step_of(shape);
    thin.columns = LS_MAX(shape->columns / step, 1);
    thin.rows = LS_MAX(shape->rows / step, 1);
    uint32_t *pixels =
        ls_allocate_array(ls_allocator_heap(), (size_t)thin.columns * thin.rows, sizeof *pixels);
    if (!pixels) {
        return;
    }
    for (uint32_t row = 0; row < thin.rows; row++) {
        for (uint32_t column = 0; column < thin.columns; column++) {
            uint32_t from_row = LS_MIN(row * step, shape->rows - 1);
            uint32_t from_column = LS_MIN(column * step, shape->columns - 1);
            pixels[(size_t)row * thin.columns + column] =
                shape->pixels[(size_t)from_row * shape->columns + from_column];
        }
    }
    thin.pixels = pixels;
    ls_drawing_shape(on, &thin);
    ls_release(ls_allocator_heap(), pixels);
}

static void write(const ls_draw_list *list, FILE *file)
{
    ls_html xml = ls_xml_document(file);
    const ls_drawing on = ls_drawing_of(&xml, list->view_min, list->view_max);
    ls_drawing_begin(&on);
    ls_html_attribute(&xml, "xmlns", "http://www.w3.org/2000/svg");
    ls_html_attribute(&xml, "style", "background:#161b22");
    for (uint32_t i = 0; i < list->count; i++) {
        if (ls_draw_is_bitmap(&list->shapes[i])) {
            write_bitmap(&on, &list->shapes[i]);
        } else {
            ls_drawing_shape(&on, &list->shapes[i]);
        }
    }
    ls_html_end(&xml);
}

static ls_status write_text(const ls_draw_list *list, char **out, ls_text *why)
{
    char *text = ls_allocate(ls_allocator_heap(), LS_ROOM_PICTURE_BYTES_MAX);
    FILE *file = text ? fmemopen(text, LS_ROOM_PICTURE_BYTES_MAX, "w") : NULL;
    if (!file) {
        ls_release(ls_allocator_heap(), text);
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    write(list, file);
    bool fits = !ferror(file);
    fits = fclose(file) == 0 && fits && text[LS_ROOM_PICTURE_BYTES_MAX - 1] == '\0';
    if (!fits) {
        ls_release(ls_allocator_heap(), text);
        return ls_fail(LS_FULL, why, "the picture is larger than %zu bytes",
                       LS_ROOM_PICTURE_BYTES_MAX);
    }
    *out = text;
    return LS_OK;
}

ls_status ls_room_picture_make(ls_sim_instance *instance, char **out, ls_text *why)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    if (!simulation->draw) {
        return ls_fail(LS_NOT_FOUND, why, "the simulation draws nothing");
    }
    ls_draw_list list = {.capacity = LS_ROOM_PICTURE_SHAPES_MAX};
    list.shapes = ls_allocate_array(ls_allocator_heap(), list.capacity, sizeof *list.shapes);
    if (!list.shapes) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    const void *state = ls_sim_instance_view(instance);
    simulation->draw(ls_sim_instance_config(instance), state, state, LS_FIXED_ONE, &list);
    ls_status status = write_text(&list, out, why);
    ls_release(ls_allocator_heap(), list.shapes);
    return status;
}

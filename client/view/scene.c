#include "lockstep/client/view/scene.h"

#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/maths/fixed_trig.h"

#include <math.h>
#include <string.h>

/* ---- life ---- */

ls_status ls_scene_init(ls_scene *scene, const ls_allocator *allocator)
{
    *scene = (ls_scene){.allocator = allocator};
    scene->list.shapes =
        ls_allocate_array(allocator, LS_SCENE_SHAPES_MAX, sizeof *scene->list.shapes);
    return scene->list.shapes ? LS_OK : LS_NO_MEMORY;
}

void ls_scene_deinit(ls_scene *scene)
{
    if (scene->allocator) {
        ls_release(scene->allocator, scene->list.shapes);
        ls_release(scene->allocator, scene->kept);
    }
}

ls_draw_list *ls_scene_begin(ls_scene *scene)
{
    scene->list = (ls_draw_list){.shapes = scene->list.shapes, .capacity = LS_SCENE_SHAPES_MAX};
    return &scene->list;
}

/* ---- what is borrowed from a simulation ---- */

static size_t pixels_bytes(const ls_draw_shape *shape)
{
    return (size_t)shape->columns * shape->rows * sizeof *shape->pixels;
}

/* Bytes to keep of a shape: whole pixels, so that those of the next one lie well. */
static size_t kept_bytes(const ls_draw_shape *shape)
{
    if (ls_draw_is_bitmap(shape)) {
        return pixels_bytes(shape);
    }
    bool is_text = shape->kind == LS_DRAW_TEXT && shape->text;
    return is_text ? LS_TEXT_BYTES_MAX : 0;
}

/* False: there is no memory for it. */
static bool make_room(ls_scene *scene)
{
    size_t wanted = 0;
    for (uint32_t i = 0; i < scene->list.count; i++) {
        wanted += kept_bytes(&scene->list.shapes[i]);
    }
    if (wanted > scene->kept_bytes) {
        ls_release(scene->allocator, scene->kept);
        scene->kept = ls_allocate(scene->allocator, wanted);
        scene->kept_bytes = scene->kept ? wanted : 0;
    }
    return wanted <= scene->kept_bytes;
}

static void keep(ls_draw_shape *shape, uint8_t *to)
{
    if (shape->kind == LS_DRAW_TEXT) {
        ls_name_copy((char *)to, LS_TEXT_BYTES_MAX, shape->text);
        shape->text = (const char *)to;
    } else {
        memcpy(to, shape->pixels, pixels_bytes(shape));
        shape->pixels = (const uint32_t *)(const void *)to;
    }
}

void ls_scene_keep_borrowed(ls_scene *scene)
{
    bool has_room = make_room(scene);
    uint8_t *to = scene->kept;
    for (uint32_t i = 0; i < scene->list.count; i++) {
        ls_draw_shape *shape = &scene->list.shapes[i];
        size_t bytes = kept_bytes(shape);
        if (bytes > 0 && has_room) {
            keep(shape, to);
            to += bytes;
        } else {
            shape->text = NULL;
            shape->pixels = NULL;
        }
    }
}

/* ---- shapes as a camera sees them: those that are small on the canvas are painted with less
 * detail, so that 20,000 bodies fit a frame ---- */

/* Radii in pixels from which a detail is worth its time. */
#define MARK_FROM 4.0f
#define RIM_FROM 6.0f
#define BOX_FROM 1.2f

#define OWN_RIM 0xFFFFFFD0u
#define FLOOR 0x1C232CFFu

typedef struct painter {
    const ls_camera *camera;
    const ls_canvas_fonts *fonts; /* NULL: no text */
    ls_canvas *canvas;
    uint32_t owner;
    float scale; /* pixels per m */
} painter;

static float to_pixels(const painter *to, ls_fixed length)
{
    return (float)ls_fixed_to_double(length) * to->scale;
}

static bool is_outside(const painter *to, ls_canvas_point at, float reach)
{
    return at.x + reach < 0.0f || at.y + reach < 0.0f || at.x - reach > (float)to->canvas->width ||
           at.y - reach > (float)to->canvas->height;
}

/* `share` of 256 of each colour, and the same alpha. */
static uint32_t shade(uint32_t colour, uint32_t share)
{
    uint32_t red = (colour >> 24) * share / 256;
    uint32_t green = (colour >> 16 & 0xFFu) * share / 256;
    uint32_t blue = (colour >> 8 & 0xFFu) * share / 256;
    return red << 24 | green << 16 | blue << 8 | (colour & 0xFFu);
}

static uint32_t rim_colour(const painter *to, const ls_draw_shape *shape)
{
    bool is_own = to->owner > 0 && shape->owner == to->owner;
    return is_own ? OWN_RIM : shade(shape->colour, 150);
}

/* The unit vector of the shape's angle; y of a canvas goes down. */
static ls_canvas_point heading(const ls_draw_shape *shape)
{
    ls_vec2 along = ls_vec2_from_angle(shape->angle);
    return (ls_canvas_point){(float)ls_fixed_to_double(along.x),
                             -(float)ls_fixed_to_double(along.y)};
}

static void paint_disc(const painter *to, const ls_draw_shape *shape, ls_canvas_point at)
{
    float radius = to_pixels(to, shape->half_width);
    if (is_outside(to, at, radius)) {
        return;
    }
    bool is_solid = (shape->colour & 0xFFu) == 0xFFu;
    if (radius >= RIM_FROM && is_solid) {
        ls_canvas_disc(to->canvas, at, radius, rim_colour(to, shape));
        radius -= LS_MIN(1.5f + radius / 40.0f, 3.0f);
    }
    ls_canvas_disc(to->canvas, at, radius, shape->colour);
    if (radius >= MARK_FROM && is_solid && shape->kind == LS_DRAW_WHEEL) {
        ls_canvas_point along = heading(shape);
        ls_canvas_point tip = {at.x + along.x * radius * 0.85f, at.y + along.y * radius * 0.85f};
        ls_canvas_line(to->canvas, at, tip, radius * 0.07f, shade(shape->colour, 120));
    }
}

static void box_corners(ls_canvas_point at, ls_canvas_point along, float half_width,
                        float half_height, ls_canvas_point *corners)
{
    ls_canvas_point right = {along.x * half_width, along.y * half_width};
    ls_canvas_point up = {along.y * half_height, -along.x * half_height};
    corners[0] = (ls_canvas_point){at.x - right.x - up.x, at.y - right.y - up.y};
    corners[1] = (ls_canvas_point){at.x + right.x - up.x, at.y + right.y - up.y};
    corners[2] = (ls_canvas_point){at.x + right.x + up.x, at.y + right.y + up.y};
    corners[3] = (ls_canvas_point){at.x - right.x + up.x, at.y - right.y + up.y};
}

static void paint_box(const painter *to, const ls_draw_shape *shape, ls_canvas_point at)
{
    float half_width = to_pixels(to, shape->half_width);
    float half_height = to_pixels(to, shape->half_height);
    float small = LS_MIN(half_width, half_height);
    if (is_outside(to, at, half_width + half_height)) {
        return;
    }
    if (half_width < BOX_FROM && half_height < BOX_FROM) {
        float radius = sqrtf(half_width * half_height * 1.2732f); /* 4 / pi: of the same area */
        ls_canvas_disc(to->canvas, at, radius, shape->colour);
        return;
    }
    ls_canvas_point corners[4];
    ls_canvas_point along = heading(shape);
    if (small >= RIM_FROM && (shape->colour & 0xFFu) == 0xFFu) {
        box_corners(at, along, half_width, half_height, corners);
        ls_canvas_convex(to->canvas, corners, 4, rim_colour(to, shape));
        half_width -= 1.5f;
        half_height -= 1.5f;
    }
    box_corners(at, along, LS_MAX(half_width, 0.5f), LS_MAX(half_height, 0.5f), corners);
    ls_canvas_convex(to->canvas, corners, 4, shape->colour);
}

static void paint_line(const painter *to, const ls_draw_shape *shape, ls_canvas_point from)
{
    float length = to_pixels(to, shape->half_width);
    float half_thickness = to_pixels(to, shape->half_height);
    ls_canvas_point along = heading(shape);
    if (is_outside(to, from, length + half_thickness)) {
        return;
    }
    ls_canvas_point end = {from.x + along.x * length, from.y + along.y * length};
    ls_canvas_line(to->canvas, from, end, half_thickness, shape->colour);
}

static void paint_triangle(const painter *to, const ls_draw_shape *shape)
{
    ls_canvas_point corners[3];
    for (uint32_t i = 0; i < 3; i++) {
        corners[i] = ls_camera_to_canvas(to->camera, shape->corners[i]);
    }
    if ((shape->colour & 0xFFu) == 0xFFu) {
        ls_canvas_facet(to->canvas, corners, shape->colour);
    } else { /* where it lay over the next one it would show */
        ls_canvas_convex(to->canvas, corners, 3, shape->colour);
    }
}

static void paint_bitmap(const painter *to, const ls_draw_shape *shape, ls_canvas_point at)
{
    float half_width = to_pixels(to, shape->half_width);
    float half_height = to_pixels(to, shape->half_height);
    const ls_bitmap bitmap = {shape->pixels, shape->columns, shape->rows};
    if (ls_draw_is_bitmap(shape)) {
        ls_bitmap_paint(to->canvas, &bitmap,
                        (ls_canvas_point){at.x - half_width, at.y - half_height},
                        (ls_canvas_point){at.x + half_width, at.y + half_height});
    }
}

static void paint_text(const painter *to, const ls_draw_shape *shape, ls_canvas_point at)
{
    float half_height = to_pixels(to, shape->half_height);
    if (!to->fonts || !shape->text || !(half_height > 0.0f)) {
        return;
    }
    ls_canvas_text_stretched(to->canvas, to->fonts, (ls_canvas_point){at.x, at.y - half_height},
                             2 * half_height, shape->colour, shape->text);
}

static void paint_shape(const painter *to, const ls_draw_shape *shape)
{
    ls_canvas_point at = ls_camera_to_canvas(to->camera, (ls_vec2){shape->x, shape->y});
    switch (shape->kind) {
    case LS_DRAW_DISC:
    case LS_DRAW_WHEEL:
        paint_disc(to, shape, at);
        break;
    case LS_DRAW_BOX:
        paint_box(to, shape, at);
        break;
    case LS_DRAW_LINE:
        paint_line(to, shape, at);
        break;
    case LS_DRAW_TRIANGLE:
        paint_triangle(to, shape);
        break;
    case LS_DRAW_BITMAP:
        paint_bitmap(to, shape, at);
        break;
    case LS_DRAW_TEXT:
        paint_text(to, shape, at);
        break;
    default: /* a plug-in's own, which this view does not know */
        break;
    }
}

/* ---- the picture ---- */

/* The part of the world worth showing is a little lighter than what lies around it. */
static void paint_ground(const ls_scene *scene, ls_canvas *canvas)
{
    ls_canvas_point low = ls_camera_to_canvas(&scene->camera, scene->list.view_min);
    ls_canvas_point high = ls_camera_to_canvas(&scene->camera, scene->list.view_max);
    float left = LS_MIN(LS_MAX(low.x, 0.0f), (float)canvas->width);
    float top = LS_MIN(LS_MAX(high.y, 0.0f), (float)canvas->height);
    float right = LS_MIN(LS_MAX(high.x, left), (float)canvas->width);
    float bottom = LS_MIN(LS_MAX(low.y, top), (float)canvas->height);
    ls_canvas_rect floor = {(int32_t)left, (int32_t)top, (int32_t)right - (int32_t)left,
                            (int32_t)bottom - (int32_t)top};
    int32_t width = (int32_t)canvas->width;
    int32_t floor_right = floor.x + floor.width;
    int32_t floor_bottom = floor.y + floor.height;
    const ls_canvas_rect round[] = {
        {0, 0, width, floor.y},
        {0, floor_bottom, width, (int32_t)canvas->height - floor_bottom},
        {0, floor.y, floor.x, floor.height},
        {floor_right, floor.y, width - floor_right, floor.height}};
    for (uint32_t i = 0; i < sizeof round / sizeof round[0]; i++) {
        ls_canvas_fill(canvas, round[i], LS_SCENE_BACKGROUND);
    }
    ls_canvas_fill(canvas, floor, FLOOR);
}

/* The largest of a seat's shapes, if no other one is as large: it stands for the player. */
static const ls_draw_shape *figure_of(const ls_draw_list *list, uint32_t slot)
{
    const ls_draw_shape *largest = NULL;
    bool is_alone = false;
    for (uint32_t i = 0; i < list->count; i++) {
        const ls_draw_shape *shape = &list->shapes[i];
        bool is_body = shape->kind == LS_DRAW_DISC || shape->kind == LS_DRAW_BOX ||
                       shape->kind == LS_DRAW_WHEEL;
        if (shape->owner != slot + 1 || !is_body) {
            continue;
        }
        if (!largest || shape->half_width > largest->half_width) {
            largest = shape;
            is_alone = true;
        } else if (shape->half_width == largest->half_width) {
            is_alone = false;
        }
    }
    return is_alone ? largest : NULL;
}

static void paint_names(const ls_scene *scene, const ls_canvas_fonts *fonts, ls_canvas *canvas)
{
    for (uint32_t slot = 0; slot < scene->hud.seat_count; slot++) {
        const ls_hud_seat *seat = &scene->hud.seats[slot];
        bool is_named = seat->name[0] && scene->hud.owner != slot + 1;
        const ls_draw_shape *figure = is_named ? figure_of(&scene->list, slot) : NULL;
        if (figure) {
            ls_fixed reach = LS_MAX(figure->half_width, figure->half_height);
            ls_overlay_name(
                canvas, fonts, seat,
                ls_camera_to_canvas(&scene->camera, (ls_vec2){figure->x, figure->y + reach}));
        }
    }
}

ls_overlay ls_scene_overlay(const ls_scene *scene, const ls_canvas_fonts *fonts, ls_canvas *canvas)
{
    return (ls_overlay){.canvas = canvas,
                        .fonts = fonts,
                        .hud = &scene->hud,
                        .times = scene->has_figures ? &scene->times : NULL,
                        .playhead = scene->is_record ? &scene->playhead : NULL,
                        .has_bar = scene->has_bar,
                        .has_keys = scene->has_keys};
}

static void paint_all(const ls_scene *scene, const ls_canvas_fonts *fonts, ls_canvas *canvas)
{
    painter to = {.camera = &scene->camera,
                  .fonts = fonts,
                  .canvas = canvas,
                  .owner = scene->hud.owner,
                  .scale = (float)scene->camera.pixels_per_m};
    paint_ground(scene, canvas);
    for (uint32_t i = 0; i < scene->list.count; i++) {
        paint_shape(&to, &scene->list.shapes[i]);
    }
    if (scene->has_box) {
        ls_overlay_box(canvas, scene->box_from, scene->box_to);
    }
    if (fonts && scene->has_bar) {
        paint_names(scene, fonts, canvas);
    }
    if (fonts) {
        ls_overlay overlay = ls_scene_overlay(scene, fonts, canvas);
        ls_overlay_paint(&overlay);
    }
}

void ls_scene_paint(const ls_scene *scene, const ls_canvas_fonts *fonts, ls_canvas *canvas)
{
    if (canvas->tiles) {
        ls_canvas_tiles_compare(canvas->tiles);
        paint_all(scene, fonts, canvas);
    }
    if (!canvas->tiles || ls_canvas_tiles_repaint(canvas->tiles)) {
        paint_all(scene, fonts, canvas);
    }
}

/* A cell is a pixel wide and two high. */
static int32_t cell_at(float pixel, float cell_pixels)
{
    return (int32_t)floorf(LS_MIN(LS_MAX(pixel / cell_pixels, -1e6f), 1e6f));
}

uint32_t ls_scene_texts(const ls_scene *scene, ls_text_run *runs, uint32_t capacity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scene->list.count && count < capacity; i++) {
        const ls_draw_shape *shape = &scene->list.shapes[i];
        if (shape->kind == LS_DRAW_TEXT && shape->text) {
            ls_canvas_point at = ls_camera_to_canvas(&scene->camera, (ls_vec2){shape->x, shape->y});
            runs[count++] = (ls_text_run){.column = cell_at(at.x, 1.0f),
                                          .row = cell_at(at.y, 2.0f),
                                          .colour = shape->colour,
                                          .text = shape->text};
        }
    }
    return count;
}

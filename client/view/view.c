#include "lockstep/client/view/view.h"

#include "lockstep/client/view/bitmap.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- the scene: a draw list as a camera sees it. Shapes that are small on the canvas are painted
 * with less detail, so that 20,000 bodies fit a frame ---- */

#define RADIANS_PER_ANGLE 1.4629180792671596e-9f /* 2 pi / 2^32 */

/* Radii in pixels from which a detail is worth its time. */
#define MARK_FROM 4.0f
#define RIM_FROM 6.0f
#define BOX_FROM 1.2f

#define OWN_RIM 0xFFFFFFD0u

typedef struct painter {
    const ls_camera *camera;
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
    float radians = (float)shape->angle * RADIANS_PER_ANGLE;
    return (ls_canvas_point){cosf(radians), -sinf(radians)};
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
        radius -= fminf(1.5f + radius / 40.0f, 3.0f);
    }
    ls_canvas_disc(to->canvas, at, radius, shape->colour);
    if (radius >= MARK_FROM && is_solid) {
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
    float small = fminf(half_width, half_height);
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
    box_corners(at, along, fmaxf(half_width, 0.5f), fmaxf(half_height, 0.5f), corners);
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
    char text[LS_TEXT_BYTES_MAX];
    float half_height = to_pixels(to, shape->half_height);
    if (!shape->text || !(half_height > 0.0f)) {
        return;
    }
    ls_name_copy(text, sizeof text, shape->text);
    ls_bitmap_text(to->canvas, (ls_canvas_point){at.x, at.y - half_height}, 2 * half_height,
                   shape->colour, text);
}

static void paint_shape(const painter *to, const ls_draw_shape *shape)
{
    ls_canvas_point at = ls_camera_to_canvas(to->camera, (ls_vec2){shape->x, shape->y});
    switch (shape->kind) {
    case LS_DRAW_DISC:
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

/* The shapes of `owner` (slot + 1; 0: no player) get a light rim. */
static void scene_paint(const ls_draw_list *list, const ls_camera *camera, uint32_t owner,
                        ls_canvas *canvas)
{
    painter to = {camera, canvas, owner, (float)camera->pixels_per_m};
    for (uint32_t i = 0; i < list->count; i++) {
        paint_shape(&to, &list->shapes[i]);
    }
}

/* ---- life ---- */

#define FLOOR 0x1C232CFFu
#define ZOOM_PER_NOTCH 1.15
#define PAN_SHARE 0.9 /* of the canvas a second, with a key held */
#define ELAPSED_MAX_NS UINT64_C(250000000)
#define HEARD_SPEED_MAX 1 /* a record that plays faster than twice as fast is silent */

struct ls_view {
    const ls_allocator *allocator;
    ls_view_config config;
    ls_camera camera;
    ls_input_mapper mapper;
    ls_playhead playhead;
    ls_frame_times times;
    ls_hud_model hud;
    ls_view_requests requests;
    ls_canvas canvas; /* of the last picture: its size */
    uint64_t now_ns;  /* of the last picture; 0 before the first */
    bool is_seeking;  /* the left button went down on the seek bar */
    bool is_panning;  /* the middle button is down */
    bool is_text_hidden;
    bool is_heard;         /* a record goes where it is going by playing there */
    ls_draw_shape *shapes; /* LS_VIEW_SHAPES_MAX */
};

ls_status ls_view_create(const ls_view_config *config, const ls_allocator *allocator, ls_view **out)
{
    ls_view *view = ls_allocate(allocator, sizeof *view);
    ls_draw_shape *shapes = ls_allocate_array(allocator, LS_VIEW_SHAPES_MAX, sizeof *shapes);
    if (!view || !shapes) {
        ls_release(allocator, shapes);
        ls_release(allocator, view);
        return LS_NO_MEMORY;
    }
    view->allocator = allocator;
    view->config = *config;
    view->shapes = shapes;
    view->camera = ls_camera_make();
    view->canvas = (ls_canvas){.width = 1, .height = 1};
    ls_input_mapper_init(&view->mapper);
    ls_playhead_init(&view->playhead);
    *out = view;
    return LS_OK;
}

void ls_view_destroy(ls_view *view)
{
    if (view) {
        ls_release(view->allocator, view->shapes);
        ls_release(view->allocator, view);
    }
}

void ls_view_set_font(ls_view *view, const ls_canvas_font *font)
{
    view->config.font = font;
}

/* ---- events ---- */

static bool is_record(const ls_view *view)
{
    return view->config.source.go_to != NULL;
}

static bool find_seek_share(ls_view *view, ls_canvas_point at, double *share)
{
    ls_overlay overlay = {.canvas = &view->canvas, .font = view->config.font};
    return ls_overlay_seek_share(&overlay, at, share);
}

static void seek_to(ls_view *view, ls_canvas_point at)
{
    double share;
    find_seek_share(view, at, &share);
    ls_playhead_seek(&view->playhead, share);
}

/* Keys that mean something over a record; true when the key was one. */
static bool receive_playhead_key(ls_view *view, uint32_t key)
{
    switch (key) {
    case LS_KEY_SPACE:
        ls_playhead_toggle(&view->playhead);
        return true;
    case LS_KEY_LEFT:
        ls_playhead_step(&view->playhead, -1);
        return true;
    case LS_KEY_RIGHT:
        ls_playhead_step(&view->playhead, 1);
        return true;
    case LS_KEY_UP:
        ls_playhead_change_speed(&view->playhead, 1);
        return true;
    case LS_KEY_DOWN:
        ls_playhead_change_speed(&view->playhead, -1);
        return true;
    default:
        return false;
    }
}

static void receive_key(ls_view *view, uint32_t key)
{
    ls_camera *camera = &view->camera;
    ls_canvas_point middle = {(float)camera->width / 2.0f, (float)camera->height / 2.0f};
    switch (key) {
    case LS_KEY_F:
        camera->mode = camera->mode == LS_CAMERA_FOLLOW ? LS_CAMERA_FREE : LS_CAMERA_FOLLOW;
        break;
    case LS_KEY_HOME:
        camera->mode = LS_CAMERA_FIT;
        break;
    case LS_KEY_EQUALS:
    case LS_KEY_KEYPAD_PLUS:
        ls_camera_zoom(camera, middle, ZOOM_PER_NOTCH);
        break;
    case LS_KEY_MINUS:
    case LS_KEY_KEYPAD_MINUS:
        ls_camera_zoom(camera, middle, 1.0 / ZOOM_PER_NOTCH);
        break;
    case LS_KEY_H:
        view->is_text_hidden = !view->is_text_hidden;
        break;
    case LS_KEY_N:
        view->config.interpolates = !view->config.interpolates;
        break;
    case LS_KEY_F12:
        view->requests.wants_picture = true;
        break;
    case LS_KEY_ESCAPE:
        view->requests.wants_close = true;
        break;
    default:
        break;
    }
}

static void receive_button(ls_view *view, const ls_view_event *event)
{
    double share;
    if (event->button == LS_BUTTON_MIDDLE) {
        view->is_panning = event->is_down;
    } else if (event->button == LS_BUTTON_LEFT) {
        view->is_seeking = event->is_down && is_record(view) && view->config.font &&
                           find_seek_share(view, event->at, &share);
    }
    if (view->is_seeking) {
        seek_to(view, event->at);
    }
}

static void receive_motion(ls_view *view, ls_canvas_point at)
{
    if (view->is_panning) {
        ls_canvas_point from = view->mapper.pointer;
        ls_camera_pan(&view->camera, (double)(at.x - from.x), (double)(at.y - from.y));
    }
    if (view->is_seeking) {
        seek_to(view, at);
    }
}

void ls_view_receive(ls_view *view, const ls_view_event *event)
{
    switch (event->kind) {
    case LS_VIEW_EVENT_KEY:
        if (event->is_down && !(is_record(view) && receive_playhead_key(view, event->key))) {
            receive_key(view, event->key);
        }
        break;
    case LS_VIEW_EVENT_BUTTON:
        receive_button(view, event);
        break;
    case LS_VIEW_EVENT_MOTION:
        receive_motion(view, event->at);
        break;
    case LS_VIEW_EVENT_WHEEL:
        ls_camera_zoom(&view->camera, event->at, pow(ZOOM_PER_NOTCH, (double)event->amount));
        break;
    case LS_VIEW_EVENT_CLOSE:
        view->requests.wants_close = true;
        break;
    default:
        break;
    }
    ls_input_mapper_receive(&view->mapper, event, &view->camera);
}

ls_view_requests ls_view_pop_requests(ls_view *view)
{
    ls_view_requests requests = view->requests;
    view->requests = (ls_view_requests){false, false};
    return requests;
}

/* ---- pictures ---- */

static void pan_by_keys(ls_view *view, double elapsed_s)
{
    const ls_input_mapper *mapper = &view->mapper;
    double reach = view->camera.height * PAN_SHARE * elapsed_s;
    double right =
        ls_input_mapper_is_held(mapper, LS_KEY_J) - ls_input_mapper_is_held(mapper, LS_KEY_L);
    double down =
        ls_input_mapper_is_held(mapper, LS_KEY_I) - ls_input_mapper_is_held(mapper, LS_KEY_K);
    if (right != 0.0 || down != 0.0) {
        ls_camera_pan(&view->camera, right * reach, down * reach);
    }
}

static void ask_source(ls_view *view)
{
    const ls_view_source *source = &view->config.source;
    memset(&view->hud, 0, sizeof view->hud);
    source->fill_hud(source->user, &view->hud);
    if (is_record(view)) {
        ls_playhead_set_range(&view->playhead, view->hud.first_tick, view->hud.last_tick,
                              view->hud.tick_rate_hz);
    }
}

/* Where a record goes in this frame, and what the source says of itself then. */
static void advance(ls_view *view, uint64_t elapsed_ns)
{
    const ls_view_source *source = &view->config.source;
    ask_source(view);
    if (!is_record(view)) {
        return;
    }
    if (!view->hud.is_on_its_way) {
        view->is_heard = ls_playhead_advance(&view->playhead, elapsed_ns) &&
                         view->playhead.speed <= HEARD_SPEED_MAX && view->config.ear.on_sound;
    }
    ls_tick tick = ls_playhead_tick(&view->playhead);
    source->go_to(source->user, tick, view->is_heard ? &view->config.ear : NULL);
    ask_source(view);
    /* Still on its way there: shows where it is. */
    view->hud.alpha = view->hud.tick == tick ? ls_playhead_alpha(&view->playhead) : LS_FIXED_ONE;
}

static ls_draw_list draw(ls_view *view)
{
    const ls_view_source *source = &view->config.source;
    ls_draw_list list = {.shapes = view->shapes, .capacity = LS_VIEW_SHAPES_MAX};
    if (!view->config.interpolates) {
        view->hud.alpha = LS_FIXED_ONE;
    }
    source->draw(source->user, view->hud.alpha, &list);
    return list;
}

static void add_own_lines(ls_view *view, uint32_t shapes)
{
    ls_frame_means mean = ls_frame_times_mean(&view->times);
    double fps = mean.frame_ms > 0.0f ? 1000.0 / (double)mean.frame_ms : 0.0;
    ls_hud_model_add(&view->hud, "frames    %.0f/s, %.1f ms of work, %" PRIu32 " shapes%s", fps,
                     (double)mean.work_ms, shapes,
                     view->config.interpolates ? "" : ", NOT BLENDED");
}

static void paint_overlay(ls_view *view, const ls_draw_list *list, ls_canvas *canvas)
{
    ls_canvas_point from;
    ls_canvas_point to;
    if (view->hud.is_selecting && ls_input_mapper_box(&view->mapper, &from, &to)) {
        ls_overlay_box(canvas, from, to);
    }
    if (!view->config.font) {
        return;
    }
    if (!view->is_text_hidden) {
        add_own_lines(view, list->count);
    }
    ls_overlay overlay = {.canvas = canvas,
                          .font = view->config.font,
                          .hud = &view->hud,
                          .times = view->is_text_hidden ? NULL : &view->times,
                          .playhead = is_record(view) ? &view->playhead : NULL};
    ls_overlay_paint(&overlay);
}

/* The part of the world worth showing is a little lighter than what lies around it. */
static void paint_floor(const ls_view *view, const ls_draw_list *list, ls_canvas *canvas)
{
    ls_canvas_point low = ls_camera_to_canvas(&view->camera, list->view_min);
    ls_canvas_point high = ls_camera_to_canvas(&view->camera, list->view_max);
    ls_canvas_point corners[] = {low, {high.x, low.y}, high, {low.x, high.y}};
    if (high.x > low.x && low.y > high.y) {
        ls_canvas_convex(canvas, corners, 4, FLOOR);
    }
}

void ls_view_paint(ls_view *view, uint64_t now_ns, uint64_t work_ns, ls_canvas *canvas)
{
    uint64_t elapsed_ns = view->now_ns > 0 ? now_ns - view->now_ns : 0;
    if (view->now_ns > 0) {
        ls_frame_times_add(&view->times, (float)elapsed_ns / 1e6f, (float)work_ns / 1e6f);
    }
    elapsed_ns = LS_MIN(elapsed_ns, ELAPSED_MAX_NS);
    view->now_ns = now_ns;
    view->canvas = *canvas;
    advance(view, elapsed_ns);
    ls_draw_list list = draw(view);
    double elapsed_s = (double)elapsed_ns / 1e9;
    pan_by_keys(view, elapsed_s);
    ls_camera_update(&view->camera, canvas, &list, view->hud.owner, elapsed_s);
    ls_canvas_clear(canvas, LS_VIEW_BACKGROUND);
    paint_floor(view, &list, canvas);
    scene_paint(&list, &view->camera, view->hud.owner, canvas);
    paint_overlay(view, &list, canvas);
}

void ls_view_start_at(ls_view *view, ls_tick tick, int32_t speed)
{
    ask_source(view);
    ls_playhead_go_to(&view->playhead, tick);
    ls_playhead_change_speed(&view->playhead, speed - view->playhead.speed);
}

bool ls_view_is_at_end(const ls_view *view)
{
    return is_record(view) && ls_playhead_is_at_end(&view->playhead) && !view->hud.is_on_its_way &&
           view->now_ns > 0;
}

/* ---- controls ---- */

const ls_controls *ls_view_next_controls(ls_view *view)
{
    return ls_input_mapper_next(&view->mapper, &view->camera);
}

const ls_controls *ls_view_controls(const ls_view *view)
{
    return &view->mapper.controls;
}

const ls_hud_model *ls_view_hud(const ls_view *view)
{
    return &view->hud;
}

const ls_camera *ls_view_camera(const ls_view *view)
{
    return &view->camera;
}

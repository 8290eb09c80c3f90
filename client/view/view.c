#include "lockstep/client/view/view.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* ---- life ---- */

#define PAN_SHARE 0.9 /* of the canvas a second, with a key held */
#define ELAPSED_MAX_NS UINT64_C(250000000)
#define KEYS_SHOWN_NS UINT64_C(10000000000)
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
    ls_chat_box chat;
    bool has_pressed_ready;
    ls_canvas canvas; /* of the last picture: its size, without pixels */
    const ls_canvas_fonts *fonts;
    uint64_t now_ns; /* of the last picture; 0 before the first */
    bool is_seeking; /* the left button went down on the seek bar */
    bool is_panning; /* the middle button is down */
    bool is_bare;    /* the picture is shown alone */
    bool has_figures;
    bool has_keys;
    uint64_t keys_left_ns; /* for as long they are shown at first; 0: as has_keys says */
    bool is_heard;         /* a record goes where it is going by playing there */
};

ls_status ls_view_create(const ls_view_config *config, const ls_allocator *allocator, ls_view **out)
{
    ls_view *view = ls_allocate(allocator, sizeof *view);
    if (!view) {
        return LS_NO_MEMORY;
    }
    view->allocator = allocator;
    view->config = *config;
    view->camera = ls_camera_make();
    view->keys_left_ns = KEYS_SHOWN_NS;
    view->has_figures = config->source.go_to != NULL; /* a record is looked into */
    view->canvas = (ls_canvas){.width = 1, .height = 1};
    ls_input_mapper_init(&view->mapper);
    ls_playhead_init(&view->playhead);
    *out = view;
    return LS_OK;
}

void ls_view_destroy(ls_view *view)
{
    if (view) {
        ls_release(view->allocator, view);
    }
}

/* ---- events ---- */

static bool is_record(const ls_view *view)
{
    return view->config.source.go_to != NULL;
}

static ls_overlay_place find_place(ls_view *view, ls_canvas_point at, double *share)
{
    ls_overlay overlay = {.canvas = &view->canvas, .fonts = view->fonts};
    return ls_overlay_place_at(&overlay, at, share);
}

static void seek_to(ls_view *view, ls_canvas_point at)
{
    double share;
    find_place(view, at, &share);
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
        ls_camera_zoom(camera, middle, 1.0);
        break;
    case LS_KEY_MINUS:
    case LS_KEY_KEYPAD_MINUS:
        ls_camera_zoom(camera, middle, -1.0);
        break;
    case LS_KEY_R:
        view->has_pressed_ready = view->hud.asks_ready;
        break;
    case LS_KEY_H:
        view->is_bare = !view->is_bare;
        break;
    case LS_KEY_F1:
        view->has_keys = view->keys_left_ns == 0 && !view->has_keys;
        view->keys_left_ns = 0;
        break;
    case LS_KEY_F3:
        view->has_figures = !view->has_figures;
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
        bool is_here = event->is_down && is_record(view) && view->fonts;
        ls_overlay_place place = is_here ? find_place(view, event->at, &share) : LS_OVERLAY_PICTURE;
        view->is_seeking = place == LS_OVERLAY_SEEK_BAR;
        if (place == LS_OVERLAY_SEEK_WORDS) {
            ls_playhead_toggle(&view->playhead);
        }
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

/* A key that is held while a line is opened is let go: no key of the line reaches the game. */
static bool is_for_chat(ls_view *view, const ls_view_event *event)
{
    bool was_open = view->chat.is_open;
    if (!view->config.has_chat || !ls_chat_box_receive(&view->chat, event)) {
        return false;
    }
    if (view->chat.is_open && !was_open) {
        const ls_view_event away = {.kind = LS_VIEW_EVENT_AWAY};
        ls_input_mapper_receive(&view->mapper, &away, &view->camera);
    }
    return true;
}

void ls_view_receive(ls_view *view, const ls_view_event *event)
{
    if (is_for_chat(view, event)) {
        return;
    }
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
        ls_camera_zoom(&view->camera, event->at, (double)event->amount);
        break;
    case LS_VIEW_EVENT_AWAY:
        view->is_panning = false;
        view->is_seeking = false;
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

bool ls_view_pop_said(ls_view *view, ls_chat_box_said *said)
{
    return ls_chat_box_pop_said(&view->chat, said);
}

bool ls_view_pop_ready(ls_view *view)
{
    bool has_pressed = view->has_pressed_ready;
    view->has_pressed_ready = false;
    return has_pressed;
}

void ls_view_add_chat(ls_view *view, const char *line)
{
    ls_chat_box_add(&view->chat, line);
}

bool ls_view_is_typing(const ls_view *view)
{
    return view->chat.is_open;
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
    view->hud.has_chat = view->config.has_chat;
    view->chat.game_has_enter = view->hud.game_has_enter;
    if (is_record(view)) {
        ls_playhead_set_range(&view->playhead, view->hud.first_tick, view->hud.last_tick,
                              view->hud.tick_rate_hz);
        view->playhead.is_growing = view->hud.is_growing;
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

static void draw(ls_view *view, ls_scene *scene)
{
    const ls_view_source *source = &view->config.source;
    if (!view->config.interpolates) {
        view->hud.alpha = LS_FIXED_ONE;
    }
    source->draw(source->user, view->hud.alpha, ls_scene_begin(scene));
    ls_scene_keep_borrowed(scene);
}

static void add_own_lines(ls_view *view, uint32_t shapes)
{
    ls_frame_means mean = ls_frame_times_mean(&view->times);
    double fps = mean.frame_ms > 0.0f ? 1000.0 / (double)mean.frame_ms : 0.0;
    ls_hud_model_add(&view->hud, "frames    %.0f/s, %.1f ms of work, %" PRIu32 " shapes%s", fps,
                     (double)mean.work_ms, shapes,
                     view->config.interpolates ? "" : ", NOT BLENDED");
}

static void count_keys(ls_view *view, uint64_t elapsed_ns)
{
    if (!view->hud.heading.bytes[0]) { /* the match has begun */
        view->keys_left_ns -= LS_MIN(elapsed_ns, view->keys_left_ns);
    }
}

/* The colour of a seat is that of its largest shape. */
static void find_colours(ls_hud_model *hud, const ls_draw_list *list)
{
    ls_fixed largest[LS_PLAYERS_MAX] = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        const ls_draw_shape *shape = &list->shapes[i];
        uint32_t owner = shape->owner;
        if (owner > 0 && owner <= hud->seat_count && shape->half_width > largest[owner - 1]) {
            largest[owner - 1] = shape->half_width;
            hud->seats[owner - 1].colour = shape->colour | 0xFFu;
        }
    }
}

/* The texts and bars; the camera has the rest of the canvas. */
static void add_overlay(ls_view *view, ls_scene *scene)
{
    scene->has_box = view->hud.is_selecting &&
                     ls_input_mapper_box(&view->mapper, &scene->box_from, &scene->box_to);
    scene->has_figures = view->has_figures && !view->is_bare;
    scene->has_bar = !view->is_bare;
    scene->has_keys = (view->has_keys || view->keys_left_ns > 0) && !view->is_bare;
    scene->is_record = is_record(view);
    if (view->fonts) {
        add_own_lines(view, scene->list.count);
        find_colours(&view->hud, &scene->list);
    }
    scene->hud = view->hud;
    scene->hud.chat_count = view->is_bare && !view->chat.is_open ? 0 : view->hud.chat_count;
    scene->times = view->times;
    scene->playhead = view->playhead;
}

static void update_camera(ls_view *view, ls_scene *scene, double elapsed_s)
{
    ls_overlay_margins margins = {0, 0};
    if (view->fonts) {
        ls_overlay overlay = ls_scene_overlay(scene, view->fonts, &view->canvas);
        margins = ls_overlay_measure(&overlay);
    }
    view->camera.top = margins.top;
    view->camera.bottom = margins.bottom;
    ls_camera_update(&view->camera, &view->canvas, &scene->list, view->hud.owner, elapsed_s);
    scene->camera = view->camera;
}

void ls_view_compose(ls_view *view, const ls_view_frame *frame, ls_scene *scene)
{
    uint64_t elapsed_ns = view->now_ns > 0 ? frame->now_ns - view->now_ns : 0;
    if (view->now_ns > 0) {
        ls_frame_times_add(&view->times, (float)elapsed_ns / 1e6f, (float)frame->work_ns / 1e6f);
    }
    elapsed_ns = LS_MIN(elapsed_ns, ELAPSED_MAX_NS);
    view->now_ns = frame->now_ns;
    view->canvas = (ls_canvas){.width = frame->width, .height = frame->height};
    view->fonts = frame->fonts;
    advance(view, elapsed_ns);
    ls_chat_box_show(&view->chat, elapsed_ns, ls_overlay_chat_columns(frame->fonts, frame->width),
                     &view->hud);
    draw(view, scene);
    double elapsed_s = (double)elapsed_ns / 1e9;
    pan_by_keys(view, elapsed_s);
    count_keys(view, elapsed_ns);
    add_overlay(view, scene);
    update_camera(view, scene, elapsed_s);
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
           !view->hud.is_growing && view->now_ns > 0;
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

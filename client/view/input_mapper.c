#include "lockstep/client/view/input_mapper.h"

#include <math.h>
#include <string.h>

static const uint8_t key_controls[LS_KEYS] = {
    [LS_KEY_UP] = LS_CONTROL_UP,
    [LS_KEY_DOWN] = LS_CONTROL_DOWN,
    [LS_KEY_LEFT] = LS_CONTROL_LEFT,
    [LS_KEY_RIGHT] = LS_CONTROL_RIGHT,
    [LS_KEY_W] = LS_CONTROL_UP,
    [LS_KEY_A] = LS_CONTROL_LEFT,
    [LS_KEY_S] = LS_CONTROL_DOWN,
    [LS_KEY_D] = LS_CONTROL_RIGHT,
    [LS_KEY_SPACE] = LS_CONTROL_FIRST,
    [LS_KEY_LEFT_CONTROL] = LS_CONTROL_SECOND,
    [LS_KEY_LEFT_SHIFT] = LS_CONTROL_THIRD,
};

static uint32_t pad_controls(uint32_t pad)
{
    static const struct {
        uint32_t pad;
        uint32_t control;
    } rows[] = {
        {LS_PAD_UP, LS_CONTROL_UP},       {LS_PAD_DOWN, LS_CONTROL_DOWN},
        {LS_PAD_LEFT, LS_CONTROL_LEFT},   {LS_PAD_RIGHT, LS_CONTROL_RIGHT},
        {LS_PAD_SOUTH, LS_CONTROL_FIRST}, {LS_PAD_EAST, LS_CONTROL_SECOND},
        {LS_PAD_WEST, LS_CONTROL_THIRD},
    };
    uint32_t controls = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        controls |= pad & rows[i].pad ? rows[i].control : 0;
    }
    return controls;
}

void ls_input_mapper_init(ls_input_mapper *mapper)
{
    mapper->controls.memory = mapper->memory;
}

bool ls_input_mapper_is_held(const ls_input_mapper *mapper, uint32_t key)
{
    return ls_key_is_in(mapper->keys_held, key);
}

static void receive_key(ls_input_mapper *mapper, const ls_view_event *event)
{
    uint64_t *held = &mapper->keys_held[event->key / 64];
    uint64_t bit = UINT64_C(1) << event->key % 64;
    if (!event->is_down) {
        *held &= ~bit;
        return;
    }
    if (!(*held & bit)) {
        mapper->pressed |= key_controls[event->key];
        mapper->keys_pressed[event->key / 64] |= bit;
    }
    *held |= bit;
}

static void receive_pad(ls_input_mapper *mapper, const ls_view_event *event)
{
    if (!event->is_down) {
        mapper->pad_held &= ~event->pad;
        return;
    }
    uint32_t fresh = event->pad & ~mapper->pad_held;
    mapper->pressed |= pad_controls(fresh);
    mapper->pad_pressed |= fresh;
    mapper->pad_held |= event->pad;
}

static void receive_text(ls_input_mapper *mapper, const char *text)
{
    size_t size = strlen(mapper->text);
    ls_name_copy(mapper->text + size, sizeof mapper->text - size, text);
}

/* As much of it as fits into one input. */
static void give_text(ls_input_mapper *mapper, char *text)
{
    ls_name_copy(text, LS_CONTROL_TEXT_BYTES_MAX, mapper->text);
    size_t size = strlen(text);
    memmove(mapper->text, mapper->text + size, sizeof mapper->text - size);
}

static void add_gesture(ls_input_mapper *mapper, ls_gesture kind, ls_vec2 from, ls_vec2 to)
{
    if (mapper->gesture_count < LS_INPUT_MAPPER_GESTURES_MAX) {
        mapper->gestures[mapper->gesture_count++] = (ls_input_mapper_gesture){
            .kind = kind,
            .is_added = ls_input_mapper_is_held(mapper, LS_KEY_LEFT_SHIFT),
            .from = from,
            .to = to,
        };
    }
}

static bool is_click(ls_canvas_point from, ls_canvas_point to)
{
    return fabsf(to.x - from.x) < LS_INPUT_MAPPER_CLICK_PIXELS &&
           fabsf(to.y - from.y) < LS_INPUT_MAPPER_CLICK_PIXELS;
}

static void end_drag(ls_input_mapper *mapper, const ls_camera *camera)
{
    ls_vec2 to = ls_camera_to_world(camera, mapper->pointer);
    ls_vec2 from = is_click(mapper->drag_from, mapper->pointer)
                       ? to
                       : ls_camera_to_world(camera, mapper->drag_from);
    mapper->is_dragging = false;
    add_gesture(mapper, LS_GESTURE_SELECT, from, to);
}

static void receive_button(ls_input_mapper *mapper, const ls_view_event *event,
                           const ls_camera *camera)
{
    mapper->pointer = event->at;
    if (event->button == LS_BUTTON_RIGHT && event->is_down) {
        ls_vec2 place = ls_camera_to_world(camera, event->at);
        add_gesture(mapper, LS_GESTURE_ORDER, place, place);
    } else if (event->button == LS_BUTTON_LEFT && event->is_down) {
        mapper->is_dragging = true;
        mapper->drag_from = event->at;
    } else if (event->button == LS_BUTTON_LEFT && mapper->is_dragging) {
        end_drag(mapper, camera);
    }
}

static ls_fixed axis(float value, ls_fixed min)
{
    return ls_fixed_clamp(ls_fixed_from_double((double)value), min, LS_FIXED_ONE);
}

static ls_vec2 axes(ls_canvas_point at, ls_fixed min)
{
    return (ls_vec2){axis(at.x, min), axis(at.y, min)};
}

static void let_go_of_pad(ls_input_mapper *mapper)
{
    mapper->pad_held = 0;
    mapper->stick = (ls_vec2){0, 0};
    mapper->right_stick = (ls_vec2){0, 0};
    mapper->triggers = (ls_vec2){0, 0};
}

void ls_input_mapper_receive(ls_input_mapper *mapper, const ls_view_event *event,
                             const ls_camera *camera)
{
    switch (event->kind) {
    case LS_VIEW_EVENT_KEY:
        receive_key(mapper, event);
        break;
    case LS_VIEW_EVENT_TEXT:
        receive_text(mapper, event->text);
        break;
    case LS_VIEW_EVENT_BUTTON:
        receive_button(mapper, event, camera);
        break;
    case LS_VIEW_EVENT_MOTION:
    case LS_VIEW_EVENT_WHEEL:
        mapper->pointer = event->at;
        break;
    case LS_VIEW_EVENT_PAD:
        receive_pad(mapper, event);
        break;
    case LS_VIEW_EVENT_STICK:
        mapper->stick = axes(event->at, -LS_FIXED_ONE);
        break;
    case LS_VIEW_EVENT_RIGHT_STICK:
        mapper->right_stick = axes(event->at, -LS_FIXED_ONE);
        break;
    case LS_VIEW_EVENT_TRIGGERS:
        mapper->triggers = axes(event->at, 0);
        break;
    case LS_VIEW_EVENT_PAD_AWAY:
        let_go_of_pad(mapper);
        break;
    case LS_VIEW_EVENT_AWAY:
        memset(mapper->keys_held, 0, sizeof mapper->keys_held);
        let_go_of_pad(mapper); /* nothing is heard of it until the window is back */
        mapper->is_dragging = false;
        break;
    case LS_VIEW_EVENT_CLOSE:
        break;
    }
}

bool ls_input_mapper_box(const ls_input_mapper *mapper, ls_canvas_point *from, ls_canvas_point *to)
{
    *from = mapper->drag_from;
    *to = mapper->pointer;
    return mapper->is_dragging && !is_click(*from, *to);
}

static uint32_t held_controls(const ls_input_mapper *mapper)
{
    uint32_t controls = pad_controls(mapper->pad_held);
    for (uint32_t key = 0; key < LS_KEYS; key++) {
        controls |= ls_input_mapper_is_held(mapper, key) ? key_controls[key] : 0;
    }
    return controls;
}

static void give_keys(ls_input_mapper *mapper, ls_controls *controls)
{
    controls->held = held_controls(mapper);
    controls->pressed = mapper->pressed;
    memcpy(controls->keys_held, mapper->keys_held, sizeof controls->keys_held);
    memcpy(controls->keys_pressed, mapper->keys_pressed, sizeof controls->keys_pressed);
    give_text(mapper, controls->text);
    memset(mapper->keys_pressed, 0, sizeof mapper->keys_pressed);
    mapper->pressed = 0;
}

static void give_pad(ls_input_mapper *mapper, ls_controls *controls)
{
    controls->stick = mapper->stick;
    controls->right_stick = mapper->right_stick;
    controls->left_trigger = mapper->triggers.x;
    controls->right_trigger = mapper->triggers.y;
    controls->pad_held = mapper->pad_held;
    controls->pad_pressed = mapper->pad_pressed;
    mapper->pad_pressed = 0;
}

const ls_controls *ls_input_mapper_next(ls_input_mapper *mapper, const ls_camera *camera)
{
    ls_controls *controls = &mapper->controls;
    give_keys(mapper, controls);
    give_pad(mapper, controls);
    controls->pointer = ls_camera_to_world(camera, mapper->pointer);
    controls->is_pointer_held = mapper->is_dragging;
    ls_input_mapper_gesture gesture = {.kind = LS_GESTURE_NONE};
    if (mapper->gesture_count > 0) {
        gesture = mapper->gestures[0];
        mapper->gesture_count--;
        memmove(mapper->gestures, mapper->gestures + 1,
                mapper->gesture_count * sizeof mapper->gestures[0]);
    }
    controls->gesture = gesture.kind;
    controls->is_gesture_added = gesture.is_added;
    controls->gesture_from = gesture.from;
    controls->gesture_to = gesture.to;
    return controls;
}

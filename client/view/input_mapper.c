#include "lockstep/client/view/input_mapper.h"

#include <math.h>
#include <string.h>

static const uint32_t key_controls[LS_KEY_COUNT] = {
    [LS_KEY_UP] = LS_CONTROL_UP,
    [LS_KEY_DOWN] = LS_CONTROL_DOWN,
    [LS_KEY_LEFT] = LS_CONTROL_LEFT,
    [LS_KEY_RIGHT] = LS_CONTROL_RIGHT,
    [LS_KEY_W] = LS_CONTROL_UP,
    [LS_KEY_A] = LS_CONTROL_LEFT,
    [LS_KEY_S] = LS_CONTROL_DOWN,
    [LS_KEY_D] = LS_CONTROL_RIGHT,
    [LS_KEY_SPACE] = LS_CONTROL_FIRST,
    [LS_KEY_CONTROL] = LS_CONTROL_SECOND,
    [LS_KEY_SHIFT] = LS_CONTROL_THIRD,
    [LS_KEY_PAD_UP] = LS_CONTROL_UP,
    [LS_KEY_PAD_DOWN] = LS_CONTROL_DOWN,
    [LS_KEY_PAD_LEFT] = LS_CONTROL_LEFT,
    [LS_KEY_PAD_RIGHT] = LS_CONTROL_RIGHT,
    [LS_KEY_PAD_FIRST] = LS_CONTROL_FIRST,
    [LS_KEY_PAD_SECOND] = LS_CONTROL_SECOND,
    [LS_KEY_PAD_THIRD] = LS_CONTROL_THIRD,
};

void ls_input_mapper_init(ls_input_mapper *mapper)
{
    mapper->controls.memory = mapper->memory;
}

bool ls_input_mapper_is_held(const ls_input_mapper *mapper, ls_view_key key)
{
    return (mapper->held >> key & 1u) != 0;
}

static void take_key(ls_input_mapper *mapper, const ls_view_event *event)
{
    uint64_t bit = UINT64_C(1) << event->key;
    if (!event->is_down) {
        mapper->held &= ~bit;
        return;
    }
    if (!(mapper->held & bit)) {
        mapper->pressed |= key_controls[event->key];
    }
    mapper->held |= bit;
}

static void add_gesture(ls_input_mapper *mapper, ls_gesture kind, ls_vec2 from, ls_vec2 to)
{
    if (mapper->gesture_count < LS_INPUT_MAPPER_GESTURES_MAX) {
        mapper->gestures[mapper->gesture_count++] = (ls_input_mapper_gesture){
            .kind = kind,
            .is_added = ls_input_mapper_is_held(mapper, LS_KEY_SHIFT),
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

static void take_button(ls_input_mapper *mapper, const ls_view_event *event,
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

static ls_fixed axis(float value)
{
    return ls_fixed_clamp(ls_fixed_from_double((double)value), -LS_FIXED_ONE, LS_FIXED_ONE);
}

void ls_input_mapper_take(ls_input_mapper *mapper, const ls_view_event *event,
                          const ls_camera *camera)
{
    switch (event->kind) {
    case LS_VIEW_EVENT_KEY:
        take_key(mapper, event);
        break;
    case LS_VIEW_EVENT_BUTTON:
        take_button(mapper, event, camera);
        break;
    case LS_VIEW_EVENT_MOTION:
    case LS_VIEW_EVENT_WHEEL:
        mapper->pointer = event->at;
        break;
    case LS_VIEW_EVENT_STICK:
        mapper->stick = (ls_vec2){axis(event->at.x), axis(event->at.y)};
        break;
    case LS_VIEW_EVENT_AWAY:
        mapper->held = 0;
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
    uint32_t controls = 0;
    for (uint32_t key = 0; key < LS_KEY_COUNT; key++) {
        controls |= ls_input_mapper_is_held(mapper, (ls_view_key)key) ? key_controls[key] : 0;
    }
    return controls;
}

const ls_controls *ls_input_mapper_next(ls_input_mapper *mapper, const ls_camera *camera)
{
    ls_controls *controls = &mapper->controls;
    controls->held = held_controls(mapper);
    controls->pressed = mapper->pressed;
    controls->stick = mapper->stick;
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
    mapper->pressed = 0;
    return controls;
}

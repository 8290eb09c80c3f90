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

void ls_hands_init(ls_hands *hands)
{
    hands->controls.memory = hands->memory;
}

bool ls_hands_is_held(const ls_hands *hands, ls_view_key key)
{
    return (hands->held >> key & 1u) != 0;
}

static void take_key(ls_hands *hands, const ls_view_event *event)
{
    uint64_t bit = UINT64_C(1) << event->key;
    if (!event->is_down) {
        hands->held &= ~bit;
        return;
    }
    if (!(hands->held & bit)) {
        hands->pressed |= key_controls[event->key];
    }
    hands->held |= bit;
}

static void add_gesture(ls_hands *hands, ls_gesture kind, ls_vec2 from, ls_vec2 to)
{
    if (hands->gesture_count < LS_HANDS_GESTURES_MAX) {
        hands->gestures[hands->gesture_count++] = (ls_hands_gesture){
            .kind = kind,
            .is_added = ls_hands_is_held(hands, LS_KEY_SHIFT),
            .from = from,
            .to = to,
        };
    }
}

static bool is_click(ls_canvas_point from, ls_canvas_point to)
{
    return fabsf(to.x - from.x) < LS_HANDS_CLICK_PIXELS &&
           fabsf(to.y - from.y) < LS_HANDS_CLICK_PIXELS;
}

static void end_drag(ls_hands *hands, const ls_camera *camera)
{
    ls_vec2 to = ls_camera_to_world(camera, hands->pointer);
    ls_vec2 from = is_click(hands->drag_from, hands->pointer)
                       ? to
                       : ls_camera_to_world(camera, hands->drag_from);
    hands->is_dragging = false;
    add_gesture(hands, LS_GESTURE_SELECT, from, to);
}

static void take_button(ls_hands *hands, const ls_view_event *event, const ls_camera *camera)
{
    hands->pointer = event->at;
    if (event->button == LS_BUTTON_RIGHT && event->is_down) {
        ls_vec2 place = ls_camera_to_world(camera, event->at);
        add_gesture(hands, LS_GESTURE_ORDER, place, place);
    } else if (event->button == LS_BUTTON_LEFT && event->is_down) {
        hands->is_dragging = true;
        hands->drag_from = event->at;
    } else if (event->button == LS_BUTTON_LEFT && hands->is_dragging) {
        end_drag(hands, camera);
    }
}

static ls_fixed axis(float value)
{
    return ls_fixed_clamp(ls_fixed_from_double((double)value), -LS_FIXED_ONE, LS_FIXED_ONE);
}

void ls_hands_take(ls_hands *hands, const ls_view_event *event, const ls_camera *camera)
{
    switch (event->kind) {
    case LS_VIEW_EVENT_KEY:
        take_key(hands, event);
        break;
    case LS_VIEW_EVENT_BUTTON:
        take_button(hands, event, camera);
        break;
    case LS_VIEW_EVENT_MOTION:
    case LS_VIEW_EVENT_WHEEL:
        hands->pointer = event->at;
        break;
    case LS_VIEW_EVENT_STICK:
        hands->stick = (ls_vec2){axis(event->at.x), axis(event->at.y)};
        break;
    case LS_VIEW_EVENT_AWAY:
        hands->held = 0;
        hands->is_dragging = false;
        break;
    case LS_VIEW_EVENT_CLOSE:
        break;
    }
}

bool ls_hands_box(const ls_hands *hands, ls_canvas_point *from, ls_canvas_point *to)
{
    *from = hands->drag_from;
    *to = hands->pointer;
    return hands->is_dragging && !is_click(*from, *to);
}

static uint32_t held_controls(const ls_hands *hands)
{
    uint32_t controls = 0;
    for (uint32_t key = 0; key < LS_KEY_COUNT; key++) {
        controls |= ls_hands_is_held(hands, (ls_view_key)key) ? key_controls[key] : 0;
    }
    return controls;
}

const ls_controls *ls_hands_next(ls_hands *hands, const ls_camera *camera)
{
    ls_controls *controls = &hands->controls;
    controls->held = held_controls(hands);
    controls->pressed = hands->pressed;
    controls->stick = hands->stick;
    controls->pointer = ls_camera_to_world(camera, hands->pointer);
    controls->is_pointer_held = hands->is_dragging;
    ls_hands_gesture gesture = {.kind = LS_GESTURE_NONE};
    if (hands->gesture_count > 0) {
        gesture = hands->gestures[0];
        hands->gesture_count--;
        memmove(hands->gestures, hands->gestures + 1,
                hands->gesture_count * sizeof hands->gestures[0]);
    }
    controls->gesture = gesture.kind;
    controls->is_gesture_added = gesture.is_added;
    controls->gesture_from = gesture.from;
    controls->gesture_to = gesture.to;
    hands->pressed = 0;
    return controls;
}

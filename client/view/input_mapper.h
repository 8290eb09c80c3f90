/* Input mapper: what a person does, as events, and the ls_controls that are made of them, of which
 * a simulation's `control` makes an input. A key that went down and up again between two inputs is
 * kept until an input has it; of gestures each input gets one. Knows no simulation. */
#ifndef LOCKSTEP_CLIENT_VIEW_INPUT_MAPPER_H
#define LOCKSTEP_CLIENT_VIEW_INPUT_MAPPER_H

#include "lockstep/client/view/camera.h"
#include "lockstep/client/view/canvas.h"
#include "lockstep/common/simulation/control_keys.h"

#include <stdalign.h>
#include <stdbool.h>

/* ---- events: what a person does at a window or a terminal, in a form that no window library has a
 * part in. Made by window and terminal ---- */

typedef enum ls_view_button {
    LS_BUTTON_LEFT,
    LS_BUTTON_MIDDLE,
    LS_BUTTON_RIGHT,
} ls_view_button;

#define LS_VIEW_EVENT_TEXT_BYTES_MAX 32u /* with its final NUL */

typedef enum ls_view_event_kind {
    LS_VIEW_EVENT_KEY,         /* key, is_down */
    LS_VIEW_EVENT_TEXT,        /* text */
    LS_VIEW_EVENT_BUTTON,      /* button, is_down, at */
    LS_VIEW_EVENT_MOTION,      /* at */
    LS_VIEW_EVENT_WHEEL,       /* amount: notches away from the person; at */
    LS_VIEW_EVENT_PAD,         /* pad, is_down */
    LS_VIEW_EVENT_STICK,       /* at: of the left stick, -1 .. 1 on both axes, y up */
    LS_VIEW_EVENT_RIGHT_STICK, /* likewise */
    LS_VIEW_EVENT_TRIGGERS,    /* at: 0 .. 1, x of the left one, y of the right one */
    LS_VIEW_EVENT_PAD_AWAY,    /* the pad is gone: nothing of it is held any more */
    LS_VIEW_EVENT_AWAY,        /* the window lost the keyboard: nothing is held any more */
    LS_VIEW_EVENT_CLOSE,
} ls_view_event_kind;

typedef struct ls_view_event {
    ls_view_event_kind kind;
    uint32_t key; /* LS_KEY_* or another usage below LS_KEYS */
    uint32_t pad; /* one bit: LS_PAD_* or another one */
    ls_view_button button;
    bool is_down;
    ls_canvas_point at; /* on the canvas, unless the kind says otherwise */
    float amount;
    char text[LS_VIEW_EVENT_TEXT_BYTES_MAX]; /* UTF-8 */
} ls_view_event;

#define LS_INPUT_MAPPER_GESTURES_MAX 8u
#define LS_INPUT_MAPPER_CLICK_PIXELS                                                               \
    4.0f /* a box is at least so wide or high, or it is a click                                    \
          */

typedef struct ls_input_mapper_gesture {
    ls_gesture kind;
    bool is_added;
    ls_vec2 from;
    ls_vec2 to;
} ls_input_mapper_gesture;

/* Bytes of typed text that wait for an input, with their final NUL; more are dropped. */
#define LS_INPUT_MAPPER_TEXT_BYTES_MAX 256u

typedef struct ls_input_mapper {
    uint64_t keys_held[LS_KEYS / 64]; /* as in ls_controls; not yet in an input: */
    uint64_t keys_pressed[LS_KEYS / 64];
    uint32_t pad_held;
    uint32_t pad_pressed;
    uint32_t pressed; /* LS_CONTROL_* */
    char text[LS_INPUT_MAPPER_TEXT_BYTES_MAX];
    ls_canvas_point pointer;
    ls_vec2 stick;
    ls_vec2 right_stick;
    ls_vec2 triggers; /* x: the left one */
    bool is_dragging; /* the left button is down */
    ls_canvas_point drag_from;
    uint32_t gesture_count;
    ls_input_mapper_gesture
        gestures[LS_INPUT_MAPPER_GESTURES_MAX]; /* oldest first; more are dropped */
    ls_controls controls;                       /* of the newest input */
    alignas(16) uint8_t memory[LS_CONTROL_MEMORY_BYTES];
} ls_input_mapper;

/* `mapper` comes zeroed. */
void ls_input_mapper_init(ls_input_mapper *mapper);

/* Events that are no business of a game are ignored. */
void ls_input_mapper_receive(ls_input_mapper *mapper, const ls_view_event *event,
                             const ls_camera *camera);

bool ls_input_mapper_is_held(const ls_input_mapper *mapper, uint32_t key);

/* True while a box is being drawn that is more than a click. */
bool ls_input_mapper_box(const ls_input_mapper *mapper, ls_canvas_point *from, ls_canvas_point *to);

/* The controls for one input: what was pressed or typed and the oldest gesture are used up by it.
 * Borrowed until the next call; `memory` is the same each time. */
const ls_controls *ls_input_mapper_next(ls_input_mapper *mapper, const ls_camera *camera);

#endif

/* View event: what a person does at a window or a terminal, in a form that no window library has a
 * part in. Made by window and terminal, taken by view. */
#ifndef LOCKSTEP_CLIENT_VIEW_VIEW_EVENT_H
#define LOCKSTEP_CLIENT_VIEW_VIEW_EVENT_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/simulation/control_keys.h"

#include <stdbool.h>

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

#endif

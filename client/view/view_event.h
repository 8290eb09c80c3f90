/* View event: what a person does at a window or a terminal, in a form that no window library has a
 * part in. Made by window and terminal, taken by view. */
#ifndef LOCKSTEP_CLIENT_VIEW_VIEW_EVENT_H
#define LOCKSTEP_CLIENT_VIEW_VIEW_EVENT_H

#include "lockstep/client/view/canvas.h"

#include <stdbool.h>

/* Keys by their place on the keyboard, and the buttons of a pad. */
typedef enum ls_view_key {
    LS_KEY_NONE,
    LS_KEY_UP,
    LS_KEY_DOWN,
    LS_KEY_LEFT,
    LS_KEY_RIGHT,
    LS_KEY_W,
    LS_KEY_A,
    LS_KEY_S,
    LS_KEY_D,
    LS_KEY_SPACE,
    LS_KEY_CONTROL,
    LS_KEY_SHIFT,
    LS_KEY_PAD_UP,
    LS_KEY_PAD_DOWN,
    LS_KEY_PAD_LEFT,
    LS_KEY_PAD_RIGHT,
    LS_KEY_PAD_FIRST,
    LS_KEY_PAD_SECOND,
    LS_KEY_PAD_THIRD,
    LS_KEY_I,
    LS_KEY_J,
    LS_KEY_K,
    LS_KEY_L,
    LS_KEY_PLUS,
    LS_KEY_MINUS,
    LS_KEY_HOME,
    LS_KEY_F,
    LS_KEY_H,
    LS_KEY_N,
    LS_KEY_F12,
    LS_KEY_ESCAPE,
    LS_KEY_COUNT,
} ls_view_key;

typedef enum ls_view_button {
    LS_BUTTON_LEFT,
    LS_BUTTON_MIDDLE,
    LS_BUTTON_RIGHT,
} ls_view_button;

typedef enum ls_view_event_kind {
    LS_VIEW_EVENT_KEY,    /* key, is_down */
    LS_VIEW_EVENT_BUTTON, /* button, is_down, at */
    LS_VIEW_EVENT_MOTION, /* at */
    LS_VIEW_EVENT_WHEEL,  /* amount: notches away from the person; at */
    LS_VIEW_EVENT_STICK,  /* at: -1 .. 1 on both axes, y up */
    LS_VIEW_EVENT_AWAY,   /* the window lost the keyboard: nothing is held any more */
    LS_VIEW_EVENT_CLOSE,
} ls_view_event_kind;

typedef struct ls_view_event {
    ls_view_event_kind kind;
    ls_view_key key;
    ls_view_button button;
    bool is_down;
    ls_canvas_point at; /* on the canvas */
    float amount;
} ls_view_event;

#endif

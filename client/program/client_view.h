/* Client view: lets a person see the match that a client plays, in a window or on a terminal, and
 * play it with keyboard, mouse and pad. Wires session, view and screen together; decides nothing
 * about the match. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_CLIENT_VIEW_H
#define LOCKSTEP_CLIENT_PROGRAM_CLIENT_VIEW_H

#include "lockstep/client/link/session_log.h"
#include "lockstep/client/session/session.h"
#include "lockstep/client/window/screen.h"
#include "lockstep/common/program/console.h"

typedef struct ls_client_view {
    ls_session *session; /* that it shows, from the first frame on */
    ls_screen *screen;   /* NULL: nothing is shown */
    const char *server;  /* where the match is, for a person; borrowed */
    uint64_t frame_ns;   /* when the frame before began */
    uint32_t slot;
    ls_notice notice; /* the newest */
    bool is_waiting;
    ls_waiting waiting;
    bool is_ready;        /* the person is, for the match to begin */
    bool game_has_enter;  /* it was seen to do something on it */
    ls_tick enter_tick;   /* when it is looked at again */
    ls_client_chat *chat; /* borrowed; NULL: nothing is said and shown */
} ls_client_view;

/* As ls_screen_open; the view comes zeroed and stays where it is. The console must outlive it. The
 * caller closes the screen. */
ls_status ls_client_view_open(ls_client_view *view, const ls_screen_config *config,
                              ls_console *console, ls_text *why);

/* Events of the session that the person should see. */
void ls_client_view_on_event(ls_client_view *view, const ls_session_event *event);

/* A sound that they should hear. */
void ls_client_view_play(ls_client_view *view, const ls_sound *sound);

/* As ls_session_config.make_input. */
uint32_t ls_client_view_input(ls_client_view *view, const ls_sim_instance *instance, uint32_t slot,
                              uint8_t *bytes);

/* As ls_screen_frame. */
uint64_t ls_client_view_frame(ls_client_view *view, uint64_t now_ns);

#endif

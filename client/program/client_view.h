/* Client view: lets a person see the match that a client plays, in a window or on a terminal, and
 * play it with keyboard, mouse and pad. Wires session, view and screen together; decides nothing
 * about the match. Called by client. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_CLIENT_VIEW_H
#define LOCKSTEP_CLIENT_PROGRAM_CLIENT_VIEW_H

#include "lockstep/client/session/session.h"
#include "lockstep/client/view/screen.h"
#include "lockstep/common/program/console.h"

typedef struct ls_client_view ls_client_view;

/* As ls_screen_open. The console must outlive the view. */
ls_status ls_client_view_open(const ls_screen_config *config, ls_console *console,
                              const ls_allocator *allocator, ls_client_view **out, ls_text *why);
void ls_client_view_close(ls_client_view *view);

/* The match that it shows from now on; before that nothing may be painted. */
void ls_client_view_show(ls_client_view *view, ls_session *session);

/* Events of the session that the person should see. */
void ls_client_view_hear(ls_client_view *view, const ls_session_event *event);

/* Takes what the person did; true when they want to leave. */
bool ls_client_view_is_closed(ls_client_view *view, uint64_t now_ns);

/* As ls_session_config.make_input. */
uint32_t ls_client_view_input(ls_client_view *view, const ls_sim_instance *instance, uint32_t slot,
                              uint8_t *bytes);

/* As ls_screen_frame and ls_screen_go_on. */
uint64_t ls_client_view_frame(ls_client_view *view, uint64_t now_ns);
uint64_t ls_client_view_go_on(ls_client_view *view, uint64_t now_ns);

#endif

/* Client view: lets a person see the match that a client plays, in a window or on a terminal, and
 * play it with keyboard, mouse and pad. Wires session, view and screen together; decides nothing
 * about the match. Called by client. */
#ifndef LOCKSTEP_CLIENT_CLIENT_VIEW_H
#define LOCKSTEP_CLIENT_CLIENT_VIEW_H

#include "lockstep/client/session.h"
#include "lockstep/common/program/console.h"

#define LS_SCREENSHOTS_MAX 16u
#define LS_VIEW_SIDE_MIN 64u
#define LS_VIEW_SIDE_MAX 8192u

typedef enum ls_view_kind {
    LS_VIEW_NONE,
    LS_VIEW_WINDOW,
    LS_VIEW_TEXT,
} ls_view_kind;

/* A picture for a file, of the first frame that shows this tick or a later one. */
typedef struct ls_screenshot {
    const char *path;
    ls_tick tick;
} ls_screenshot;

typedef struct ls_client_view_config {
    ls_view_kind kind; /* not NONE */
    bool interpolates;
    uint32_t fps;   /* 0: the display's own, else 60 */
    uint32_t width; /* of a window, LS_VIEW_SIDE_MIN .. LS_VIEW_SIDE_MAX */
    uint32_t height;
    uint32_t screenshot_count;
    ls_screenshot screenshots[LS_SCREENSHOTS_MAX]; /* paths are borrowed */
} ls_client_view_config;

typedef struct ls_client_view ls_client_view;

/* In a window, 1280 x 720, blended, at the display's rate. */
ls_client_view_config ls_client_view_config_default(void);

/* NO_MEMORY, IO or UNSUPPORTED, with the reason in `why`. The console must outlive the view. */
ls_status ls_client_view_open(const ls_client_view_config *config, ls_console *console,
                              const ls_allocator *allocator, ls_client_view **out, ls_text *why);
void ls_client_view_close(ls_client_view *view);

/* What it shows from now on; before that nothing may be painted. */
void ls_client_view_show(ls_client_view *view, ls_session *session);

/* News of the session that the person should see. */
void ls_client_view_hear(ls_client_view *view, const ls_session_event *event);

/* Takes what the person did; true when they want to leave. */
bool ls_client_view_is_closed(ls_client_view *view, uint64_t now_ns);

/* As ls_session_config.make_input. */
uint32_t ls_client_view_input(ls_client_view *view, const ls_sim_instance *instance, uint32_t slot,
                              uint8_t *bytes);

/* Paints and shows the frame that began at `now_ns`, and says when the next one is to begin. */
uint64_t ls_client_view_frame(ls_client_view *view, uint64_t now_ns);

#endif

/* View: what a person sees of a source and how their keys and pointer move it: the scene, the
 * camera, the overlay, the controls for their inputs and, over a record, pause, step, speed and the
 * seek bar. Composes scenes and paints none; knows no window, no network and no clock. */
#ifndef LOCKSTEP_CLIENT_VIEW_VIEW_H
#define LOCKSTEP_CLIENT_VIEW_VIEW_H

#include "lockstep/client/view/chat_box.h"
#include "lockstep/client/view/input_mapper.h"
#include "lockstep/client/view/scene.h"

typedef struct ls_view_config {
    ls_view_source source;
    bool interpolates; /* at first; a key changes it */
    bool has_chat;     /* Enter opens a line, and keys say quick ones */
    ls_view_ear ear;   /* of a record; without `hear` it is silent */
} ls_view_config;

/* The requests of the person since the last look; the owner of the view carries them out. */
typedef struct ls_view_requests {
    bool wants_picture; /* a file of it */
    bool wants_close;
} ls_view_requests;

typedef struct ls_view ls_view;

/* NO_MEMORY. */
ls_status ls_view_create(const ls_view_config *config, const ls_allocator *allocator,
                         ls_view **out);
void ls_view_destroy(ls_view *view);

void ls_view_receive(ls_view *view, const ls_view_event *event);
ls_view_requests ls_view_pop_requests(ls_view *view);

/* The line that the person has said to the others since the last look, or whether they pressed the
 * key for being ready; false: they did not. */
bool ls_view_pop_said(ls_view *view, ls_chat_box_said *said);
bool ls_view_pop_ready(ls_view *view);

/* A line of a player, or of the program about the chat. */
void ls_view_add_chat(ls_view *view, const char *line);
/* The person types a line: keys are letters. */
bool ls_view_is_typing(const ls_view *view);

typedef struct ls_view_frame {
    uint64_t now_ns;
    uint64_t work_ns; /* what the frame before cost, for the graph */
    uint32_t width;   /* of the canvas, pixels */
    uint32_t height;
    const ls_canvas_fonts *fonts; /* their sizes count; NULL: there will be no overlay */
} ls_view_frame;

/* Composes the picture that is due. */
void ls_view_compose(ls_view *view, const ls_view_frame *frame, ls_scene *scene);

/* The controls for one more input; see ls_input_mapper_next. */
const ls_controls *ls_view_next_controls(ls_view *view);

/* Those of the newest input, for drawing. */
const ls_controls *ls_view_controls(const ls_view *view);

/* Of a record: where it begins to play (the nearest tick that there is) and how fast, as a power of
 * two. */
void ls_view_start_at(ls_view *view, ls_tick tick, int32_t speed);

/* Of a record: it is at its end, and that was composed. */
bool ls_view_is_at_end(const ls_view *view);

/* The HUD model of the frame that was composed last. */
const ls_hud_model *ls_view_hud(const ls_view *view);
const ls_camera *ls_view_camera(const ls_view *view);

#endif

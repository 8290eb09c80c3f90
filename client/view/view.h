/* View: what a person sees of a source and how their keys and pointer move it: the picture, the
 * camera, the overlay, the controls for their inputs and, over a record, pause, step, speed and the
 * seek bar. Paints on a canvas that it is given; knows no window, no network and no clock. */
#ifndef LOCKSTEP_CLIENT_VIEW_VIEW_H
#define LOCKSTEP_CLIENT_VIEW_VIEW_H

#include "lockstep/client/view/input_mapper.h"
#include "lockstep/client/view/overlay.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

#define LS_VIEW_BACKGROUND 0x161B22FFu

/* Shapes beyond it are not drawn. */
#define LS_VIEW_SHAPES_MAX 65536u

typedef struct ls_view_config {
    ls_view_source source;
    bool interpolates; /* at first; a key changes it */
    /* NULL: no text, as on a terminal, whose cells are too coarse for it. */
    const ls_canvas_font *font;
    ls_view_ear ear; /* of a record; without `hear` it is silent */
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

/* The font from now on: a window that moves to another screen may need another one. */
void ls_view_set_font(ls_view *view, const ls_canvas_font *font);

void ls_view_receive(ls_view *view, const ls_view_event *event);
ls_view_requests ls_view_pop_requests(ls_view *view);

/* Paints the picture that is due at `now_ns`. `work_ns`: what the frame before cost, for the
 * graph. */
void ls_view_paint(ls_view *view, uint64_t now_ns, uint64_t work_ns, ls_canvas *canvas);

/* The controls for one more input; see ls_input_mapper_next. */
const ls_controls *ls_view_next_controls(ls_view *view);

/* Those of the newest input, for drawing. */
const ls_controls *ls_view_controls(const ls_view *view);

/* Of a record: where it begins to play (the nearest tick that there is) and how fast, as a power of
 * two. */
void ls_view_start_at(ls_view *view, ls_tick tick, int32_t speed);

/* Of a record: it is at its end, and that was painted. */
bool ls_view_is_at_end(const ls_view *view);

/* The HUD model of the frame that was painted last. */
const ls_hud_model *ls_view_hud(const ls_view *view);
const ls_camera *ls_view_camera(const ls_view *view);

#endif

/* Scene: all that one picture shows, as a view composes it when it is due. It owns copies of what a
 * simulation lends: another thread may paint it while the match goes on. Paints on any canvas;
 * knows no source and no time. */
#ifndef LOCKSTEP_CLIENT_VIEW_SCENE_H
#define LOCKSTEP_CLIENT_VIEW_SCENE_H

#include "lockstep/client/view/camera.h"
#include "lockstep/client/view/overlay.h"
#include "lockstep/client/view/text_view.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

#define LS_SCENE_BACKGROUND 0x161B22FFu

/* Shapes beyond it are not drawn. */
#define LS_SCENE_SHAPES_MAX 65536u

typedef struct ls_scene {
    const ls_allocator *allocator;
    ls_draw_list list; /* LS_SCENE_SHAPES_MAX of its own */
    uint8_t *kept;     /* the texts and pixels of its shapes */
    size_t kept_bytes;
    ls_camera camera;
    ls_hud_model hud;
    ls_frame_times times;
    bool has_figures; /* the frame times and the lines of the HUD are shown */
    bool has_bar;     /* as in ls_overlay */
    bool has_keys;
    bool is_record; /* there is a playhead */
    ls_playhead playhead;
    bool has_box; /* that the pointer draws */
    ls_canvas_point box_from;
    ls_canvas_point box_to;
} ls_scene;

/* NO_MEMORY. */
ls_status ls_scene_init(ls_scene *scene, const ls_allocator *allocator);
void ls_scene_deinit(ls_scene *scene); /* a zeroed one too */

/* The list for the shapes of a new picture, empty. */
ls_draw_list *ls_scene_begin(ls_scene *scene);

/* Copies what the shapes borrow from a simulation. Where memory is out, that is not shown. */
void ls_scene_keep_borrowed(ls_scene *scene);

/* Its texts and bars. */
ls_overlay ls_scene_overlay(const ls_scene *scene, const ls_canvas_fonts *fonts, ls_canvas *canvas);

/* The texts among the shapes, for a terminal, whose cells have their own letters: at most
 * `capacity` of them, borrowed from the scene. Returns how many. */
uint32_t ls_scene_texts(const ls_scene *scene, ls_text_run *runs, uint32_t capacity);

/* `fonts` is NULL: no text and no overlay. */
void ls_scene_paint(const ls_scene *scene, const ls_canvas_fonts *fonts, ls_canvas *canvas);

#endif

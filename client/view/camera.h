/* Camera: which part of the world a canvas shows. Fits the whole view at first; a person pans and
 * zooms it, or lets it follow their own shapes. Cosmetic: floating point, never saved or hashed. */
#ifndef LOCKSTEP_CLIENT_VIEW_CAMERA_H
#define LOCKSTEP_CLIENT_VIEW_CAMERA_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/simulation/simulation.h"

typedef enum ls_camera_mode {
    LS_CAMERA_FIT,    /* all that is worth showing */
    LS_CAMERA_FREE,   /* where the person put it */
    LS_CAMERA_FOLLOW, /* after their own shapes */
} ls_camera_mode;

typedef struct ls_camera {
    ls_camera_mode mode;
    double x; /* of the world, in the middle of the canvas */
    double y;
    double pixels_per_m; /* > 0 */
    double width;        /* of the canvas, pixels */
    double height;
    double top;    /* of the canvas, pixels that something else takes: all that is worth showing */
    double bottom; /* fits between them */
} ls_camera;

ls_camera ls_camera_make(void);

/* Begins a frame with the size of the canvas, the shapes to see, the slot of the person's own
 * shapes (slot + 1; 0: none are) and how long the last frame was. */
void ls_camera_update(ls_camera *camera, const ls_canvas *canvas, const ls_draw_list *list,
                      uint32_t owner, double elapsed_s);

/* Makes everything larger by so many notches of a wheel, or smaller; `at` (pixels) stays where it
 * is. */
void ls_camera_zoom(ls_camera *camera, ls_canvas_point at, double notches);

/* The picture moves by so many pixels. */
void ls_camera_pan(ls_camera *camera, double right, double down);

ls_canvas_point ls_camera_to_canvas(const ls_camera *camera, ls_vec2 world);
ls_vec2 ls_camera_to_world(const ls_camera *camera, ls_canvas_point place);

#endif

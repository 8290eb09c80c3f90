/* Scene: paints a draw list on a canvas as a camera sees it. Shapes that are small on the canvas
 * are painted with less detail, so that 20,000 bodies fit a frame. Keeps nothing. Called by view.
 */
#ifndef LOCKSTEP_CLIENT_VIEW_SCENE_H
#define LOCKSTEP_CLIENT_VIEW_SCENE_H

#include "lockstep/client/view/camera.h"
#include "lockstep/client/view/canvas.h"

/* The shapes of `owner` (slot + 1; 0: no player) get a light rim. */
void ls_scene_paint(const ls_draw_list *list, const ls_camera *camera, uint32_t owner,
                    ls_canvas *canvas);

#endif

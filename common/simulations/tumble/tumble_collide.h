/* Tumble collide: where two shapes touch, or are about to. Knows nothing of masses and motion.
 * Boxes by the separating axes of both and of their edges (Gottschalk, Lin, Manocha, "OBBTree",
 * 1996), faces clipped against each other. Called by the contact passes and by tests. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_COLLIDE_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_COLLIDE_H

#include "lockstep/common/simulations/tumble/tumble_state.h"

#define LS_TUMBLE_POINTS_MAX 4u

typedef struct ls_tumble_manifold {
    ls_vec3 normal; /* from a to b, unit length */
    uint32_t count; /* 0: further apart than the margin */
    ls_vec3 points[LS_TUMBLE_POINTS_MAX];
    ls_fixed depths[LS_TUMBLE_POINTS_MAX]; /* m; below 0, and down to -margin, when apart */
} ls_tumble_manifold;

typedef struct ls_tumble_solid {
    const ls_tumble_body *body;
    const ls_axes *axes; /* of its orientation */
} ls_tumble_solid;

ls_tumble_manifold ls_tumble_collide(ls_tumble_solid a, ls_tumble_solid b, ls_fixed margin);

/* With the half space below `height` along `up` (unit length): the normal is -up, the points are
 * those furthest down. */
ls_tumble_manifold ls_tumble_collide_plane(ls_tumble_solid a, ls_vec3 up, ls_fixed height,
                                           ls_fixed margin);

/* Whether there may be points of it; where there may not, asking this alone is cheaper. */
static inline bool ls_tumble_is_near_plane(const ls_tumble_body *body, ls_vec3 up, ls_fixed height,
                                           ls_fixed margin)
{
    return ls_vec3_dot(body->position, up) - height - body->radius <= margin;
}

#endif

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

/* ---- near: which bodies are near another one, found by a grid over the floor. Made anew by each
 * pass that asks, from the positions of its tick; never saved. A body that is somewhere or of a
 * size that no step leaves it (its state was sent) is compared with all others, so that a pair is
 * found exactly as comparing all with all would. Called by the contact passes ---- */

#define LS_TUMBLE_MARK_WORDS ((LS_TUMBLE_BODIES_MAX + LS_TUMBLE_PLAYERS_MAX + 63) / 64)

typedef struct ls_tumble_near {
    ls_cell_grid grid;
    ls_tumble_spot *spots; /* those of the grid, then the strays */
    uint32_t grid_count;
    uint32_t spot_count;
    ls_fixed reach_max; /* of those of the grid */
    /* Bodies that the last search found and its caller has not taken yet: a bit for each, and one
     * for each word of these that is not 0. */
    uint64_t marks[LS_TUMBLE_MARK_WORDS];
    uint64_t marked_words[(LS_TUMBLE_MARK_WORDS + 63) / 64];
} ls_tumble_near;

/* Which of those near it a body asks for: every sleeper, and of those awake the later ones. */
typedef struct ls_tumble_search {
    uint32_t index;
    uint32_t awake_after; /* UINT32_MAX: sleepers only */
    ls_fixed margin;      /* m, in addition to the reach of both */
} ls_tumble_search;

/* The movers must be made before. Borrows the world's scratch. */
void ls_tumble_near_build(const ls_tumble_world *world, ls_tumble_near *near);

/* Marks what is near. All that the search before found must be taken. */
void ls_tumble_near_find(const ls_tumble_world *world, ls_tumble_near *near,
                         const ls_tumble_search *search);

/* Takes the found body of the lowest number; false when none is left. */
bool ls_tumble_near_pop(ls_tumble_near *near, uint32_t *index);

#endif

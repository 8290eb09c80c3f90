/* Arena collide: where two shapes touch, or a shape and a wall. Pure geometry on single bodies:
 * knows nothing of velocities, of the match or of other bodies. Called by the narrowphase, by the
 * shots and by the tests. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_COLLIDE_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_COLLIDE_H

#include "lockstep/common/simulations/arena/arena_state.h"

typedef struct ls_arena_manifold {
    ls_vec2 normal;     /* unit length, from the first body towards the second */
    uint32_t count;     /* of points, 0 to 2 */
    ls_vec2 points[2];  /* in the world */
    ls_fixed depths[2]; /* how far the bodies overlap there, m */
} ls_arena_manifold;

/* Discs and boxes in any combination; a shape of none touches nothing. Bodies are at most 2^14 m
 * apart. Boxes by the separating axis test, the incident edge clipped to the reference face
 * (E. Catto, "Iterative Dynamics with Temporal Coherence", 2005). */
ls_arena_manifold ls_arena_collide(const ls_arena_body *a, const ls_arena_body *b);

/* The body against the wall at distance half_size in the direction of wall x quarter turns;
 * touching begins `margin` before the wall, where depths are negative. */
ls_arena_manifold ls_arena_collide_wall(const ls_arena_body *body, uint32_t wall,
                                        ls_fixed half_size, ls_fixed margin);

/* Whether two points are nearer than `reach`. */
static inline bool ls_arena_is_near(ls_vec2 a, ls_vec2 b, ls_fixed reach)
{
    ls_vec2 offset = ls_vec2_sub(b, a);
    /* In one jump, which is nearly always the same: each by itself is as often this as that. */
    if (ls_fixed_max(ls_fixed_abs(offset.x), ls_fixed_abs(offset.y)) >= reach) {
        return false;
    }
    return ls_vec2_dot(offset, offset) < ls_fixed_mul(reach, reach);
}

/* Whether the circles round them overlap: without that, bodies do not touch. */
static inline bool ls_arena_circles_overlap(const ls_arena_body *a, const ls_arena_body *b)
{
    return ls_arena_is_near(a->position, b->position, ls_fixed_add(a->radius, b->radius));
}

/* Half the width and height of the upright rectangle round the body. */
ls_vec2 ls_arena_extent(const ls_arena_body *body);

#endif

/* Arena world: what every pass works on: the state's parts, the rules of the match in the units of
 * one tick, and the scratch memory. Made anew by each pass; keeps nothing between them but what
 * lies in scratch, and that only within a step. Called by the arena's passes. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_WORLD_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_WORLD_H

#include "lockstep/common/simulations/arena/arena_grid.h"
#include "lockstep/common/simulations/arena/arena_state.h"

/* A pair of a body with another one whose circle overlaps its own, in the list of the body's. */
typedef struct ls_arena_pair {
    uint32_t b;
    uint32_t next; /* place of the next pair, which has a higher b, or LS_ARENA_NO_PAIR */
} ls_arena_pair;

#define LS_ARENA_NO_PAIR UINT32_MAX

/* Instead of a body's number: the walls. */
#define LS_ARENA_WALL UINT32_MAX

/* A copy of the motion of a body that something touches. Mover 0 are the walls, which never move.
 */
typedef struct ls_arena_mover {
    ls_vec2 velocity;
    ls_fixed spin;
    ls_vec2 way;   /* since the tick began, m */
    ls_fixed turn; /* since the tick began, rad */
    ls_fixed inverse_mass;
    ls_fixed inverse_inertia;
} ls_arena_mover;

/* One direction in which two bodies resist each other at a point. */
typedef struct ls_arena_row {
    ls_fixed arm_a; /* lever arm x direction, m */
    ls_fixed arm_b;
    ls_fixed spin_a; /* that an impulse of 1 gives a body, taken from a and given to b */
    ls_fixed spin_b;
    ls_fixed mass;    /* seen at this point in this direction, kg */
    ls_fixed impulse; /* in this tick so far, kg m/s */
} ls_arena_row;

typedef struct ls_arena_point {
    ls_arena_row row; /* along the contact's normal */
    ls_fixed depth;   /* when the tick began, m */
    ls_fixed bounce;  /* speed of b away from a to reach, m/s; 0: they do not bounce */
} ls_arena_point;

typedef struct ls_arena_contact {
    uint32_t mover_a;
    uint32_t mover_b;
    uint32_t a;
    uint32_t b; /* or LS_ARENA_WALL */
    uint32_t wall;
    uint16_t point_count;  /* 1 or 2 */
    uint16_t is_pressed;   /* was so in the last tick as well, and not by a collision */
    ls_vec2 normal;        /* from a towards b, unit length */
    ls_fixed inverse_mass; /* of both together */
    ls_arena_row friction; /* a quarter turn on from the normal, for both points together */
    ls_arena_point points[2];
} ls_arena_contact;

typedef struct ls_arena_rules {
    ls_fixed dt;        /* s */
    ls_fixed drag_keep; /* share of a velocity that is left after a tick */
    ls_fixed speed_max; /* m/s, so that no body passes another within a tick */
    ls_fixed spin_max;  /* rad/s */
    ls_fixed friction;
    ls_fixed restitution;
    uint32_t iterations;
    uint32_t still_limit; /* ticks of rest until sleep */
} ls_arena_rules;

typedef struct ls_arena_world {
    const ls_tick_inputs *inputs;
    uint32_t tick_rate_hz;
    ls_fixed half_size; /* walls stand at +-half_size on both axes, m */
    ls_arena_rules rules;
    ls_arena_layout layout;
    ls_arena_match *match;
    ls_arena_ship *ships;
    ls_arena_body *bodies;
    ls_arena_shot *shots;
    ls_arena_touch *touches;
    /* In scratch: */
    uint32_t pair_capacity;
    uint32_t contact_capacity;
    ls_arena_contact *contacts;
    ls_arena_pair *pairs;
    uint32_t *first_pairs; /* of each body: its place in pairs, or LS_ARENA_NO_PAIR */
    uint32_t *near_wall;   /* bodies that are awake and may touch one, then LS_ARENA_WALL */
    ls_arena_mover *movers;
    uint32_t *mover_count;
    uint32_t *mover_of; /* by body: 0 if nothing touches it */
    ls_arena_grid grid; /* of where bodies were when the broadphase ran */
} ls_arena_world;

ls_arena_world ls_arena_world_of(const ls_step *step);

size_t ls_arena_scratch_bytes(const ls_sim_config *config);

/* The passes, in order. */
void ls_arena_pass_events(const ls_step *step);
void ls_arena_pass_ships(const ls_step *step);
void ls_arena_pass_broadphase(const ls_step *step);
void ls_arena_pass_narrowphase(const ls_step *step);
void ls_arena_pass_solve(const ls_step *step);
void ls_arena_pass_integrate(const ls_step *step);
void ls_arena_pass_shots(const ls_step *step);
void ls_arena_pass_spawn(const ls_step *step);

/* Asleep: at rest for long; neither moves nor looks for neighbours until something pushes it. */
static inline bool ls_arena_is_asleep(const ls_arena_world *world, const ls_arena_body *body)
{
    return body->still_ticks >= world->rules.still_limit &&
           (body->velocity.x | body->velocity.y | body->spin) == 0;
}

/* Whole ticks in `thousandths` of a second, at least 1. */
static inline uint32_t ls_arena_ticks(const ls_arena_world *world, uint32_t thousandths)
{
    uint32_t ticks = world->tick_rate_hz * thousandths / 1000;
    return ticks > 0 ? ticks : 1;
}

#endif

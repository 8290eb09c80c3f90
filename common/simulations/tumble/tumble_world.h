/* Tumble world: what every pass works on: the state's parts, the rules of the match in the units of
 * one tick, and the scratch memory. Made anew by each pass; keeps nothing between them but what
 * lies in scratch, and that only within a step. Called by the passes of tumble. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_WORLD_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_WORLD_H

#include "lockstep/common/simulations/cell_grid.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"

/* How deep bodies may overlap without being moved apart. */
#define LS_TUMBLE_SLOP LS_FIXED_RATIO(5, 1000)

/* How a body turns by an impulse in a direction at a point. */
typedef struct ls_tumble_lever {
    ls_vec3 turn; /* lever arm x direction, m */
    ls_vec3 spin; /* what an impulse of 1 does to the spin, 1/(kg m) */
} ls_tumble_lever;

/* One direction in which a contact point resists: along the normal or along the surface. */
typedef struct ls_tumble_row {
    ls_vec3 direction; /* from a towards b, unit length */
    ls_fixed mass;     /* seen at this point in this direction, kg */
    ls_fixed impulse;  /* so far, kg m/s */
    ls_tumble_lever a;
} ls_tumble_row;

enum {
    LS_TUMBLE_NORMAL,
    LS_TUMBLE_TANGENT, /* and a second one */
    LS_TUMBLE_ROWS = 3,
};

/* The second body of a contact, as the solver treats it. */
typedef enum ls_tumble_side {
    LS_TUMBLE_MOVES,
    LS_TUMBLE_FIXED, /* a wall or asleep */
    LS_TUMBLE_FLOOR, /* fixed, and its rows lie along the axes of the world */
} ls_tumble_side;

/* A contact point. The solver reads it from the front in every iteration; the levers of b are last,
 * as a body that is fixed has none. */
typedef struct ls_tumble_contact {
    uint32_t a;
    uint32_t b;    /* body_count for floor and walls */
    uint32_t pair; /* as of the touch that it becomes */
    ls_tumble_side side_b;
    ls_fixed depth;    /* m; below 0 while they do not touch yet */
    ls_fixed target;   /* speed of b away from a to reach, m/s */
    ls_fixed recovery; /* the same, for taking the overlap away */
    ls_fixed recovery_impulse;
    ls_tumble_row rows[LS_TUMBLE_ROWS];
    ls_vec3 point;
    ls_tumble_lever b_levers[LS_TUMBLE_ROWS];
} ls_tumble_contact;

typedef struct ls_tumble_motion {
    ls_vec3 velocity;
    ls_vec3 spin;
} ls_tumble_motion;

/* A body as the contacts see it; floor and walls are one that nothing moves, and so is what sleeps:
 * all zeros but for the axes. */
typedef struct ls_tumble_mover {
    ls_axes axes;
    ls_vec3 inertia[3]; /* rows of the inverse, about the world's axes */
    ls_fixed inverse_mass;
    ls_fixed travel; /* the most it moves in a tick, m */
    ls_tumble_motion motion;
    ls_tumble_motion recovery; /* only to take overlaps away: gone after the tick */
    bool recovers;             /* recovery may not be zero */
} ls_tumble_mover;

/* A body as a search for neighbours sees it. */
typedef struct ls_tumble_spot {
    ls_vec3 position;
    ls_fixed reach; /* radius and travel, m */
    uint32_t index;
    bool is_asleep;
} ls_tumble_spot;

typedef struct ls_tumble_rules {
    ls_fixed rate;      /* 1/s */
    ls_fixed dt;        /* s */
    ls_fixed gravity;   /* m/s2 */
    ls_fixed speed_max; /* m/s, so that no body passes another within a tick */
    ls_fixed spin_max;  /* rad/s */
    ls_fixed drag_keep; /* share of the velocity that is left after a tick, and of the spin */
    ls_fixed spin_keep;
    ls_fixed friction;
    ls_fixed restitution;
    uint32_t iterations;
    uint32_t still_limit; /* ticks of rest until sleep */
} ls_tumble_rules;

typedef struct ls_tumble_world {
    const ls_tick_inputs *inputs;
    ls_fixed half_size; /* walls stand at +-half_size on x and y, m */
    ls_tumble_rules rules;
    ls_tumble_layout layout;
    ls_tumble_match *match;
    ls_tumble_player *players;
    ls_tumble_body *bodies;
    ls_tumble_touch *touches;
    uint32_t touch_known; /* touches of the tick before, while contacts are looked for */
    uint32_t touch_next;  /* the first of them whose pair may still come up */
    /* In scratch: */
    ls_tumble_mover *movers;     /* of each body, then of floor and walls */
    ls_tumble_contact *contacts; /* touch_count of them */
    /* Of tumble_near: */
    ls_tumble_spot *spots; /* body_count of them */
    uint32_t *cells;       /* of each body */
    ls_cell_grid grid;
} ls_tumble_world;

ls_tumble_world ls_tumble_world_of(const ls_step *step);

size_t ls_tumble_scratch_bytes(const ls_sim_config *config);

/* The passes, in order. */
void ls_tumble_pass_events(const ls_step *step);
void ls_tumble_pass_push(const ls_step *step);
void ls_tumble_pass_wake(const ls_step *step);
void ls_tumble_pass_contacts(const ls_step *step);
void ls_tumble_pass_solve(const ls_step *step);
void ls_tumble_pass_integrate(const ls_step *step);

/* Asleep: at rest for long; stands like a wall until something that moves touches it. */
static inline bool ls_tumble_is_asleep(const ls_tumble_world *world, const ls_tumble_body *body)
{
    return body->still_ticks >= world->rules.still_limit;
}

#endif

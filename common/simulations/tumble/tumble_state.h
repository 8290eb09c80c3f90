/* Tumble state: the parts of the flat state and their layout. One match header, then players, then
 * bodies, then touches; every slot has the body of its number. Holds no rules; called by the
 * simulation's passes, drawing and bot, and by tests that reach into a state. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_STATE_H

#include "lockstep/common/maths/fixed.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulations/cell_grid.h"

#include <stdbool.h>

/* An input is a pad of three bytes: buttons; how hard to push along x and along y, i8, -127 .. 127
 * (-128 counts as -127). Along x is right in the picture, along y is away. Missing bytes are 0. */
#define LS_TUMBLE_PAD_BYTES 3u
#define LS_TUMBLE_JUMP 0x01u

/* Rigid boxes and balls in space fall into a room with a floor and four walls, pile up and come to
 * rest; players are balls that push them about. Fixed point throughout; z is up. */
const ls_simulation *ls_tumble_simulation(void);

/* ---- Vec3: vectors and rotations in space, in fixed point. Overflow wraps as ls_fixed does;
 * lengths up to 2^15 are safe everywhere ---- */

typedef struct ls_vec3 {
    ls_fixed x;
    ls_fixed y;
    ls_fixed z;
} ls_vec3;

/* The axes of a body in the world: the columns of its rotation. */
typedef struct ls_axes {
    ls_vec3 axis[3];
} ls_axes;

static inline ls_vec3 ls_vec3_add(ls_vec3 a, ls_vec3 b)
{
    return (ls_vec3){ls_fixed_add(a.x, b.x), ls_fixed_add(a.y, b.y), ls_fixed_add(a.z, b.z)};
}

static inline ls_vec3 ls_vec3_sub(ls_vec3 a, ls_vec3 b)
{
    return (ls_vec3){ls_fixed_sub(a.x, b.x), ls_fixed_sub(a.y, b.y), ls_fixed_sub(a.z, b.z)};
}

static inline ls_vec3 ls_vec3_scale(ls_vec3 a, ls_fixed factor)
{
    return (ls_vec3){ls_fixed_mul(a.x, factor), ls_fixed_mul(a.y, factor),
                     ls_fixed_mul(a.z, factor)};
}

/* a + b*factor. */
static inline ls_vec3 ls_vec3_along(ls_vec3 a, ls_vec3 b, ls_fixed factor)
{
    return ls_vec3_add(a, ls_vec3_scale(b, factor));
}

static inline ls_vec3 ls_vec3_negate(ls_vec3 a)
{
    return (ls_vec3){ls_fixed_negate(a.x), ls_fixed_negate(a.y), ls_fixed_negate(a.z)};
}

static inline ls_fixed ls_vec3_dot(ls_vec3 a, ls_vec3 b)
{
    ls_fixed flat = ls_fixed_add(ls_fixed_mul(a.x, b.x), ls_fixed_mul(a.y, b.y));
    return ls_fixed_add(flat, ls_fixed_mul(a.z, b.z));
}

static inline ls_vec3 ls_vec3_cross(ls_vec3 a, ls_vec3 b)
{
    return (ls_vec3){
        ls_fixed_sub(ls_fixed_mul(a.y, b.z), ls_fixed_mul(a.z, b.y)),
        ls_fixed_sub(ls_fixed_mul(a.z, b.x), ls_fixed_mul(a.x, b.z)),
        ls_fixed_sub(ls_fixed_mul(a.x, b.y), ls_fixed_mul(a.y, b.x)),
    };
}

static inline ls_fixed ls_vec3_length(ls_vec3 a)
{
    return ls_vec2_length((ls_vec2){ls_vec2_length((ls_vec2){a.x, a.y}), a.z});
}

/* Whether ls_vec3_length(a) <= most; most >= 0. Without a square root where that is plain to see.
 */
bool ls_vec3_is_within(ls_vec3 a, ls_fixed most);

/* By number, 0 .. 2. */
static inline ls_fixed ls_vec3_part(ls_vec3 a, uint32_t axis)
{
    return axis == 0 ? a.x : axis == 1 ? a.y : a.z;
}

/* Of length 1; (0, 0, 1) for no direction at all. */
ls_vec3 ls_vec3_normal(ls_vec3 a);

/* Two directions at right angles to the unit vector `a` and to each other. */
void ls_vec3_tangents(ls_vec3 a, ls_vec3 out[2]);

ls_axes ls_axes_of(ls_quaternion orientation);

/* From the body's own directions to the world's, and back. */
static inline ls_vec3 ls_axes_to_world(const ls_axes *axes, ls_vec3 a)
{
    ls_vec3 flat = ls_vec3_along(ls_vec3_scale(axes->axis[0], a.x), axes->axis[1], a.y);
    return ls_vec3_along(flat, axes->axis[2], a.z);
}

static inline ls_vec3 ls_axes_to_body(const ls_axes *axes, ls_vec3 a)
{
    return (ls_vec3){ls_vec3_dot(axes->axis[0], a), ls_vec3_dot(axes->axis[1], a),
                     ls_vec3_dot(axes->axis[2], a)};
}

/* Turned by `turn` (radians about each axis of the world, small), of length 1 again. */
ls_quaternion ls_quaternion_turned(ls_quaternion from, ls_vec3 turn);

/* ---- state ---- */

#define LS_TUMBLE_BODIES_MAX 5000u
#define LS_TUMBLE_PLAYERS_MAX 8u

typedef enum ls_tumble_param {
    LS_TUMBLE_PARAM_BODIES,
    LS_TUMBLE_PARAM_BOXES,
    LS_TUMBLE_PARAM_FRICTION,
    LS_TUMBLE_PARAM_RESTITUTION,
    LS_TUMBLE_PARAM_GRAVITY,
    LS_TUMBLE_PARAM_ITERATIONS,
    LS_TUMBLE_PARAM_COUNT,
} ls_tumble_param;

typedef enum ls_tumble_shape {
    LS_TUMBLE_NONE, /* a slot without a player: all zeros */
    LS_TUMBLE_BOX,
    LS_TUMBLE_BALL,
} ls_tumble_shape;

/* m */
#define LS_TUMBLE_HALF_MIN LS_FIXED_RATIO(28, 100)
#define LS_TUMBLE_HALF_MAX LS_FIXED_RATIO(52, 100)
#define LS_TUMBLE_PLAYER_RADIUS LS_FIXED_HALF

typedef struct ls_tumble_match {
    ls_rng spawn_rng;
    uint32_t ticks;    /* played */
    uint32_t awake;    /* bodies that moved in the last tick */
    uint32_t contacts; /* points that the last tick found, and touches it left */
    uint32_t serial;   /* players' balls that ever came into play */
} ls_tumble_match;

typedef struct ls_tumble_player {
    uint8_t is_present;
    uint8_t is_on_ground; /* something bore its ball in the last tick */
    uint8_t buttons;      /* of the last input */
    int8_t push_x;        /* -127 .. 127, of the last input */
    int8_t push_y;
    uint8_t padding[3];
} ls_tumble_player;

typedef struct ls_tumble_body {
    ls_vec3 position;
    ls_quaternion orientation;
    ls_vec3 velocity;
    ls_vec3 spin; /* about the axes of the world */
    ls_vec3 half; /* of a box, along its own axes; the radius thrice for a ball */
    ls_fixed radius;
    ls_fixed inverse_mass;
    ls_vec3 inverse_inertia; /* about its own axes */
    uint32_t serial;         /* the match's when it came into play; 0 from the start on */
    uint16_t still_ticks;    /* how long it has hardly moved; it sleeps at the limit */
    uint8_t shape;           /* ls_tumble_shape */
    uint8_t padding;
} ls_tumble_body;

/* The result of a contact point, which the next tick begins with: a pile does not have to find out
 * anew which bodies bear it. In the order of their pairs; those beyond match.contacts are zeros. */
typedef struct ls_tumble_touch {
    uint32_t pair; /* contacts of two bodies have the same, and later pairs a larger one */
    uint32_t padding;
    ls_vec3 point;   /* m */
    ls_vec3 impulse; /* on the second body, kg m/s */
} ls_tumble_touch;

/* Byte offsets of the parts, and how many items they have. */
typedef struct ls_tumble_layout {
    uint32_t player_count;
    uint32_t body_count; /* with player_count balls in front */
    uint32_t touch_count;
    size_t players;
    size_t bodies;
    size_t touches;
    size_t bytes;
} ls_tumble_layout;

ls_tumble_layout ls_tumble_layout_of(const ls_sim_config *config);

/* From the middle to a wall, m. */
ls_fixed ls_tumble_half_size(const ls_sim_config *config);

/* A state to read: for drawing and bots. */
typedef struct ls_tumble_view {
    ls_tumble_layout layout;
    const ls_tumble_match *match;
    const ls_tumble_player *players;
    const ls_tumble_body *bodies;
} ls_tumble_view;

ls_tumble_view ls_tumble_view_of(const ls_sim_config *config, const void *state);

/* As in ls_simulation. State 0: bodies in layers above the floor, none touching another, and nobody
 * in the slots. */
uint32_t ls_tumble_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity);
ls_status ls_tumble_init(const ls_sim_config *config, void *state, ls_text *why);

/* Where a point of the world stands in the picture. */
ls_vec2 ls_tumble_project(const ls_sim_config *config, ls_vec3 point);

/* A body at rest in the origin with the mass of its size; `density` in kg/m3. */
ls_tumble_body ls_tumble_body_make(ls_tumble_shape shape, ls_vec3 half, ls_fixed density);

/* ---- Tumble world: what every pass works on: the state's parts, the rules of the match in the
 * units of one tick, and the scratch memory. Made anew by each pass; keeps nothing between
 * them but what lies in scratch, and that only within a step ---- */

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

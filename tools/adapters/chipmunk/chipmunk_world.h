/* Chipmunk world: the whole state of the buggies' game as one flat block: what the engine keeps
 * between two steps of the bodies, joints and contacts is copied out of it after every step, so
 * that save, load, hash, schema and picture need no engine. Called by the files of this folder. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_WORLD_H
#define LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_WORLD_H

#include "lockstep/common/simulation/simulation.h"

/* An input is one byte of buttons; missing bytes are 0. */
#define CHIPMUNK_LEFT 1u
#define CHIPMUNK_RIGHT 2u
#define CHIPMUNK_RESCUE 4u

enum {
    CHIPMUNK_PARAM_ROWS,
    CHIPMUNK_PARAM_ITERATIONS,
    CHIPMUNK_PARAM_GRAVITY,
    CHIPMUNK_PARAM_COUNT,
};

#define CHIPMUNK_PLAYERS_MAX 8u
#define CHIPMUNK_ROWS_MAX 8u
#define CHIPMUNK_CRATES_MAX (CHIPMUNK_ROWS_MAX * (CHIPMUNK_ROWS_MAX + 1) / 2)

/* Bodies in their order: three a slot (there or not), the bridge, the seesaw, the crates. */
enum {
    CHIPMUNK_CHASSIS,
    CHIPMUNK_WHEELS, /* the first of two */
    CHIPMUNK_CAR_BODIES = 3,
    CHIPMUNK_PLANKS = CHIPMUNK_PLAYERS_MAX * CHIPMUNK_CAR_BODIES,
    CHIPMUNK_PLANK_COUNT = 14,
    CHIPMUNK_SEESAW = CHIPMUNK_PLANKS + CHIPMUNK_PLANK_COUNT,
    CHIPMUNK_CRATES,
    CHIPMUNK_BODIES_MAX = CHIPMUNK_CRATES + CHIPMUNK_CRATES_MAX,
};

/* Joints in their order. Of a car: a groove and a motor for each wheel; its springs keep nothing
 * from step to step. */
enum {
    CHIPMUNK_CAR_JOINTS = 4,
    CHIPMUNK_HINGES = CHIPMUNK_PLAYERS_MAX * CHIPMUNK_CAR_JOINTS,
    CHIPMUNK_HINGE_COUNT = CHIPMUNK_PLANK_COUNT + 1,
    CHIPMUNK_SEESAW_PIVOT = CHIPMUNK_HINGES + CHIPMUNK_HINGE_COUNT,
    CHIPMUNK_SEESAW_LIMIT,
    CHIPMUNK_JOINTS_MAX,
};

#define CHIPMUNK_TOUCHES_MAX 256u

typedef struct chipmunk_body {
    double x, y, angle;
    double vx, vy, spin;
    double push_x, push_y, push_spin; /* the engine's velocities against overlap, not yet applied */
} chipmunk_body;

/* The impulse of a joint in its newest step: the solver begins the next one with it. */
typedef struct chipmunk_joint {
    double x, y;
} chipmunk_joint;

/* Two shapes that touch, and what they pushed with: the engine's cached arbiter. */
typedef struct chipmunk_touch {
    uint16_t a, b; /* ids of shapes */
    uint32_t points;
    uint64_t feature[2]; /* which corners: the engine's hash of a contact */
    double normal[2], friction[2];
} chipmunk_touch;

typedef struct chipmunk_driver {
    uint32_t is_here;
    uint32_t goal; /* 0: the left end, 1: the right one */
    uint32_t crossings;
    uint32_t is_rescue_held;
    uint32_t buttons; /* of this tick */
} chipmunk_driver;

typedef struct chipmunk_world {
    chipmunk_body bodies[CHIPMUNK_BODIES_MAX];
    chipmunk_joint joints[CHIPMUNK_JOINTS_MAX];
    chipmunk_touch touches[CHIPMUNK_TOUCHES_MAX];
    chipmunk_driver drivers[CHIPMUNK_PLAYERS_MAX];
    uint32_t touch_count;
    uint32_t reserved; /* 0 */
} chipmunk_world;

/* Metres. The ravine is in the middle; the ground is at height 0. */
#define CHIPMUNK_ROOM_HALF 28.0
#define CHIPMUNK_GOAL 23.0
#define CHIPMUNK_BANK 6.6
#define CHIPMUNK_RAVINE (-8.0)
#define CHIPMUNK_FALLEN (-4.0)
#define CHIPMUNK_CHASSIS_HALF_WIDTH 0.8
#define CHIPMUNK_CHASSIS_HALF_HEIGHT 0.22
#define CHIPMUNK_WHEEL_RADIUS 0.36
#define CHIPMUNK_AXLE 0.55 /* from the chassis's middle to a wheel, along and (at rest) below */
#define CHIPMUNK_AXLE_DEPTH 0.35
#define CHIPMUNK_PLANK_HALF_WIDTH 0.48
#define CHIPMUNK_PLANK_HALF_HEIGHT 0.09
#define CHIPMUNK_SEESAW_X 15.0
#define CHIPMUNK_SEESAW_Y 0.22
#define CHIPMUNK_SEESAW_HALF_WIDTH 3.2
#define CHIPMUNK_CRATE_HALF 0.4

static inline uint32_t chipmunk_crates(const ls_sim_config *config)
{
    uint32_t rows = (uint32_t)config->params[CHIPMUNK_PARAM_ROWS];
    return rows * (rows + 1) / 2;
}

#endif

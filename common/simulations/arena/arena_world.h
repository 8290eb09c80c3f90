/* Arena world: what every pass works on: the state's parts, the rules of the match in the units of
 * one tick, and the scratch memory. Made anew by each pass; keeps nothing between them but what
 * lies in scratch, and that only within a step. Called by the arena's passes. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_WORLD_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_WORLD_H

#include "lockstep/common/simulations/arena/arena_state.h"

/* ---- grid: the bodies in play as circles, sorted into cells, so that neighbours lie beside one
 * another in memory. Built anew in every tick. A circle's numbers are coarse, and rounded so that
 * the circles of bodies that overlap always do: the bodies themselves say whether two that are
 * found here overlap. Within a cell the circles stand by number of the body ---- */

/* A circle counts in steps of 2^-15 m: the bits of an ls_fixed that it does without. */
#define LS_ARENA_STEP_BITS 17

/* Behind the last sorted circle stand this many that overlap nothing. */
#define LS_ARENA_BLOCK 4u

typedef struct ls_arena_circle {
    int32_t x; /* from the corner of the arena with the lowest coordinates, steps */
    int32_t y;
    int32_t radius; /* rounded up, steps */
} ls_arena_circle;

/* A column for each number of a circle, so that a few circles are compared at once. */
typedef struct ls_arena_circles {
    int32_t *x;
    int32_t *y;
    int32_t *radius;
    uint32_t *tags;
} ls_arena_circles;

typedef struct ls_arena_grid {
    ls_fixed half_size;
    uint32_t body_count;
    uint32_t rows;
    uint32_t columns;
    uint32_t rows_per_step; /* times 2^32; any two bodies that overlap are in the same row or in */
    uint32_t columns_per_step; /* neighbouring rows, and so with columns */
    uint32_t stride;  /* from a cell to the one above: an empty cell at either end of a row */
    uint32_t *starts; /* cell c holds places starts[c] .. starts[c + 1] - 1; an empty row on top */
    ls_arena_circles sorted;   /* tagged with the body */
    ls_arena_circles unsorted; /* by body, tagged with the cell or LS_ARENA_NO_CELL */
} ls_arena_grid;

#define LS_ARENA_NO_CELL UINT32_MAX

/* Places with first_x <= x <= last_x and first_y <= y <= last_y, steps. */
typedef struct ls_arena_region {
    int32_t first_x;
    int32_t last_x;
    int32_t first_y;
    int32_t last_y;
} ls_arena_region;

/* Places [begin, end) of ls_arena_grid.sorted. */
typedef struct ls_arena_range {
    uint32_t begin;
    uint32_t end;
} ls_arena_range;

/* Empties the grid; then each body is put in or left out once, then finish sorts the circles. */
void ls_arena_grid_begin(ls_arena_grid *grid);
void ls_arena_grid_finish(ls_arena_grid *grid);

/* The squares of 2 m that hold every point within `reach` of `point`, measured along the axes. */
ls_arena_region ls_arena_grid_squares(const ls_arena_grid *grid, ls_vec2 point, ls_fixed reach);

/* The squares' numbers, in the order of rows and of places within a row. */
uint32_t ls_arena_grid_square(const ls_arena_grid *grid, ls_arena_circle circle);

/* The places of what every body may touch that touches this circle. */
ls_arena_region ls_arena_grid_around(ls_arena_circle circle);

/* Steps from the corner. One bit more, so that a point on the edge of a square is in it. */
static inline int32_t ls_arena_grid_steps(const ls_arena_grid *grid, ls_fixed coordinate)
{
    ls_fixed inside = ls_fixed_clamp(coordinate, -grid->half_size, grid->half_size);
    return (int32_t)((uint64_t)(inside + grid->half_size + 1) >> LS_ARENA_STEP_BITS);
}

static inline uint32_t ls_arena_grid_row(const ls_arena_grid *grid, int32_t y)
{
    uint32_t row = (uint32_t)(((uint64_t)(uint32_t)y * grid->rows_per_step) >> 32);
    return LS_MIN(row, grid->rows - 1);
}

static inline uint32_t ls_arena_grid_cell(const ls_arena_grid *grid, int32_t x, uint32_t row)
{
    uint32_t column = (uint32_t)(((uint64_t)(uint32_t)x * grid->columns_per_step) >> 32);
    return row * grid->stride + 1 + LS_MIN(column, grid->columns - 1);
}

static inline void ls_arena_grid_put(ls_arena_grid *grid, uint32_t body, ls_vec2 position,
                                     ls_fixed radius)
{
    int32_t x = ls_arena_grid_steps(grid, position.x);
    int32_t y = ls_arena_grid_steps(grid, position.y);
    ls_fixed round_up = ((ls_fixed)1 << LS_ARENA_STEP_BITS) - 1;
    uint64_t size = (uint64_t)(ls_fixed_clamp(radius, 0, LS_ARENA_RADIUS_MAX) + round_up);
    uint32_t cell = ls_arena_grid_cell(grid, x, ls_arena_grid_row(grid, y));
    grid->unsorted.x[body] = x;
    grid->unsorted.y[body] = y;
    grid->unsorted.radius[body] = (int32_t)(size >> LS_ARENA_STEP_BITS);
    grid->unsorted.tags[body] = cell;
    grid->starts[cell + 2]++;
}

static inline void ls_arena_grid_leave_out(ls_arena_grid *grid, uint32_t body)
{
    grid->unsorted.tags[body] = LS_ARENA_NO_CELL;
}

static inline ls_arena_circle ls_arena_circle_at(const ls_arena_circles *circles, uint32_t place)
{
    return (ls_arena_circle){circles->x[place], circles->y[place], circles->radius[place]};
}

static inline uint32_t ls_arena_grid_count(const ls_arena_grid *grid)
{
    return grid->starts[grid->rows * grid->stride];
}

/* The circles of a row between the region's columns; some may lie outside of the region. */
static inline ls_arena_range ls_arena_grid_range(const ls_arena_grid *grid,
                                                 const ls_arena_region *region, uint32_t row)
{
    return (ls_arena_range){grid->starts[ls_arena_grid_cell(grid, region->first_x, row)],
                            grid->starts[ls_arena_grid_cell(grid, region->last_x, row) + 1]};
}

static inline bool ls_arena_grid_is_in(const ls_arena_region *region, ls_arena_circle circle)
{
    return region->first_x <= circle.x && circle.x <= region->last_x &&
           region->first_y <= circle.y && circle.y <= region->last_y;
}

/* Whether the squares round two circles overlap. */
static inline bool ls_arena_grid_overlap(ls_arena_circle a, ls_arena_circle b)
{
    int32_t x = LS_MAX(a.x, b.x) - LS_MIN(a.x, b.x);
    int32_t y = LS_MAX(a.y, b.y) - LS_MIN(a.y, b.y);
    return LS_MAX(x, y) <= a.radius + b.radius;
}

/* Whether the circles may overlap, of which the squares do. Each coordinate was rounded by less
 * than a step, so a distance is off by less than two. */
static inline bool ls_arena_grid_touch(ls_arena_circle a, ls_arena_circle b)
{
    int64_t x = a.x - b.x;
    int64_t y = a.y - b.y;
    int64_t reach = a.radius + b.radius + 2;
    return x * x + y * y < reach * reach;
}

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

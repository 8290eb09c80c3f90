#include "lockstep/common/simulations/arena/arena_world.h"

#include <string.h>

/* ---- grid ---- */

/* At least twice the largest radius, both rounded. */
#define CELL_STEPS (INT32_C(5) << 14) /* 2.5 m */
#define SIZE_MAX_STEPS (((int32_t)(LS_ARENA_RADIUS_MAX >> LS_ARENA_STEP_BITS) + 1) * 2)

#define SQUARE_STEPS (INT32_C(1) << 16) /* 2 m */

/* Further from every body than two can touch, and as a difference within 32 bits. */
#define FAR_STEPS (INT32_C(1) << 30)

_Static_assert(SIZE_MAX_STEPS < CELL_STEPS, "bodies that overlap are in cells that touch");

static uint32_t side_steps(ls_fixed half_size)
{
    return (uint32_t)((uint64_t)(2 * half_size) >> LS_ARENA_STEP_BITS) + 1;
}

/* Rows as narrow as can be, columns as wide as leaves a cell for each body: a row is looked through
 * from one column to the next but one, so narrow rows spare more. */
static uint32_t row_count(ls_fixed half_size)
{
    return LS_MAX(side_steps(half_size) / (uint32_t)CELL_STEPS, 1);
}

static uint32_t column_count(uint32_t body_count, ls_fixed half_size)
{
    uint32_t rows = row_count(half_size);
    return LS_MAX(LS_MIN(2 * body_count / rows, rows), 1);
}

/* A cell's end is where the next begins, and counts stand two places on while they are summed. */
static size_t starts_count(uint32_t rows, uint32_t columns)
{
    return ((size_t)rows + 1) * (columns + 2) + 2;
}

static size_t sorted_count(uint32_t body_count)
{
    return (size_t)body_count + LS_ARENA_BLOCK;
}

static ls_arena_circles make_circles(void *memory, size_t count)
{
    ls_arena_circles circles = {.x = memory};
    circles.y = circles.x + count;
    circles.radius = circles.y + count;
    circles.tags = (void *)(circles.radius + count);
    return circles;
}

/* For a square of 2*half_size; the memory is aligned for uint32_t, its content may be anything. */
static size_t grid_bytes(uint32_t body_count, ls_fixed half_size)
{
    size_t starts = starts_count(row_count(half_size), column_count(body_count, half_size));
    return (starts + 4 * (sorted_count(body_count) + body_count)) * sizeof(uint32_t);
}

static ls_arena_grid grid_make(uint32_t body_count, ls_fixed half_size, void *memory)
{
    uint32_t rows = row_count(half_size);
    uint32_t columns = column_count(body_count, half_size);
    uint32_t side = side_steps(half_size);
    ls_arena_grid grid = {
        .half_size = half_size,
        .body_count = body_count,
        .rows = rows,
        .columns = columns,
        .rows_per_step = (uint32_t)(((uint64_t)rows << 32) / side),
        .columns_per_step = (uint32_t)(((uint64_t)columns << 32) / side),
        .stride = columns + 2,
        .sorted = make_circles(memory, sorted_count(body_count)),
    };
    grid.unsorted = make_circles(grid.sorted.tags + sorted_count(body_count), body_count);
    grid.starts = grid.unsorted.tags + body_count;
    return grid;
}

void ls_arena_grid_begin(ls_arena_grid *grid)
{
    memset(grid->starts, 0, starts_count(grid->rows, grid->columns) * sizeof *grid->starts);
}

/* After the sum starts[c + 1] is where cell c begins; every circle moves it on by one, so that then
 * it is where cell c ends and c + 1 begins. */
void ls_arena_grid_finish(ls_arena_grid *grid)
{
    uint32_t *starts = grid->starts;
    ls_arena_circles from = grid->unsorted;
    ls_arena_circles to = grid->sorted;
    size_t count = starts_count(grid->rows, grid->columns);
    uint32_t sum = 0;
    for (size_t c = 2; c < count; c++) {
        sum += starts[c];
        starts[c] = sum;
    }
    for (uint32_t i = 0; i < grid->body_count; i++) {
        if (from.tags[i] != LS_ARENA_NO_CELL) {
            uint32_t place = starts[from.tags[i] + 1]++;
            to.x[place] = from.x[i];
            to.y[place] = from.y[i];
            to.radius[place] = from.radius[i];
            to.tags[place] = i;
        }
    }
    for (uint32_t i = 0; i < LS_ARENA_BLOCK; i++) {
        to.x[sum + i] = FAR_STEPS;
        to.y[sum + i] = FAR_STEPS;
        to.radius[sum + i] = 0;
    }
}

/* Squares along a side; the last of them may be cut off by the wall. */
static int32_t squares_along(const ls_arena_grid *grid)
{
    ls_fixed size = (ls_fixed)SQUARE_STEPS << LS_ARENA_STEP_BITS;
    return (int32_t)((2 * grid->half_size + size - 1) / size);
}

static int32_t square_of(const ls_arena_grid *grid, int32_t steps)
{
    return LS_MIN(steps / SQUARE_STEPS, squares_along(grid) - 1);
}

static int32_t first_step(const ls_arena_grid *grid, ls_fixed coordinate)
{
    int32_t square = square_of(grid, ls_arena_grid_steps(grid, coordinate));
    return square * SQUARE_STEPS;
}

static int32_t last_step(const ls_arena_grid *grid, ls_fixed coordinate)
{
    int32_t square = square_of(grid, ls_arena_grid_steps(grid, coordinate));
    bool is_last = square == squares_along(grid) - 1;
    return is_last ? INT32_MAX : (square + 1) * SQUARE_STEPS - 1;
}

ls_arena_region ls_arena_grid_squares(const ls_arena_grid *grid, ls_vec2 point, ls_fixed reach)
{
    return (ls_arena_region){
        .first_x = first_step(grid, ls_fixed_sub(point.x, reach)),
        .last_x = last_step(grid, ls_fixed_add(point.x, reach)),
        .first_y = first_step(grid, ls_fixed_sub(point.y, reach)),
        .last_y = last_step(grid, ls_fixed_add(point.y, reach)),
    };
}

uint32_t ls_arena_grid_square(const ls_arena_grid *grid, ls_arena_circle circle)
{
    int32_t row = square_of(grid, circle.y);
    return (uint32_t)(row * squares_along(grid) + square_of(grid, circle.x));
}

ls_arena_region ls_arena_grid_around(ls_arena_circle circle)
{
    int32_t reach = circle.radius + SIZE_MAX_STEPS / 2;
    return (ls_arena_region){
        .first_x = LS_MAX(circle.x - reach, 0),
        .last_x = circle.x + reach,
        .first_y = LS_MAX(circle.y - reach, 0),
        .last_y = circle.y + reach,
    };
}

/* ---- world ---- */

/* Most that one tick keeps; what is beyond is left out, the highest numbers first. Discs in the
 * densest packing touch six others, so three contacts and twice the pairs would do. */
#define PAIRS_PER_BODY 8u
#define CONTACTS_PER_BODY 4u

#define SPEED_MAX LS_FIXED_INT(24)
#define SPIN_MAX LS_FIXED_INT(12)

/* Of the smallest body's width of 0.9 m: two that close in on each other still overlap, on the
 * side that they came from. */
#define TRAVEL_MAX LS_FIXED_RATIO(4, 10)
#define TURN_MAX LS_FIXED_RATIO(4, 10) /* rad */

#define STILL_MILLISECONDS 500u
#define STILL_TICKS_MAX 200u

static ls_fixed thousandths(int64_t value)
{
    return LS_FIXED_RATIO(value, 1000);
}

static ls_arena_rules rules_of(const ls_sim_config *config)
{
    ls_fixed rate = LS_FIXED_INT(config->tick_rate_hz);
    ls_fixed dt = LS_FIXED_ONE / config->tick_rate_hz;
    ls_fixed drag = thousandths(config->params[LS_ARENA_PARAM_DRAG]);
    uint32_t still = config->tick_rate_hz * STILL_MILLISECONDS / 1000;
    still = LS_MIN(still, STILL_TICKS_MAX);
    return (ls_arena_rules){
        .dt = dt,
        .drag_keep = ls_fixed_max(LS_FIXED_ONE - ls_fixed_mul(drag, dt), 0),
        .speed_max = ls_fixed_min(SPEED_MAX, ls_fixed_mul(TRAVEL_MAX, rate)),
        .spin_max = ls_fixed_min(SPIN_MAX, ls_fixed_mul(TURN_MAX, rate)),
        .friction = thousandths(config->params[LS_ARENA_PARAM_FRICTION]),
        .restitution = thousandths(config->params[LS_ARENA_PARAM_RESTITUTION]),
        .iterations = (uint32_t)config->params[LS_ARENA_PARAM_ITERATIONS],
        .still_limit = still > 0 ? still : 1,
    };
}

static uint32_t pair_capacity(const ls_arena_layout *layout)
{
    return layout->body_count * PAIRS_PER_BODY;
}

static uint32_t contact_capacity(const ls_arena_layout *layout)
{
    return layout->body_count * CONTACTS_PER_BODY;
}

size_t ls_arena_scratch_bytes(const ls_sim_config *config)
{
    ls_arena_layout layout = ls_arena_layout_of(config);
    size_t movers = (size_t)layout.body_count + 1;
    return contact_capacity(&layout) * sizeof(ls_arena_contact) + movers * sizeof(ls_arena_mover) +
           pair_capacity(&layout) * sizeof(ls_arena_pair) +
           ((size_t)layout.body_count * 3 + 2) * sizeof(uint32_t) +
           grid_bytes(layout.body_count, ls_arena_half_size(config));
}

ls_arena_world ls_arena_world_of(const ls_step *step)
{
    ls_arena_layout layout = ls_arena_layout_of(step->config);
    uint8_t *bytes = step->state;
    ls_arena_world world = {
        .inputs = step->inputs,
        .tick_rate_hz = step->config->tick_rate_hz,
        .half_size = ls_arena_half_size(step->config),
        .rules = rules_of(step->config),
        .layout = layout,
        .match = step->state,
        .ships = (void *)(bytes + layout.ships),
        .bodies = (void *)(bytes + layout.bodies),
        .shots = (void *)(bytes + layout.shots),
        .touches = (void *)(bytes + layout.touches),
        .pair_capacity = pair_capacity(&layout),
        .contact_capacity = contact_capacity(&layout),
        .contacts = step->scratch,
    };
    world.movers = (void *)(world.contacts + world.contact_capacity);
    world.pairs = (void *)(world.movers + layout.body_count + 1);
    world.first_pairs = (void *)(world.pairs + world.pair_capacity);
    world.mover_of = world.first_pairs + layout.body_count;
    world.mover_count = world.mover_of + layout.body_count;
    world.near_wall = world.mover_count + 1;
    world.grid =
        grid_make(layout.body_count, world.half_size, world.near_wall + layout.body_count + 1);
    return world;
}

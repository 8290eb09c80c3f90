#include "lockstep/common/simulations/tumble/tumble_world.h"

#define SPEED_MAX LS_FIXED_INT(15)
#define SPIN_MAX LS_FIXED_INT(18)

/* Of the smallest half width: two that close in on each other meet on the side they came from. */
#define TRAVEL_MAX LS_FIXED_RATIO(25, 100)
#define TURN_MAX LS_FIXED_RATIO(4, 10) /* rad */

#define DRAG LS_FIXED_RATIO(1, 10) /* 1/s */
#define SPIN_DRAG LS_FIXED_RATIO(8, 10)

#define STILL_MILLISECONDS 500u

/* About the width of a body: larger cells hold more that is not near, smaller ones are many. */
#define CELL_SIZE LS_FIXED_ONE

static ls_fixed thousandths(int64_t value)
{
    return LS_FIXED_RATIO(value, 1000);
}

static ls_tumble_rules rules_of(const ls_sim_config *config)
{
    ls_fixed rate = LS_FIXED_INT(config->tick_rate_hz);
    ls_fixed dt = LS_FIXED_ONE / config->tick_rate_hz;
    uint32_t still = config->tick_rate_hz * STILL_MILLISECONDS / 1000;
    return (ls_tumble_rules){
        .rate = rate,
        .dt = dt,
        .gravity = thousandths(config->params[LS_TUMBLE_PARAM_GRAVITY]),
        .speed_max = ls_fixed_min(SPEED_MAX, ls_fixed_mul(TRAVEL_MAX, rate)),
        .spin_max = ls_fixed_min(SPIN_MAX, ls_fixed_mul(TURN_MAX, rate)),
        .drag_keep = LS_FIXED_ONE - ls_fixed_mul(DRAG, dt),
        .spin_keep = LS_FIXED_ONE - ls_fixed_mul(SPIN_DRAG, dt),
        .friction = thousandths(config->params[LS_TUMBLE_PARAM_FRICTION]),
        .restitution = thousandths(config->params[LS_TUMBLE_PARAM_RESTITUTION]),
        .iterations = (uint32_t)config->params[LS_TUMBLE_PARAM_ITERATIONS],
        .still_limit = still > 1 ? still : 2,
    };
}

static size_t movers_bytes(const ls_tumble_layout *layout)
{
    return (layout->body_count + 1) * sizeof(ls_tumble_mover);
}

static ls_cell_grid_config grid_config(const ls_tumble_layout *layout, ls_fixed half_size)
{
    return (ls_cell_grid_config){
        .min = {-half_size, -half_size},
        .max = {half_size, half_size},
        .cell_size = CELL_SIZE,
        .item_count = layout->body_count,
    };
}

size_t ls_tumble_scratch_bytes(const ls_sim_config *config)
{
    ls_tumble_layout layout = ls_tumble_layout_of(config);
    ls_cell_grid_config grid = grid_config(&layout, ls_tumble_half_size(config));
    return movers_bytes(&layout) + layout.touch_count * sizeof(ls_tumble_contact) +
           layout.body_count * (sizeof(ls_tumble_spot) + sizeof(uint32_t)) +
           ls_cell_grid_bytes(&grid);
}

ls_tumble_world ls_tumble_world_of(const ls_step *step)
{
    ls_tumble_layout layout = ls_tumble_layout_of(step->config);
    uint8_t *bytes = step->state;
    uint8_t *scratch = step->scratch;
    ls_tumble_world world = {
        .inputs = step->inputs,
        .half_size = ls_tumble_half_size(step->config),
        .rules = rules_of(step->config),
        .layout = layout,
        .match = step->state,
        .players = (void *)(bytes + layout.players),
        .bodies = (void *)(bytes + layout.bodies),
        .touches = (void *)(bytes + layout.touches),
        .movers = (void *)scratch,
        .contacts = (void *)(scratch + movers_bytes(&layout)),
    };
    world.spots = (void *)(world.contacts + layout.touch_count);
    world.cells = (void *)(world.spots + layout.body_count);
    ls_cell_grid_config grid = grid_config(&layout, world.half_size);
    world.grid = ls_cell_grid_make(&grid, world.cells + layout.body_count);
    return world;
}

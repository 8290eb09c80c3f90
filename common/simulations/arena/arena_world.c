#include "lockstep/common/simulations/arena/arena_world.h"

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
           ls_arena_grid_bytes(layout.body_count, ls_arena_half_size(config));
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
    world.grid = ls_arena_grid_make(layout.body_count, world.half_size,
                                    world.near_wall + layout.body_count + 1);
    return world;
}

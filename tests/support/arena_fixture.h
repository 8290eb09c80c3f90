/* Arena fixture: an arena that tests may reach into, and bots that play it. It goes with the
 * test (kept.h). Stops the test when something cannot be made. Called by tests of the arena. */
#ifndef LOCKSTEP_TESTS_SUPPORT_ARENA_FIXTURE_H
#define LOCKSTEP_TESTS_SUPPORT_ARENA_FIXTURE_H

#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>

#define BOT_STREAM 1u

typedef struct arena_fixture {
    const ls_simulation *simulation;
    ls_sim_config config;
    ls_sim_instance *instance;
    ls_arena_layout layout;
    ls_arena_match *match;
    ls_arena_ship *ships;
    ls_arena_body *bodies;
    ls_arena_shot *shots;
    ls_arena_touch *touches;
    ls_rng bot_rngs[LS_PLAYERS_MAX];
    uint8_t pads[LS_PLAYERS_MAX][LS_ARENA_PAD_BYTES];
    ls_slot_input slots[LS_PLAYERS_MAX];
} arena_fixture;

static inline ls_sim_config arena_config(void)
{
    return ls_sim_config_default(ls_arena_simulation());
}

static inline arena_fixture arena_open(ls_sim_config config)
{
    arena_fixture arena = {.simulation = ls_arena_simulation(), .config = config};
    arena.instance = keep_instance(arena.simulation, &config);
    arena.layout = ls_arena_layout_of(&config);
    uint8_t *state = ls_sim_instance_state(arena.instance);
    arena.match = (void *)state;
    arena.ships = (void *)(state + arena.layout.ships);
    arena.bodies = (void *)(state + arena.layout.bodies);
    arena.shots = (void *)(state + arena.layout.shots);
    arena.touches = (void *)(state + arena.layout.touches);
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        arena.bot_rngs[slot] = ls_rng_make(slot, BOT_STREAM);
    }
    return arena;
}

/* One tick on the slots' inputs as they stand. */
static inline void arena_step(arena_fixture *arena)
{
    ls_tick_inputs inputs = {
        .tick = ls_sim_instance_tick(arena->instance),
        .slot_count = arena->config.players,
        .slots = arena->slots,
    };
    ls_sim_instance_step(arena->instance, &inputs);
}

/* Ticks without anybody. */
static inline void arena_run_empty(arena_fixture *arena, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        arena_step(arena);
    }
}

/* Fills the slots with what bots do; everybody joins at tick 0. */
static inline void arena_ask_bots(arena_fixture *arena)
{
    bool is_first = ls_sim_instance_tick(arena->instance) == 0;
    for (uint32_t slot = 0; slot < arena->config.players; slot++) {
        arena->slots[slot].bytes = arena->pads[slot];
        arena->slots[slot].size =
            arena->simulation->bot(&arena->config, ls_sim_instance_state(arena->instance), slot,
                                   &arena->bot_rngs[slot], arena->pads[slot]);
        arena->slots[slot].events = is_first ? LS_EVENT_JOINED : 0;
    }
}

static inline void arena_run_bots(arena_fixture *arena, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        arena_ask_bots(arena);
        arena_step(arena);
    }
}

#endif

/* Units match: one match of the `units` simulation as its tests see it: an instance, a bot for
 * every seat, and shorthands for orders and places. Asserts by Criterion; for tests alone. */
#ifndef LOCKSTEP_TESTS_UNIT_UNITS_MATCH_H
#define LOCKSTEP_TESTS_UNIT_UNITS_MATCH_H

#include "lockstep/common/simulations/units/units.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/support/kept.h"

#include <string.h>

/* A match with one input and one bot's random stream for each seat. */
typedef struct units_match {
    ls_sim_instance *instance;
    ls_units_state *state;
    ls_sim_config config;
    ls_units_rules rules;
    ls_rng bots[LS_UNITS_PLAYERS_MAX];
    uint8_t bytes[LS_UNITS_PLAYERS_MAX][LS_UNITS_INPUT_BYTES_MAX];
    ls_slot_input slots[LS_UNITS_PLAYERS_MAX];
    uint64_t order_bytes;
    uint32_t order_ticks; /* seats and ticks with any order */
} units_match;

static inline ls_sim_config config_of(uint32_t units, uint32_t players)
{
    ls_sim_config config = ls_sim_config_default(ls_units_simulation());
    config.params[LS_UNITS_PARAM_UNITS] = units;
    config.players = players;
    return config;
}

static inline units_match open_match(ls_sim_config config)
{
    units_match match = {.config = config};
    match.instance = keep_instance(ls_units_simulation(), &config);
    match.state = ls_sim_instance_state(match.instance);
    match.rules = ls_units_rules_of(&config);
    for (uint32_t i = 0; i < LS_UNITS_PLAYERS_MAX; i++) {
        match.bots[i] = ls_rng_make(2024, i);
    }
    return match;
}

static inline ls_tick_inputs inputs_of(units_match *match)
{
    return (ls_tick_inputs){.tick = ls_sim_instance_tick(match->instance),
                            .slot_count = match->config.players,
                            .slots = match->slots};
}

/* Steps with what stands in slots[], which is empty again afterwards. */
static inline void step(units_match *match)
{
    ls_tick_inputs inputs = inputs_of(match);
    ls_sim_instance_step(match->instance, &inputs);
    memset(match->slots, 0, sizeof match->slots);
}

static inline void step_for(units_match *match, uint32_t ticks)
{
    for (uint32_t t = 0; t < ticks; t++) {
        step(match);
    }
}

static inline void ask_bots(units_match *match)
{
    for (uint32_t slot = 0; slot < match->config.players; slot++) {
        uint8_t *bytes = match->bytes[slot];
        uint32_t size = ls_units_simulation()->bot(&match->config, match->state, slot,
                                                   &match->bots[slot], bytes);
        cr_assert_leq(size, LS_UNITS_INPUT_BYTES_MAX);
        match->slots[slot] = (ls_slot_input){.bytes = bytes, .size = size};
        match->order_bytes += size;
        match->order_ticks += size > 0;
    }
}

static inline void play_bots(units_match *match, uint32_t ticks)
{
    for (uint32_t t = 0; t < ticks; t++) {
        ask_bots(match);
        step(match);
    }
}

static inline uint64_t root(units_match *match)
{
    return ls_sim_instance_hash(match->instance);
}

static inline void give(units_match *match, uint32_t slot, const ls_units_order *order)
{
    ls_slot_input *input = &match->slots[slot];
    input->bytes = match->bytes[slot];
    input->size += ls_units_order_write(order, match->bytes[slot] + input->size,
                                        LS_UNITS_INPUT_BYTES_MAX - input->size);
}

static inline ls_units_order order_for_all(ls_units_verb verb, ls_vec2 point)
{
    return (ls_units_order){.verb = verb,
                            .select = LS_UNITS_SELECT_KINDS,
                            .kinds = LS_UNITS_ALL_KINDS,
                            .point = ls_units_point_from(point)};
}

static inline ls_units_order order_for_one(ls_units_verb verb, uint32_t id, ls_vec2 point)
{
    return (ls_units_order){.verb = verb,
                            .select = LS_UNITS_SELECT_LIST,
                            .list_count = 1,
                            .list = {(uint16_t)id},
                            .point = ls_units_point_from(point)};
}

static inline ls_vec2 metres(int32_t x, int32_t y)
{
    return (ls_vec2){LS_FIXED_INT(x), LS_FIXED_INT(y)};
}

static inline bool is_near(ls_vec2 a, ls_vec2 b, ls_fixed reach)
{
    return ls_units_distance_squared(a, b) <= ls_fixed_mul(reach, reach);
}

static inline uint32_t all_kills(const units_match *match)
{
    uint32_t kills = 0;
    for (uint32_t i = 0; i < LS_UNITS_PLAYERS_MAX; i++) {
        kills += match->state->players[i].kills;
    }
    return kills;
}

/* Two seats, and of each army only the first unit, standing where it is told. No waves. */
static inline units_match open_duel(ls_vec2 first, ls_vec2 second)
{
    ls_sim_config config = config_of(16, 2);
    config.params[LS_UNITS_PARAM_WAVE_SECONDS] = 0;
    units_match match = open_match(config);
    for (uint32_t id = 0; id < 16; id++) {
        if (id % 8 != 0) {
            memset(&match.state->units[id], 0, sizeof match.state->units[id]);
        }
    }
    match.state->players[0].alive = match.state->players[1].alive = 1;
    match.state->units[0].position = match.state->units[0].goal = first;
    match.state->units[8].position = match.state->units[8].goal = second;
    return match;
}

#endif

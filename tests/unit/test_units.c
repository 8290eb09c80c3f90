#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <stdlib.h>
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

static ls_sim_config config_of(uint32_t units, uint32_t players)
{
    ls_sim_config config = ls_sim_config_default(ls_units_simulation());
    config.params[LS_UNITS_PARAM_UNITS] = units;
    config.players = players;
    return config;
}

static units_match open_match(ls_sim_config config)
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

static ls_tick_inputs inputs_of(units_match *match)
{
    return (ls_tick_inputs){.tick = ls_sim_instance_tick(match->instance),
                            .slot_count = match->config.players,
                            .slots = match->slots};
}

/* Steps with what stands in slots[], which is empty again afterwards. */
static void step(units_match *match)
{
    ls_tick_inputs inputs = inputs_of(match);
    ls_sim_instance_step(match->instance, &inputs);
    memset(match->slots, 0, sizeof match->slots);
}

static void step_for(units_match *match, uint32_t ticks)
{
    for (uint32_t t = 0; t < ticks; t++) {
        step(match);
    }
}

static void ask_bots(units_match *match)
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

static void play_bots(units_match *match, uint32_t ticks)
{
    for (uint32_t t = 0; t < ticks; t++) {
        ask_bots(match);
        step(match);
    }
}

static uint64_t root(units_match *match)
{
    return ls_sim_instance_hash(match->instance);
}

static void give(units_match *match, uint32_t slot, const ls_units_order *order)
{
    ls_slot_input *input = &match->slots[slot];
    input->bytes = match->bytes[slot];
    input->size += ls_units_order_write(order, match->bytes[slot] + input->size,
                                        LS_UNITS_INPUT_BYTES_MAX - input->size);
}

static ls_units_order order_for_all(ls_units_verb verb, ls_vec2 point)
{
    return (ls_units_order){.verb = verb,
                            .select = LS_UNITS_SELECT_KINDS,
                            .kinds = LS_UNITS_ALL_KINDS,
                            .point = ls_units_point_from(point)};
}

static ls_units_order order_for_one(ls_units_verb verb, uint32_t id, ls_vec2 point)
{
    return (ls_units_order){.verb = verb,
                            .select = LS_UNITS_SELECT_LIST,
                            .list_count = 1,
                            .list = {(uint16_t)id},
                            .point = ls_units_point_from(point)};
}

static ls_vec2 metres(int32_t x, int32_t y)
{
    return (ls_vec2){LS_FIXED_INT(x), LS_FIXED_INT(y)};
}

static bool is_near(ls_vec2 a, ls_vec2 b, ls_fixed reach)
{
    return ls_units_distance_squared(a, b) <= ls_fixed_mul(reach, reach);
}

static uint32_t all_kills(const units_match *match)
{
    uint32_t kills = 0;
    for (uint32_t i = 0; i < LS_UNITS_PLAYERS_MAX; i++) {
        kills += match->state->players[i].kills;
    }
    return kills;
}

/* Two seats, and of each army only the first unit, standing where it is told. No waves. */
static units_match open_duel(ls_vec2 first, ls_vec2 second)
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

/* ---- the contract ---- */

TestSuite(units, .fini = destroy_kept);

Test(units, schema_is_complete_for_every_size)
{
    static const struct {
        uint32_t units;
        uint32_t players;
    } sizes[] = {{8, 1}, {8, 8}, {1500, 4}, {1501, 7}, {20000, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        units_match match = open_match(config_of(sizes[i].units, sizes[i].players));
        uint32_t alive = 0;
        for (uint32_t slot = 0; slot < LS_UNITS_PLAYERS_MAX; slot++) {
            alive += match.state->players[slot].alive;
        }
        cr_assert_eq(alive, sizes[i].units);
        step(&match);
        cr_assert_eq(match.state->tick, 1);
    }
}

Test(units, one_past_the_largest_size_is_refused)
{
    ls_sim_config config = config_of(LS_UNITS_COUNT_MAX + 1, 4);
    ls_text why = {{0}};
    cr_assert_eq(ls_sim_config_check(ls_units_simulation(), &config, &why), LS_BAD_ARGUMENT);
    config = config_of(1500, LS_UNITS_PLAYERS_MAX + 1);
    cr_assert_eq(ls_sim_config_check(ls_units_simulation(), &config, &why), LS_BAD_ARGUMENT);
}

Test(units, free_slots_and_padding_stay_zero)
{
    static const ls_units_unit zero;
    units_match match = open_match(config_of(600, 4));
    play_bots(&match, 700);
    uint32_t free_slots = 0;
    for (uint32_t id = 0; id < match.rules.unit_count; id++) {
        const ls_units_unit *unit = &match.state->units[id];
        if (!ls_units_is_alive(unit)) {
            cr_assert_arr_eq(unit, &zero, sizeof zero);
            free_slots++;
        }
    }
    cr_assert_gt(free_slots, 0);
    size_t offset = 0;
    cr_assert_not(
        ls_schema_dirty_padding(ls_sim_instance_schema(match.instance), match.state, &offset));
}

/* ---- hostile bytes and damaged states ---- */

static void fill_random(units_match *match, uint32_t slot, uint32_t size, ls_rng *rng)
{
    for (uint32_t i = 0; i < size; i++) {
        match->bytes[slot][i] = (uint8_t)ls_rng_next(rng);
    }
    match->slots[slot] = (ls_slot_input){.bytes = match->bytes[slot], .size = size};
}

static void assert_in_bounds(const units_match *match)
{
    for (uint32_t id = 0; id < match->rules.unit_count; id++) {
        const ls_units_unit *unit = &match->state->units[id];
        ls_vec2 inside = ls_units_inside(&match->rules, unit->position);
        cr_assert(!ls_units_is_alive(unit) ||
                  (inside.x == unit->position.x && inside.y == unit->position.y));
        cr_assert_leq(unit->target, match->rules.unit_count);
    }
}

Test(units, random_bytes_of_every_size_are_safe)
{
    units_match match = open_match(config_of(64, 4));
    ls_rng rng = ls_rng_make(5, 5);
    for (uint32_t t = 0; t < 2 * (LS_UNITS_INPUT_BYTES_MAX + 1); t++) {
        for (uint32_t slot = 0; slot < 4; slot++) {
            fill_random(&match, slot, (t + slot * 128) % (LS_UNITS_INPUT_BYTES_MAX + 1), &rng);
        }
        step(&match);
        assert_in_bounds(&match);
    }
}

/* A full input of orders that were valid until some of their bytes changed. */
static void fill_mutated(units_match *match, uint32_t slot, ls_rng *rng)
{
    ls_units_order order = {0};
    for (uint32_t i = 0; i < LS_UNITS_ORDERS_MAX + 2; i++) {
        order.verb = (ls_units_verb)(1 + ls_rng_below(rng, 4));
        order.select = (ls_units_select)(1 + ls_rng_below(rng, 3));
        order.kinds = (uint8_t)ls_rng_next(rng);
        order.list_count = (uint8_t)ls_rng_below(rng, 12);
        order.target = (uint16_t)ls_rng_below(rng, 80);
        order.point.x = (uint16_t)ls_rng_next(rng);
        order.corners[1].y = (uint16_t)ls_rng_next(rng);
        for (uint32_t k = 0; k < order.list_count; k++) {
            order.list[k] = (uint16_t)ls_rng_below(rng, 80);
        }
        give(match, slot, &order);
    }
    ls_slot_input *input = &match->slots[slot];
    for (uint32_t flips = ls_rng_below(rng, 4); flips > 0; flips--) {
        uint32_t place = ls_rng_below(rng, input->size);
        match->bytes[slot][place] ^= (uint8_t)(1u << ls_rng_below(rng, 8));
    }
    input->size -= ls_rng_below(rng, 4);
}

Test(units, mutated_orders_are_safe)
{
    units_match match = open_match(config_of(64, 4));
    ls_rng rng = ls_rng_make(6, 6);
    for (uint32_t t = 0; t < 3000; t++) {
        for (uint32_t slot = 0; slot < 4; slot++) {
            fill_mutated(&match, slot, &rng);
        }
        step(&match);
        assert_in_bounds(&match);
    }
    cr_assert_gt(all_kills(&match), 0);
}

/* Tools inject faults into states: the match may change, the process must not suffer. */
Test(units, a_damaged_state_stays_in_bounds)
{
    units_match match = open_match(config_of(64, 4));
    static ls_draw_shape shapes[512];
    size_t size = ls_sim_instance_state_bytes(match.instance);
    ls_rng rng = ls_rng_make(7, 7);
    for (uint32_t t = 0; t < 3000; t++) {
        uint32_t place = ls_rng_below(&rng, (uint32_t)size);
        ((uint8_t *)match.state)[place] ^= (uint8_t)(1u << ls_rng_below(&rng, 8));
        ls_draw_list list = {.shapes = shapes, .capacity = 512};
        ls_units_simulation()->draw(&match.config, match.state, match.state, LS_FIXED_HALF, &list);
        play_bots(&match, 1);
    }
}

/* ---- orders ---- */

Test(units, move_brings_every_unit_to_the_place_in_formation)
{
    units_match match = open_match(config_of(60, 1));
    ls_units_order order = order_for_all(LS_UNITS_MOVE, metres(10, 30));
    give(&match, 0, &order);
    step(&match);
    cr_assert_eq(match.state->units[0].verb, LS_UNITS_MOVE);
    step_for(&match, 600);
    for (uint32_t id = 0; id < 60; id++) {
        const ls_units_unit *unit = &match.state->units[id];
        cr_assert(is_near(unit->position, metres(10, 30), LS_FIXED_INT(8)));
        cr_assert_eq(unit->verb, LS_UNITS_STOP);
        cr_assert(unit->velocity.x == 0 && unit->velocity.y == 0);
    }
}

Test(units, stop_ends_a_march)
{
    units_match match = open_match(config_of(60, 1));
    ls_units_order order = order_for_all(LS_UNITS_MOVE, metres(5, 5));
    give(&match, 0, &order);
    step_for(&match, 30);
    cr_assert(match.state->units[7].velocity.x != 0);
    order = order_for_all(LS_UNITS_STOP, metres(0, 0));
    give(&match, 0, &order);
    step_for(&match, 60);
    ls_vec2 before = match.state->units[7].position;
    step_for(&match, 60);
    cr_assert_eq(match.state->units[7].position.x, before.x);
    cr_assert_eq(match.state->units[7].position.y, before.y);
    cr_assert_not(is_near(before, metres(5, 5), LS_FIXED_INT(5)));
}

Test(units, attack_follows_and_kills_one_enemy)
{
    units_match match = open_duel(metres(5, 5), metres(30, 30));
    ls_units_order order = order_for_one(LS_UNITS_ATTACK, 0, metres(0, 0));
    order.target = 8;
    match.state->units[8].health = 30;
    give(&match, 0, &order);
    step_for(&match, 30 * 30);
    cr_assert_not(ls_units_is_alive(&match.state->units[8]));
    cr_assert_eq(match.state->players[0].kills, 1);
    cr_assert_eq(match.state->players[0].score, 3);
    cr_assert_eq(match.state->players[1].losses, 1);
    cr_assert_eq(match.state->players[1].alive, 0);
    cr_assert_eq(match.state->leader, 1);
    cr_assert_eq(match.state->units[0].verb, LS_UNITS_STOP);
    cr_assert_eq(match.state->units[0].target, 0);
}

Test(units, attack_move_fights_on_the_way_and_move_does_not)
{
    static const ls_units_verb verbs[] = {LS_UNITS_ATTACK_MOVE, LS_UNITS_MOVE};
    for (uint32_t i = 0; i < 2; i++) {
        units_match match = open_duel(metres(5, 20), metres(18, 20));
        match.state->units[8].health = 1;
        match.state->units[8].cooldown = UINT16_MAX;
        ls_units_order order = order_for_one(verbs[i], 0, metres(35, 20));
        give(&match, 0, &order);
        step_for(&match, 30 * 7);
        cr_assert_eq(ls_units_is_alive(&match.state->units[8]), verbs[i] == LS_UNITS_MOVE);
        cr_assert_gt(match.state->units[0].position.x, LS_FIXED_INT(20));
    }
}

Test(units, two_who_kill_each_other_in_one_tick_both_die)
{
    units_match match = open_duel(metres(20, 20), metres(21, 20));
    match.state->units[0].health = match.state->units[8].health = 1;
    match.state->units[0].target = 9;
    match.state->units[8].target = 1;
    step(&match);
    cr_assert_not(ls_units_is_alive(&match.state->units[0]) ||
                  ls_units_is_alive(&match.state->units[8]));
    cr_assert_eq(match.state->players[0].kills, 1);
    cr_assert_eq(match.state->players[1].kills, 1);
}

Test(units, nobody_commands_anothers_units)
{
    units_match idle = open_match(config_of(64, 2));
    units_match match = open_match(config_of(64, 2));
    for (uint32_t id = 32; id < 64; id++) {
        ls_units_order order = order_for_one(LS_UNITS_MOVE, id, metres(1, 1));
        give(&match, 0, &order);
        order.list[0] = (uint16_t)(id + 32);
        give(&match, 0, &order);
        step(&match);
        step(&idle);
        cr_assert_eq(root(&match), root(&idle));
    }
    ls_units_order area = order_for_all(LS_UNITS_MOVE, metres(1, 1));
    area.select = LS_UNITS_SELECT_AREA;
    area.corners[1] = (ls_units_point){UINT16_MAX, UINT16_MAX};
    give(&match, 0, &area);
    step(&match);
    for (uint32_t id = 0; id < 64; id++) {
        cr_assert_eq(match.state->units[id].verb, id < 32 ? LS_UNITS_MOVE : LS_UNITS_STOP);
    }
}

Test(units, selections_by_kind_and_area_take_only_those)
{
    units_match match = open_match(config_of(60, 1));
    ls_vec2 base = match.state->players[0].base;
    ls_units_order order = order_for_all(LS_UNITS_MOVE, metres(1, 1));
    order.kinds = 1u << LS_UNITS_ARCHER;
    order.select = LS_UNITS_SELECT_AREA;
    order.corners[0] = ls_units_point_from(base);
    order.corners[1] = ls_units_point_from(ls_vec2_add(base, metres(-9, -9)));
    give(&match, 0, &order);
    step(&match);
    uint32_t taken = 0;
    for (uint32_t id = 0; id < 60; id++) {
        const ls_units_unit *unit = &match.state->units[id];
        bool is_inside = unit->position.x <= base.x && unit->position.y <= base.y;
        if (unit->verb == LS_UNITS_MOVE) {
            cr_assert(unit->kind == LS_UNITS_ARCHER && is_inside);
            taken++;
        } else {
            cr_assert(unit->kind != LS_UNITS_ARCHER || !is_inside ||
                      !is_near(unit->position, base, LS_FIXED_INT(9)));
        }
    }
    cr_assert_gt(taken, 0);
}

Test(units, orders_count_up_to_the_first_broken_one_and_the_limit)
{
    units_match match = open_match(config_of(60, 1));
    for (uint32_t id = 0; id < LS_UNITS_ORDERS_MAX + 4; id++) {
        ls_units_order order = order_for_one(LS_UNITS_MOVE, id, metres(1, 1));
        give(&match, 0, &order);
    }
    step(&match);
    cr_assert_eq(match.state->units[LS_UNITS_ORDERS_MAX - 1].verb, LS_UNITS_MOVE);
    cr_assert_eq(match.state->units[LS_UNITS_ORDERS_MAX].verb, LS_UNITS_STOP);
    for (uint32_t id = 30; id < 32; id++) {
        ls_units_order order = order_for_one(LS_UNITS_MOVE, id, metres(1, 1));
        give(&match, 0, &order);
    }
    match.slots[0].size--;
    step(&match);
    cr_assert_eq(match.state->units[30].verb, LS_UNITS_MOVE);
    cr_assert_eq(match.state->units[31].verb, LS_UNITS_STOP);
}

/* ---- players, waves, crowds ---- */

Test(units, an_army_without_its_player_stops_and_obeys_again_on_return)
{
    units_match match = open_match(config_of(60, 2));
    ls_units_order order = order_for_all(LS_UNITS_MOVE, metres(1, 1));
    give(&match, 1, &order);
    step(&match);
    match.slots[1].events = LS_EVENT_LEFT;
    give(&match, 1, &order);
    step(&match);
    cr_assert_eq(match.state->units[59].verb, LS_UNITS_STOP);
    cr_assert_eq(match.state->players[1].is_away, 1);
    match.slots[1].events = LS_EVENT_JOINED;
    give(&match, 1, &order);
    step(&match);
    cr_assert_eq(match.state->units[59].verb, LS_UNITS_MOVE);
    cr_assert_eq(match.state->players[1].is_away, 0);
    cr_assert_eq(match.state->players[1].alive, 30);
}

static void wipe_out(units_match *match, uint32_t slot)
{
    uint32_t first = ls_units_army_first(&match->rules, slot);
    uint32_t end = ls_units_army_first(&match->rules, slot + 1);
    memset(&match->state->units[first], 0, (end - first) * sizeof match->state->units[0]);
    match->state->players[slot].alive = 0;
}

Test(units, waves_bring_back_the_stated_share_but_to_nobody_who_is_away)
{
    ls_sim_config config = config_of(80, 2);
    config.params[LS_UNITS_PARAM_WAVE_SECONDS] = 1;
    config.params[LS_UNITS_PARAM_WAVE_PERCENT] = 30;
    units_match match = open_match(config);
    wipe_out(&match, 0);
    wipe_out(&match, 1);
    match.slots[1].events = LS_EVENT_LEFT;
    step_for(&match, config.tick_rate_hz - 1);
    cr_assert_eq(match.state->players[0].alive, 0);
    step(&match);
    cr_assert_eq(match.state->players[0].alive, 12);
    step_for(&match, 10 * config.tick_rate_hz);
    cr_assert_eq(match.state->players[0].alive, 40);
    cr_assert_eq(match.state->players[1].alive, 0);
    match.slots[1].events = LS_EVENT_JOINED;
    step(&match);
    cr_assert_eq(match.state->players[1].alive, 40);
}

Test(units, the_wounded_recover_at_their_base_alone)
{
    units_match match = open_duel(metres(1, 1), metres(1, 39));
    match.state->units[0].position = match.state->units[0].goal = match.state->players[0].base;
    match.state->units[0].health = match.state->units[8].health = 10;
    step_for(&match, 4 * match.rules.think_ticks);
    cr_assert_eq(match.state->units[0].health, 14);
    cr_assert_eq(match.state->units[8].health, 10);
}

/* Touching pairs, and those of them that are deeper in each other than half. */
static void count_overlaps(const units_match *match, uint32_t *deep, uint32_t *same_place)
{
    *deep = *same_place = 0;
    const ls_units_unit *units = match->state->units;
    for (uint32_t a = 0; a < match->rules.unit_count; a++) {
        for (uint32_t b = a + 1; b < match->rules.unit_count; b++) {
            if (!ls_units_is_alive(&units[a]) || !ls_units_is_alive(&units[b])) {
                continue;
            }
            ls_fixed touch = ls_units_kind_rules_of(units[a].kind)->radius +
                             ls_units_kind_rules_of(units[b].kind)->radius;
            *deep += is_near(units[a].position, units[b].position, touch / 2);
            *same_place += is_near(units[a].position, units[b].position, touch / 16);
        }
    }
}

Test(units, a_crowd_at_one_point_comes_to_rest_without_overlap)
{
    ls_sim_config config = config_of(400, 1);
    units_match match = open_match(config);
    for (uint32_t id = 0; id < 400; id += 4) {
        ls_units_order order = order_for_one(LS_UNITS_MOVE, id, metres(30, 30));
        give(&match, 0, &order);
        for (uint32_t k = 1; k < 4; k++) {
            order.list[0] = (uint16_t)(id + k);
            give(&match, 0, &order);
        }
        step(&match);
    }
    step_for(&match, 900);
    uint32_t deep, same_place;
    count_overlaps(&match, &deep, &same_place);
    cr_assert_eq(deep, 0);
    for (uint32_t id = 0; id < 400; id++) {
        cr_assert_eq(match.state->units[id].verb, LS_UNITS_STOP);
    }
    ls_vec2 before = match.state->units[0].position;
    step_for(&match, 30);
    cr_assert(is_near(match.state->units[0].position, before, LS_FIXED_RATIO(1, 4)));
}

Test(units, armies_in_battle_do_not_sink_into_each_other)
{
    units_match match = open_match(config_of(1000, 4));
    play_bots(&match, 400);
    uint32_t deep, same_place;
    count_overlaps(&match, &deep, &same_place);
    cr_assert_leq(deep, 30, "%u", deep);
    cr_assert_leq(same_place, 1, "%u", same_place);
}

Test(units, bots_march_fight_and_speak_rarely)
{
    units_match match = open_match(config_of(600, 4));
    uint32_t marching = 0;
    for (uint32_t t = 0; t < 900; t++) {
        play_bots(&match, 1);
        const ls_units_unit *unit = &match.state->units[t % 600];
        marching += unit->velocity.x != 0 || unit->velocity.y != 0;
    }
    cr_assert_gt(marching, 300);
    for (uint32_t slot = 0; slot < 4; slot++) {
        cr_assert_gt(match.state->players[slot].kills, 5);
        cr_assert_gt(match.state->players[slot].losses, 5);
    }
    cr_assert_gt(match.order_ticks, 4 * 10);
    cr_assert_lt(match.order_ticks, 4 * 900 / 10);
    cr_assert_lt(match.order_bytes / match.order_ticks, 64);
}

/* ---- the picture ---- */

static const ls_draw_shape *shape_of(const ls_draw_list *list, uint32_t id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->shapes[i].id == id) {
            return &list->shapes[i];
        }
    }
    return NULL;
}

static ls_draw_list draw(const units_match *match, const void *previous, ls_fixed alpha,
                         ls_draw_shape *shapes, uint32_t capacity)
{
    ls_draw_list list = {.shapes = shapes, .capacity = capacity};
    ls_units_simulation()->draw(&match->config, previous, match->state, alpha, &list);
    return list;
}

Test(units, the_picture_blends_a_unit_but_never_across_its_death)
{
    units_match match = open_duel(metres(10, 10), metres(30, 30));
    size_t size = ls_sim_instance_state_bytes(match.instance);
    ls_units_state *previous = malloc(size);
    cr_assert_not_null(previous);
    memcpy(previous, match.state, size);
    match.state->units[0].position = metres(12, 10);
    match.state->units[0].health = 50;
    ls_draw_shape shapes[16];
    ls_draw_list list = draw(&match, previous, LS_FIXED_HALF, shapes, 16);
    const ls_draw_shape *disc = shape_of(&list, 0);
    cr_assert_not_null(disc);
    cr_assert_eq(disc->kind, LS_DRAW_DISC);
    cr_assert_eq(disc->x, LS_FIXED_INT(11));
    cr_assert_eq(list.count, 2 + 2 + 1, "bases, units, one bar");
    match.state->units[0].born = 100;
    list = draw(&match, previous, LS_FIXED_HALF, shapes, 16);
    cr_assert_eq(shape_of(&list, 0)->x, LS_FIXED_INT(12));
    memset(&match.state->units[0], 0, sizeof match.state->units[0]);
    list = draw(&match, previous, LS_FIXED_HALF, shapes, 16);
    cr_assert_null(shape_of(&list, 0));
    list = draw(&match, previous, LS_FIXED_HALF, shapes, 1);
    cr_assert_eq(list.count, 1);
    free(previous);
}

/* ---- the bytes of orders ---- */

static ls_units_order listed(ls_units_verb verb, uint8_t count)
{
    ls_units_order order = {.verb = verb,
                            .select = LS_UNITS_SELECT_LIST,
                            .list_count = count,
                            .point = {300, 65535},
                            .target = 19999};
    for (uint32_t i = 0; i < count; i++) {
        order.list[i] = (uint16_t)(i * 83);
    }
    return order;
}

static void assert_same(const ls_units_order *a, const ls_units_order *b)
{
    cr_assert_eq(a->verb, b->verb);
    cr_assert_eq(a->select, b->select);
    if (a->select == LS_UNITS_SELECT_LIST) {
        cr_assert_eq(a->list_count, b->list_count);
        cr_assert_arr_eq(a->list, b->list, a->list_count * sizeof a->list[0]);
    } else {
        cr_assert_eq(a->kinds, b->kinds);
    }
    if (a->select == LS_UNITS_SELECT_AREA) {
        cr_assert_arr_eq(a->corners, b->corners, sizeof a->corners);
    }
    if (a->verb == LS_UNITS_ATTACK) {
        cr_assert_eq(a->target, b->target);
    } else if (a->verb != LS_UNITS_STOP) {
        cr_assert_eq(a->point.x, b->point.x);
        cr_assert_eq(a->point.y, b->point.y);
    }
}

static ls_units_order order_of(ls_units_verb verb, ls_units_select select)
{
    ls_units_order order = listed(verb, select == LS_UNITS_SELECT_LIST ? 5 : 0);
    order.select = select;
    order.kinds = 0xa5;
    order.corners[0] = (ls_units_point){1, 2};
    order.corners[1] = (ls_units_point){40000, 3};
    return order;
}

Test(units, every_form_reads_back_as_written)
{
    for (int verb = LS_UNITS_STOP; verb <= LS_UNITS_ATTACK_MOVE; verb++) {
        for (int select = LS_UNITS_SELECT_LIST; select <= LS_UNITS_SELECT_AREA; select++) {
            ls_units_order order = order_of((ls_units_verb)verb, (ls_units_select)select);
            ls_units_order read = {0};
            uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX];
            uint32_t size = ls_units_order_write(&order, bytes, sizeof bytes);
            cr_assert_gt(size, 0);
            cr_assert_eq(ls_units_order_read(bytes, size, &read), size);
            assert_same(&order, &read);
        }
    }
}

Test(units, bytes_are_as_documented)
{
    ls_units_order order = listed(LS_UNITS_ATTACK, 2);
    uint8_t bytes[16];
    static const uint8_t expected[] = {0x13, 2, 0, 0, 83, 0, 0x1f, 0x4e};
    cr_assert_eq(ls_units_order_write(&order, bytes, sizeof bytes), sizeof expected);
    cr_assert_arr_eq(bytes, expected, sizeof expected);
}

Test(units, an_order_cut_anywhere_is_no_order)
{
    for (int select = LS_UNITS_SELECT_LIST; select <= LS_UNITS_SELECT_AREA; select++) {
        ls_units_order order = order_of(LS_UNITS_MOVE, (ls_units_select)select);
        ls_units_order read = {0};
        uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX];
        uint32_t size = ls_units_order_write(&order, bytes, sizeof bytes);
        for (uint32_t cut = 0; cut < size; cut++) {
            cr_assert_eq(ls_units_order_read(bytes, cut, &read), 0, "%u of %u", cut, size);
        }
    }
}

Test(units, unknown_heads_are_no_orders)
{
    uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX] = {0};
    ls_units_order read = {0};
    uint32_t known = 0;
    for (uint32_t head = 0; head < 256; head++) {
        bytes[0] = (uint8_t)head;
        known += ls_units_order_read(bytes, sizeof bytes, &read) > 0;
    }
    cr_assert_eq(known, 4 * 3);
}

Test(units, the_longest_list_fits_and_one_more_is_refused)
{
    ls_units_order order = listed(LS_UNITS_MOVE, LS_UNITS_LIST_MAX);
    ls_units_order read = {0};
    uint8_t bytes[LS_UNITS_INPUT_BYTES_MAX + 16] = {0};
    uint32_t size = ls_units_order_write(&order, bytes, LS_UNITS_INPUT_BYTES_MAX);
    cr_assert_gt(size, 0);
    cr_assert_eq(ls_units_order_read(bytes, size, &read), size);
    assert_same(&order, &read);
    bytes[1]++;
    cr_assert_eq(ls_units_order_read(bytes, sizeof bytes, &read), 0);
}

Test(units, without_room_nothing_is_written)
{
    ls_units_order order = listed(LS_UNITS_MOVE, 5);
    uint8_t bytes[32];
    memset(bytes, 0x77, sizeof bytes);
    uint32_t size = ls_units_order_write(&order, bytes, sizeof bytes);
    memset(bytes, 0x77, sizeof bytes);
    cr_assert_eq(ls_units_order_write(&order, bytes, size - 1), 0);
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        cr_assert_eq(bytes[i], 0x77);
    }
}

Test(units, points_are_the_nearest_and_are_cut_to_16_bits)
{
    ls_units_point point = {12345, 0};
    ls_vec2 position = ls_units_point_position(point);
    cr_assert_eq(ls_units_point_from(position).x, point.x);
    position.x += LS_FIXED_ONE / 129;
    cr_assert_eq(ls_units_point_from(position).x, point.x);
    position.x += LS_FIXED_ONE / 512;
    cr_assert_eq(ls_units_point_from(position).x, point.x + 1);
    ls_units_point low = ls_units_point_from((ls_vec2){LS_FIXED_MIN, -1});
    ls_units_point high = ls_units_point_from((ls_vec2){LS_FIXED_MAX, LS_FIXED_INT(1024)});
    cr_assert(low.x == 0 && low.y == 0);
    cr_assert(high.x == UINT16_MAX && high.y == UINT16_MAX);
}

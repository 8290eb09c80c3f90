#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tests/unit/units_match.h"

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

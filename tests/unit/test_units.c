#include "lockstep/tests/unit/units_match.h"

#include <stdlib.h>

/* ---- the contract ---- */

Test(units, descriptor_passes_the_check)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_check(ls_units_simulation(), &why), LS_OK, "%s", why.bytes);
}

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
        close_match(&match);
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

Test(units, same_inputs_give_same_roots_and_another_seed_others)
{
    ls_sim_config config = config_of(400, 3);
    units_match a = open_match(config);
    units_match b = open_match(config);
    config.seed = 2;
    units_match other = open_match(config);
    cr_assert_neq(root(&a), root(&other));
    for (uint32_t t = 0; t < 300; t++) {
        ask_bots(&a);
        memcpy(b.slots, a.slots, sizeof b.slots);
        step(&a);
        step(&b);
        cr_assert_eq(root(&a), root(&b));
    }
    cr_assert_gt(all_kills(&a), 0);
    close_match(&a);
    close_match(&b);
    close_match(&other);
}

Test(units, a_saved_state_replays_to_the_same_roots)
{
    units_match match = open_match(config_of(400, 4));
    play_bots(&match, 200);
    size_t size = ls_sim_instance_save_bytes(match.instance);
    uint8_t *saved = malloc(size);
    cr_assert_not_null(saved);
    cr_assert_eq(ls_sim_instance_save(match.instance, saved), LS_OK);
    ls_rng bots[LS_UNITS_PLAYERS_MAX];
    memcpy(bots, match.bots, sizeof bots);
    play_bots(&match, 150);
    uint64_t first = root(&match);
    cr_assert_eq(ls_sim_instance_load(match.instance, saved, 200), LS_OK);
    memcpy(match.bots, bots, sizeof bots);
    cr_assert_neq(root(&match), first);
    play_bots(&match, 150);
    cr_assert_eq(root(&match), first);
    free(saved);
    close_match(&match);
}

static void run_passes(units_match *match, uint8_t *scratch, size_t scratch_bytes, uint8_t fill)
{
    const ls_simulation *units = ls_units_simulation();
    memset(scratch, fill, scratch_bytes);
    ls_tick_inputs inputs = inputs_of(match);
    ls_step step = {&match->config, &inputs, match->state, scratch, NULL};
    for (uint32_t i = 0; i < units->pass_count; i++) {
        units->passes[i].run(&step);
    }
}

Test(units, what_scratch_holds_before_a_step_has_no_effect)
{
    units_match a = open_match(config_of(300, 4));
    units_match b = open_match(config_of(300, 4));
    size_t scratch_bytes = ls_units_simulation()->scratch_bytes(&a.config);
    uint8_t *scratch = malloc(scratch_bytes);
    cr_assert_not_null(scratch);
    for (uint32_t t = 0; t < 400; t++) {
        ask_bots(&a);
        memcpy(b.slots, a.slots, sizeof b.slots);
        run_passes(&a, scratch, scratch_bytes, 0x00);
        run_passes(&b, scratch, scratch_bytes, 0xa5);
        cr_assert_arr_eq(a.state, b.state, ls_sim_instance_state_bytes(a.instance));
    }
    cr_assert_gt(all_kills(&a), 0);
    free(scratch);
    close_match(&a);
    close_match(&b);
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
    close_match(&match);
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
    close_match(&match);
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
    close_match(&match);
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
    close_match(&match);
}

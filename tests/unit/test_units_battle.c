#include "lockstep/tests/unit/units_match.h"

#include <stdlib.h>

/* ---- orders ---- */

TestSuite(units_battle, .fini = destroy_kept);

Test(units_battle, move_brings_every_unit_to_the_place_in_formation)
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

Test(units_battle, stop_ends_a_march)
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

Test(units_battle, attack_follows_and_kills_one_enemy)
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

Test(units_battle, attack_move_fights_on_the_way_and_move_does_not)
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

Test(units_battle, two_who_kill_each_other_in_one_tick_both_die)
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

Test(units_battle, nobody_commands_anothers_units)
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

Test(units_battle, selections_by_kind_and_area_take_only_those)
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

Test(units_battle, orders_count_up_to_the_first_broken_one_and_the_limit)
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

Test(units_battle, an_army_without_its_player_stops_and_obeys_again_on_return)
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

Test(units_battle, waves_bring_back_the_stated_share_but_to_nobody_who_is_away)
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

Test(units_battle, the_wounded_recover_at_their_base_alone)
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

Test(units_battle, a_crowd_at_one_point_comes_to_rest_without_overlap)
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

Test(units_battle, armies_in_battle_do_not_sink_into_each_other)
{
    units_match match = open_match(config_of(1000, 4));
    play_bots(&match, 400);
    uint32_t deep, same_place;
    count_overlaps(&match, &deep, &same_place);
    cr_assert_leq(deep, 30, "%u", deep);
    cr_assert_leq(same_place, 1, "%u", same_place);
}

Test(units_battle, bots_march_fight_and_speak_rarely)
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

Test(units_battle, the_picture_blends_a_unit_but_never_across_its_death)
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

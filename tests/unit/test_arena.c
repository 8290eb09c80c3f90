#include "lockstep/tests/support/arena_fixture.h"

#include "lockstep/common/base/hash.h"

#include <string.h>

/* ---- what the contract asks of every simulation ---- */

Test(arena, its_struct_passes_the_check)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_check(ls_arena_simulation(), &why), LS_OK, "%s", why.bytes);
}

/* Creating an instance fails when one byte is not covered exactly once. */
Test(arena, the_schema_covers_the_state_whatever_the_parameters)
{
    static const int64_t cases[][3] = {
        /* players, bodies, shots */
        {1, 0, 1}, {1, 1, 1}, {4, 200, 8}, {16, 2000, 64}, {16, 20000, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_sim_config config = arena_config();
        config.players = (uint32_t)cases[i][0];
        config.params[LS_ARENA_PARAM_BODIES] = cases[i][1];
        config.params[LS_ARENA_PARAM_SHOTS] = cases[i][2];
        arena_fixture arena = arena_open(config);
        cr_assert_eq(ls_sim_instance_state_bytes(arena.instance), arena.layout.bytes);
        arena_run_bots(&arena, 3);
        arena_close(&arena);
    }
}

Test(arena, more_than_sixteen_players_are_refused)
{
    ls_sim_config config = arena_config();
    config.players = 17;
    ls_text why = {{0}};
    cr_assert_neq(ls_sim_config_check(ls_arena_simulation(), &config, &why), LS_OK);
}

Test(arena, the_same_inputs_give_the_same_roots)
{
    arena_fixture a = arena_open(arena_config());
    arena_fixture b = arena_open(arena_config());
    for (uint32_t tick = 0; tick < 300; tick++) {
        arena_run_bots(&a, 1);
        arena_run_bots(&b, 1);
        cr_assert_eq(ls_sim_instance_hash(a.instance), ls_sim_instance_hash(b.instance));
    }
    b.pads[2][0] ^= LS_ARENA_THRUST;
    arena_step(&a);
    arena_step(&b);
    cr_assert_neq(ls_sim_instance_hash(a.instance), ls_sim_instance_hash(b.instance));
    arena_close(&a);
    arena_close(&b);
}

Test(arena, another_seed_gives_another_match)
{
    ls_sim_config config = arena_config();
    arena_fixture a = arena_open(config);
    config.seed++;
    arena_fixture b = arena_open(config);
    cr_assert_neq(ls_sim_instance_hash(a.instance), ls_sim_instance_hash(b.instance));
    arena_close(&a);
    arena_close(&b);
}

#define RERUN_TICKS 120u

Test(arena, a_run_from_a_save_gives_the_same_roots)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 200);
    static uint8_t save[1 << 16];
    cr_assert_leq(ls_sim_instance_save_bytes(arena.instance), sizeof save);
    cr_assert_eq(ls_sim_instance_save(arena.instance, save), LS_OK);
    ls_rng rngs[LS_PLAYERS_MAX];
    memcpy(rngs, arena.bot_rngs, sizeof rngs);
    uint64_t roots[RERUN_TICKS];
    for (uint32_t i = 0; i < RERUN_TICKS; i++) {
        arena_run_bots(&arena, 1);
        roots[i] = ls_sim_instance_hash(arena.instance);
    }
    cr_assert_eq(ls_sim_instance_load(arena.instance, save, 200), LS_OK);
    memcpy(arena.bot_rngs, rngs, sizeof rngs);
    for (uint32_t i = 0; i < RERUN_TICKS; i++) {
        arena_run_bots(&arena, 1);
        cr_assert_eq(ls_sim_instance_hash(arena.instance), roots[i]);
    }
    arena_close(&arena);
}

static void step_by_hand(const arena_fixture *arena, void *state, uint8_t *scratch, uint8_t fill)
{
    memset(scratch, fill, arena->simulation->scratch_bytes(&arena->config));
    ls_tick_inputs inputs = {.slot_count = arena->config.players, .slots = arena->slots};
    ls_step step = {&arena->config, &inputs, state, scratch, NULL};
    for (uint32_t i = 0; i < arena->simulation->pass_count; i++) {
        arena->simulation->passes[i].run(&step);
    }
}

Test(arena, what_scratch_held_before_a_step_does_not_matter)
{
    arena_fixture arena = arena_open(arena_config());
    size_t bytes = arena.layout.bytes;
    const ls_allocator *heap = ls_allocator_heap();
    uint8_t *scratch = ls_allocate(heap, arena.simulation->scratch_bytes(&arena.config));
    uint8_t *state = ls_allocate(heap, bytes);
    memcpy(state, ls_sim_instance_state(arena.instance), bytes);
    for (uint32_t tick = 0; tick < 200; tick++) {
        arena_ask_bots(&arena);
        step_by_hand(&arena, state, scratch, tick % 2 ? 0xA5 : 0xFF);
        step_by_hand(&arena, ls_sim_instance_state(arena.instance), scratch, 0);
        cr_assert_eq(memcmp(state, ls_sim_instance_state(arena.instance), bytes), 0);
    }
    cr_assert_gt(arena.match->contacts, 0);
    ls_release(heap, state);
    ls_release(heap, scratch);
    arena_close(&arena);
}

Test(arena, padding_and_freed_slots_stay_zero)
{
    arena_fixture arena = arena_open(arena_config());
    const ls_schema *schema = ls_sim_instance_schema(arena.instance);
    static const ls_arena_shot no_shot;
    uint32_t fired = 0;
    for (uint32_t tick = 0; tick < 400; tick++) {
        arena_run_bots(&arena, 1);
        size_t offset;
        cr_assert_not(
            ls_schema_dirty_padding(schema, ls_sim_instance_state(arena.instance), &offset));
        for (uint32_t i = 0; i < arena.layout.shot_count; i++) {
            bool is_free = arena.shots[i].ticks_left == 0;
            fired += !is_free;
            cr_assert(!is_free || memcmp(&arena.shots[i], &no_shot, sizeof no_shot) == 0);
        }
    }
    cr_assert_gt(fired, 0);
    arena_close(&arena);
}

/* ---- inputs ---- */

Test(arena, missing_bytes_are_buttons_not_held)
{
    static const uint8_t pad[LS_ARENA_PAD_BYTES] = {LS_ARENA_THRUST, 0};
    arena_fixture whole = arena_open(arena_config());
    arena_fixture cut = arena_open(arena_config());
    arena_run_bots(&whole, 10);
    arena_run_bots(&cut, 10);
    for (uint32_t size = 0; size < LS_ARENA_PAD_BYTES; size++) {
        uint8_t same[LS_ARENA_PAD_BYTES] = {0};
        memcpy(same, pad, size);
        cut.slots[1] = (ls_slot_input){.bytes = pad, .size = size};
        whole.slots[1] = (ls_slot_input){.bytes = same, .size = sizeof same};
        arena_step(&cut);
        arena_step(&whole);
        cr_assert_eq(ls_sim_instance_hash(cut.instance), ls_sim_instance_hash(whole.instance));
    }
    cr_assert_eq(cut.ships[1].buttons, LS_ARENA_THRUST);
    arena_close(&whole);
    arena_close(&cut);
}

Test(arena, the_lowest_stick_counts_as_its_end)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 5);
    arena.pads[0][0] = 0;
    arena.pads[0][1] = 0x80;
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].steer, -127);
    arena.pads[0][0] = LS_ARENA_LEFT;
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].steer, 127);
    arena.pads[0][0] = LS_ARENA_LEFT | LS_ARENA_RIGHT;
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].steer, -127);
    arena_close(&arena);
}

static void assert_all_inside(const arena_fixture *arena)
{
    ls_fixed half_size = ls_arena_half_size(&arena->config);
    for (uint32_t i = 0; i < arena->layout.body_count; i++) {
        const ls_arena_body *body = &arena->bodies[i];
        cr_assert_leq(ls_fixed_abs(body->position.x), half_size);
        cr_assert_leq(ls_fixed_abs(body->position.y), half_size);
    }
}

Test(arena, any_bytes_and_events_are_safe)
{
    ls_sim_config config = arena_config();
    config.players = 16;
    arena_fixture arena = arena_open(config);
    ls_rng rng = ls_rng_make(99, 1);
    uint32_t in_play = 0;
    for (uint32_t tick = 0; tick < 3000; tick++) {
        for (uint32_t slot = 0; slot < config.players; slot++) {
            arena.pads[slot][0] = (uint8_t)ls_rng_next(&rng);
            arena.pads[slot][1] = (uint8_t)ls_rng_next(&rng);
            uint32_t size = ls_rng_below(&rng, LS_ARENA_PAD_BYTES + 1);
            uint32_t events = ls_rng_below(&rng, 50) == 0 ? ls_rng_next(&rng) : 0;
            arena.slots[slot] = (ls_slot_input){
                .bytes = size > 0 ? arena.pads[slot] : NULL, .size = size, .events = events};
        }
        arena_step(&arena);
        in_play += arena.bodies[tick % config.players].shape != LS_ARENA_NONE;
    }
    assert_all_inside(&arena);
    cr_assert_gt(in_play, 300);
    cr_assert_gt(arena.match->serial, 1000);
    arena_close(&arena);
}

/* A state may be damaged on purpose, to see that the difference is found: stepping it must stay
 * within its memory and within defined arithmetic. */
Test(arena, a_damaged_state_can_be_stepped)
{
    ls_sim_config config = arena_config();
    config.params[LS_ARENA_PARAM_BODIES] = 50;
    ls_rng rng = ls_rng_make(7, 1);
    for (uint32_t round = 0; round < 40; round++) {
        arena_fixture arena = arena_open(config);
        arena_run_bots(&arena, 5);
        uint8_t *state = ls_sim_instance_state(arena.instance);
        uint32_t flips = round < 20 ? 1 : 200;
        for (uint32_t i = 0; i < flips; i++) {
            uint32_t bit = ls_rng_below(&rng, (uint32_t)arena.layout.bytes * 8);
            state[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        arena_run_bots(&arena, 30);
        cr_assert_eq(ls_sim_instance_tick(arena.instance), 35);
        arena_close(&arena);
    }
}

/* ---- joins and leaves ---- */

static bool is_zero(const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        if (byte[i] != 0) {
            return false;
        }
    }
    return true;
}

Test(arena, a_ship_comes_with_its_player_and_goes_with_it)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_empty(&arena, 3);
    cr_assert_eq(arena.bodies[1].shape, LS_ARENA_NONE);
    arena.slots[1].events = LS_EVENT_JOINED;
    arena_step(&arena);
    cr_assert_eq(arena.bodies[1].shape, LS_ARENA_DISC);
    cr_assert_eq(arena.ships[1].health, LS_ARENA_SHIP_HEALTH);
    static const uint8_t pad[] = {LS_ARENA_FIRE};
    arena.slots[1] = (ls_slot_input){.bytes = pad, .size = sizeof pad};
    arena_step(&arena);
    uint32_t first = arena.layout.shots_each;
    cr_assert_gt(arena.shots[first].ticks_left, 0);
    arena.slots[1].events = LS_EVENT_LEFT;
    arena_step(&arena);
    cr_assert(is_zero(&arena.ships[1], sizeof arena.ships[1]));
    cr_assert(is_zero(&arena.bodies[1], sizeof arena.bodies[1]));
    cr_assert(is_zero(&arena.shots[first], first * sizeof arena.shots[0]));
    arena_close(&arena);
}

Test(arena, a_seat_that_changes_hands_within_a_tick_starts_anew)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 20);
    arena.ships[0].score = 12;
    uint16_t serial = arena.bodies[0].serial;
    arena.slots[0] = (ls_slot_input){.events = LS_EVENT_LEFT | LS_EVENT_JOINED};
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].score, 0);
    cr_assert_eq(arena.bodies[0].shape, LS_ARENA_DISC);
    cr_assert_neq(arena.bodies[0].serial, serial);
    arena_close(&arena);
}

/* ---- bots ---- */

Test(arena, bots_hit_each_other_and_push_bodies)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 900);
    uint32_t score = 0;
    uint32_t kills = 0;
    uint32_t deaths = 0;
    for (uint32_t slot = 0; slot < arena.config.players; slot++) {
        cr_assert_gt(arena.ships[slot].hits, 0);
        score += arena.ships[slot].score;
        kills += arena.ships[slot].kills;
        deaths += arena.ships[slot].deaths;
    }
    cr_assert_gt(score, 10);
    cr_assert_gt(kills, 0);
    cr_assert_eq(kills, deaths);
    arena_close(&arena);
}

Test(arena, a_bot_alone_shoots_at_bodies_that_lie_still)
{
    ls_sim_config config = arena_config();
    config.players = 1;
    config.params[LS_ARENA_PARAM_SPEED] = 0;
    arena_fixture arena = arena_open(config);
    uint64_t before = ls_hash_bytes(arena.bodies + 1, sizeof arena.bodies[0] * 200, 0);
    arena_run_bots(&arena, 600);
    cr_assert_gt(arena.ships[0].hits, 3);
    cr_assert_neq(ls_hash_bytes(arena.bodies + 1, sizeof arena.bodies[0] * 200, 0), before);
    arena_close(&arena);
}

/* ---- drawing ---- */

#define SHAPES 1000u

static ls_draw_list draw(const arena_fixture *arena, const void *previous, ls_fixed alpha)
{
    static ls_draw_shape shapes[SHAPES];
    ls_draw_list list = {.shapes = shapes, .capacity = SHAPES};
    arena->simulation->draw(&arena->config, previous, ls_sim_instance_state(arena->instance), alpha,
                            &list);
    return list;
}

static const ls_draw_shape *find_shape(const ls_draw_list *list, uint32_t id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->shapes[i].id == id) {
            return &list->shapes[i];
        }
    }
    cr_assert_fail("no shape has this id");
    return NULL;
}

#define BODY_ID(index) (4u + (index))

Test(arena, the_picture_is_a_blend_of_two_states)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 60);
    static uint8_t previous[1 << 16];
    cr_assert_eq(ls_sim_instance_save(arena.instance, previous), LS_OK);
    ls_vec2 from = arena.bodies[5].position;
    arena_run_bots(&arena, 1);
    ls_vec2 to = arena.bodies[5].position;
    cr_assert_neq(from.x, to.x);
    ls_draw_list list = draw(&arena, previous, 0);
    cr_assert_gt(list.count, arena.layout.body_count);
    cr_assert_eq(find_shape(&list, BODY_ID(5))->x, from.x);
    list = draw(&arena, previous, LS_FIXED_ONE);
    cr_assert_eq(find_shape(&list, BODY_ID(5))->x, to.x);
    list = draw(&arena, previous, LS_FIXED_HALF);
    ls_fixed middle = find_shape(&list, BODY_ID(5))->x;
    cr_assert_leq(ls_fixed_abs(middle - (from.x + to.x) / 2), 1);
    arena_close(&arena);
}

Test(arena, shapes_have_ids_of_their_own)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 200);
    ls_draw_list list = draw(&arena, ls_sim_instance_state(arena.instance), 0);
    for (uint32_t i = 0; i < list.count; i++) {
        for (uint32_t j = i + 1; j < list.count; j++) {
            cr_assert_neq(list.shapes[i].id, list.shapes[j].id);
        }
    }
    arena_close(&arena);
}

Test(arena, a_new_ship_is_not_blended_with_the_last_one_of_its_slot)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 10);
    static uint8_t previous[1 << 16];
    cr_assert_eq(ls_sim_instance_save(arena.instance, previous), LS_OK);
    ls_vec2 last = arena.bodies[0].position;
    arena.slots[0] = (ls_slot_input){.events = LS_EVENT_LEFT | LS_EVENT_JOINED};
    arena_step(&arena);
    cr_assert_neq(arena.bodies[0].position.x, last.x);
    ls_draw_list list = draw(&arena, previous, 0);
    cr_assert_eq(find_shape(&list, BODY_ID(0))->x, arena.bodies[0].position.x);
    arena_close(&arena);
}

Test(arena, a_full_picture_stops_at_its_capacity)
{
    arena_fixture arena = arena_open(arena_config());
    ls_draw_shape shapes[11] = {{0}};
    ls_draw_list list = {.shapes = shapes, .capacity = 10};
    const void *state = ls_sim_instance_state(arena.instance);
    arena.simulation->draw(&arena.config, state, state, 0, &list);
    cr_assert_eq(list.count, 10);
    cr_assert_eq(shapes[10].colour, 0);
    arena_close(&arena);
}

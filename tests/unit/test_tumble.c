/* Tumble as a match: players, pictures and hands. The physics are in test_tumble_physics.c. */
#include "lockstep/tests/support/sim_fixture.h"

#include "lockstep/common/simulations/tumble/tumble_state.h"

#include <inttypes.h>

static sim_fixture *open_tumble(void)
{
    return sim_open(ls_tumble_simulation(), ls_sim_config_default(ls_tumble_simulation()));
}

static ls_tumble_view view_of(const sim_fixture *sim)
{
    return ls_tumble_view_of(&sim->config, sim_state(sim));
}

/* An empty room: the player's ball, alone. */
static sim_fixture *open_alone(void)
{
    ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
    sim_set(&config, ls_tumble_simulation(), "bodies=0");
    config.players = 1;
    sim_fixture *sim = sim_open(ls_tumble_simulation(), config);
    sim_join(sim);
    sim_step(sim, 150);
    return sim;
}

/* ---- players ---- */

TestSuite(tumble, .fini = destroy_kept);

Test(tumble, a_ball_comes_with_its_player_and_goes_with_it)
{
    sim_fixture *sim = open_tumble();
    cr_assert_eq(view_of(sim).bodies[0].shape, LS_TUMBLE_NONE);
    sim_join(sim);
    sim_step(sim, 1);
    cr_assert_eq(view_of(sim).bodies[0].shape, LS_TUMBLE_BALL);
    uint32_t serial = view_of(sim).bodies[0].serial;
    sim->slots[0].events = LS_EVENT_LEFT | LS_EVENT_JOINED;
    sim_step(sim, 1);
    cr_assert_neq(view_of(sim).bodies[0].serial, serial);
    sim->slots[0].events = LS_EVENT_LEFT;
    sim_step(sim, 1);
    static const ls_tumble_body nobody;
    cr_assert_eq(memcmp(&view_of(sim).bodies[0], &nobody, sizeof nobody), 0);
}

Test(tumble, a_push_moves_the_ball_its_way)
{
    static const struct {
        uint8_t pad[3];
        int x, y;
    } cases[] = {
        {{0, 127, 0}, 1, 0}, {{0, 129, 0}, -1, 0}, {{0, 128, 0}, -1, 0},
        {{0, 0, 127}, 0, 1}, {{0, 0, 129}, 0, -1}, {{0, 90, 90}, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sim_fixture *sim = open_alone();
        ls_vec3 from = view_of(sim).bodies[0].position;
        sim_set_input(sim, 0, cases[i].pad, 3);
        sim_step(sim, 20);
        ls_vec3 way = ls_vec3_sub(view_of(sim).bodies[0].position, from);
        ls_fixed far = LS_FIXED_RATIO(3, 10);
        cr_assert_eq((way.x > far) - (way.x < -far), cases[i].x);
        cr_assert_eq((way.y > far) - (way.y < -far), cases[i].y);
    }
}

Test(tumble, a_ball_jumps_off_the_ground_and_not_off_the_air)
{
    sim_fixture *sim = open_alone();
    cr_assert_eq(view_of(sim).players[0].is_on_ground, 1);
    sim_set_input(sim, 0, (const uint8_t[]){LS_TUMBLE_JUMP}, 1);
    sim_step(sim, 1);
    ls_fixed speed = view_of(sim).bodies[0].velocity.z;
    cr_assert_gt(speed, LS_FIXED_INT(5));
    sim_step(sim, 2);
    cr_assert_eq(view_of(sim).players[0].is_on_ground, 0);
    cr_assert_lt(view_of(sim).bodies[0].velocity.z, speed);
    ls_fixed top = 0;
    for (int i = 0; i < 60; i++) {
        sim_step(sim, 1);
        top = ls_fixed_max(top, view_of(sim).bodies[0].position.z);
    }
    cr_assert_gt(top, LS_FIXED_INT(2)); /* 6 m/s reach 1.8 m above where it lay */
    cr_assert_lt(top, LS_FIXED_RATIO(25, 10));
}

Test(tumble, a_player_pushes_bodies_about)
{
    sim_fixture *sim = open_tumble();
    sim_step(sim, 600);
    cr_assert_eq(view_of(sim).match->awake, 0);
    ls_vec3 before[64];
    ls_tumble_layout layout = view_of(sim).layout;
    for (uint32_t i = 2; i < layout.body_count; i++) {
        before[i] = view_of(sim).bodies[i].position;
    }
    sim_join(sim);
    sim_run_bots(sim, 1200);
    uint32_t moved = 0;
    for (uint32_t i = 2; i < layout.body_count; i++) {
        ls_vec3 way = ls_vec3_sub(view_of(sim).bodies[i].position, before[i]);
        moved += ls_vec3_length(way) > LS_FIXED_RATIO(3, 10);
    }
    cr_assert_gt(moved, 10, "%u", moved);
}

/* The order of pairs and every bit of a contact are part of the rules: the hashes are those of the
 * first version, which compared all bodies with all. */
Test(tumble, crowds_play_as_in_the_first_version)
{
    static const struct {
        const char *assignments[3];
        uint32_t ticks;
        uint64_t state_hash;
    } cases[] = {
        {{"bodies=500", "boxes=750", "friction=600"}, 80, UINT64_C(0x72de0bafbfbf2571)},
        {{"bodies=200", "boxes=1000", "friction=0"}, 150, UINT64_C(0x13e2a4b3906e49e8)},
        {{"bodies=200", "boxes=0", "friction=1500"}, 150, UINT64_C(0x8c7ee2e0f2cc43e1)},
        {{"bodies=120", "gravity=30000", "iterations=2"}, 150, UINT64_C(0xbc3bc4775f8e182a)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
        for (size_t k = 0; k < 3; k++) {
            sim_set(&config, ls_tumble_simulation(), cases[i].assignments[k]);
        }
        sim_fixture *sim = sim_open(ls_tumble_simulation(), config);
        sim_run_bots(sim, cases[i].ticks);
        uint64_t state_hash = ls_sim_instance_hash(sim->instance);
        cr_expect_eq(state_hash, cases[i].state_hash, "%zu: %016" PRIx64, i, state_hash);
    }
}

Test(tumble, five_thousand_bodies_play_whatever_the_working_memory_holds)
{
    ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
    sim_set(&config, ls_tumble_simulation(), "bodies=5000");
    sim_fixture *sim = sim_open(ls_tumble_simulation(), config);
    for (uint32_t tick = 0; tick < 32; tick++) {
        sim_fill_scratch(sim, (uint8_t)(tick * 31));
        sim_run_bots(sim, 1);
    }
    cr_assert_gt(view_of(sim).match->contacts, 1000);
    uint64_t state_hash = ls_sim_instance_hash(sim->instance);
    cr_assert_eq(state_hash, UINT64_C(0x97de71e40778381a), "%016" PRIx64, state_hash);
}

/* ---- pictures ---- */

#define ROOM_IDS 128u
#define BODY_IDS 64u

static uint32_t count_owned(const ls_draw_list *list, uint32_t owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += list->shapes[i].owner == owner;
    }
    return count;
}

Test(tumble, balls_belong_to_their_slots_and_are_followed)
{
    sim_fixture *sim = open_tumble();
    sim_run_bots(sim, 60);
    ls_draw_list list = sim_draw(sim, sim_state(sim), 0);
    cr_assert_geq(count_owned(&list, 1), 5);
    cr_assert_geq(count_owned(&list, 2), 5);
    ls_vec2 place = ls_tumble_project(&sim->config, view_of(sim).bodies[1].position);
    for (uint32_t i = 0; i < list.count; i++) {
        if (list.shapes[i].owner == 2) {
            cr_assert_eq(list.shapes[i].kind, LS_DRAW_TRIANGLE);
            cr_assert_eq(list.shapes[i].x, place.x);
            cr_assert_eq(list.shapes[i].y, place.y);
        }
    }
}

static bool is_of_body(uint32_t id, uint32_t body)
{
    uint32_t first = ROOM_IDS + body * BODY_IDS;
    return id >= first && id < first + BODY_IDS;
}

/* Any triangle of a convex body drawn twice would darken it: at most three faces of a box face us,
 * and they turn counter-clockwise. */
Test(tumble, a_box_shows_one_to_three_faces_that_look_at_us)
{
    sim_fixture *sim = open_tumble();
    sim_run_bots(sim, 200);
    ls_tumble_view view = view_of(sim);
    ls_draw_list list = sim_draw(sim, sim_state(sim), 0);
    for (uint32_t body = 2; body < view.layout.body_count; body++) {
        uint32_t triangles = 0;
        for (uint32_t i = 0; i < list.count; i++) {
            const ls_vec2 *p = list.shapes[i].corners;
            if (is_of_body(list.shapes[i].id, body)) {
                triangles++;
                cr_assert_gt(ls_vec2_cross(ls_vec2_sub(p[1], p[0]), ls_vec2_sub(p[2], p[0])), 0);
            }
        }
        if (view.bodies[body].shape == LS_TUMBLE_BOX) {
            cr_assert(triangles == 2 || triangles == 4 || triangles == 6, "%u", triangles);
        }
    }
}

/* The camera looks along +y and down: what is further back is drawn first. */
Test(tumble, far_bodies_are_drawn_first)
{
    sim_fixture *sim = open_tumble();
    ls_tumble_body *bodies =
        (void *)((uint8_t *)sim_state(sim) + ls_tumble_layout_of(&sim->config).bodies);
    bodies[5].position = (ls_vec3){0, LS_FIXED_INT(-3), LS_FIXED_ONE};
    bodies[6].position = (ls_vec3){0, LS_FIXED_INT(3), LS_FIXED_ONE};
    ls_draw_list list = sim_draw(sim, sim_state(sim), 0);
    uint32_t near = 0;
    uint32_t far = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        near = is_of_body(list.shapes[i].id, 5) ? i : near;
        far = is_of_body(list.shapes[i].id, 6) ? i : far;
    }
    cr_assert_gt(far, 0);
    cr_assert_gt(near, far);
}

/* Half way between 170 and -170 degrees about the upright axis is 180, not 0: seen from the front,
 * the corners of the top stand where those of a box turned by 180 do. */
Test(tumble, a_turn_is_drawn_along_the_shorter_arc)
{
    sim_fixture *sim = open_tumble();
    size_t bytes = ls_sim_instance_state_bytes(sim->instance);
    uint8_t *previous = ls_allocate(ls_allocator_heap(), bytes);
    size_t bodies = ls_tumble_layout_of(&sim->config).bodies;
    memcpy(previous, sim_state(sim), bytes);
    ls_tumble_body *from = (ls_tumble_body *)(void *)(previous + bodies) + 2;
    ls_tumble_body *to = (ls_tumble_body *)(void *)((uint8_t *)sim_state(sim) + bodies) + 2;
    *from = ls_tumble_body_make(
        LS_TUMBLE_BOX, (ls_vec3){LS_FIXED_HALF, LS_FIXED_ONE, LS_FIXED_HALF}, LS_FIXED_ONE);
    *to = *from;
    ls_fixed near_half = LS_FIXED_RATIO(9961947, 10000000); /* sin 85, cos 5 */
    ls_fixed rest = LS_FIXED_RATIO(871557, 10000000);
    from->orientation = (ls_quaternion){rest, 0, 0, near_half};
    to->orientation = (ls_quaternion){-rest, 0, 0, near_half};
    ls_draw_list list = sim_draw(sim, previous, LS_FIXED_HALF);
    uint32_t first = ROOM_IDS + 2 * BODY_IDS;
    ls_draw_shape blended = *sim_shape(&list, first + 2 * 5); /* the face that looks up */
    to->orientation = (ls_quaternion){0, 0, 0, LS_FIXED_ONE};
    list = sim_draw(sim, sim_state(sim), 0);
    const ls_draw_shape *half_turn = sim_shape(&list, first + 2 * 5);
    for (int i = 0; i < 3; i++) {
        ls_vec2 off = ls_vec2_sub(blended.corners[i], half_turn->corners[i]);
        cr_assert_lt(ls_vec2_length(off), LS_FIXED_RATIO(1, 1000));
    }
    ls_release(ls_allocator_heap(), previous);
}

Test(tumble, a_new_ball_is_not_blended_with_the_last_one_of_its_slot)
{
    sim_fixture *sim = open_tumble();
    sim_run_bots(sim, 100);
    size_t bytes = ls_sim_instance_state_bytes(sim->instance);
    void *previous = ls_allocate(ls_allocator_heap(), bytes);
    memcpy(previous, sim_state(sim), bytes);
    sim->slots[0].events = LS_EVENT_LEFT | LS_EVENT_JOINED;
    sim_step(sim, 1);
    ls_vec2 place = ls_tumble_project(&sim->config, view_of(sim).bodies[0].position);
    ls_draw_list list = sim_draw(sim, previous, 0);
    cr_assert_gt(count_owned(&list, 1), 0);
    for (uint32_t i = 0; i < list.count; i++) {
        cr_assert(list.shapes[i].owner != 1 || list.shapes[i].x == place.x);
    }
    ls_release(ls_allocator_heap(), previous);
}

/* ---- hands ---- */

Test(tumble, keys_push_and_jump_and_the_pointer_leads)
{
    sim_fixture *sim = open_alone();
    const ls_simulation *tumble = ls_tumble_simulation();
    const void *state = sim_state(sim);
    uint8_t pad[LS_TUMBLE_PAD_BYTES] = {0};
    ls_controls controls = {.held = LS_CONTROL_UP | LS_CONTROL_LEFT, .pressed = LS_CONTROL_FIRST};
    cr_assert_eq(tumble->control(&sim->config, state, 0, &controls, pad), LS_TUMBLE_PAD_BYTES);
    cr_assert_eq(pad[0], LS_TUMBLE_JUMP);
    cr_assert_eq((int8_t)pad[1], -127);
    cr_assert_eq((int8_t)pad[2], 127);
    ls_vec2 ball = ls_tumble_project(&sim->config, view_of(sim).bodies[0].position);
    controls = (ls_controls){.is_pointer_held = true,
                             .pointer = {ball.x + LS_FIXED_INT(3), ball.y - LS_FIXED_HALF}};
    tumble->control(&sim->config, state, 0, &controls, pad);
    cr_assert_eq(pad[0], 0);
    cr_assert_eq((int8_t)pad[1], 127);
    cr_assert_eq((int8_t)pad[2], -64);
}

/* Tumble: players, pictures and hands; the search for pairs; physics. */
#include "lockstep/common/simulations/tumble/tumble_collide.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <inttypes.h>
#include <math.h>

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

/* ---- bodies near each other ---- */

/* The search for bodies near each other must find what comparing all with all finds, in the same
 * order, whatever the state holds: the order of pairs is part of the rules of the game. */

#define BODIES 150u
#define MARGIN LS_FIXED_RATIO(2, 100)

typedef struct scene {
    sim_fixture *sim;
    ls_tumble_world world;
    ls_tumble_near near;
} scene;

/* A crowd where every fourth sleeps, and all may move a quarter of a metre. */
static scene *open_scene(uint64_t seed)
{
    static scene s;
    ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
    sim_set(&config, ls_tumble_simulation(), "bodies=150");
    config.seed = seed;
    s.sim = sim_open(ls_tumble_simulation(), config);
    sim_run_bots(s.sim, 90);
    size_t scratch_bytes = 0;
    ls_step step = {
        .config = &s.sim->config,
        .state = sim_state(s.sim),
        .scratch = ls_sim_instance_scratch(s.sim->instance, &scratch_bytes),
    };
    s.world = ls_tumble_world_of(&step);
    ls_rng rng = ls_rng_make(seed, 3);
    for (uint32_t i = 0; i < s.world.layout.body_count; i++) {
        s.world.bodies[i].still_ticks = i % 4 == 0 ? UINT16_MAX : 0;
        s.world.movers[i].travel = ls_rng_fixed_between(&rng, 0, LS_FIXED_RATIO(25, 100));
    }
    return &s;
}

static bool is_pair(const ls_tumble_world *world, uint32_t a, uint32_t b, ls_fixed margin)
{
    const ls_tumble_body *first = &world->bodies[a];
    const ls_tumble_body *second = &world->bodies[b];
    ls_vec3 offset = ls_vec3_sub(second->position, first->position);
    uint64_t sum = (uint64_t)first->radius + (uint64_t)second->radius + (uint64_t)margin;
    ls_fixed reach = ls_signed_from_bits(sum + (uint64_t)world->movers[a].travel +
                                         (uint64_t)world->movers[b].travel);
    return ls_fixed_abs(offset.x) <= reach && ls_fixed_abs(offset.y) <= reach &&
           ls_fixed_abs(offset.z) <= reach &&
           ls_vec3_dot(offset, offset) <= ls_fixed_mul(reach, reach);
}

/* Returns how many there were. */
static uint32_t compare_with_all(scene *s, uint32_t index, uint32_t awake_after)
{
    ls_tumble_search search = {index, awake_after, MARGIN};
    ls_tumble_near_find(&s->world, &s->near, &search);
    uint32_t count = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < s->world.layout.body_count; i++) {
        const ls_tumble_body *body = &s->world.bodies[i];
        bool is_asked_for = ls_tumble_is_asleep(&s->world, body) || i > awake_after;
        if (body->shape == LS_TUMBLE_NONE || i == index || !is_asked_for ||
            !is_pair(&s->world, index, i, MARGIN)) {
            continue;
        }
        cr_assert(ls_tumble_near_pop(&s->near, &found), "%u near %u", i, index);
        cr_assert_eq(found, i);
        count++;
    }
    cr_assert_not(ls_tumble_near_pop(&s->near, &found), "%u is not near %u", found, index);
    return count;
}

static uint32_t compare_everybody(scene *s)
{
    uint32_t count = 0;
    ls_tumble_near_build(&s->world, &s->near);
    for (uint32_t i = 0; i < s->world.layout.body_count; i++) {
        if (s->world.bodies[i].shape != LS_TUMBLE_NONE) {
            count += compare_with_all(s, i, i);
            count += compare_with_all(s, i, UINT32_MAX);
        }
    }
    return count;
}

Test(tumble, a_search_finds_in_order_what_comparing_all_bodies_finds)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        scene *s = open_scene(seed);
        uint32_t count = compare_everybody(s);
        cr_assert_gt(count, BODIES, "%u", count);
        cr_assert_eq(s->near.spot_count, s->near.grid_count);
    }
}

Test(tumble, bodies_of_any_place_and_size_are_found)
{
    static const ls_fixed values[] = {
        LS_FIXED_MIN,
        LS_FIXED_MAX,
        LS_FIXED_MIN + 1,
        -1,
        0,
        1,
        LS_FIXED_MAX - LS_FIXED_ONE,
        LS_FIXED_INT(1 << 20),
        LS_FIXED_INT(40),
        LS_FIXED_INT(-40),
    };
    const uint32_t count = sizeof values / sizeof values[0];
    uint32_t strays = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        scene *s = open_scene(seed);
        ls_rng rng = ls_rng_make(seed, 4);
        for (uint32_t i = 0; i < 40; i++) {
            ls_tumble_body *body = &s->world.bodies[ls_rng_below(&rng, BODIES)];
            ls_fixed *parts[] = {&body->position.x, &body->position.y, &body->position.z,
                                 &body->radius};
            uint32_t part = ls_rng_below(&rng, 4);
            *parts[part] = values[ls_rng_below(&rng, count)];
        }
        compare_everybody(s);
        strays += s->near.spot_count - s->near.grid_count;
    }
    cr_assert_gt(strays, 10, "%u", strays);
}

Test(tumble, all_bodies_in_one_place_are_found)
{
    scene *s = open_scene(1);
    for (uint32_t i = 0; i < s->world.layout.body_count; i++) {
        s->world.bodies[i].position = (ls_vec3){LS_FIXED_ONE, LS_FIXED_ONE, LS_FIXED_ONE};
    }
    uint32_t bodies = s->world.layout.body_count;
    cr_assert_gt(compare_everybody(s), bodies * (bodies - 1) / 2);
}

/* ---- physics ---- */

/* Bodies that fall come to rest, none explodes, and none leaves the room. */

#define DENSITY LS_FIXED_INT(10)
#define EIGHTH_OF_PI 0.39269908169872414

static double number(ls_fixed value)
{
    return ls_fixed_to_double(value);
}

static ls_vec3 vec3(double x, double y, double z)
{
    return (ls_vec3){ls_fixed_from_double(x), ls_fixed_from_double(y), ls_fixed_from_double(z)};
}

typedef struct room {
    sim_fixture *sim;
    ls_tumble_layout layout;
    ls_tumble_match *match;
    ls_tumble_body *bodies; /* without the players' */
    uint32_t count;
} room;

static room open_room(ls_sim_config config)
{
    room r = {.sim = sim_open(ls_tumble_simulation(), config)};
    r.layout = ls_tumble_layout_of(&config);
    r.match = sim_state(r.sim);
    r.bodies = (void *)((uint8_t *)sim_state(r.sim) + r.layout.bodies);
    r.bodies += r.layout.player_count;
    r.count = r.layout.body_count - r.layout.player_count;
    return r;
}

static ls_sim_config config_with(const char *assignment)
{
    ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
    sim_set(&config, ls_tumble_simulation(), assignment);
    return config;
}

/* A room whose bodies the test places itself. */
static room open_for(const char *bodies, const char *assignment)
{
    ls_sim_config config = config_with(bodies);
    if (assignment != NULL) {
        sim_set(&config, ls_tumble_simulation(), assignment);
    }
    return open_room(config);
}

static ls_tumble_body make_box(double x, double y, double z, ls_vec3 half)
{
    ls_tumble_body body = ls_tumble_body_make(LS_TUMBLE_BOX, half, DENSITY);
    body.position = vec3(x, y, z);
    return body;
}

static ls_tumble_body make_ball(double x, double y, double z, double radius)
{
    ls_tumble_body body =
        ls_tumble_body_make(LS_TUMBLE_BALL, vec3(radius, radius, radius), DENSITY);
    body.position = vec3(x, y, z);
    return body;
}

/* Of motion and height, J. */
static double energy(const room *r)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < r->count; i++) {
        const ls_tumble_body *body = &r->bodies[i];
        double mass = 1.0 / number(body->inverse_mass);
        double speed = number(ls_vec3_length(body->velocity));
        ls_axes axes = ls_axes_of(body->orientation);
        ls_vec3 spin = ls_axes_to_body(&axes, body->spin);
        ls_vec3 inertia = body->inverse_inertia;
        sum += mass * (0.5 * speed * speed + 9.81 * number(body->position.z));
        sum += 0.5 * number(spin.x) * number(spin.x) / number(inertia.x);
        sum += 0.5 * number(spin.y) * number(spin.y) / number(inertia.y);
        sum += 0.5 * number(spin.z) * number(spin.z) / number(inertia.z);
    }
    return sum;
}

static double deepest_overlap(const room *r)
{
    double deepest = 0.0;
    for (uint32_t i = 0; i < r->count; i++) {
        for (uint32_t j = i + 1; j < r->count; j++) {
            ls_axes a = ls_axes_of(r->bodies[i].orientation);
            ls_axes b = ls_axes_of(r->bodies[j].orientation);
            ls_tumble_manifold manifold = ls_tumble_collide(
                (ls_tumble_solid){&r->bodies[i], &a}, (ls_tumble_solid){&r->bodies[j], &b}, 0);
            for (uint32_t k = 0; k < manifold.count; k++) {
                deepest = fmax(deepest, number(manifold.depths[k]));
            }
        }
    }
    return deepest;
}

/* ---- coming to rest ---- */

Test(tumble, falling_bodies_come_to_rest_without_exploding)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
        config.seed = seed;
        room r = open_room(config);
        double before = energy(&r);
        double half = number(ls_tumble_half_size(&config));
        for (int i = 0; i < 100; i++) {
            sim_step(r.sim, 9);
            double now = energy(&r);
            cr_assert_lt(now, before + 1.0, "seed %d: %g J after %g J", (int)seed, now, before);
            before = now;
            for (uint32_t k = 0; k < r.count; k++) {
                cr_assert_lt(fabs(number(r.bodies[k].position.x)), half);
                cr_assert_lt(fabs(number(r.bodies[k].position.y)), half);
                cr_assert_gt(number(r.bodies[k].position.z), 0.2);
            }
        }
        cr_assert_eq(r.match->awake, 0, "seed %d: %u awake", (int)seed, r.match->awake);
        cr_assert_lt(deepest_overlap(&r), 0.06);
        uint64_t state_hash = ls_sim_instance_hash(r.sim->instance);
        uint32_t ticks = r.match->ticks;
        sim_step(r.sim, 60);
        cr_assert_eq(r.match->ticks, ticks + 60);
        r.match->ticks = ticks;
        cr_assert_eq(ls_sim_instance_hash(r.sim->instance), state_hash, "rest is rest");
    }
}

Test(tumble, bodies_come_to_rest_at_other_tick_rates_and_in_crowds)
{
    static const struct {
        const char *bodies;
        uint32_t tick_rate_hz;
    } cases[] = {{"bodies=60", 10}, {"bodies=60", 30}, {"bodies=60", 120}, {"bodies=500", 60}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_sim_config config = config_with(cases[i].bodies);
        config.tick_rate_hz = cases[i].tick_rate_hz;
        room r = open_room(config);
        double start = energy(&r);
        sim_step(r.sim, 20 * config.tick_rate_hz);
        cr_assert_lt(energy(&r), start / 2.0);
        cr_assert_eq(r.match->awake, 0);
        cr_assert_lt(deepest_overlap(&r), 0.12);
    }
}

Test(tumble, a_tilted_box_falls_flat_on_the_floor)
{
    room r = open_for("bodies=1", NULL);
    r.bodies[0] = make_box(0, 0, 1.5, vec3(0.5, 0.4, 0.3));
    r.bodies[0].orientation = ls_quaternion_turned(r.bodies[0].orientation, vec3(0.5, 0.3, 0.2));
    sim_step(r.sim, 400);
    cr_assert_eq(r.match->awake, 0);
    cr_assert_float_eq(number(r.bodies[0].position.z), 0.3, 0.01);
    ls_axes axes = ls_axes_of(r.bodies[0].orientation);
    cr_assert_gt(number(axes.axis[2].z), 0.9999);
}

Test(tumble, a_stack_of_six_boxes_stands)
{
    room r = open_for("bodies=6", NULL);
    for (uint32_t i = 0; i < 6; i++) {
        r.bodies[i] = make_box(0, 0, 0.4 + 0.8 * i, vec3(0.4, 0.4, 0.4));
    }
    sim_step(r.sim, 900);
    cr_assert_eq(r.match->awake, 0);
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_float_eq(number(r.bodies[i].position.x), 0.0, 0.02);
        cr_assert_float_eq(number(r.bodies[i].position.z), 0.4 + 0.8 * i, 0.06);
    }
}

Test(tumble, a_sleeping_stack_falls_when_its_foot_is_knocked_away)
{
    room r = open_for("bodies=4", NULL);
    for (uint32_t i = 0; i < 3; i++) {
        r.bodies[i] = make_box(0, 0, 0.4 + 0.8 * i, vec3(0.4, 0.4, 0.4));
    }
    r.bodies[3] = make_ball(2, 2, 0.45, 0.45);
    sim_step(r.sim, 300);
    cr_assert_eq(r.match->awake, 0);
    r.bodies[0] = make_box(2, -2, 0.4, vec3(0.4, 0.4, 0.4)); /* as if by magic: it wakes nobody */
    r.bodies[3].position = vec3(-2, 0.1, 1.2);
    r.bodies[3].velocity = vec3(12, 0, 1);
    r.bodies[3].still_ticks = 0;
    sim_step(r.sim, 400);
    cr_assert_lt(number(r.bodies[1].position.z), 0.9);
    cr_assert_lt(number(r.bodies[2].position.z), 1.3);
}

/* ---- collisions ---- */

Test(tumble, a_collision_keeps_momentum_and_its_share_of_speed)
{
    room r = open_for("bodies=2", "gravity=0");
    r.bodies[0] = make_ball(-1, 0, 2, 0.4);
    r.bodies[1] = make_ball(1, 0, 2, 0.4);
    r.bodies[0].velocity = vec3(4, 0, 0);
    sim_step(r.sim, 40);
    double first = number(r.bodies[0].velocity.x);
    double second = number(r.bodies[1].velocity.x);
    double drag = pow(1.0 - 0.1 / 60.0, 40.0);
    cr_assert_float_eq(first + second, 4.0 * drag, 0.02);
    cr_assert_float_eq(second - first, 0.25 * 4.0 * drag, 0.02);
    cr_assert_float_eq(number(r.bodies[0].velocity.z), 0.0, 1e-6);
}

/* Sliding from 4 m/s at a friction of 0.5: v^2 / (2 * 0.5 * 9.81) = 1.63 m. */
Test(tumble, friction_stops_a_sliding_box_where_it_should)
{
    room r = open_for("bodies=1", "friction=500");
    r.bodies[0] = make_box(-2.5, 0, 0.3, vec3(0.5, 0.5, 0.3));
    r.bodies[0].velocity = vec3(4, 0, 0);
    sim_step(r.sim, 300);
    cr_assert_eq(r.match->awake, 0);
    cr_assert_float_eq(number(r.bodies[0].position.x), -2.5 + 1.63, 0.12);
}

Test(tumble, nothing_fast_passes_a_wall_or_another_body)
{
    room r = open_for("bodies=2", "gravity=0");
    r.bodies[0] = make_box(0, 0, 1, vec3(0.3, 0.3, 0.3));
    r.bodies[1] = make_ball(-2, 0, 1, 0.3);
    r.bodies[1].velocity = vec3(15, 0, 0);
    double half = number(ls_tumble_half_size(&r.sim->config));
    double furthest = 0.0;
    for (int i = 0; i < 120; i++) {
        sim_step(r.sim, 1);
        furthest = fmax(furthest, number(r.bodies[0].position.x));
        cr_assert_lt(number(r.bodies[1].position.x), number(r.bodies[0].position.x));
        cr_assert_lt(number(r.bodies[0].position.x), half - 0.2);
    }
    cr_assert_gt(furthest, half - 0.6); /* it was hit, and hit the wall */
}

/* A free top keeps its energy and its quaternion's length through 3,000 ticks of tumbling. */
Test(tumble, orientations_keep_length_one)
{
    room r = open_for("bodies=1", "gravity=0");
    r.bodies[0] = make_box(0, 0, 2, vec3(0.5, 0.4, 0.3));
    for (int i = 0; i < 3000; i++) {
        r.bodies[0].spin = vec3(6, 5, -4); /* drag would end it */
        sim_step(r.sim, 1);
        ls_quaternion q = r.bodies[0].orientation;
        double length = sqrt(number(q.w) * number(q.w) + number(q.x) * number(q.x) +
                             number(q.y) * number(q.y) + number(q.z) * number(q.z));
        cr_assert_float_eq(length, 1.0, 1e-8);
    }
    cr_assert_neq(r.bodies[0].orientation.w, LS_FIXED_ONE);
}

/* ---- contact points ---- */

static ls_tumble_manifold collide(const ls_tumble_body *a, const ls_tumble_body *b, double margin)
{
    ls_axes axes_a = ls_axes_of(a->orientation);
    ls_axes axes_b = ls_axes_of(b->orientation);
    return ls_tumble_collide((ls_tumble_solid){a, &axes_a}, (ls_tumble_solid){b, &axes_b},
                             ls_fixed_from_double(margin));
}

static void expect_normal(const ls_tumble_manifold *manifold, double x, double y, double z)
{
    cr_assert_float_eq(number(manifold->normal.x), x, 1e-4);
    cr_assert_float_eq(number(manifold->normal.y), y, 1e-4);
    cr_assert_float_eq(number(manifold->normal.z), z, 1e-4);
}

Test(tumble, a_face_on_a_face_has_four_points)
{
    ls_tumble_body a = make_box(0, 0, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body b = make_box(0.2, 0.1, 0.85, vec3(0.4, 0.4, 0.4));
    ls_tumble_manifold manifold = collide(&a, &b, 0);
    expect_normal(&manifold, 0, 0, 1);
    cr_assert_eq(manifold.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_float_eq(number(manifold.depths[i]), 0.05, 1e-6);
        cr_assert_float_eq(number(manifold.points[i].z), 0.475, 1e-6);
        double x = number(manifold.points[i].x);
        double y = number(manifold.points[i].y);
        cr_assert(fabs(x + 0.2) < 1e-6 || fabs(x - 0.5) < 1e-6, "%g", x);
        cr_assert(fabs(y + 0.3) < 1e-6 || fabs(y - 0.5) < 1e-6, "%g", y);
    }
}

/* Turned by 45 degrees, an octagon is left of the square: the best four of its corners stay. */
Test(tumble, a_turned_face_keeps_four_points_far_apart)
{
    ls_tumble_body a = make_box(0, 0, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body b = make_box(0, 0, 0.95, vec3(0.5, 0.5, 0.5));
    b.orientation = (ls_quaternion){ls_fixed_from_double(cos(EIGHTH_OF_PI)), 0, 0,
                                    ls_fixed_from_double(sin(EIGHTH_OF_PI))};
    ls_tumble_manifold manifold = collide(&a, &b, 0);
    expect_normal(&manifold, 0, 0, 1);
    cr_assert_eq(manifold.count, 4);
    double sum_x = 0.0;
    double sum_y = 0.0;
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_float_eq(number(manifold.depths[i]), 0.05, 1e-6);
        sum_x += number(manifold.points[i].x) / 4.0;
        sum_y += number(manifold.points[i].y) / 4.0;
    }
    cr_assert_lt(hypot(sum_x, sum_y), 0.2); /* they surround the middle */
}

/* Two boxes on edge, crosswise: the edges meet in one point above the middle. */
Test(tumble, two_edges_cross_in_one_point)
{
    ls_tumble_body a = make_box(0, 0, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body b = make_box(0, 0, 1.38, vec3(0.5, 0.5, 0.5));
    ls_fixed c = ls_fixed_from_double(cos(EIGHTH_OF_PI));
    ls_fixed s = ls_fixed_from_double(sin(EIGHTH_OF_PI));
    a.orientation = (ls_quaternion){c, s, 0, 0};
    b.orientation = (ls_quaternion){c, 0, s, 0};
    ls_tumble_manifold manifold = collide(&a, &b, 0);
    cr_assert_eq(manifold.count, 1);
    expect_normal(&manifold, 0, 0, 1);
    cr_assert_float_eq(number(manifold.depths[0]), sqrt(2.0) - 1.38, 1e-5);
    cr_assert_float_eq(number(manifold.points[0].x), 0.0, 1e-5);
    cr_assert_float_eq(number(manifold.points[0].z), 0.69, 1e-5);
}

Test(tumble, bodies_apart_touch_only_within_the_margin)
{
    ls_tumble_body box = make_box(0, 0, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body other = make_box(0, 1.1, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body ball = make_ball(1.1, 0, 0, 0.5);
    cr_assert_eq(collide(&box, &other, 0.09).count, 0);
    cr_assert_eq(collide(&box, &ball, 0.09).count, 0);
    cr_assert_eq(collide(&ball, &box, 0.09).count, 0);
    ls_tumble_manifold manifold = collide(&box, &other, 0.11);
    cr_assert_eq(manifold.count, 4);
    cr_assert_float_eq(number(manifold.depths[0]), -0.1, 1e-6);
    manifold = collide(&ball, &box, 0.11);
    cr_assert_eq(manifold.count, 1);
    expect_normal(&manifold, -1, 0, 0);
    cr_assert_float_eq(number(manifold.depths[0]), -0.1, 1e-6);
}

Test(tumble, a_ball_inside_a_box_goes_out_through_the_nearest_face)
{
    ls_tumble_body box = make_box(0, 0, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body ball = make_ball(0.1, -0.3, 0.2, 0.25);
    ls_tumble_manifold manifold = collide(&box, &ball, 0);
    cr_assert_eq(manifold.count, 1);
    expect_normal(&manifold, 0, -1, 0);
    cr_assert_float_eq(number(manifold.depths[0]), 0.25 + 0.2, 1e-6);
}

/* The solver reckons with these directions instead of multiplying by them. */
Test(tumble, tangents_of_the_floor_lie_along_the_axes)
{
    ls_vec3 tangents[2];
    ls_vec3_tangents((ls_vec3){0, 0, -LS_FIXED_ONE}, tangents);
    cr_assert_eq(tangents[0].x, 0);
    cr_assert_eq(tangents[0].y, -LS_FIXED_ONE);
    cr_assert_eq(tangents[0].z, 0);
    cr_assert_eq(tangents[1].x, -LS_FIXED_ONE);
    cr_assert_eq(tangents[1].y, 0);
    cr_assert_eq(tangents[1].z, 0);
}

Test(tumble, a_box_on_its_corner_touches_the_floor_in_one_point)
{
    ls_tumble_body box = make_box(0, 0, 0.83, vec3(0.5, 0.5, 0.5));
    box.orientation = ls_quaternion_turned(box.orientation, vec3(0.8, 0.66, 0));
    ls_axes axes = ls_axes_of(box.orientation);
    ls_tumble_manifold manifold = ls_tumble_collide_plane((ls_tumble_solid){&box, &axes},
                                                          (ls_vec3){0, 0, LS_FIXED_ONE}, 0, 0);
    cr_assert_eq(manifold.count, 1);
    expect_normal(&manifold, 0, 0, -1);
    cr_assert_gt(manifold.depths[0], 0);
}

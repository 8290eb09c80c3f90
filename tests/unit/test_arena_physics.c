#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"
#include "lockstep/tests/support/arena_fixture.h"

#define METRES(value) ls_fixed_from_double(value)
#define NUMBER(value) ls_fixed_to_double(value)

/* An arena with nobody in it and `bodies` bodies at rest, for the test to put where it wants. They
 * are discs of 0.6 m. */
static ls_sim_config empty_config(uint32_t bodies)
{
    ls_sim_config config = arena_config();
    config.players = 1;
    config.params[LS_ARENA_PARAM_BODIES] = bodies;
    config.params[LS_ARENA_PARAM_SPEED] = 0;
    config.params[LS_ARENA_PARAM_DRAG] = 0;
    config.params[LS_ARENA_PARAM_FRICTION] = 0;
    config.params[LS_ARENA_PARAM_RESTITUTION] = 1000;
    return config;
}

static arena_fixture open_empty(uint32_t bodies)
{
    return arena_open(empty_config(bodies));
}

static ls_arena_body *put(arena_fixture *arena, uint32_t index, ls_arena_shape shape, double half_x,
                          double half_y, double x, double y)
{
    ls_arena_body *body = &arena->bodies[arena->layout.player_count + index];
    ls_vec2 half = {METRES(half_x), METRES(half_y)};
    *body = ls_arena_body_make(shape, half, LS_FIXED_ONE);
    body->position = (ls_vec2){METRES(x), METRES(y)};
    return body;
}

static ls_arena_body *put_disc(arena_fixture *arena, uint32_t index, double x, double y)
{
    return put(arena, index, LS_ARENA_DISC, 0.6, 0.6, x, y);
}

typedef struct totals {
    double x; /* kg m/s */
    double y;
    double turning; /* about the origin, kg m2/s */
    double energy;  /* J */
} totals;

static totals sum_up(const arena_fixture *arena)
{
    totals sum = {0};
    for (uint32_t i = arena->layout.player_count; i < arena->layout.body_count; i++) {
        const ls_arena_body *body = &arena->bodies[i];
        double mass = 1 / NUMBER(body->inverse_mass);
        double inertia = 1 / NUMBER(body->inverse_inertia);
        double x = NUMBER(body->velocity.x);
        double y = NUMBER(body->velocity.y);
        double spin = NUMBER(body->spin);
        sum.x += mass * x;
        sum.y += mass * y;
        sum.turning += mass * (NUMBER(body->position.x) * y - NUMBER(body->position.y) * x);
        sum.turning += inertia * spin;
        sum.energy += (mass * (x * x + y * y) + inertia * spin * spin) / 2;
    }
    return sum;
}

static void assert_near(double value, double wanted, double tolerance)
{
    cr_assert(value > wanted - tolerance && value < wanted + tolerance, "%f is not %f +- %f", value,
              wanted, tolerance);
}

/* ---- shapes that touch ---- */

static ls_arena_body shape_at(ls_arena_shape shape, double half_x, double half_y, double x,
                              double y, ls_angle angle)
{
    ls_vec2 half = {METRES(half_x), METRES(half_y)};
    ls_arena_body body = ls_arena_body_make(shape, half, LS_FIXED_ONE);
    body.position = (ls_vec2){METRES(x), METRES(y)};
    body.angle = angle;
    return body;
}

static void assert_normal(const ls_arena_manifold *manifold, double x, double y)
{
    assert_near(NUMBER(manifold->normal.x), x, 1e-6);
    assert_near(NUMBER(manifold->normal.y), y, 1e-6);
}

TestSuite(arena_physics, .fini = destroy_kept);

Test(arena_physics, discs_touch_along_the_line_between_them)
{
    ls_arena_body a = shape_at(LS_ARENA_DISC, 0.5, 0.5, 1, 1, 0);
    ls_arena_body b = shape_at(LS_ARENA_DISC, 0.7, 0.7, 1.6, 1.8, 0);
    ls_arena_manifold manifold = ls_arena_collide(&a, &b);
    cr_assert_eq(manifold.count, 1);
    assert_normal(&manifold, 0.6, 0.8);
    assert_near(NUMBER(manifold.depths[0]), 0.2, 1e-6);
    b.position.x = a.position.x + METRES(1.2);
    b.position.y = a.position.y;
    cr_assert_eq(ls_arena_collide(&a, &b).count, 0, "just touching is no contact");
    b.position = a.position;
    manifold = ls_arena_collide(&a, &b);
    cr_assert_eq(manifold.count, 1);
    assert_normal(&manifold, 1, 0);
}

Test(arena_physics, a_disc_touches_the_side_the_corner_and_the_inside_of_a_box)
{
    ls_arena_body box = shape_at(LS_ARENA_BOX, 0.8, 0.5, 0, 0, LS_ANGLE_QUARTER);
    ls_arena_body disc = shape_at(LS_ARENA_DISC, 0.5, 0.5, 0.9, 0.1, 0);
    ls_arena_manifold manifold = ls_arena_collide(&box, &disc);
    cr_assert_eq(manifold.count, 1);
    assert_normal(&manifold, 1, 0);
    assert_near(NUMBER(manifold.depths[0]), 0.1, 1e-6);
    manifold = ls_arena_collide(&disc, &box);
    assert_normal(&manifold, -1, 0);
    disc.position = (ls_vec2){METRES(0.8), METRES(1.2)};
    manifold = ls_arena_collide(&box, &disc);
    cr_assert_eq(manifold.count, 0);
    disc.position = (ls_vec2){METRES(0.74), METRES(1.12)};
    manifold = ls_arena_collide(&box, &disc);
    cr_assert_eq(manifold.count, 1);
    assert_normal(&manifold, 0.6, 0.8);
    disc.position = (ls_vec2){METRES(-0.1), METRES(0.75)};
    manifold = ls_arena_collide(&box, &disc);
    cr_assert_eq(manifold.count, 1);
    assert_normal(&manifold, 0, 1);
    assert_near(NUMBER(manifold.depths[0]), 0.55, 1e-6);
}

Test(arena_physics, boxes_touch_in_two_points_face_to_face_and_in_one_at_a_corner)
{
    ls_arena_body a = shape_at(LS_ARENA_BOX, 0.8, 0.5, 0, 0, 0);
    ls_arena_body b = shape_at(LS_ARENA_BOX, 0.6, 0.6, 1.3, 0.4, 0);
    ls_arena_manifold manifold = ls_arena_collide(&a, &b);
    cr_assert_eq(manifold.count, 2);
    assert_normal(&manifold, 1, 0);
    for (int i = 0; i < 2; i++) {
        assert_near(NUMBER(manifold.depths[i]), 0.1, 1e-6);
        cr_assert_leq(NUMBER(manifold.points[i].y), 0.5 + 1e-6);
        cr_assert_geq(NUMBER(manifold.points[i].y), -0.2 - 1e-6);
    }
    b.angle = LS_ANGLE_QUARTER / 2;
    b.position = (ls_vec2){METRES(0.8 + 0.8), 0};
    manifold = ls_arena_collide(&a, &b);
    cr_assert_eq(manifold.count, 1);
    assert_normal(&manifold, 1, 0);
    manifold = ls_arena_collide(&b, &a);
    assert_normal(&manifold, -1, 0);
    b.position.x = METRES(0.8 + 0.86);
    cr_assert_eq(ls_arena_collide(&a, &b).count, 0);
}

/* Contacts push apart at any turn: the normal leads from the first to the second box, and
 * moving by the depth along it ends the contact. */
Test(arena_physics, moving_boxes_apart_by_their_depth_ends_the_contact)
{
    ls_rng rng = ls_rng_make(5, 5);
    uint32_t touching = 0;
    for (uint32_t round = 0; round < 2000; round++) {
        ls_arena_body a = shape_at(LS_ARENA_BOX, 0.8, 0.5, 0, 0, ls_rng_next(&rng));
        ls_arena_body b = shape_at(LS_ARENA_BOX, 0.6, 0.7, 0, 0, ls_rng_next(&rng));
        b.position.x = 2 * ls_rng_unit(&rng) - LS_FIXED_ONE;
        b.position.y = 2 * ls_rng_unit(&rng) - LS_FIXED_ONE;
        ls_arena_manifold manifold = ls_arena_collide(&a, &b);
        if (manifold.count == 0) {
            continue;
        }
        touching++;
        cr_assert_geq(ls_vec2_dot(manifold.normal, b.position), 0);
        ls_fixed depth = manifold.depths[0];
        if (manifold.count == 2) {
            depth = ls_fixed_max(depth, manifold.depths[1]);
        }
        ls_vec2 way = ls_vec2_scale(manifold.normal, depth + METRES(1e-5));
        b.position = ls_vec2_add(b.position, way);
        cr_assert_eq(ls_arena_collide(&a, &b).count, 0);
    }
    cr_assert_gt(touching, 1000);
}

Test(arena_physics, a_body_of_no_shape_touches_nothing)
{
    ls_arena_body a = shape_at(LS_ARENA_DISC, 0.5, 0.5, 0, 0, 0);
    ls_arena_body none = {0};
    cr_assert_eq(ls_arena_collide(&a, &none).count, 0);
    cr_assert_eq(ls_arena_collide(&none, &a).count, 0);
    cr_assert_eq(ls_arena_collide_wall(&none, 0, 0, LS_FIXED_ONE).count, 0);
}

Test(arena_physics, a_box_along_a_wall_touches_it_in_two_points)
{
    ls_arena_body box = shape_at(LS_ARENA_BOX, 0.8, 0.5, 0, 9.6, 0);
    ls_arena_manifold manifold =
        ls_arena_collide_wall(&box, 1, LS_FIXED_INT(10), LS_FIXED_RATIO(1, 100));
    cr_assert_eq(manifold.count, 2);
    assert_normal(&manifold, 0, 1);
    assert_near(NUMBER(manifold.depths[0]), 0.1, 1e-6);
    cr_assert_eq(ls_arena_collide_wall(&box, 0, LS_FIXED_INT(10), 0).count, 0);
    cr_assert_eq(ls_arena_collide_wall(&box, 3, LS_FIXED_INT(10), 0).count, 0);
}

/* ---- collisions ---- */

Test(arena_physics, equal_discs_swap_their_velocities)
{
    arena_fixture arena = open_empty(2);
    ls_arena_body *left = put_disc(&arena, 0, -3, 1);
    ls_arena_body *right = put_disc(&arena, 1, 3, 1);
    left->velocity.x = METRES(5);
    right->velocity.x = METRES(-2);
    totals before = sum_up(&arena);
    arena_run_empty(&arena, 90);
    assert_near(NUMBER(left->velocity.x), -2, 1e-6);
    assert_near(NUMBER(right->velocity.x), 5, 1e-6);
    totals after = sum_up(&arena);
    assert_near(after.x, before.x, 1e-6);
    assert_near(after.energy, before.energy, 1e-5);
}

Test(arena_physics, restitution_is_the_share_of_speed_kept)
{
    static const int64_t thousandths[] = {0, 300, 600, 1000};
    for (size_t i = 0; i < sizeof thousandths / sizeof thousandths[0]; i++) {
        ls_sim_config config = empty_config(2);
        config.params[LS_ARENA_PARAM_RESTITUTION] = thousandths[i];
        arena_fixture arena = arena_open(config);
        ls_arena_body *left = put_disc(&arena, 0, -3, 1);
        ls_arena_body *right = put_disc(&arena, 1, 3, 1);
        left->velocity.x = METRES(4);
        right->velocity.x = METRES(-4);
        arena_run_empty(&arena, 60);
        double apart = NUMBER(right->velocity.x) - NUMBER(left->velocity.x);
        assert_near(apart, 8 * (double)thousandths[i] / 1000, 1e-5);
    }
}

Test(arena_physics, a_glancing_box_starts_to_turn_and_momentum_is_kept)
{
    ls_sim_config config = empty_config(2);
    config.params[LS_ARENA_PARAM_FRICTION] = 500;
    config.params[LS_ARENA_PARAM_RESTITUTION] = 500;
    arena_fixture arena = arena_open(config);
    ls_arena_body *box = put(&arena, 0, LS_ARENA_BOX, 0.8, 0.5, -2, 0);
    ls_arena_body *other = put(&arena, 1, LS_ARENA_BOX, 0.6, 0.6, 1, 0.7);
    box->velocity.x = METRES(6);
    box->angle = LS_ANGLE_QUARTER / 5;
    totals before = sum_up(&arena);
    arena_run_empty(&arena, 45);
    totals after = sum_up(&arena);
    cr_assert_gt(NUMBER(other->velocity.x), 0.5);
    cr_assert_gt(NUMBER(ls_fixed_abs(other->spin)), 0.1);
    assert_near(after.x, before.x, 1e-5);
    assert_near(after.y, before.y, 1e-5);
    /* The bodies are moved apart after the contact, which shifts their lever arms a little. */
    assert_near(after.turning, before.turning, 0.02 * before.x);
    cr_assert_lt(after.energy, before.energy);
}

static ls_sim_config crowd(int64_t boxes, int64_t friction)
{
    ls_sim_config config = arena_config();
    config.players = 1;
    config.params[LS_ARENA_PARAM_BOXES] = boxes;
    config.params[LS_ARENA_PARAM_DRAG] = 0;
    config.params[LS_ARENA_PARAM_FRICTION] = friction;
    config.params[LS_ARENA_PARAM_RESTITUTION] = 1000;
    return config;
}

/* Few iterations leave a crowded impact a little short of, or beyond, its target. */
Test(arena_physics, an_elastic_crowd_hardly_gains_or_loses_energy)
{
    for (int64_t boxes = 0; boxes <= 1000; boxes += 500) {
        arena_fixture arena = arena_open(crowd(boxes, 0));
        double before = sum_up(&arena).energy;
        for (uint32_t second = 0; second < 10; second++) {
            arena_run_empty(&arena, 60);
            cr_assert_lt(sum_up(&arena).energy, 1.03 * before);
        }
        cr_assert_gt(sum_up(&arena).energy, 0.8 * before);
    }
}

Test(arena_physics, friction_takes_energy_out_of_a_crowd)
{
    arena_fixture smooth = arena_open(crowd(1000, 0));
    arena_fixture rough = arena_open(crowd(1000, 500));
    arena_run_empty(&smooth, 600);
    arena_run_empty(&rough, 600);
    cr_assert_lt(sum_up(&rough).energy, 0.6 * sum_up(&smooth).energy);
}

/* A disc that is pressed along a wall: friction slows and turns it, without friction it slides. */
Test(arena_physics, friction_slows_and_turns_a_disc_that_meets_a_wall)
{
    for (int64_t friction = 0; friction <= 400; friction += 400) {
        ls_sim_config config = empty_config(1);
        config.params[LS_ARENA_PARAM_FRICTION] = friction;
        arena_fixture arena = arena_open(config);
        ls_arena_body *disc = put_disc(&arena, 0, 10, 0);
        disc->velocity = (ls_vec2){METRES(5), METRES(3)};
        arena_run_empty(&arena, 60);
        assert_near(NUMBER(disc->velocity.x), -5, 1e-5);
        if (friction == 0) {
            assert_near(NUMBER(disc->velocity.y), 3, 1e-6);
            cr_assert_eq(disc->spin, 0);
        } else {
            /* Rolling at last: friction took a third of the speed along the wall. */
            assert_near(NUMBER(disc->velocity.y), 2, 1e-4);
            assert_near(NUMBER(disc->spin), -2 / 0.6, 1e-3);
        }
    }
}

Test(arena_physics, drag_slows_a_lone_body_until_it_sleeps)
{
    ls_sim_config config = empty_config(1);
    config.params[LS_ARENA_PARAM_DRAG] = 1000;
    arena_fixture arena = arena_open(config);
    ls_arena_body *disc = put_disc(&arena, 0, -5, 0);
    disc->velocity.x = METRES(4);
    arena_run_empty(&arena, 60);
    assert_near(NUMBER(disc->velocity.x), 4 * 0.3679, 0.02);
    arena_run_empty(&arena, 600);
    cr_assert_eq(disc->velocity.x, 0);
    arena_step(&arena);
    cr_assert_eq(arena.match->awake, 0);
}

Test(arena_physics, a_sleeping_body_wakes_when_it_is_hit)
{
    arena_fixture arena = open_empty(2);
    ls_arena_body *sleeper = put_disc(&arena, 0, 4, 0);
    ls_arena_body *mover = put_disc(&arena, 1, -4, 0);
    mover->velocity.x = METRES(3);
    arena_run_empty(&arena, 60);
    cr_assert_eq(arena.match->awake, 1);
    cr_assert_eq(sleeper->velocity.x, 0);
    arena_run_empty(&arena, 120);
    assert_near(NUMBER(sleeper->velocity.x), 3, 1e-5);
}

Test(arena_physics, bodies_dropped_into_each_other_come_apart)
{
    arena_fixture arena = open_empty(9);
    for (uint32_t i = 0; i < 9; i++) {
        put(&arena, i, i % 2 ? LS_ARENA_BOX : LS_ARENA_DISC, 0.6, 0.6, 0.3 * (i % 3),
            0.3 * (i / 3));
    }
    arena_run_empty(&arena, 300);
    for (uint32_t i = 1; i < 10; i++) {
        for (uint32_t j = i + 1; j < 10; j++) {
            ls_arena_manifold manifold = ls_arena_collide(&arena.bodies[i], &arena.bodies[j]);
            for (uint32_t k = 0; k < manifold.count; k++) {
                cr_assert_lt(NUMBER(manifold.depths[k]), 0.03);
            }
        }
    }
}

/* ---- limits ---- */

static void assert_corners_inside(const arena_fixture *arena)
{
    ls_fixed half_size = ls_arena_half_size(&arena->config);
    for (uint32_t i = 0; i < arena->layout.body_count; i++) {
        const ls_arena_body *body = &arena->bodies[i];
        ls_vec2 extent = ls_arena_extent(body);
        cr_assert_leq(ls_fixed_abs(body->position.x) + extent.x, half_size);
        cr_assert_leq(ls_fixed_abs(body->position.y) + extent.y, half_size);
    }
}

Test(arena_physics, no_corner_ever_leaves_the_arena_at_any_tick_rate)
{
    static const uint32_t rates[] = {LS_TICK_RATE_MIN_HZ, 10, 60, LS_TICK_RATE_MAX_HZ};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        ls_sim_config config = crowd(500, 300);
        config.tick_rate_hz = rates[i];
        config.params[LS_ARENA_PARAM_SPEED] = 20;
        config.params[LS_ARENA_PARAM_AREA] = 8;
        arena_fixture arena = arena_open(config);
        for (uint32_t tick = 0; tick < 500; tick++) {
            arena_step(&arena);
            assert_corners_inside(&arena);
        }
    }
}

Test(arena_physics, the_fastest_bodies_do_not_pass_through_each_other)
{
    static const uint32_t rates[] = {LS_TICK_RATE_MIN_HZ, 10, 30, 60, 128};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (int gap = 0; gap < 16; gap++) {
            ls_sim_config config = empty_config(2);
            config.tick_rate_hz = rates[i];
            arena_fixture arena = arena_open(config);
            ls_arena_body *left = put(&arena, 0, LS_ARENA_BOX, 0.45, 0.45, -2, 0);
            ls_arena_body *right = put(&arena, 1, LS_ARENA_BOX, 0.45, 0.45, 2 + 0.05 * gap, 0);
            left->velocity.x = METRES(1000);
            right->velocity.x = METRES(-1000);
            for (uint32_t tick = 0; left->velocity.x > 0; tick++) {
                cr_assert_lt(tick, 40, "they did not meet");
                arena_step(&arena);
                cr_assert_lt(left->position.x, right->position.x);
            }
        }
    }
}

/* ---- ships and shots ---- */

/* Two ships, looking at each other from 10 m, and `bodies` bodies. */
static arena_fixture open_duel(uint32_t bodies, uint32_t tick_rate_hz)
{
    ls_sim_config config = empty_config(bodies);
    config.players = 2;
    config.tick_rate_hz = tick_rate_hz;
    arena_fixture arena = arena_open(config);
    arena.slots[0].events = LS_EVENT_JOINED;
    arena.slots[1].events = LS_EVENT_JOINED;
    arena_step(&arena);
    arena.slots[0].events = 0;
    arena.slots[1].events = 0;
    arena.bodies[0].position = (ls_vec2){METRES(-5), 0};
    arena.bodies[1].position = (ls_vec2){METRES(5), 0};
    arena.bodies[0].angle = 0;
    arena.bodies[1].angle = LS_ANGLE_HALF;
    return arena;
}

Test(arena_physics, thrust_drives_along_the_heading_and_the_stick_turns_left)
{
    static const uint8_t thrust[] = {LS_ARENA_THRUST};
    static const uint8_t left[] = {0, 127};
    arena_fixture arena = open_duel(0, 60);
    arena.bodies[1].angle = LS_ANGLE_QUARTER;
    arena.slots[1] = (ls_slot_input){.bytes = thrust, .size = sizeof thrust};
    arena.slots[0] = (ls_slot_input){.bytes = left, .size = sizeof left};
    arena_run_empty(&arena, 12);
    cr_assert_gt(NUMBER(arena.bodies[1].velocity.y), 2);
    assert_near(NUMBER(arena.bodies[1].velocity.x), 0, 1e-6);
    cr_assert_gt(NUMBER(arena.bodies[0].spin), 2);
    cr_assert_lt(arena.bodies[0].angle, LS_ANGLE_HALF);
}

Test(arena_physics, shots_push_hurt_and_destroy_and_the_ship_comes_back)
{
    static const uint8_t fire[] = {LS_ARENA_FIRE};
    arena_fixture arena = open_duel(0, 60);
    arena.slots[0] = (ls_slot_input){.bytes = fire, .size = sizeof fire};
    uint32_t tick = 0;
    while (arena.ships[1].health == LS_ARENA_SHIP_HEALTH) {
        cr_assert_lt(tick++, 60, "nothing was hit");
        arena_step(&arena);
    }
    cr_assert_gt(NUMBER(arena.bodies[1].velocity.x), 0.5);
    cr_assert_eq(arena.ships[0].hits, 1);
    cr_assert_eq(arena.ships[0].score, 1);
    while (arena.bodies[1].shape != LS_ARENA_NONE) {
        cr_assert_lt(tick++, 600, "nothing was destroyed");
        arena_step(&arena);
    }
    cr_assert_eq(arena.ships[0].kills, 1);
    cr_assert_eq(arena.ships[0].score, 5 + 5);
    cr_assert_eq(arena.ships[1].deaths, 1);
    arena.slots[0].size = 0;
    arena_run_empty(&arena, 2 * arena.config.tick_rate_hz - 2);
    cr_assert_eq(arena.bodies[1].shape, LS_ARENA_NONE);
    arena_run_empty(&arena, 3);
    cr_assert_eq(arena.bodies[1].shape, LS_ARENA_DISC);
    cr_assert_eq(arena.ships[1].health, LS_ARENA_SHIP_HEALTH);
}

Test(arena_physics, no_more_shots_fly_than_the_parameter_says)
{
    static const uint8_t fire[] = {LS_ARENA_FIRE};
    ls_sim_config config = arena_config();
    config.players = 1;
    config.params[LS_ARENA_PARAM_SHOTS] = 2;
    config.params[LS_ARENA_PARAM_BODIES] = 0;
    config.params[LS_ARENA_PARAM_AREA] = 60;
    arena_fixture arena = arena_open(config);
    arena.slots[0] = (ls_slot_input){.bytes = fire, .size = 1, .events = LS_EVENT_JOINED};
    arena_run_empty(&arena, 15);
    cr_assert_gt(arena.shots[0].ticks_left, 0);
    cr_assert_gt(arena.shots[1].ticks_left, 0);
    cr_assert_eq(arena.match->serial, 3);
    arena_run_empty(&arena, 10);
    cr_assert_eq(arena.match->serial, 3);
}

Test(arena_physics, shots_do_not_fly_through_bodies)
{
    static const uint8_t fire[] = {LS_ARENA_FIRE};
    static const uint32_t rates[] = {10, 20, 60, 144};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (int gap = 0; gap < 12; gap++) {
            arena_fixture arena = open_duel(1, rates[i]);
            ls_arena_body *box = put(&arena, 0, LS_ARENA_BOX, 0.45, 0.45, -3 + 0.06 * gap, 0);
            box->velocity.x = METRES(-20);
            arena.slots[0] = (ls_slot_input){.bytes = fire, .size = 1};
            arena_step(&arena);
            arena.slots[0] = (ls_slot_input){0};
            arena_run_empty(&arena, 40);
            cr_assert_eq(arena.ships[0].hits, 1);
        }
    }
}

/* ---- pairs ---- */

enum {
    BODIES_MAX = 600,
    PAIRS_PER_BODY = 8,
    ASLEEP = 255, /* more than any limit */
};

typedef struct number_pair {
    uint32_t a;
    uint32_t b;
} number_pair;

/* An arena whose bodies the test puts where it wants, and its broadphase alone. */
typedef struct pairs_stage {
    arena_fixture arena;
    ls_step step;
    number_pair found[PAIRS_PER_BODY * BODIES_MAX];
    uint32_t found_count;
    number_pair wanted[PAIRS_PER_BODY * BODIES_MAX];
    uint32_t wanted_count;
} pairs_stage;

static pairs_stage *open_stage(uint32_t bodies, int64_t area)
{
    ls_sim_config config = arena_config();
    config.params[LS_ARENA_PARAM_BODIES] = bodies;
    config.params[LS_ARENA_PARAM_AREA] = area;
    pairs_stage *stage = keep_until_end(calloc(1, sizeof *stage), free);
    stage->arena = arena_open(config);
    void *scratch = keep_until_end(malloc(ls_arena_scratch_bytes(&config)), free);
    memset(scratch, 0xa5, ls_arena_scratch_bytes(&config));
    stage->step = (ls_step){.config = &stage->arena.config,
                            .state = ls_sim_instance_state(stage->arena.instance),
                            .scratch = scratch};
    return stage;
}

/* Spreads them over `share` of the arena's width and puts one in `wakes` to no sleep. */
static void scatter(pairs_stage *stage, double share, uint32_t wakes, ls_rng *rng)
{
    ls_fixed reach =
        ls_fixed_mul(ls_arena_half_size(&stage->arena.config), ls_fixed_from_double(share));
    for (uint32_t i = stage->arena.layout.player_count; i < stage->arena.layout.body_count; i++) {
        ls_arena_body *body = &stage->arena.bodies[i];
        body->position.x = ls_rng_fixed_between(rng, -reach, reach);
        body->position.y = ls_rng_fixed_between(rng, -reach, reach);
        body->still_ticks = ls_rng_below(rng, wakes) == 0 ? 0 : ASLEEP;
        body->velocity = (ls_vec2){0, 0};
        body->spin = 0;
    }
}

/* ---- what the rules say, by a search through all bodies ---- */

static int64_t square_number(ls_fixed half_size, ls_fixed coordinate)
{
    int64_t last = (2 * half_size + LS_FIXED_INT(2) - 1) / LS_FIXED_INT(2) - 1;
    int64_t number = (coordinate + half_size + 1) / LS_FIXED_INT(2);
    return LS_MIN(number, last);
}

/* When there is no room for all pairs of a body, those come first whose other body is in the lowest
 * row of squares, then in the lowest column, then has the lowest number. */
static int64_t rank_of(ls_fixed half_size, const ls_arena_body *body, uint32_t number)
{
    int64_t row = square_number(half_size, body->position.y);
    int64_t column = square_number(half_size, body->position.x);
    return ((row << 16) + column) * BODIES_MAX * 2 + number;
}

static bool is_wanted(const pairs_stage *stage, uint32_t a, uint32_t b)
{
    const ls_arena_body *bodies = stage->arena.bodies;
    bool is_kept_by_a = b > a || (b < a && bodies[b].still_ticks == ASLEEP);
    return is_kept_by_a && bodies[b].shape != LS_ARENA_NONE &&
           ls_arena_circles_overlap(&bodies[a], &bodies[b]);
}

/* How many wanted partners of `a` rank before b. */
static uint32_t place_of(const pairs_stage *stage, uint32_t a, uint32_t b)
{
    ls_fixed half_size = ls_arena_half_size(&stage->arena.config);
    const ls_arena_body *bodies = stage->arena.bodies;
    uint32_t before = 0;
    for (uint32_t other = 0; other < stage->arena.layout.body_count; other++) {
        before += is_wanted(stage, a, other) &&
                  rank_of(half_size, &bodies[other], other) < rank_of(half_size, &bodies[b], b);
    }
    return before;
}

static void search_all(pairs_stage *stage)
{
    uint32_t count = stage->arena.layout.body_count;
    stage->wanted_count = 0;
    for (uint32_t a = 0; a < count; a++) {
        const ls_arena_body *body = &stage->arena.bodies[a];
        if (body->shape == LS_ARENA_NONE || body->still_ticks == ASLEEP) {
            continue;
        }
        uint32_t room = PAIRS_PER_BODY * count - stage->wanted_count;
        for (uint32_t b = 0; b < count; b++) {
            if (is_wanted(stage, a, b) && place_of(stage, a, b) < room) {
                stage->wanted[stage->wanted_count++] = (number_pair){a, b};
            }
        }
    }
}

/* ---- what the broadphase finds ---- */

static void read_pairs(pairs_stage *stage)
{
    ls_arena_world world = ls_arena_world_of(&stage->step);
    stage->found_count = 0;
    for (uint32_t a = 0; a < stage->arena.layout.body_count; a++) {
        for (uint32_t k = world.first_pairs[a]; k != LS_ARENA_NO_PAIR; k = world.pairs[k].next) {
            stage->found[stage->found_count++] = (number_pair){a, world.pairs[k].b};
        }
    }
}

static void assert_pairs(pairs_stage *stage)
{
    ls_arena_pass_broadphase(&stage->step);
    read_pairs(stage);
    search_all(stage);
    cr_assert_eq(stage->arena.match->pairs, stage->found_count);
    cr_assert_eq(stage->found_count, stage->wanted_count, "%u of %u", stage->found_count,
                 stage->wanted_count);
    for (uint32_t i = 0; i < stage->found_count; i++) {
        cr_assert_eq(stage->found[i].a, stage->wanted[i].a, "pair %u", i);
        cr_assert_eq(stage->found[i].b, stage->wanted[i].b, "pair %u", i);
    }
}

Test(arena_physics, they_are_those_of_a_search_through_all_bodies)
{
    ls_rng rng = ls_rng_make(3, 1);
    uint32_t found = 0;
    for (uint32_t round = 0; round < 60; round++) {
        pairs_stage *stage = open_stage(round * 5, round % 2 == 0 ? 8 : 60);
        scatter(stage, round % 3 == 0 ? 0.5 : 1.0, 1 + round % 4, &rng);
        assert_pairs(stage);
        found += stage->found_count;
    }
    cr_assert_gt(found, 3000);
}

Test(arena_physics, few_that_are_awake_find_all_that_sleep)
{
    ls_rng rng = ls_rng_make(4, 1);
    uint32_t found = 0;
    for (uint32_t round = 0; round < 20; round++) {
        pairs_stage *stage = open_stage(300, 8);
        scatter(stage, 0.7, 10, &rng);
        assert_pairs(stage);
        cr_assert_lt(stage->arena.match->awake, 75);
        found += stage->found_count;
    }
    cr_assert_gt(found, 500);
}

Test(arena_physics, those_of_the_lowest_bodies_and_squares_are_kept_when_there_are_too_many)
{
    ls_rng rng = ls_rng_make(5, 1);
    for (uint32_t round = 0; round < 6; round++) {
        pairs_stage *stage = open_stage(80, 8);
        scatter(stage, 0.05 + 0.01 * round, round < 3 ? 1 : 2, &rng);
        assert_pairs(stage);
        cr_assert_eq(stage->found_count, PAIRS_PER_BODY * stage->arena.layout.body_count);
    }
}

Test(arena_physics, bodies_in_the_corners_and_on_the_edges_of_squares_are_found)
{
    pairs_stage *stage = open_stage(200, 9);
    ls_fixed half_size = ls_arena_half_size(&stage->arena.config);
    ls_rng rng = ls_rng_make(6, 1);
    for (uint32_t i = stage->arena.layout.player_count; i < stage->arena.layout.body_count; i++) {
        ls_fixed x = LS_FIXED_INT(2 * ls_rng_below(&rng, 4)) - half_size;
        ls_fixed y = half_size - LS_FIXED_INT(ls_rng_below(&rng, 3));
        x = ls_fixed_add(x, ls_rng_between(&rng, -2, 2));
        stage->arena.bodies[i].position = (ls_vec2){i % 2 == 0 ? x : -x, i % 4 < 2 ? y : -y};
    }
    assert_pairs(stage);
}

/* ---- those near a wall ---- */

Test(arena_physics, who_may_touch_a_wall_is_noted)
{
    pairs_stage *stage = open_stage(4, 9);
    ls_arena_body *bodies = stage->arena.bodies + stage->arena.layout.player_count;
    ls_fixed half_size = ls_arena_half_size(&stage->arena.config);
    for (uint32_t i = 0; i < 4; i++) {
        bodies[i].position = (ls_vec2){LS_FIXED_INT(3 * i), 0};
    }
    bodies[1].position.x = half_size - bodies[1].radius - LS_ARENA_SLOP;
    bodies[2].position.y = bodies[2].radius + LS_ARENA_SLOP - half_size + 1;
    bodies[3].position.x = -half_size;
    bodies[3].still_ticks = ASLEEP;
    bodies[3].velocity = (ls_vec2){0, 0};
    bodies[3].spin = 0;
    ls_arena_pass_broadphase(&stage->step);
    ls_arena_world world = ls_arena_world_of(&stage->step);
    cr_assert_eq(world.near_wall[0], stage->arena.layout.player_count + 1);
    cr_assert_eq(world.near_wall[1], LS_ARENA_WALL);
    bodies[2].position.y--;
    bodies[3].still_ticks = 0;
    ls_arena_pass_broadphase(&stage->step);
    cr_assert_eq(world.near_wall[1], stage->arena.layout.player_count + 2);
    cr_assert_eq(world.near_wall[2], stage->arena.layout.player_count + 3);
    cr_assert_eq(world.near_wall[3], LS_ARENA_WALL);
}

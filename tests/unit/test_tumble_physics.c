/* Tumble as physics: what falls comes to rest, nothing explodes, nothing leaves the room. */
#include "lockstep/tests/support/sim_fixture.h"

#include "lockstep/common/simulations/tumble/tumble_collide.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"

#include <math.h>

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

TestSuite(tumble_physics, .fini = destroy_kept);

Test(tumble_physics, falling_bodies_come_to_rest_without_exploding)
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

Test(tumble_physics, bodies_come_to_rest_at_other_tick_rates_and_in_crowds)
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

Test(tumble_physics, a_tilted_box_falls_flat_on_the_floor)
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

Test(tumble_physics, a_stack_of_six_boxes_stands)
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

Test(tumble_physics, a_sleeping_stack_falls_when_its_foot_is_knocked_away)
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

Test(tumble_physics, a_collision_keeps_momentum_and_its_share_of_speed)
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
Test(tumble_physics, friction_stops_a_sliding_box_where_it_should)
{
    room r = open_for("bodies=1", "friction=500");
    r.bodies[0] = make_box(-2.5, 0, 0.3, vec3(0.5, 0.5, 0.3));
    r.bodies[0].velocity = vec3(4, 0, 0);
    sim_step(r.sim, 300);
    cr_assert_eq(r.match->awake, 0);
    cr_assert_float_eq(number(r.bodies[0].position.x), -2.5 + 1.63, 0.12);
}

Test(tumble_physics, nothing_fast_passes_a_wall_or_another_body)
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
Test(tumble_physics, orientations_keep_length_one)
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

Test(tumble_physics, a_face_on_a_face_has_four_points)
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
Test(tumble_physics, a_turned_face_keeps_four_points_far_apart)
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
Test(tumble_physics, two_edges_cross_in_one_point)
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

Test(tumble_physics, bodies_apart_touch_only_within_the_margin)
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

Test(tumble_physics, a_ball_inside_a_box_goes_out_through_the_nearest_face)
{
    ls_tumble_body box = make_box(0, 0, 0, vec3(0.5, 0.5, 0.5));
    ls_tumble_body ball = make_ball(0.1, -0.3, 0.2, 0.25);
    ls_tumble_manifold manifold = collide(&box, &ball, 0);
    cr_assert_eq(manifold.count, 1);
    expect_normal(&manifold, 0, -1, 0);
    cr_assert_float_eq(number(manifold.depths[0]), 0.25 + 0.2, 1e-6);
}

/* The solver reckons with these directions instead of multiplying by them. */
Test(tumble_physics, tangents_of_the_floor_lie_along_the_axes)
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

Test(tumble_physics, a_box_on_its_corner_touches_the_floor_in_one_point)
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

#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <math.h>

static sim_fixture *open_rope(const char *assignment, uint32_t tick_rate_hz)
{
    const ls_simulation *rope = ls_rope_simulation();
    ls_sim_config config = ls_sim_config_default(rope);
    config.tick_rate_hz = tick_rate_hz;
    if (assignment != NULL) {
        sim_set(&config, rope, assignment);
    }
    return sim_open(rope, config);
}

static ls_rope_point particle(const sim_fixture *sim, uint32_t index)
{
    return ls_rope_view_of(&sim->config, sim_state(sim)).positions[index];
}

/* Kinetic, elastic and, from the floor up, of weight: all of it, J. */
static double energy(const sim_fixture *sim)
{
    const int64_t *params = sim->config.params;
    uint32_t count = (uint32_t)params[LS_ROPE_PARAM_PARTICLES];
    double mass = (double)params[LS_ROPE_PARAM_MASS] / 1000.0;
    double link = (double)params[LS_ROPE_PARAM_LINK] / 1000.0;
    ls_rope_view rope = ls_rope_view_of(&sim->config, sim_state(sim));
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        double speed = hypot(rope.velocities[i].x, rope.velocities[i].y);
        sum += 0.5 * mass * speed * speed;
        sum += mass * 9.81 * (rope.positions[i].y - LS_ROPE_FLOOR);
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        ls_rope_point a = rope.positions[i], b = rope.positions[i + 1];
        double longer = hypot(b.x - a.x, b.y - a.y) - link;
        sum += 0.5 * (double)params[LS_ROPE_PARAM_STIFFNESS] * longer * longer;
    }
    return sum;
}

static double stretch(const sim_fixture *sim)
{
    return ls_rope_stretch(&sim->config, sim_state(sim));
}

static void drag(sim_fixture *sim, uint32_t slot, bool is_holding, int x_mm, int y_mm)
{
    uint32_t x = (uint32_t)x_mm;
    uint32_t y = (uint32_t)y_mm;
    const uint8_t input[LS_ROPE_INPUT_BYTES] = {is_holding, (uint8_t)x, (uint8_t)(x >> 8),
                                                (uint8_t)y, (uint8_t)(y >> 8)};
    sim_set_input(sim, slot, input, sizeof input);
}

/* ---- row T8 ---- */

TestSuite(rope, .fini = destroy_kept);

Test(rope, steps_of_a_millisecond_hold_it)
{
    for (int integrator = 1; integrator <= 2; integrator++) {
        sim_fixture *sim = open_rope(integrator == 1 ? "integrator=1" : "integrator=2", 1000);
        for (int i = 0; i < 100; i++) {
            sim_run_bots(sim, 50);
            cr_assert_lt(stretch(sim), 1.6);
            cr_assert_lt(energy(sim), 400.0);
        }
    }
}

Test(rope, steps_of_a_frame_tear_it_apart)
{
    for (int integrator = 0; integrator <= 2; integrator++) {
        static const char *const assignments[] = {"integrator=0", "integrator=1", "integrator=2"};
        sim_fixture *sim = open_rope(assignments[integrator], 60);
        sim_run_bots(sim, 120);
        cr_assert_gt(stretch(sim), 100.0, "%s", assignments[integrator]);
        cr_assert(isfinite(energy(sim)));
    }
}

Test(rope, explicit_euler_tears_it_even_with_steps_of_a_millisecond)
{
    sim_fixture *sim = open_rope("integrator=0", 1000);
    sim_run_bots(sim, 1000);
    cr_assert_gt(stretch(sim), 100.0);
}

/* Two integrators that are right come to the same picture, before chaos takes over. */
Test(rope, the_integrators_agree_on_a_short_swing)
{
    sim_fixture *semi_implicit = open_rope("integrator=1", 1000);
    sim_fixture *rk4 = open_rope("integrator=2", 1000);
    sim_join(semi_implicit);
    sim_join(rk4);
    sim_step(semi_implicit, 300);
    sim_step(rk4, 300);
    for (uint32_t i = 0; i < 80; i++) {
        cr_assert_float_eq(particle(semi_implicit, i).y, particle(rk4, i).y, 0.01);
    }
    cr_assert_lt(particle(rk4, 40).y, -0.1); /* it sags */
}

Test(rope, advance_of_a_tick_is_what_a_tick_does)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_fixture *by_hand = open_rope(NULL, 1000);
    size_t bytes = ls_rope_simulation()->scratch_bytes(&sim->config);
    void *scratch = ls_allocate(ls_allocator_heap(), bytes);
    sim_step(sim, 20);
    for (int i = 0; i < 20; i++) {
        ls_rope_advance(&by_hand->config, sim_state(by_hand), scratch, 1.0 / 1000.0);
    }
    cr_assert_eq(ls_sim_instance_hash(sim->instance), ls_sim_instance_hash(by_hand->instance));
    ls_release(ls_allocator_heap(), scratch);
}

Test(rope, a_rope_that_nobody_holds_falls_and_comes_to_rest)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    double before = energy(sim);
    double most = before;
    for (int i = 0; i < 200; i++) {
        sim_step(sim, 50);
        most = fmax(most, energy(sim));
    }
    cr_assert_lt(most, before + 0.01);
    cr_assert_lt(fabs(energy(sim)), 0.5); /* on the floor, a little pressed into it */
    cr_assert_float_eq(particle(sim, 40).y, LS_ROPE_FLOOR, 0.02);
}

/* ---- controls ---- */

Test(rope, two_players_hold_the_ends_and_more_share_the_rest)
{
    ls_rope_rules rules = {.count = 80, .players = 2};
    cr_assert_eq(ls_rope_particle_of(&rules, 0), 0);
    cr_assert_eq(ls_rope_particle_of(&rules, 1), 79);
    rules.players = 8;
    for (uint32_t slot = 0; slot + 1 < 8; slot++) {
        cr_assert_lt(ls_rope_particle_of(&rules, slot), ls_rope_particle_of(&rules, slot + 1));
    }
    cr_assert_eq(ls_rope_particle_of(&rules, 7), 79);
    rules.players = 1;
    cr_assert_eq(ls_rope_particle_of(&rules, 0), 0);
}

Test(rope, a_hand_takes_its_end_to_where_it_is_wanted)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_join(sim);
    drag(sim, 0, true, -1250, 500);
    for (int i = 0; i < 2000; i++) {
        ls_rope_point before = particle(sim, 0);
        sim_step(sim, 1);
        ls_rope_point after = particle(sim, 0);
        cr_assert_leq(hypot(after.x - before.x, after.y - before.y), 0.004); /* 4 m/s */
    }
    cr_assert_float_eq(particle(sim, 0).x, -1.25, 1e-3);
    cr_assert_float_eq(particle(sim, 0).y, 0.5, 1e-3);
}

Test(rope, an_end_that_is_let_go_falls_and_can_be_caught_again)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_join(sim);
    sim_step(sim, 10);
    double start = particle(sim, 0).y;
    drag(sim, 0, false, 0, 0);
    sim_step(sim, 500);
    cr_assert_lt(particle(sim, 0).y, start - 0.5);
    drag(sim, 0, true, -1000, 200);
    sim_step(sim, 2500);
    cr_assert_float_eq(particle(sim, 0).y, 0.2, 1e-3);
}

Test(rope, inputs_that_are_too_short_change_nothing)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_fixture *silent = open_rope(NULL, 1000);
    sim_join(sim);
    sim_join(silent);
    for (uint32_t size = 0; size < LS_ROPE_INPUT_BYTES; size++) {
        sim_set_input(sim, 0, (const uint8_t[]){0, 1, 2, 3}, size < 4 ? size : 4);
        sim_step(sim, 1);
        sim_step(silent, 1);
        cr_assert_eq(ls_sim_instance_hash(sim->instance), ls_sim_instance_hash(silent->instance));
    }
}

Test(rope, a_leaving_player_lets_go)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_join(sim);
    sim_step(sim, 10);
    cr_assert_eq(ls_rope_view_of(&sim->config, sim_state(sim)).hands[1].is_holding, 1);
    sim->slots[1].events = LS_EVENT_LEFT;
    drag(sim, 1, true, 0, 0); /* let go */
    sim_step(sim, 300);
    cr_assert_eq(ls_rope_view_of(&sim->config, sim_state(sim)).hands[1].is_holding, 0);
    cr_assert_lt(particle(sim, 79).y, -0.2);
}

/* ---- pictures and controls ---- */

#define HAND_ID(slot) (1u + (slot))

Test(rope, a_hand_is_drawn_between_its_places)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_join(sim);
    drag(sim, 1, true, 0, 900);
    sim_step(sim, 100);
    size_t bytes = ls_sim_instance_state_bytes(sim->instance);
    void *previous = ls_allocate(ls_allocator_heap(), bytes);
    memcpy(previous, sim_state(sim), bytes);
    ls_rope_point from = particle(sim, 79);
    sim_step(sim, 10);
    ls_rope_point to = particle(sim, 79);
    cr_assert_lt(to.x, from.x - 0.005);
    ls_draw_list list = sim_draw(sim, previous, LS_FIXED_HALF);
    const ls_draw_shape *hand = sim_shape(&list, HAND_ID(1));
    cr_assert_eq(hand->owner, 2);
    cr_assert_float_eq(ls_fixed_to_double(hand->x), (from.x + to.x) / 2.0, 1e-8);
    cr_assert_float_eq(ls_fixed_to_double(hand->y), (from.y + to.y) / 2.0, 1e-8);
    ls_release(ls_allocator_heap(), previous);
}

Test(rope, the_end_goes_after_the_pointer_and_the_keys)
{
    sim_fixture *sim = open_rope(NULL, 1000);
    sim_join(sim);
    sim_step(sim, 1);
    const ls_simulation *rope = ls_rope_simulation();
    ls_controls controls = {.is_pointer_held = true,
                            .pointer = {LS_FIXED_RATIO(-3, 2), LS_FIXED_HALF}};
    sim->slots[0].size = rope->control(&sim->config, sim_state(sim), 0, &controls, sim->bytes[0]);
    sim_step(sim, 2000);
    cr_assert_float_eq(particle(sim, 0).x, -1.5, 2e-3);
    cr_assert_float_eq(particle(sim, 0).y, 0.5, 2e-3);
    controls = (ls_controls){.held = LS_CONTROL_RIGHT};
    sim->slots[0].size = rope->control(&sim->config, sim_state(sim), 0, &controls, sim->bytes[0]);
    sim_step(sim, 2000);
    cr_assert_float_eq(particle(sim, 0).x, -1.1, 5e-3);
    controls = (ls_controls){.held = 0};
    cr_assert_eq(rope->control(&sim->config, sim_state(sim), 0, &controls, sim->bytes[0]), 0);
    controls.held = LS_CONTROL_FIRST;
    cr_assert_eq(rope->control(&sim->config, sim_state(sim), 0, &controls, sim->bytes[0]),
                 LS_ROPE_INPUT_BYTES);
    cr_assert_eq(sim->bytes[0][0], 0);
}

/* Parts of games: ropes, springs, grids and controls. */
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/simulations/cell_grid.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

/* ==== rope ==== */

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

/* ==== spring ==== */

static ls_sim_config spring_config(const char *assignment)
{
    ls_sim_config config = ls_sim_config_default(ls_spring_simulation());
    sim_set(&config, ls_spring_simulation(), assignment);
    return config;
}

static ls_spring_rules rules_with(ls_integrator integrator)
{
    ls_sim_config config = ls_sim_config_default(ls_spring_simulation());
    ls_spring_rules rules = ls_spring_rules_of(&config);
    rules.integrator = integrator;
    return rules;
}

/* ---- the exact motion ---- */

TestSuite(spring, .fini = destroy_kept);

Test(spring, the_exact_motion_without_damping_is_a_cosine)
{
    ls_spring_rules rules = rules_with(LS_INTEGRATOR_RK4);
    double speed = sqrt(rules.stiffness / rules.mass);
    ls_spring_motion start = {1.5, 0.0};
    for (int i = 0; i < 2000; i++) {
        double seconds = (double)i * 0.05;
        ls_spring_motion exact = ls_spring_exact(&rules, start, seconds);
        cr_assert_float_eq(exact.position, 1.5 * cos(speed * seconds), 1e-11);
        cr_assert_float_eq(exact.velocity, -1.5 * speed * sin(speed * seconds), 1e-10);
    }
}

Test(spring, the_exact_motion_holds_for_any_damping)
{
    ls_spring_rules rules = {.mass = 2.0, .stiffness = 18.0, .damping = 12.0}; /* critical */
    ls_spring_motion critical = ls_spring_exact(&rules, (ls_spring_motion){1.0, 0.0}, 0.7);
    cr_assert_float_eq(critical.position, (1.0 + 3.0 * 0.7) * exp(-3.0 * 0.7), 1e-13);
    rules.damping = 4.0; /* swings at sqrt(9 - 1) */
    double speed = sqrt(8.0);
    ls_spring_motion slow = ls_spring_exact(&rules, (ls_spring_motion){1.0, 0.0}, 2.0);
    double swing = cos(speed * 2.0) + sin(speed * 2.0) / speed;
    cr_assert_float_eq(slow.position, exp(-2.0) * swing, 1e-13);
    rules.damping = 20.0; /* creeps: 1 and 9 per second */
    ls_spring_motion creeping = ls_spring_exact(&rules, (ls_spring_motion){1.0, 0.0}, 1.0);
    cr_assert_float_eq(creeping.position, (9.0 * exp(-1.0) - exp(-9.0)) / 8.0, 1e-13);
}

/* ---- the integrators, row T9 ---- */

/* How far the spring is from where it should be after two seconds of steps of `dt`. */
static double error_after(ls_integrator integrator, double dt)
{
    ls_spring_rules rules = rules_with(integrator);
    ls_spring_motion start = {1.0, 0.0};
    ls_spring_motion motion = start;
    int steps = (int)lround(2.0 / dt);
    for (int i = 0; i < steps; i++) {
        motion = ls_spring_advance(&rules, motion, dt);
    }
    ls_spring_motion exact = ls_spring_exact(&rules, start, 2.0);
    double x = motion.position - exact.position;
    double v = (motion.velocity - exact.velocity) / sqrt(rules.stiffness / rules.mass);
    return sqrt(x * x + v * v);
}

/* Half the step: half the error of order 1, a sixteenth of order 4. */
Test(spring, errors_fall_with_the_step_as_the_order_says)
{
    static const double factors[LS_INTEGRATOR_COUNT] = {2.0, 2.0, 16.0};
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        double coarse = error_after((ls_integrator)i, 1e-3);
        double fine = error_after((ls_integrator)i, 0.5e-3);
        cr_assert_gt(fine, 0.0);
        cr_assert_float_eq(coarse / fine, factors[i], factors[i] / 20.0, "integrator %u: %g", i,
                           coarse / fine);
    }
}

static double energy_of(const ls_spring_rules *rules, ls_spring_motion motion)
{
    return 0.5 * rules->mass * motion.velocity * motion.velocity +
           0.5 * rules->stiffness * motion.position * motion.position;
}

static double energy_after(ls_integrator integrator, double dt, int steps, double *most)
{
    ls_spring_rules rules = rules_with(integrator);
    ls_spring_motion motion = {1.0, 0.0};
    double energy = energy_of(&rules, motion);
    cr_assert_float_eq(energy, 20.0, 1e-12);
    for (int i = 0; i < steps; i++) {
        motion = ls_spring_advance(&rules, motion, dt);
        energy = energy_of(&rules, motion);
        *most = energy > *most ? energy : *most;
    }
    return energy;
}

Test(spring, explicit_euler_gains_energy_semi_implicit_keeps_it_rk4_hardly_loses_any)
{
    double most = 0.0;
    double dt = 1.0 / 60.0;
    cr_assert_gt(energy_after(LS_INTEGRATOR_EXPLICIT_EULER, dt, 600, &most), 1000.0 * 20.0 / 2.0);
    most = 0.0;
    energy_after(LS_INTEGRATOR_SEMI_IMPLICIT_EULER, dt, 60000, &most);
    cr_assert_lt(most, 1.1 * 20.0);
    most = 0.0;
    double left = energy_after(LS_INTEGRATOR_RK4, dt, 600, &most);
    cr_assert_leq(most, 20.0);
    cr_assert_gt(left, 0.999 * 20.0);
}

Test(spring, an_unstable_spring_stays_a_number)
{
    ls_sim_config config = spring_config("stiffness=1000000");
    sim_set(&config, ls_spring_simulation(), "mass=1");
    sim_set(&config, ls_spring_simulation(), "integrator=2");
    sim_fixture *sim = sim_open(ls_spring_simulation(), config);
    sim_run_bots(sim, 2000);
    ls_spring_motion motion = ls_spring_motion_of(&config, sim_state(sim), 0);
    cr_assert_eq(fabs(motion.position), 1e9);
    cr_assert(isfinite(motion.velocity));
    ls_draw_list list = sim_draw(sim, sim_state(sim), 0);
    cr_assert_gt(list.count, 0);
}

/* ---- the match ---- */

Test(spring, an_unpushed_match_is_what_advance_does)
{
    ls_sim_config config = ls_sim_config_default(ls_spring_simulation());
    sim_fixture *sim = sim_open(ls_spring_simulation(), config);
    ls_spring_rules rules = ls_spring_rules_of(&config);
    ls_spring_motion expected = ls_spring_motion_of(&config, sim_state(sim), 0);
    cr_assert_eq(expected.position, rules.amplitude);
    for (int i = 0; i < 100; i++) {
        expected = ls_spring_advance(&rules, expected, 1.0 / 60.0);
    }
    sim_step(sim, 100);
    ls_spring_motion motion = ls_spring_motion_of(&config, sim_state(sim), 0);
    cr_assert_eq(motion.position, expected.position);
    cr_assert_eq(motion.velocity, expected.velocity);
}

/* 12.7 N on 40 N/m stretch it by 0.3175 m; slot 1 pushes springs 1 and 3. */
Test(spring, a_push_moves_the_springs_of_its_slot_alone)
{
    ls_sim_config config = spring_config("amplitude=0");
    sim_set(&config, ls_spring_simulation(), "damping=20000");
    sim_fixture *sim = sim_open(ls_spring_simulation(), config);
    sim_set_input(sim, 1, (const uint8_t[]){127}, 1);
    sim_step(sim, 600);
    for (uint32_t i = 0; i < 4; i++) {
        double position = ls_spring_motion_of(&config, sim_state(sim), i).position;
        cr_assert_float_eq(position, i % 2 ? 0.3175 : 0.0, 1e-6);
    }
    sim_set_input(sim, 1, (const uint8_t[]){128}, 1); /* -12.8 N */
    sim_step(sim, 600);
    cr_assert_float_eq(ls_spring_motion_of(&config, sim_state(sim), 1).position, -0.32, 1e-6);
}

Test(spring, the_rounding_mode_of_the_process_does_not_matter)
{
    uint64_t roots[2];
    for (int i = 0; i < 2; i++) {
        int mode = fegetround();
        cr_assert_eq(fesetround(i == 0 ? FE_TONEAREST : FE_UPWARD), 0);
        ls_sim_config config = ls_sim_config_default(ls_spring_simulation());
        sim_fixture *sim = sim_open(ls_spring_simulation(), config);
        sim_run_bots(sim, 50);
        cr_assert_eq(fegetround(), i == 0 ? FE_TONEAREST : FE_UPWARD);
        cr_assert_eq(fesetround(mode), 0);
        roots[i] = ls_sim_instance_hash(sim->instance);
    }
    cr_assert_eq(roots[0], roots[1]);
}

/* ---- pictures and hands ---- */

#define MASS_ID 14u /* of spring 0: the beam, twelve windings, the mass */

Test(spring, a_mass_is_drawn_between_its_places)
{
    sim_fixture *sim =
        sim_open(ls_spring_simulation(), ls_sim_config_default(ls_spring_simulation()));
    sim_run_bots(sim, 20);
    uint8_t previous[4 * 24];
    cr_assert_eq(ls_sim_instance_state_bytes(sim->instance), sizeof previous);
    memcpy(previous, sim_state(sim), sizeof previous);
    double from = ls_spring_motion_of(&sim->config, previous, 0).position;
    sim_run_bots(sim, 1);
    double to = ls_spring_motion_of(&sim->config, sim_state(sim), 0).position;
    ls_draw_list list = sim_draw(sim, previous, LS_FIXED_HALF);
    const ls_draw_shape *mass = sim_shape(&list, MASS_ID);
    cr_assert_eq(mass->owner, 1);
    cr_assert_float_eq(ls_fixed_to_double(mass->y), (from + to) / 2.0, 1e-8);
    cr_assert_gt(fabs(from - to), 1e-3);
}

Test(spring, keys_push_up_and_down)
{
    const ls_simulation *spring = ls_spring_simulation();
    ls_sim_config config = ls_sim_config_default(spring);
    ls_controls controls = {.held = LS_CONTROL_UP};
    uint8_t byte = 0;
    cr_assert_eq(spring->control(&config, NULL, 0, &controls, &byte), 1);
    cr_assert_eq(byte, 60);
    controls.held = LS_CONTROL_DOWN;
    spring->control(&config, NULL, 0, &controls, &byte);
    cr_assert_eq(byte, 256 - 60);
    controls.held = 0;
    spring->control(&config, NULL, 0, &controls, &byte);
    cr_assert_eq(byte, 0);
}

/* ==== cell_grid ==== */

#define POINTS 300u
#define MEMORY_WORDS 4096u

typedef struct fixture {
    ls_cell_grid grid;
    ls_vec2 points[POINTS];
    uint32_t cells[POINTS];
    uint32_t memory[MEMORY_WORDS];
} fixture;

static const ls_cell_grid_config grid_config = {
    .min = {LS_FIXED_INT(-50), LS_FIXED_INT(-20)},
    .max = {LS_FIXED_INT(50), LS_FIXED_INT(21)},
    .cell_size = LS_FIXED_RATIO(7, 2),
    .item_count = POINTS,
};

/* Random points, a few of them outside the area, every seventh in no cell. */
static void fill(fixture *f)
{
    cr_assert_leq(ls_cell_grid_bytes(&grid_config), sizeof f->memory);
    memset(f->memory, 0xA5, sizeof f->memory);
    f->grid = ls_cell_grid_make(&grid_config, f->memory);
    ls_rng rng = ls_rng_make(7, 1);
    for (uint32_t i = 0; i < POINTS; i++) {
        f->points[i].x = LS_FIXED_INT(ls_rng_between(&rng, -55, 55));
        f->points[i].y = LS_FIXED_INT(ls_rng_between(&rng, -25, 25));
        f->points[i].x += ls_rng_unit(&rng);
        f->points[i].y += ls_rng_unit(&rng);
        f->cells[i] = i % 7 ? ls_cell_grid_cell(&f->grid, f->points[i]) : LS_CELL_GRID_NONE;
    }
    ls_cell_grid_build(&f->grid, f->cells);
}

Test(cell_grid, every_item_with_a_cell_stands_in_it_once_in_order)
{
    static fixture f;
    fill(&f);
    uint32_t seen[POINTS] = {0};
    for (uint32_t cell = 0; cell < f.grid.columns * f.grid.rows; cell++) {
        for (uint32_t k = f.grid.starts[cell]; k < f.grid.starts[cell + 1]; k++) {
            uint32_t item = f.grid.items[k];
            cr_assert_eq(f.cells[item], cell);
            cr_assert(k == f.grid.starts[cell] || f.grid.items[k - 1] < item);
            seen[item]++;
        }
    }
    for (uint32_t i = 0; i < POINTS; i++) {
        cr_assert_eq(seen[i], i % 7 ? 1u : 0u);
    }
}

Test(cell_grid, a_block_holds_every_point_within_reach)
{
    static fixture f;
    fill(&f);
    ls_fixed reach = LS_FIXED_RATIO(9, 4);
    uint32_t found = 0;
    for (uint32_t i = 0; i < POINTS; i++) {
        bool is_near[POINTS] = {false};
        ls_cell_block block = ls_cell_grid_around(&f.grid, f.points[i], reach);
        for (uint32_t row = block.first_row; row <= block.last_row; row++) {
            ls_cell_range range = ls_cell_grid_range(&f.grid, block, row);
            for (uint32_t k = range.begin; k < range.end; k++) {
                is_near[f.grid.items[k]] = true;
            }
        }
        for (uint32_t j = 0; j < POINTS; j++) {
            bool within = ls_fixed_abs(f.points[i].x - f.points[j].x) <= reach &&
                          ls_fixed_abs(f.points[i].y - f.points[j].y) <= reach;
            cr_assert(!within || is_near[j] || j % 7 == 0);
            found += within && is_near[j] && i != j;
        }
    }
    cr_assert_gt(found, 100);
}

Test(cell_grid, far_points_fall_in_the_cells_at_the_edge)
{
    static fixture f;
    fill(&f);
    ls_vec2 low = {LS_FIXED_MIN, LS_FIXED_MIN};
    ls_vec2 high = {LS_FIXED_MAX, LS_FIXED_MAX};
    cr_assert_eq(ls_cell_grid_cell(&f.grid, low), 0);
    cr_assert_eq(ls_cell_grid_cell(&f.grid, high), f.grid.columns * f.grid.rows - 1);
}

Test(cell_grid, an_empty_grid_has_empty_rows)
{
    static fixture f;
    fill(&f);
    for (uint32_t i = 0; i < POINTS; i++) {
        f.cells[i] = LS_CELL_GRID_NONE;
    }
    ls_cell_grid_build(&f.grid, f.cells);
    ls_cell_block all = {0, f.grid.columns - 1, 0, f.grid.rows - 1};
    for (uint32_t row = 0; row <= all.last_row; row++) {
        ls_cell_range range = ls_cell_grid_range(&f.grid, all, row);
        cr_assert_eq(range.begin, 0);
        cr_assert_eq(range.end, 0);
    }
}

/* ==== control ==== */

static alignas(16) uint8_t memory[LS_CONTROL_MEMORY_BYTES];
static ls_controls controls;
static ls_sim_instance *instance;
static uint8_t bytes[LS_INPUT_BYTES_MAX];

static void open_simulation(const char *name, const char *assignment)
{
    ls_text why;
    const ls_simulation *simulation = ls_builtin_simulation_named(name);
    ls_sim_config config = ls_sim_config_default(simulation);
    cr_assert_eq(ls_sim_config_set(simulation, &config, assignment, &why), LS_OK);
    cr_assert_eq(ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, &why),
                 LS_OK);
    memset(memory, 0, sizeof memory);
    controls = (ls_controls){.memory = memory};
}

static void close_simulation(void)
{
    ls_sim_instance_destroy(instance);
}

TestSuite(control, .fini = close_simulation);

static uint32_t give(uint32_t slot)
{
    return ls_sim_instance_simulation(instance)->control(
        ls_sim_instance_config(instance), ls_sim_instance_view(instance), slot, &controls, bytes);
}

/* ---- arena ---- */

Test(control, keys_are_the_arenas_buttons)
{
    open_simulation("arena", "bodies=10");
    controls.held = LS_CONTROL_UP | LS_CONTROL_LEFT | LS_CONTROL_SECOND;
    controls.pressed = LS_CONTROL_FIRST;
    cr_expect_eq(give(0), LS_ARENA_PAD_BYTES);
    cr_expect_eq(bytes[0], LS_ARENA_THRUST | LS_ARENA_LEFT | LS_ARENA_BRAKE | LS_ARENA_FIRE);
    cr_expect_eq(bytes[1], 0);
}

Test(control, a_stick_to_the_right_turns_right)
{
    open_simulation("arena", "bodies=10");
    controls.stick = (ls_vec2){LS_FIXED_ONE, -LS_FIXED_ONE};
    give(0);
    cr_expect_eq((int8_t)bytes[1], -127);
    cr_expect_eq(bytes[0], LS_ARENA_REVERSE);
    controls.stick = (ls_vec2){LS_FIXED_MIN, LS_FIXED_ONE};
    give(0);
    cr_expect_eq((int8_t)bytes[1], 127);
    cr_expect_eq(bytes[0], LS_ARENA_THRUST);
}

/* ---- units ---- */

static const ls_units_state *battle(void)
{
    return ls_sim_instance_view(instance);
}

static ls_units_rules rules(void)
{
    return ls_units_rules_of(ls_sim_instance_config(instance));
}

static uint32_t army_first(uint32_t player)
{
    ls_units_rules known = rules();
    return ls_units_army_first(&known, player);
}

static void gesture(ls_gesture kind, ls_vec2 from, ls_vec2 to)
{
    controls.gesture = kind;
    controls.gesture_from = from;
    controls.gesture_to = to;
}

static uint32_t select_box(uint32_t slot, ls_vec2 from, ls_vec2 to)
{
    gesture(LS_GESTURE_SELECT, from, to);
    uint32_t size = give(slot);
    controls.gesture = LS_GESTURE_NONE;
    return size;
}

static ls_vec2 everywhere(void)
{
    return (ls_vec2){rules().side, rules().side};
}

static uint32_t order(uint32_t slot, ls_vec2 place, ls_units_order *out)
{
    gesture(LS_GESTURE_ORDER, place, place);
    uint32_t size = give(slot);
    controls.gesture = LS_GESTURE_NONE;
    cr_assert_eq(ls_units_order_read(bytes, size, out), size, "one whole order");
    return size;
}

static uint32_t marks(void)
{
    static ls_draw_shape shapes[8192];
    ls_draw_list list = {.shapes = shapes, .capacity = 8192};
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_sim_config *config = ls_sim_instance_config(instance);
    simulation->draw(config, battle(), battle(), LS_FIXED_ONE, &list);
    uint32_t before = list.count;
    simulation->draw_control(config, battle(), 0, &controls, &list);
    return list.count - before;
}

Test(control, a_box_selects_the_own_units_in_it_alone)
{
    open_simulation("units", "units=80");
    cr_expect_eq(select_box(1, everywhere(), (ls_vec2){0, 0}), 0, "selecting orders nothing");
    cr_expect_eq(marks(), 20, "the army of one of four");
    ls_vec2 place = battle()->units[army_first(1)].position;
    select_box(1, place, place);
    cr_expect_eq(marks(), 1, "a click selects one");
    controls.is_gesture_added = true;
    select_box(1, everywhere(), (ls_vec2){0, 0});
    cr_expect_eq(marks(), 20);
    controls.is_gesture_added = false;
    ls_vec2 corner = {LS_FIXED_ONE / 8, LS_FIXED_ONE / 8};
    select_box(1, corner, corner);
    cr_expect_eq(marks(), 0, "a click on nothing selects nothing");
}

Test(control, the_selected_are_sent_to_fight_or_without_fighting)
{
    open_simulation("units", "units=80");
    ls_units_order sent = {0};
    ls_vec2 goal = {LS_FIXED_INT(20), LS_FIXED_INT(5)};
    gesture(LS_GESTURE_ORDER, goal, goal);
    cr_expect_eq(give(0), 0, "nobody is selected");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    order(0, goal, &sent);
    cr_expect_eq(sent.verb, LS_UNITS_ATTACK_MOVE);
    cr_expect_eq(sent.list_count, 20);
    cr_expect_eq(sent.point.x, 20 * 64);
    cr_expect_eq(give(0), 0, "ordered once");
    controls.held = LS_CONTROL_SECOND;
    order(0, goal, &sent);
    cr_expect_eq(sent.verb, LS_UNITS_MOVE);
}

Test(control, a_click_on_an_enemy_attacks_it)
{
    open_simulation("units", "units=80");
    uint32_t enemy = army_first(2) + 3;
    ls_units_order sent = {0};
    select_box(0, (ls_vec2){0, 0}, everywhere());
    order(0, battle()->units[enemy].position, &sent);
    cr_expect_eq(sent.verb, LS_UNITS_ATTACK);
    cr_expect_eq(sent.target, enemy);
}

Test(control, the_first_button_stops_the_selected)
{
    open_simulation("units", "units=80");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    controls.pressed = LS_CONTROL_FIRST;
    ls_units_order sent = {0};
    uint32_t size = give(0);
    cr_assert_eq(ls_units_order_read(bytes, size, &sent), size);
    cr_expect_eq(sent.verb, LS_UNITS_STOP);
    cr_expect_eq(sent.list_count, 20);
}

Test(control, a_large_army_is_ordered_by_its_place)
{
    open_simulation("units", "units=2000");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    ls_units_order sent = {0};
    order(0, (ls_vec2){LS_FIXED_INT(9), LS_FIXED_INT(9)}, &sent);
    cr_expect_eq(sent.select, LS_UNITS_SELECT_AREA);
    cr_expect_eq(give(0), 0);
}

/* Those left out stand between the others: no rectangle has the others alone. */
Test(control, a_large_part_of_an_army_is_ordered_list_by_list)
{
    open_simulation("units", "units=2000");
    ls_vec2 base = battle()->players[0].base;
    select_box(0, (ls_vec2){0, 0}, (ls_vec2){base.x - LS_FIXED_ONE, LS_FIXED_INT(1000)});
    controls.is_gesture_added = true;
    select_box(0, (ls_vec2){base.x + LS_FIXED_ONE, 0}, everywhere());
    uint32_t selected = marks();
    cr_assert(selected > LS_UNITS_LIST_MAX && selected < army_first(1));
    uint32_t ordered = 0;
    ls_units_order sent = {0};
    uint32_t size = order(0, (ls_vec2){LS_FIXED_INT(9), LS_FIXED_INT(9)}, &sent);
    for (uint32_t inputs = 0; size > 0 && inputs < 100; inputs++) {
        cr_assert_eq(sent.select, LS_UNITS_SELECT_LIST);
        ordered += sent.list_count;
        size = give(0);
        cr_assert_eq(ls_units_order_read(bytes, size, &sent), size);
    }
    cr_expect_eq(ordered, selected);
}

Test(control, no_input_is_longer_than_the_simulation_allows)
{
    open_simulation("units", "units=20000");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    ls_units_order sent = {0};
    cr_expect_leq(order(0, (ls_vec2){LS_FIXED_MAX, LS_FIXED_MIN}, &sent), LS_UNITS_INPUT_BYTES_MAX);
    cr_expect_eq(give(LS_UNITS_PLAYERS_MAX + 9), 0, "a slot that is none");
}

#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <fenv.h>
#include <math.h>

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

/* The rows T7 to T9 and T12 of the stepping systems: blending, rope, integrators and the same bits
 * at every frame rate. The examples T4 and T5 are in tests/tools/timestep_program.py. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tools/timestep/lessons.h"
#include "lockstep/tools/timestep/sim_course.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum {
    RATE_HZ = 60,
};

static stepping_trace traces[STEPPING_TRACE_KIND_COUNT];
static ls_text why;

static void make_traces(uint32_t seconds)
{
    stepping_trace_config config = {.seconds = seconds, .seed = 1};
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        cr_assert_eq(
            stepping_trace_make((stepping_trace_kind)i, &config, ls_allocator_heap(), &traces[i]),
            LS_OK);
    }
}

static void release_traces(void)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        stepping_trace_release(&traces[i], ls_allocator_heap());
    }
}

TestSuite(stepping_lessons, .fini = release_traces);

#define EXPECT_NEAR(value, expected, most)                                                         \
    cr_expect(fabs((value) - (expected)) <= (most), #value " is %.9g", (double)(value))

/* ---- T7: the two faults of the printed code ---- */

Test(stepping_lessons, t7_each_coordinate_is_blended_with_its_own_and_angles_by_the_shorter_arc)
{
    ls_vec2 from = {LS_FIXED_INT(1), LS_FIXED_INT(10)};
    ls_vec2 to = {LS_FIXED_INT(2), LS_FIXED_INT(20)};
    ls_timestep_config config = ls_timestep_config_default(RATE_HZ);
    config.dt_ns = 16 * LS_NS_PER_MS;
    ls_timestep timestep = ls_timestep_make(&config);
    ls_timestep_plan plan = ls_timestep_advance(&timestep, 24 * LS_NS_PER_MS);
    cr_assert(plan.step_count == 1 && plan.alpha == LS_FIXED_HALF);
    ls_vec2 drawn = ls_lerp_vec2(from, to, plan.alpha);
    cr_assert_eq(drawn.x, LS_FIXED_RATIO(3, 2));
    cr_assert_eq(drawn.y, LS_FIXED_INT(15)); /* with the old x it would be 10.5 */
    ls_angle degrees_350 = (ls_angle)(UINT64_C(4294967296) * 350 / 360);
    ls_angle degrees_10 = (ls_angle)(UINT64_C(4294967296) * 10 / 360);
    ls_angle between = ls_lerp_angle(degrees_350, degrees_10, plan.alpha);
    int32_t from_zero = (int32_t)(between + 4) - 4; /* as plain numbers it would be 180 degrees */
    cr_assert(from_zero >= -2 && from_zero <= 2, "%d", from_zero);
}

/* ---- T8 ---- */

static stepping_rope_result rope(ls_integrator integrator, uint64_t dt_ns, uint64_t frame_max_ns)
{
    stepping_rope_run_config config = {integrator, dt_ns, frame_max_ns};
    stepping_rope_result result = {0};
    cr_assert_eq(
        stepping_rope_run(&config, &traces[STEPPING_TRACE_60], ls_allocator_heap(), &result, &why),
        LS_OK, "%s", why.bytes);
    return result;
}

Test(stepping_lessons, t8_the_rope_holds_at_a_millisecond_and_falls_apart_at_a_frame)
{
    make_traces(4);
    stepping_rope_result fixed =
        rope(LS_INTEGRATOR_SEMI_IMPLICIT_EULER, LS_NS_PER_MS, 10 * LS_NS_PER_MS);
    cr_assert(!fixed.is_torn && fixed.stretch_max > 1 && fixed.stretch_max < 1.5, "%g",
              fixed.stretch_max);
    cr_assert_eq(fixed.steps, 10 * traces[STEPPING_TRACE_60].frames.count);
    EXPECT_NEAR(fixed.dropped_ms, 6.666667 * traces[STEPPING_TRACE_60].frames.count, 0.1);
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        stepping_rope_result per_frame = rope((ls_integrator)i, 0, 0);
        cr_expect(per_frame.is_torn && per_frame.steps < 20, "%u", i);
    }
}

/* ---- T9 ---- */

Test(stepping_lessons, t9_the_error_goes_with_dt_and_with_its_fourth_power)
{
    EXPECT_NEAR(stepping_integrator_order(LS_INTEGRATOR_EXPLICIT_EULER), 1, 0.02);
    EXPECT_NEAR(stepping_integrator_order(LS_INTEGRATOR_SEMI_IMPLICIT_EULER), 1, 0.02);
    EXPECT_NEAR(stepping_integrator_order(LS_INTEGRATOR_RK4), 4, 0.02);
}

Test(stepping_lessons, t9_an_error_of_1e_4_needs_a_dt_of_1e_4_or_of_a_tenth)
{
    cr_assert_lt(stepping_integrator_error(LS_INTEGRATOR_EXPLICIT_EULER, 1e-4), 1e-4);
    cr_assert_gt(stepping_integrator_error(LS_INTEGRATOR_EXPLICIT_EULER, 1e-3), 1e-4);
    cr_assert_lt(stepping_integrator_error(LS_INTEGRATOR_SEMI_IMPLICIT_EULER, 1e-4), 1e-4);
    cr_assert_lt(stepping_integrator_error(LS_INTEGRATOR_RK4, 0.1), 1e-4);
    cr_assert_gt(stepping_integrator_error(LS_INTEGRATOR_RK4, 0.5), 1e-4);
}

/* ---- T12 ---- */

Test(stepping_lessons, t12_one_bit_grows_without_bound)
{
    const ls_simulation *arena = ls_builtin_simulation_named("arena");
    ls_sim_config config = ls_sim_config_default(arena);
    config.tick_rate_hz = RATE_HZ;
    stepping_one_bit bit = {0};
    cr_assert_eq(stepping_one_bit_run(arena, &config, 20, ls_allocator_heap(), &bit, &why), LS_OK);
    cr_assert_str_eq(bit.field, "bodies[0].position.x");
    EXPECT_NEAR(bit.apart_m[0], 1.0 / 4294967296.0, 1e-15);
    cr_assert_gt(bit.apart_m[10], 1e-5);
    cr_assert_gt(bit.apart_m[20], 1);
}

static stepping_sim_measures drive(const stepping_sim_course *course, ls_timestep_strategy strategy,
                                   stepping_trace_kind kind)
{
    stepping_stepper stepper = stepping_stepper_default(strategy, RATE_HZ);
    stepping_sim_measures measures = {0};
    cr_assert_eq(stepping_sim_course_measure(course, &stepper.config, &traces[kind], 0,
                                             ls_allocator_heap(), &measures, &why),
                 LS_OK);
    return measures;
}

Test(stepping_lessons, t12_a_simulation_has_the_same_bits_at_every_rate_and_is_drawn_smoothly)
{
    make_traces(4);
    const ls_simulation *arena = ls_builtin_simulation_named("arena");
    ls_sim_config config = ls_sim_config_default(arena);
    config.tick_rate_hz = RATE_HZ;
    stepping_sim_course course = {0};
    cr_assert_eq(stepping_sim_course_make(arena, &config, 900, ls_allocator_heap(), &course, &why),
                 LS_OK);
    cr_assert(course.has_shape);
    for (int i = STEPPING_TRACE_60; i <= STEPPING_TRACE_WALK; i++) {
        stepping_sim_measures m = drive(&course, LS_TIMESTEP_INTERPOLATED, (stepping_trace_kind)i);
        cr_expect(m.is_repeatable && m.ticks_compared > 200 && m.has_stutter, "%s", traces[i].name);
        EXPECT_NEAR(m.stutter_mm, 0, 1e-3);
        m = drive(&course, LS_TIMESTEP_FIXED_PER_FRAME, (stepping_trace_kind)i);
        cr_expect(m.is_repeatable, "%s", traces[i].name);
    }
    EXPECT_NEAR(drive(&course, LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_60).stutter_mm, 0, 1e-3);
    cr_expect_gt(drive(&course, LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_144).stutter_mm, 5);
    EXPECT_NEAR(drive(&course, LS_TIMESTEP_FIXED_PER_FRAME, STEPPING_TRACE_144).speed, 2.4, 1e-6);
    course.hashes[100] ^= 1; /* a tick that went another way is seen */
    cr_expect(!drive(&course, LS_TIMESTEP_INTERPOLATED, STEPPING_TRACE_144).is_repeatable);
    stepping_sim_course_release(&course, ls_allocator_heap());
}

Test(stepping_lessons, steps_of_any_length_drive_no_simulation)
{
    cr_assert(stepping_sim_course_can_play(LS_TIMESTEP_FIXED_PER_FRAME));
    cr_assert(!stepping_sim_course_can_play(LS_TIMESTEP_VARIABLE));
    cr_assert(!stepping_sim_course_can_play(LS_TIMESTEP_SEMI_FIXED));
    cr_assert(!stepping_sim_course_can_play(LS_TIMESTEP_SUBSTEPS));
    cr_assert(stepping_sim_course_can_play(LS_TIMESTEP_ACCUMULATOR));
    cr_assert(stepping_sim_course_can_play(LS_TIMESTEP_INTERPOLATED));
}

Test(stepping_lessons, a_simulation_that_draws_nothing_has_bits_and_no_stutter)
{
    make_traces(2);
    const ls_simulation *counter = counter_simulation();
    ls_sim_config config = ls_sim_config_default(counter);
    config.tick_rate_hz = RATE_HZ;
    stepping_sim_course course = {0};
    cr_assert_eq(
        stepping_sim_course_make(counter, &config, 200, ls_allocator_heap(), &course, &why), LS_OK,
        "%s", why.bytes);
    stepping_sim_measures m = drive(&course, LS_TIMESTEP_INTERPOLATED, STEPPING_TRACE_144);
    cr_assert(m.is_repeatable && m.ticks_compared > 100 && !m.has_stutter && !course.has_shape);
    stepping_sim_course_release(&course, ls_allocator_heap());
}

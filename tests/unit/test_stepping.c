#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tools/timestep/lessons.h"
#include "lockstep/tools/timestep/sim_course.h"
#include "lockstep/tools/timestep/world.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- stepping ---- */

/* Each strategy on each trace: the rows T1 to T6 of the stepping systems, T10 and T11,
 * with the numbers that they are known for. */

enum {
    RATE_HZ = 60,
};

static stepping_trace traces[STEPPING_TRACE_KIND_COUNT];

static void make_traces(void)
{
    stepping_trace_config config = {.seconds = 10, .seed = 1};
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

TestSuite(stepping, .init = make_traces, .fini = release_traces);

static uint64_t dt_ns(void)
{
    return ls_timestep_config_default(RATE_HZ).dt_ns;
}

static stepping_measures measure(ls_timestep_strategy strategy, stepping_trace_kind kind)
{
    stepping_stepper stepper = stepping_stepper_default(strategy, RATE_HZ);
    const stepping_trace *trace = &traces[kind];
    stepping_measure_config config = {
        .trace = trace,
        .other = &traces[kind == STEPPING_TRACE_WALK ? STEPPING_TRACE_60 : STEPPING_TRACE_WALK],
        .step_cost_ns = dt_ns() * trace->step_cost_percent / 100};
    return stepping_measure(&stepper.config, &config);
}

#define EXPECT_NEAR(value, expected, most)                                                         \
    cr_expect(fabs((value) - (expected)) <= (most), #value " is %.9g", (double)(value))

/* ---- traces ---- */

Test(stepping, traces_are_what_their_names_say)
{
    static const struct {
        stepping_trace_kind kind;
        uint64_t frame_ns;
    } steady[] = {{STEPPING_TRACE_60, 16666667},      {STEPPING_TRACE_75, 13333333},
                  {STEPPING_TRACE_144, 6944444},      {STEPPING_TRACE_200, 5000000},
                  {STEPPING_TRACE_50, 20000000},      {STEPPING_TRACE_30, 33333333},
                  {STEPPING_TRACE_OVERLOAD, 16666667}};
    for (size_t i = 0; i < sizeof steady / sizeof steady[0]; i++) {
        const ls_frame_trace *frames = &traces[steady[i].kind].frames;
        for (uint32_t k = 0; k < frames->count; k++) {
            cr_assert_eq(frames->frames_ns[k], steady[i].frame_ns);
        }
    }
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        uint64_t last_ns = traces[i].frames.frames_ns[traces[i].frames.count - 1];
        uint64_t length_ns = stepping_trace_length_ns(&traces[i]);
        cr_expect(length_ns >= 10 * LS_NS_PER_SECOND && length_ns - last_ns < 10 * LS_NS_PER_SECOND,
                  "%s", traces[i].name);
    }
}

Test(stepping, the_spike_is_one_frame_in_the_middle)
{
    const ls_frame_trace *frames = &traces[STEPPING_TRACE_SPIKE].frames;
    uint64_t before_ns = 0;
    uint32_t spikes = 0;
    for (uint32_t i = 0; i < frames->count; i++) {
        spikes += frames->frames_ns[i] == STEPPING_TRACE_SPIKE_NS ? 1 : 0;
        before_ns += spikes == 0 ? frames->frames_ns[i] : 0;
    }
    cr_assert_eq(spikes, 1);
    EXPECT_NEAR((double)before_ns, 5e9, 2e7);
}

Test(stepping, the_walk_stays_between_20_and_240_and_goes_far)
{
    const ls_frame_trace *frames = &traces[STEPPING_TRACE_WALK].frames;
    uint64_t shortest = UINT64_MAX, longest = 0;
    for (uint32_t i = 0; i < frames->count; i++) {
        uint64_t frame_ns = frames->frames_ns[i];
        shortest = frame_ns < shortest ? frame_ns : shortest;
        longest = frame_ns > longest ? frame_ns : longest;
    }
    cr_assert(shortest >= 4166667 && longest <= 50000000);
    cr_assert(shortest < 5000000 && longest > 35000000);
    stepping_trace again, other;
    stepping_trace_config config = {.seconds = 10, .seed = 1};
    stepping_trace_make(STEPPING_TRACE_WALK, &config, ls_allocator_heap(), &again);
    config.seed = 2;
    stepping_trace_make(STEPPING_TRACE_WALK, &config, ls_allocator_heap(), &other);
    cr_assert_eq(again.frames.count, frames->count);
    cr_assert_arr_eq(again.frames.frames_ns, frames->frames_ns,
                     frames->count * sizeof frames->frames_ns[0]);
    cr_assert_neq(again.frames.frames_ns[0], other.frames.frames_ns[0]);
    stepping_trace_release(&again, ls_allocator_heap());
    stepping_trace_release(&other, ls_allocator_heap());
}

/* ---- T1 ---- */

Test(stepping, t1_is_right_at_its_own_rate_only)
{
    static const struct {
        stepping_trace_kind kind;
        double speed;
    } speeds[] = {{STEPPING_TRACE_60, 1},       {STEPPING_TRACE_75, 1.25},
                  {STEPPING_TRACE_144, 2.4},    {STEPPING_TRACE_200, 10.0 / 3},
                  {STEPPING_TRACE_50, 5.0 / 6}, {STEPPING_TRACE_30, 0.5}};
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        stepping_measures m = measure(LS_TIMESTEP_FIXED_PER_FRAME, speeds[i].kind);
        EXPECT_NEAR(m.speed, speeds[i].speed, 1e-6);
        EXPECT_NEAR(m.stutter_ms, 0, 1e-4);
        cr_expect(m.is_repeatable && m.play.steps_worst == 1);
    }
}

/* ---- T2 ---- */

Test(stepping, t2_has_the_right_speed_and_another_world_at_each_rate)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        stepping_measures m = measure(LS_TIMESTEP_VARIABLE, (stepping_trace_kind)i);
        EXPECT_NEAR(m.speed, 1, 1e-9);
        EXPECT_NEAR(m.late_max_ms, 0, 1e-6);
        cr_expect(!m.is_repeatable && m.steps_compared > 100, "%s", traces[i].name);
        cr_expect(m.play.step_max_ns == m.play.frame_max_ns);
    }
}

Test(stepping, t2_explodes_and_tunnels_at_30_and_with_a_spike)
{
    stepping_measures slow = measure(LS_TIMESTEP_VARIABLE, STEPPING_TRACE_30);
    cr_assert_eq(slow.energy_ratio, STEPPING_WORLD_ENERGY_MAX);
    cr_assert(slow.wall_misses > 0 && slow.wall_hits == 0);
    stepping_measures spike = measure(LS_TIMESTEP_VARIABLE, STEPPING_TRACE_SPIKE);
    cr_assert_gt(spike.energy_ratio, 1e3);
    cr_assert_eq(spike.wall_misses, 1);
    stepping_measures fast = measure(LS_TIMESTEP_VARIABLE, STEPPING_TRACE_144);
    EXPECT_NEAR(fast.energy_ratio, 1, 1e-6);
    cr_assert(fast.wall_misses == 0 && fast.wall_hits == 48);
}

/* ---- T3 ---- */

Test(stepping, t3_bounds_dt_keeps_the_speed_and_is_not_repeatable)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        stepping_measures m = measure(LS_TIMESTEP_SEMI_FIXED, (stepping_trace_kind)i);
        EXPECT_NEAR(m.speed, 1, 1e-9);
        cr_expect(m.play.step_max_ns <= dt_ns() && m.wall_misses == 0, "%s", traces[i].name);
        cr_expect(!m.is_repeatable, "%s", traces[i].name);
    }
    stepping_measures m = measure(LS_TIMESTEP_SEMI_FIXED, STEPPING_TRACE_50);
    cr_assert_eq(m.play.step_min_ns, 20000000 - dt_ns()); /* the extra, remaining step */
    cr_assert_eq(m.play.steps, 2 * m.play.frames);
}

Test(stepping, t3_and_t5_spiral_when_a_step_costs_more_than_it_simulates)
{
    stepping_measures t3 = measure(LS_TIMESTEP_SEMI_FIXED, STEPPING_TRACE_OVERLOAD);
    stepping_measures t5 = measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_OVERLOAD);
    cr_assert(t3.play.steps_worst > 100 && t3.play.frame_last_ns > LS_NS_PER_SECOND);
    cr_assert(t5.play.steps_worst > 100 && t5.play.frame_last_ns > LS_NS_PER_SECOND);
    cr_assert(t3.play.frame_last_ns == t3.play.frame_max_ns && t3.play.dropped_ns == 0);
}

/* ---- T4 ---- */

Test(stepping, t4_divides_frames_and_drops_what_is_beyond_six)
{
    stepping_measures m = measure(LS_TIMESTEP_SUBSTEPS, STEPPING_TRACE_30);
    cr_assert_eq(m.play.steps, 2 * m.play.frames);
    cr_assert_eq(m.play.step_max_ns, 16666667);
    m = measure(LS_TIMESTEP_SUBSTEPS, STEPPING_TRACE_SPIKE);
    cr_assert_eq(m.play.steps_worst, 6);
    cr_assert_eq(m.play.dropped_ns, STEPPING_TRACE_SPIKE_NS - 6 * UINT64_C(16667000));
    cr_assert(!m.is_repeatable && m.wall_misses == 0);
}

Test(stepping, t4_slows_down_under_load_and_does_not_spiral)
{
    stepping_measures m = measure(LS_TIMESTEP_SUBSTEPS, STEPPING_TRACE_OVERLOAD);
    EXPECT_NEAR((double)m.play.frame_last_ns, 6 * 20e6, 10);
    EXPECT_NEAR(m.speed, 1 / 1.2, 0.01);
    cr_assert_eq(m.play.frame_last_ns, m.play.frame_max_ns);
}

/* ---- T5 and T6 ---- */

Test(stepping, t5_and_t6_have_the_same_bits_on_every_trace)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        for (int s = LS_TIMESTEP_ACCUMULATOR; s <= LS_TIMESTEP_INTERPOLATED; s++) {
            stepping_measures m = measure((ls_timestep_strategy)s, (stepping_trace_kind)i);
            cr_expect(m.is_repeatable && m.steps_compared > 400, "%s", traces[i].name);
            cr_expect(m.play.step_min_ns == dt_ns() && m.play.step_max_ns == dt_ns());
            EXPECT_NEAR(m.energy_ratio, 1, 1e-6);
            cr_expect_eq(m.wall_misses, 0);
        }
    }
}

/* Of motion that is shown in steps of dt, at the share p of the frames: dt * sqrt(p (1 - p)). */
static double stutter_of(double fps)
{
    double share = RATE_HZ / fps;
    return 1e3 / RATE_HZ * sqrt(share * (1 - share));
}

Test(stepping, t5_stutters_where_the_display_has_another_rate)
{
    EXPECT_NEAR(measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_60).stutter_ms, 0, 1e-4);
    EXPECT_NEAR(measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_75).stutter_ms, 6.67, 0.01);
    EXPECT_NEAR(measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_144).stutter_ms, 8.22, 0.01);
    EXPECT_NEAR(measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_75).stutter_ms, stutter_of(75),
                0.02);
    EXPECT_NEAR(measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_144).stutter_ms, stutter_of(144),
                0.02);
    stepping_measures m = measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_144);
    cr_assert(m.late_min_ms < 2 && m.late_max_ms > 16); /* up to dt old, by a varying amount */
}

Test(stepping, t6_is_smooth_everywhere_and_one_dt_late)
{
    for (int i = STEPPING_TRACE_60; i <= STEPPING_TRACE_30; i++) {
        stepping_measures m = measure(LS_TIMESTEP_INTERPOLATED, (stepping_trace_kind)i);
        EXPECT_NEAR(m.stutter_ms, 0, 1e-4);
        EXPECT_NEAR(m.late_min_ms, 1e3 / RATE_HZ, 1e-3);
        EXPECT_NEAR(m.late_max_ms, 1e3 / RATE_HZ, 1e-3);
    }
    EXPECT_NEAR(measure(LS_TIMESTEP_INTERPOLATED, STEPPING_TRACE_WALK).stutter_ms, 0, 1e-4);
    cr_assert_gt(measure(LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_WALK).stutter_ms, 5);
}

Test(stepping, t6_cuts_the_spike_at_a_quarter_of_a_second)
{
    stepping_measures m = measure(LS_TIMESTEP_INTERPOLATED, STEPPING_TRACE_SPIKE);
    cr_assert_eq(m.play.dropped_ns, STEPPING_TRACE_SPIKE_NS - LS_NS_PER_SECOND / 4);
    cr_assert(m.play.steps_worst == 14 || m.play.steps_worst == 15);
    EXPECT_NEAR(m.late_max_ms, 1e3 / RATE_HZ + 50, 1e-3);
}

/* ---- T10 ---- */

static stepping_headroom headroom_of(const char *name)
{
    stepping_headroom_case cases[STEPPING_HEADROOM_CASES];
    stepping_headroom_cases(RATE_HZ, cases);
    stepping_headroom_traces two = {&traces[STEPPING_TRACE_SPIKE],
                                    &traces[STEPPING_TRACE_OVERLOAD]};
    for (uint32_t i = 0; i < STEPPING_HEADROOM_CASES; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return stepping_headroom_measure(&cases[i].config, dt_ns(), &two);
        }
    }
    cr_assert_fail("there is no case %s", name);
    return (stepping_headroom){0};
}

Test(stepping, t10_with_headroom_a_spike_is_caught_up)
{
    stepping_headroom h = headroom_of("accumulator, no limit");
    cr_assert(h.late_frames == 3 && h.spike_dropped_ms == 0);
    h = headroom_of("interpolated, frames cut at 0.25 s");
    cr_assert_eq(h.late_frames, 3);
    EXPECT_NEAR(h.spike_dropped_ms, 50, 1e-6);
    EXPECT_NEAR(h.late_ms, 208.3, 0.1); /* half of 14, 7 and 4 steps */
}

Test(stepping, t10_overload_slows_a_limited_world_and_kills_the_others)
{
    stepping_headroom h = headroom_of("accumulator, no limit");
    cr_assert(h.is_spiral && h.overload_dropped_ms == 0);
    cr_assert(headroom_of("semi-fixed, no limit").is_spiral);
    static const struct {
        const char *name;
        double frame_ms;
    } limited[] = {{"interpolated, frames cut at 0.25 s", 300},
                   {"interpolated, at most 4 steps", 80},
                   {"substeps, at most 6", 120}};
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++) {
        h = headroom_of(limited[i].name);
        cr_expect(!h.is_spiral && h.overload_dropped_ms > 1000, "%s", limited[i].name);
        EXPECT_NEAR(h.overload_frame_ms, limited[i].frame_ms, 0.01);
        EXPECT_NEAR(h.overload_speed, 1 / 1.2, 0.03);
    }
}

/* ---- T11 ---- */

Test(stepping, t11_a_force_for_each_frame_is_four_times_too_strong_at_200)
{
    stepping_forces f = stepping_forces_measure(&traces[STEPPING_TRACE_200], 20 * LS_NS_PER_MS);
    EXPECT_NEAR(f.force_per_frame, 4, 1e-9);
    EXPECT_NEAR(f.force_per_step, 1, 1e-9);
    f = stepping_forces_measure(&traces[STEPPING_TRACE_50], 20 * LS_NS_PER_MS);
    EXPECT_NEAR(f.force_per_frame, 1, 1e-9);
    f = stepping_forces_measure(&traces[STEPPING_TRACE_30], 20 * LS_NS_PER_MS);
    EXPECT_NEAR(f.force_per_frame, 0.6, 0.01);
}

Test(stepping, t11_an_impulse_acts_once_when_it_waits_for_the_step)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        stepping_forces f = stepping_forces_measure(&traces[i], 20 * LS_NS_PER_MS);
        EXPECT_NEAR(f.impulse_queued, 1, 1e-9);
        EXPECT_NEAR(f.force_per_step, 1, 1e-9);
    }
    EXPECT_NEAR(
        stepping_forces_measure(&traces[STEPPING_TRACE_200], 20 * LS_NS_PER_MS).impulse_polled,
        0.25, 0.01);
    EXPECT_NEAR(
        stepping_forces_measure(&traces[STEPPING_TRACE_30], 20 * LS_NS_PER_MS).impulse_polled,
        5.0 / 3, 0.05);
}

/* ---- stepping_lessons ---- */

/* The rows T7 to T9 and T12 of the stepping systems: blending, rope, integrators and the same bits
 * at every frame rate. The examples T4 and T5 are in tests/tools/timestep_program.py. */

enum {
    STEPPING_LESSONS_RATE_HZ = 60,
};

static stepping_trace stepping_lessons_traces[STEPPING_TRACE_KIND_COUNT];
static ls_text why;

static void stepping_lessons_make_traces(uint32_t seconds)
{
    stepping_trace_config config = {.seconds = seconds, .seed = 1};
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        cr_assert_eq(stepping_trace_make((stepping_trace_kind)i, &config, ls_allocator_heap(),
                                         &stepping_lessons_traces[i]),
                     LS_OK);
    }
}

static void stepping_lessons_release_traces(void)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        stepping_trace_release(&stepping_lessons_traces[i], ls_allocator_heap());
    }
}

TestSuite(stepping_lessons, .fini = stepping_lessons_release_traces);

#define STEPPING_LESSONS_EXPECT_NEAR(value, expected, most)                                        \
    cr_expect(fabs((value) - (expected)) <= (most), #value " is %.9g", (double)(value))

/* ---- T7: the two faults of the printed code ---- */

Test(stepping_lessons, t7_each_coordinate_is_blended_with_its_own_and_angles_by_the_shorter_arc)
{
    ls_vec2 from = {LS_FIXED_INT(1), LS_FIXED_INT(10)};
    ls_vec2 to = {LS_FIXED_INT(2), LS_FIXED_INT(20)};
    ls_timestep_config config = ls_timestep_config_default(STEPPING_LESSONS_RATE_HZ);
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
    cr_assert_eq(stepping_rope_run(&config, &stepping_lessons_traces[STEPPING_TRACE_60],
                                   ls_allocator_heap(), &result, &why),
                 LS_OK, "%s", why.bytes);
    return result;
}

Test(stepping_lessons, t8_the_rope_holds_at_a_millisecond_and_falls_apart_at_a_frame)
{
    stepping_lessons_make_traces(4);
    stepping_rope_result fixed =
        rope(LS_INTEGRATOR_SEMI_IMPLICIT_EULER, LS_NS_PER_MS, 10 * LS_NS_PER_MS);
    cr_assert(!fixed.is_torn && fixed.stretch_max > 1 && fixed.stretch_max < 1.5, "%g",
              fixed.stretch_max);
    cr_assert_eq(fixed.steps, 10 * stepping_lessons_traces[STEPPING_TRACE_60].frames.count);
    STEPPING_LESSONS_EXPECT_NEAR(
        fixed.dropped_ms, 6.666667 * stepping_lessons_traces[STEPPING_TRACE_60].frames.count, 0.1);
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        stepping_rope_result per_frame = rope((ls_integrator)i, 0, 0);
        cr_expect(per_frame.is_torn && per_frame.steps < 20, "%u", i);
    }
}

/* ---- T9 ---- */

Test(stepping_lessons, t9_the_error_goes_with_dt_and_with_its_fourth_power)
{
    STEPPING_LESSONS_EXPECT_NEAR(stepping_integrator_order(LS_INTEGRATOR_EXPLICIT_EULER), 1, 0.02);
    STEPPING_LESSONS_EXPECT_NEAR(stepping_integrator_order(LS_INTEGRATOR_SEMI_IMPLICIT_EULER), 1,
                                 0.02);
    STEPPING_LESSONS_EXPECT_NEAR(stepping_integrator_order(LS_INTEGRATOR_RK4), 4, 0.02);
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
    config.tick_rate_hz = STEPPING_LESSONS_RATE_HZ;
    stepping_one_bit bit = {0};
    cr_assert_eq(stepping_one_bit_run(arena, &config, 20, ls_allocator_heap(), &bit, &why), LS_OK);
    cr_assert_str_eq(bit.field, "bodies[0].position.x");
    STEPPING_LESSONS_EXPECT_NEAR(bit.apart_m[0], 1.0 / 4294967296.0, 1e-15);
    cr_assert_gt(bit.apart_m[10], 1e-5);
    cr_assert_gt(bit.apart_m[20], 1);
}

static stepping_sim_measures drive(const stepping_sim_course *course, ls_timestep_strategy strategy,
                                   stepping_trace_kind kind)
{
    stepping_stepper stepper = stepping_stepper_default(strategy, STEPPING_LESSONS_RATE_HZ);
    stepping_sim_measures measures = {0};
    cr_assert_eq(stepping_sim_course_measure(course, &stepper.config,
                                             &stepping_lessons_traces[kind], 0, ls_allocator_heap(),
                                             &measures, &why),
                 LS_OK);
    return measures;
}

Test(stepping_lessons, t12_a_simulation_has_the_same_bits_at_every_rate_and_is_drawn_smoothly)
{
    stepping_lessons_make_traces(4);
    const ls_simulation *arena = ls_builtin_simulation_named("arena");
    ls_sim_config config = ls_sim_config_default(arena);
    config.tick_rate_hz = STEPPING_LESSONS_RATE_HZ;
    stepping_sim_course course = {0};
    cr_assert_eq(stepping_sim_course_make(arena, &config, 900, ls_allocator_heap(), &course, &why),
                 LS_OK);
    cr_assert(course.has_shape);
    for (int i = STEPPING_TRACE_60; i <= STEPPING_TRACE_WALK; i++) {
        stepping_sim_measures m = drive(&course, LS_TIMESTEP_INTERPOLATED, (stepping_trace_kind)i);
        cr_expect(m.is_repeatable && m.ticks_compared > 200 && m.has_stutter, "%s",
                  stepping_lessons_traces[i].name);
        STEPPING_LESSONS_EXPECT_NEAR(m.stutter_mm, 0, 1e-3);
        m = drive(&course, LS_TIMESTEP_FIXED_PER_FRAME, (stepping_trace_kind)i);
        cr_expect(m.is_repeatable, "%s", stepping_lessons_traces[i].name);
    }
    STEPPING_LESSONS_EXPECT_NEAR(
        drive(&course, LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_60).stutter_mm, 0, 1e-3);
    cr_expect_gt(drive(&course, LS_TIMESTEP_ACCUMULATOR, STEPPING_TRACE_144).stutter_mm, 5);
    STEPPING_LESSONS_EXPECT_NEAR(
        drive(&course, LS_TIMESTEP_FIXED_PER_FRAME, STEPPING_TRACE_144).speed, 2.4, 1e-6);
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
    stepping_lessons_make_traces(2);
    const ls_simulation *counter = counter_simulation();
    ls_sim_config config = ls_sim_config_default(counter);
    config.tick_rate_hz = STEPPING_LESSONS_RATE_HZ;
    stepping_sim_course course = {0};
    cr_assert_eq(
        stepping_sim_course_make(counter, &config, 200, ls_allocator_heap(), &course, &why), LS_OK,
        "%s", why.bytes);
    stepping_sim_measures m = drive(&course, LS_TIMESTEP_INTERPOLATED, STEPPING_TRACE_144);
    cr_assert(m.is_repeatable && m.ticks_compared > 100 && !m.has_stutter && !course.has_shape);
    stepping_sim_course_release(&course, ls_allocator_heap());
}

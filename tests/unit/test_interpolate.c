#include "lockstep/common/maths/interpolate.h"

#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/tests/support/random_values.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define UNITS 4294967296.0L

Test(interpolate, lerp_is_exact_at_both_ends_for_any_pair)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            cr_assert_eq(ls_lerp(edge_values[i], edge_values[j], 0), edge_values[i]);
            cr_assert_eq(ls_lerp(edge_values[i], edge_values[j], LS_FIXED_ONE), edge_values[j]);
        }
        cr_assert_eq(ls_lerp(edge_values[i], edge_values[i], 12345), edge_values[i]);
    }
}

Test(interpolate, lerp_never_leaves_the_span_nor_turns_back)
{
    ls_rng rng = ls_rng_make(31, 1);
    for (int i = 0; i < 100000; i++) {
        ls_fixed from = random_value(&rng);
        ls_fixed to = random_value(&rng);
        ls_fixed alpha = ls_rng_unit(&rng);
        ls_fixed later = ls_fixed_max(alpha, ls_rng_unit(&rng));
        ls_fixed here = ls_lerp(from, to, alpha);
        ls_fixed there = ls_lerp(from, to, later);
        if (from <= to) {
            cr_assert(from <= here && here <= there && there <= to);
        } else {
            cr_assert(from >= here && here >= there && there >= to);
        }
    }
}

Test(interpolate, lerp_is_right_to_the_last_bit_even_over_the_whole_range)
{
    cr_assert_eq(ls_lerp(LS_FIXED_INT(10), LS_FIXED_INT(20), LS_FIXED_ONE / 4),
                 LS_FIXED_RATIO(25, 2));
    cr_assert_eq(ls_lerp(LS_FIXED_MIN, LS_FIXED_MAX, LS_FIXED_HALF), -1);
    cr_assert_eq(ls_lerp(LS_FIXED_MAX, LS_FIXED_MIN, LS_FIXED_HALF), 0);
    ls_rng rng = ls_rng_make(32, 1);
    for (int i = 0; i < 100000; i++) {
        /* Small enough for the reference to be exact. */
        ls_fixed from = (ls_fixed)ls_rng_next(&rng) - LS_FIXED_HALF;
        ls_fixed to = (ls_fixed)ls_rng_next(&rng) - LS_FIXED_HALF;
        ls_fixed alpha = ls_rng_unit(&rng);
        double exact = (double)from + (double)(to - from) * ls_fixed_to_double(alpha);
        cr_assert_leq(fabs((double)ls_lerp(from, to, alpha) - exact), 1.001);
    }
}

Test(interpolate, alpha_outside_the_span_stays_at_the_ends)
{
    cr_assert_eq(ls_lerp(5, 9, -1), 5);
    cr_assert_eq(ls_lerp(5, 9, LS_FIXED_MAX), 9);
    cr_assert_eq(ls_lerp_angle(5, 9, LS_FIXED_MIN), 5);
    cr_assert_eq(ls_lerp_angle(5, 9, LS_FIXED_ONE + 1), 9);
}

Test(interpolate, vectors_blend_each_axis_with_its_own_old_value)
{
    ls_vec2 from = {LS_FIXED_INT(1), LS_FIXED_INT(100)};
    ls_vec2 to = {LS_FIXED_INT(3), LS_FIXED_INT(200)};
    ls_vec2 middle = ls_lerp_vec2(from, to, LS_FIXED_HALF);
    cr_assert_eq(middle.x, LS_FIXED_INT(2));
    cr_assert_eq(middle.y, LS_FIXED_INT(150));
}

Test(interpolate, angles_take_the_shorter_way_across_the_wrap)
{
    ls_angle before = 0u - UINT32_C(1000), after = UINT32_C(3000);
    cr_assert_eq(ls_lerp_angle(before, after, LS_FIXED_HALF), 1000u);
    cr_assert_eq(ls_lerp_angle(after, before, LS_FIXED_HALF), 1000u);
    cr_assert_eq(ls_lerp_angle(before, after, LS_FIXED_ONE / 8), 0u - UINT32_C(500));
    cr_assert_eq(ls_lerp_angle(LS_ANGLE_QUARTER, LS_ANGLE_HALF, LS_FIXED_HALF),
                 LS_ANGLE_QUARTER / 2 * 3);
}

Test(interpolate, angles_half_a_turn_apart_increase_and_one_more_turns_the_other_way)
{
    ls_angle from = UINT32_C(77);
    ls_angle opposite = from + LS_ANGLE_HALF;
    cr_assert_eq(ls_lerp_angle(from, opposite, LS_FIXED_HALF), from + LS_ANGLE_QUARTER);
    cr_assert_eq(ls_lerp_angle(opposite, from, LS_FIXED_HALF), opposite + LS_ANGLE_QUARTER);
    cr_assert_eq(ls_lerp_angle(from, opposite + 2, LS_FIXED_HALF), from - (LS_ANGLE_HALF - 2) / 2);
}

Test(interpolate, angles_are_exact_at_both_ends_and_never_sweep_more_than_half_a_turn)
{
    ls_rng rng = ls_rng_make(33, 1);
    for (int i = 0; i < 100000; i++) {
        ls_angle from = ls_rng_next(&rng);
        ls_angle to = ls_rng_next(&rng);
        ls_fixed alpha = ls_rng_unit(&rng);
        cr_assert_eq(ls_lerp_angle(from, to, 0), from);
        cr_assert_eq(ls_lerp_angle(from, to, LS_FIXED_ONE), to);
        uint32_t whole = to - from <= LS_ANGLE_HALF ? to - from : from - to;
        ls_angle here = ls_lerp_angle(from, to, alpha);
        uint32_t gone = here - from <= LS_ANGLE_HALF ? here - from : from - here;
        cr_assert_leq(gone, whole);
        cr_assert_leq(fabsl((long double)gone - (long double)whole * alpha / UNITS), 1.0L);
    }
}

/* ---- quaternions ---- */

typedef struct quad {
    long double part[4];
} quad;

static quad quad_of(ls_quaternion q)
{
    return (quad){{q.w / UNITS, q.x / UNITS, q.y / UNITS, q.z / UNITS}};
}

static long double quad_dot(quad a, quad b)
{
    long double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += a.part[i] * b.part[i];
    }
    return sum;
}

static long double distance(quad a, quad b)
{
    long double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (a.part[i] - b.part[i]) * (a.part[i] - b.part[i]);
    }
    return sqrtl(sum);
}

/* Shoemake's formula, along the shorter arc. */
static quad slerp_reference(ls_quaternion from, ls_quaternion to, ls_fixed alpha)
{
    quad a = quad_of(from), b = quad_of(to), out;
    long double sign = quad_dot(a, b) < 0 ? -1.0L : 1.0L;
    quad towards = {{sign * b.part[0], sign * b.part[1], sign * b.part[2], sign * b.part[3]}};
    quad away = {{-towards.part[0], -towards.part[1], -towards.part[2], -towards.part[3]}};
    long double angle = 2.0L * atan2l(distance(a, towards), distance(a, away));
    long double t = alpha / UNITS, rest = 1.0L - t;
    if (angle > 1e-9L) {
        rest = sinl(rest * angle) / sinl(angle);
        t = sinl(t * angle) / sinl(angle);
    }
    for (int i = 0; i < 4; i++) {
        out.part[i] = rest * a.part[i] + t * towards.part[i];
    }
    return out;
}

static void assert_slerp(ls_quaternion from, ls_quaternion to, ls_fixed alpha)
{
    quad result = quad_of(ls_slerp(from, to, alpha));
    cr_assert_leq(distance(result, slerp_reference(from, to, alpha)), 16.0L / UNITS);
    cr_assert_leq(fabsl(sqrtl(quad_dot(result, result)) - 1.0L), 16.0L / UNITS);
}

Test(interpolate, slerp_is_exact_at_both_ends)
{
    ls_rng rng = ls_rng_make(34, 1);
    for (int i = 0; i < 1000; i++) {
        ls_quaternion from = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion to = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion first = ls_slerp(from, to, 0), last = ls_slerp(from, to, LS_FIXED_ONE);
        cr_assert_eq(memcmp(&first, &from, sizeof from), 0);
        cr_assert_eq(memcmp(&last, &to, sizeof to), 0);
    }
}

Test(interpolate, slerp_follows_the_great_arc_with_length_one)
{
    ls_rng rng = ls_rng_make(35, 1);
    for (int i = 0; i < 30000; i++) {
        ls_quaternion from = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion to = random_turn(&rng, ls_rng_next(&rng));
        assert_slerp(from, to, ls_rng_unit(&rng));
    }
}

Test(interpolate, slerp_is_right_from_nearly_parallel_to_a_half_turn)
{
    ls_quaternion from = {LS_FIXED_ONE, 0, 0, 0};
    ls_rng rng = ls_rng_make(36, 1);
    for (int width = 0; width <= 30; width++) {
        for (int i = 0; i < 500; i++) {
            ls_angle angle = (UINT32_C(1) << width) + ls_rng_below(&rng, UINT32_C(1) << width);
            ls_quaternion to = random_turn(&rng, ls_fixed_min(angle, LS_ANGLE_QUARTER));
            assert_slerp(from, to, ls_rng_unit(&rng));
        }
    }
}

Test(interpolate, slerp_turns_with_constant_angular_speed)
{
    ls_quaternion from = {LS_FIXED_ONE, 0, 0, 0};
    ls_angle whole = LS_ANGLE_QUARTER - 12345; /* nearly half a turn of the body */
    ls_quaternion to = {ls_fixed_cos(whole), 0, ls_fixed_sin(whole), 0};
    ls_angle before = 0;
    for (int i = 1; i <= 256; i++) {
        ls_quaternion here = ls_slerp(from, to, LS_FIXED_ONE / 256 * i);
        ls_angle angle = ls_fixed_atan2(here.y, here.w);
        long double moved = (long double)angle - before;
        cr_assert_leq(fabsl(moved - whole / 256.0L), 8.0L, "step %d", i);
        before = angle;
    }
}

Test(interpolate, slerp_takes_the_shorter_arc_to_a_negated_quaternion)
{
    ls_rng rng = ls_rng_make(37, 1);
    for (int i = 0; i < 10000; i++) {
        ls_quaternion from = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion to = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion other = {-to.w, -to.x, -to.y, -to.z};
        ls_fixed alpha = ls_rng_unit(&rng);
        ls_quaternion a = ls_slerp(from, to, alpha), b = ls_slerp(from, other, alpha);
        cr_assert_leq(distance(quad_of(a), quad_of(b)), 8.0L / UNITS);
    }
}

Test(interpolate, slerp_of_equal_or_impossible_quaternions_is_harmless)
{
    ls_quaternion one = {LS_FIXED_ONE, 0, 0, 0}, nothing = {0, 0, 0, 0};
    ls_quaternion still = ls_slerp(one, one, LS_FIXED_HALF);
    cr_assert_eq(memcmp(&still, &one, sizeof one), 0);
    still = ls_slerp(nothing, nothing, LS_FIXED_HALF);
    cr_assert_eq(memcmp(&still, &nothing, sizeof nothing), 0);
    ls_quaternion extreme = {LS_FIXED_MIN, LS_FIXED_MAX, LS_FIXED_MIN, LS_FIXED_MAX};
    ls_slerp(extreme, one, LS_FIXED_HALF);
    ls_slerp(extreme, extreme, LS_FIXED_HALF);
}

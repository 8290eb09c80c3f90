#include "lockstep/common/maths/fixed_trig.h"

#include "lockstep/tests/support/random_values.h"

#include <criterion/criterion.h>
#include <math.h>

/* The measured errors that the header states, in units of the results' last bit, 2^-32. */
#define SINE_ERROR_MAX 1.56L
#define ARC_TANGENT_ERROR_MAX 1.03L

#define UNITS 4294967296.0L

static long double pi_reference(void)
{
    return acosl(-1.0L);
}

static long double radians_reference(ls_angle angle)
{
    return (long double)angle / UNITS * 2.0L * pi_reference();
}

static long double sine_error(ls_angle angle)
{
    return fabsl((long double)ls_fixed_sin(angle) - sinl(radians_reference(angle)) * UNITS);
}

static long double cosine_error(ls_angle angle)
{
    return fabsl((long double)ls_fixed_cos(angle) - cosl(radians_reference(angle)) * UNITS);
}

static void assert_sine_and_cosine(ls_angle angle)
{
    cr_assert_leq(sine_error(angle), SINE_ERROR_MAX, "sin %u", angle);
    cr_assert_leq(cosine_error(angle), SINE_ERROR_MAX, "cos %u", angle);
    cr_assert_leq(ls_fixed_abs(ls_fixed_sin(angle)), LS_FIXED_ONE, "sin %u", angle);
}

Test(fixed_trig, sine_and_cosine_stay_within_the_stated_error)
{
    for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 8191) {
        assert_sine_and_cosine((ls_angle)angle);
    }
}

Test(fixed_trig, sine_and_cosine_stay_within_the_stated_error_next_to_every_fold)
{
    for (ls_angle eighth = 0; eighth < 8; eighth++) {
        for (ls_angle offset = 0; offset <= 2048; offset++) {
            assert_sine_and_cosine((eighth << 29) + offset - 1024);
        }
    }
}

Test(fixed_trig, quarter_turns_are_exact)
{
    static const ls_fixed sines[] = {0, LS_FIXED_ONE, 0, -LS_FIXED_ONE};
    for (ls_angle quarter = 0; quarter < 4; quarter++) {
        cr_assert_eq(ls_fixed_sin(quarter << 30), sines[quarter]);
        cr_assert_eq(ls_fixed_cos(quarter << 30), sines[(quarter + 1) & 3u]);
    }
}

Test(fixed_trig, sine_is_odd_and_cosine_is_even_to_the_bit)
{
    ls_rng rng = ls_rng_make(11, 1);
    for (int i = 0; i < 300000; i++) {
        ls_angle angle = ls_rng_next(&rng);
        cr_assert_eq(ls_fixed_sin(0u - angle), -ls_fixed_sin(angle));
        cr_assert_eq(ls_fixed_cos(0u - angle), ls_fixed_cos(angle));
        cr_assert_eq(ls_fixed_sin(LS_ANGLE_HALF - angle), ls_fixed_sin(angle));
        ls_vec2 unit = ls_vec2_from_angle(angle);
        cr_assert(unit.x == ls_fixed_cos(angle) && unit.y == ls_fixed_sin(angle));
    }
}

static long double arc_tangent_error(ls_fixed y, ls_fixed x)
{
    long double turn = atan2l((long double)y, (long double)x) / (2.0L * pi_reference()) * UNITS;
    long double difference = (long double)ls_fixed_atan2(y, x) - turn;
    return fabsl(difference - roundl(difference / UNITS) * UNITS);
}

static void assert_arc_tangent(ls_fixed y, ls_fixed x)
{
    cr_assert_leq(arc_tangent_error(y, x), ARC_TANGENT_ERROR_MAX, "atan2 %lld %lld", (long long)y,
                  (long long)x);
}

Test(fixed_trig, arc_tangent_stays_within_the_stated_error_all_round_at_every_radius)
{
    for (int width = 4; width <= 62; width++) {
        ls_fixed radius = INT64_C(1) << width;
        for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 1048573) {
            ls_vec2 unit = ls_vec2_from_angle((ls_angle)angle);
            assert_arc_tangent(ls_fixed_mul(unit.y, radius), ls_fixed_mul(unit.x, radius));
        }
    }
}

Test(fixed_trig, arc_tangent_stays_within_the_stated_error_for_any_pair)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            assert_arc_tangent(edge_values[i], edge_values[j]);
        }
    }
    ls_rng rng = ls_rng_make(12, 1);
    for (int i = 0; i < 300000; i++) {
        ls_fixed y = random_value(&rng);
        ls_fixed x = random_value(&rng);
        assert_arc_tangent(y, x);
    }
}

Test(fixed_trig, arc_tangent_is_exact_on_axes_and_diagonals)
{
    cr_assert_eq(ls_fixed_atan2(0, 0), 0);
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        ls_fixed a = edge_values[i];
        if (a <= 0) {
            continue;
        }
        cr_assert_eq(ls_fixed_atan2(0, a), 0);
        cr_assert_eq(ls_fixed_atan2(a, 0), LS_ANGLE_QUARTER);
        cr_assert_eq(ls_fixed_atan2(0, -a), LS_ANGLE_HALF);
        cr_assert_eq(ls_fixed_atan2(-a, 0), 0u - LS_ANGLE_QUARTER);
        cr_assert_eq(ls_fixed_atan2(a, a), LS_ANGLE_QUARTER / 2);
        cr_assert_eq(ls_fixed_atan2(-a, -a), LS_ANGLE_HALF + LS_ANGLE_QUARTER / 2);
    }
    cr_assert_eq(ls_fixed_atan2(LS_FIXED_MIN, LS_FIXED_MIN), LS_ANGLE_HALF + LS_ANGLE_QUARTER / 2);
}

Test(fixed_trig, arc_tangent_undoes_the_unit_vector)
{
    for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 65521) {
        ls_vec2 unit = ls_vec2_from_angle((ls_angle)angle);
        uint32_t difference = ls_fixed_atan2(unit.y, unit.x) - (ls_angle)angle;
        cr_assert_leq(ls_magnitude(ls_signed_from_bits((uint64_t)difference << 32)), UINT64_C(3)
                                                                                         << 32);
    }
}

Test(fixed_trig, radians_are_the_nearest_and_lead_back)
{
    cr_assert_eq(ls_radians_from_angle(LS_ANGLE_HALF), -INT64_C(13493037705));
    cr_assert_eq(ls_radians_from_angle(LS_ANGLE_HALF - 1), INT64_C(13493037698));
    for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 16381) {
        ls_fixed radians = ls_radians_from_angle((ls_angle)angle);
        long double signed_angle = angle < LS_ANGLE_HALF ? (long double)angle : angle - UNITS;
        cr_assert_leq(fabsl((long double)radians - signed_angle * 2.0L * pi_reference()), 0.5001L,
                      "%llu", (unsigned long long)angle);
        cr_assert_eq(ls_angle_from_radians(radians), (ls_angle)angle);
    }
}

Test(fixed_trig, any_number_of_radians_has_the_right_angle)
{
    /* Computed with 60 decimal digits. */
    static const struct {
        ls_fixed radians;
        ls_angle angle;
    } cases[] = {
        {0, 0},
        {INT64_MAX, UINT32_C(0xc9c882a5)},
        {INT64_MIN, UINT32_C(0x36377d5b)},
        {INT64_C(4611686018427387904), UINT32_C(0xe4e44153)},
        {INT64_C(123456789012345678), UINT32_C(0x068d0a06)},
        {INT64_C(-1234567890123456789), UINT32_C(0xbe7d9bc5)},
        {INT64_C(2356064425258417221), UINT32_C(0xaa2f0f75)},
        {INT64_C(6013930923205721641), UINT32_C(0x650199ef)},
        {INT64_C(478261842605716053), UINT32_C(0x8bd3e08f)},
        {INT64_C(7027521676193288798), UINT32_C(0x2ff3a558)},
        {INT64_C(26986075409), 0},
        {INT64_C(13493037705), LS_ANGLE_HALF},
        {LS_FIXED_INT(2), UINT32_C(0x517cc1b7)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(ls_angle_from_radians(cases[i].radians), cases[i].angle, "case %zu", i);
    }
}

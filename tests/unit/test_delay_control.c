#include "lockstep/common/lag/delay_control.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <criterion/criterion.h>

#define DT_NS (10 * LS_NS_PER_MS)

static ls_delay_control control;

/* A stretch in which so many millionths came late, and the others so many ticks early. */
static bool pass(uint32_t late_ppm, uint32_t suggested, int64_t spare_ticks)
{
    ls_lag_figures recent = {.dt_ns = DT_NS, .ticks = LS_LAG_ALL_PPM, .late_way = late_ppm};
    ls_lag lag = {.suggested_input_delay_ticks = suggested};
    lag.cause = late_ppm >= LS_LAG_LATE_PPM ? LS_LAG_UPLINK : LS_LAG_FINE;
    recent.arrivals[ls_lag_bin(spare_ticks * (int64_t)DT_NS, DT_NS)] = 500;
    return ls_delay_control_update(&control, &recent, &lag);
}

/* Stretches with a tick to spare until one is taken off. */
static uint32_t stretches_until_less(void)
{
    uint32_t stretches = 1;
    while (!pass(0, 0, 1)) {
        stretches++;
        cr_assert_leq(stretches, 1000);
    }
    return stretches;
}

Test(delay_control, late_inputs_raise_it_at_once_to_what_mends_them)
{
    ls_delay_control_init(&control, 0);
    cr_assert_not(pass(LS_LAG_LATE_PPM - 1, 0, 0));
    cr_assert(pass(LS_LAG_LATE_PPM, 3, 0));
    cr_assert_eq(control.ticks, 3);
    cr_assert(pass(LS_LAG_LATE_PPM, 0, 0));
    cr_assert_eq(control.ticks, 4, "by one when nothing says by how much");
    ls_delay_control_init(&control, LS_INPUT_DELAY_TICKS_MAX);
    cr_assert_not(pass(LS_LAG_LATE_PPM, 0, 0));
    cr_assert_eq(control.ticks, LS_INPUT_DELAY_TICKS_MAX);
}

Test(delay_control, delay_that_is_not_needed_goes_slowly)
{
    ls_delay_control_init(&control, 2);
    cr_assert_eq(stretches_until_less(), 4);
    cr_assert_eq(control.ticks, 1);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_not(pass(0, 0, 0), "there is nothing to spare");
    }
    for (uint32_t i = 0; i < 3; i++) {
        pass(0, 0, 1);
    }
    pass(LS_LAG_MENDED_PPM, 0, 1);
    cr_assert_eq(stretches_until_less(), 4, "it begins anew");
    cr_assert_eq(control.ticks, 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_not(pass(0, 0, 5));
    }
}

Test(delay_control, each_time_that_it_went_too_low_it_grows_more_patient)
{
    ls_delay_control_init(&control, 1);
    static const uint32_t patience[] = {4, 8, 16, 32, 64, 64};
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(stretches_until_less(), patience[i]);
        cr_assert(pass(LS_LAG_LATE_PPM, 1, 0));
        cr_assert_eq(control.ticks, 1);
    }
}

Test(delay_control, a_cause_that_no_delay_mends_changes_none)
{
    ls_delay_control_init(&control, 1);
    ls_lag_figures recent = {.dt_ns = DT_NS, .ticks = 1000, .late_way = 100};
    static const ls_lag_cause causes[] = {LS_LAG_COMPUTER, LS_LAG_SILENT, LS_LAG_SERVER,
                                          LS_LAG_PLAYER};
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        ls_lag lag = {.cause = causes[i]};
        cr_assert_not(ls_delay_control_update(&control, &recent, &lag));
    }
    cr_assert_eq(control.ticks, 1);
}

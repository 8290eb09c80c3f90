#include "lockstep/client/view/playback.h"

#include <criterion/criterion.h>

#define DT_NS UINT64_C(100000000)

static ls_playback playback;

/* Ticks 5 to 25 at ten a second. */
static void make(void)
{
    ls_playback_init(&playback);
    ls_playback_set_range(&playback, 5, 25, 10);
}

TestSuite(playback, .init = make);

Test(playback, it_plays_in_real_time_and_stops_at_the_end)
{
    cr_expect_eq(ls_playback_tick(&playback), 5);
    cr_expect_eq(ls_playback_alpha(&playback), LS_FIXED_ONE);
    ls_playback_advance(&playback, DT_NS * 5 / 2);
    cr_expect_eq(ls_playback_tick(&playback), 8);
    cr_expect_eq(ls_playback_alpha(&playback), LS_FIXED_HALF);
    ls_playback_advance(&playback, 100 * DT_NS);
    cr_expect_eq(ls_playback_tick(&playback), 25);
    cr_expect_eq(ls_playback_alpha(&playback), LS_FIXED_ONE);
    cr_expect_eq(ls_playback_share(&playback), 1.0);
    cr_expect(playback.is_paused);
}

Test(playback, from_the_end_it_starts_over)
{
    ls_playback_advance(&playback, 100 * DT_NS);
    ls_playback_toggle(&playback);
    cr_expect_not(playback.is_paused);
    cr_expect_eq(ls_playback_tick(&playback), 5);
}

Test(playback, paused_it_stays_where_it_is)
{
    ls_playback_advance(&playback, DT_NS);
    ls_playback_toggle(&playback);
    ls_playback_advance(&playback, 7 * DT_NS);
    cr_expect_eq(ls_playback_tick(&playback), 6);
    ls_playback_toggle(&playback);
    ls_playback_advance(&playback, DT_NS);
    cr_expect_eq(ls_playback_tick(&playback), 7);
}

Test(playback, steps_go_to_whole_ticks_within_the_record)
{
    ls_playback_advance(&playback, DT_NS * 5 / 2); /* between 7 and 8 */
    ls_playback_step(&playback, -1);
    cr_expect_eq(ls_playback_tick(&playback), 7);
    cr_expect(playback.is_paused);
    ls_playback_step(&playback, -1);
    cr_expect_eq(ls_playback_tick(&playback), 6);
    ls_playback_step(&playback, -10);
    cr_expect_eq(ls_playback_tick(&playback), 5);
    ls_playback_step(&playback, 1);
    cr_expect_eq(ls_playback_tick(&playback), 6);
    ls_playback_step(&playback, 1000);
    cr_expect_eq(ls_playback_tick(&playback), 25);
}

Test(playback, speeds_are_powers_of_two_within_bounds)
{
    ls_playback_change_speed(&playback, 2);
    ls_playback_advance(&playback, DT_NS);
    cr_expect_eq(ls_playback_tick(&playback), 9);
    ls_playback_change_speed(&playback, -3);
    ls_playback_advance(&playback, 4 * DT_NS);
    cr_expect_eq(ls_playback_tick(&playback), 11);
    ls_playback_change_speed(&playback, -100);
    cr_expect_eq(playback.speed, LS_PLAYBACK_SLOWEST);
    ls_playback_change_speed(&playback, 100);
    cr_expect_eq(playback.speed, LS_PLAYBACK_FASTEST);
}

Test(playback, the_seek_bar_leads_to_whole_ticks)
{
    ls_playback_seek(&playback, 0.5);
    cr_expect_eq(ls_playback_tick(&playback), 15);
    cr_expect_eq(ls_playback_alpha(&playback), LS_FIXED_ONE);
    ls_playback_seek(&playback, -3.0);
    cr_expect_eq(ls_playback_tick(&playback), 5);
    ls_playback_seek(&playback, 1e30);
    cr_expect_eq(ls_playback_tick(&playback), 25);
    ls_playback_seek(&playback, 0.0 / 0.0);
    cr_expect_eq(ls_playback_tick(&playback), 5);
}

Test(playback, a_record_may_grow_or_hold_one_state_alone)
{
    ls_playback_advance(&playback, 100 * DT_NS);
    ls_playback_set_range(&playback, 5, 45, 10);
    cr_expect_eq(ls_playback_tick(&playback), 25);
    cr_expect_eq(ls_playback_share(&playback), 0.5);
    ls_playback_set_range(&playback, 5, 5, 10);
    cr_expect_eq(ls_playback_tick(&playback), 5);
    cr_expect_eq(ls_playback_share(&playback), 1.0);
}

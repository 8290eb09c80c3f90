#include "lockstep/client/view/playhead.h"

#include <criterion/criterion.h>

#define DT_NS UINT64_C(100000000)

static ls_playhead playhead;

/* Ticks 5 to 25 at ten a second. */
static void make(void)
{
    ls_playhead_init(&playhead);
    ls_playhead_set_range(&playhead, 5, 25, 10);
}

TestSuite(playhead, .init = make);

Test(playhead, a_record_plays_in_real_time_and_stops_at_the_end)
{
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    ls_playhead_advance(&playhead, DT_NS * 5 / 2);
    cr_expect_eq(ls_playhead_tick(&playhead), 8);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_HALF);
    ls_playhead_advance(&playhead, 100 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    cr_expect_eq(ls_playhead_share(&playhead), 1.0);
    cr_expect(playhead.is_paused);
}

Test(playhead, at_the_end_of_a_record_that_grows_it_waits)
{
    playhead.is_growing = true;
    ls_playhead_advance(&playhead, 100 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect_not(playhead.is_paused);
    ls_playhead_set_range(&playhead, 5, 30, 10);
    ls_playhead_advance(&playhead, 2 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 27);
}

Test(playhead, from_the_end_it_starts_over)
{
    ls_playhead_advance(&playhead, 100 * DT_NS);
    ls_playhead_toggle(&playhead);
    cr_expect_not(playhead.is_paused);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
}

Test(playhead, paused_it_stays_where_it_is)
{
    ls_playhead_advance(&playhead, DT_NS);
    ls_playhead_toggle(&playhead);
    ls_playhead_advance(&playhead, 7 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 6);
    ls_playhead_toggle(&playhead);
    ls_playhead_advance(&playhead, DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 7);
}

Test(playhead, steps_go_to_whole_ticks_within_the_record)
{
    ls_playhead_advance(&playhead, DT_NS * 5 / 2); /* between 7 and 8 */
    ls_playhead_step(&playhead, -1);
    cr_expect_eq(ls_playhead_tick(&playhead), 7);
    cr_expect(playhead.is_paused);
    ls_playhead_step(&playhead, -1);
    cr_expect_eq(ls_playhead_tick(&playhead), 6);
    ls_playhead_step(&playhead, -10);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    ls_playhead_step(&playhead, 1);
    cr_expect_eq(ls_playhead_tick(&playhead), 6);
    ls_playhead_step(&playhead, 1000);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
}

Test(playhead, speeds_are_powers_of_two_within_bounds)
{
    ls_playhead_change_speed(&playhead, 2);
    ls_playhead_advance(&playhead, DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 9);
    ls_playhead_change_speed(&playhead, -3);
    ls_playhead_advance(&playhead, 4 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 11);
    ls_playhead_change_speed(&playhead, -100);
    cr_expect_eq(playhead.speed, LS_PLAYHEAD_SLOWEST);
    ls_playhead_change_speed(&playhead, 100);
    cr_expect_eq(playhead.speed, LS_PLAYHEAD_FASTEST);
}

Test(playhead, the_seek_bar_leads_to_whole_ticks)
{
    ls_playhead_seek(&playhead, 0.5);
    cr_expect_eq(ls_playhead_tick(&playhead), 15);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    ls_playhead_seek(&playhead, -3.0);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    ls_playhead_seek(&playhead, 1e30);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    ls_playhead_seek(&playhead, 0.0 / 0.0);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
}

Test(playhead, a_record_may_grow_or_hold_one_state_alone)
{
    ls_playhead_advance(&playhead, 100 * DT_NS);
    ls_playhead_set_range(&playhead, 5, 45, 10);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect_eq(ls_playhead_share(&playhead), 0.5);
    ls_playhead_set_range(&playhead, 5, 5, 10);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    cr_expect_eq(ls_playhead_share(&playhead), 1.0);
}

Test(playhead, a_tick_is_gone_to_or_the_end_that_is_nearer)
{
    ls_playhead_go_to(&playhead, 12);
    cr_expect_eq(ls_playhead_tick(&playhead), 12);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    cr_expect(!ls_playhead_is_at_end(&playhead));
    ls_playhead_go_to(&playhead, 4);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    ls_playhead_go_to(&playhead, UINT32_MAX);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect(ls_playhead_is_at_end(&playhead));
}

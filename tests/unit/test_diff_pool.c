#include "lockstep/server/match/diff_pool.h"

#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>

enum {
    TICKS = 400, /* more than the states that a window keeps whole */
};

static diagnosed_match match;
static ls_diff_pool pool;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    diagnosed_match_run(&match, TICKS);
    pool = (ls_diff_pool){0};
    cr_assert_eq(
        ls_diff_pool_init(&pool, match.server.instance, match.server.window, ls_allocator_heap()),
        LS_OK);
}

static void close(void)
{
    ls_diff_pool_deinit(&pool);
    diagnosed_match_close(&match);
}

TestSuite(diff_pool, .init = open, .fini = close);

static ls_diff_place *take(ls_tick tick)
{
    ls_diff_place *place = NULL;
    cr_assert_eq(ls_diff_pool_take(&pool, tick, NULL, &place), LS_OK);
    cr_assert_eq(place->held->inspector.tick, tick);
    return place;
}

Test(diff_pool, there_is_a_place_for_each_player_while_they_are_small)
{
    cr_assert_eq(pool.count, ls_sim_instance_config(match.server.instance)->players);
    cr_assert_eq(pool.count, 2);
}

Test(diff_pool, places_of_one_tick_share_the_state)
{
    ls_diff_place *first = take(TICKS - 3);
    ls_diff_place *second = take(TICKS - 3);
    cr_expect_neq(first->diff, second->diff);
    cr_expect_eq(first->held, second->held);
    ls_diff_pool_release(first);
    cr_expect_eq(second->held->users, 1);
    first = take(TICKS - 4);
    cr_expect_neq(first->held, second->held);
}

Test(diff_pool, no_more_are_given_than_there_are_until_one_is_released)
{
    ls_diff_place *first = take(TICKS);
    ls_diff_place *third = NULL;
    take(TICKS - 1);
    cr_expect_eq(ls_diff_pool_take(&pool, TICKS - 2, NULL, &third), LS_FULL);
    cr_expect_null(third);
    ls_diff_pool_release(first);
    third = take(TICKS - 2);
    cr_expect_eq(third, first);
}

Test(diff_pool, a_state_that_has_left_the_window_comes_from_its_rerun)
{
    ls_tick gone = TICKS - 200;
    ls_diff_place *place = NULL;
    cr_assert_eq(ls_diff_pool_take(&pool, gone, NULL, &place), LS_NOT_FOUND);
    ls_rerun_outcome outcome = {.figures = {.tick = gone, .live = 5, .fresh = 5},
                                .state = ls_replay_window_state(match.server.window, TICKS)};
    cr_assert_eq(ls_diff_pool_take(&pool, gone + 1, &outcome, &place), LS_NOT_FOUND);
    cr_assert_eq(ls_diff_pool_take(&pool, gone, &outcome, &place), LS_OK);
    cr_expect_eq(place->held->inspector.tick, gone);
}

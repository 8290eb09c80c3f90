#include "lockstep/server/service/join_limits.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>
#include <string.h>

#define NOW (1000 * LS_NS_PER_SECOND)
#define MINUTE (60 * LS_NS_PER_SECOND)

static ls_join_limits limits;

static void start(void)
{
    memset(&limits, 0, sizeof limits);
    limits.joins = 10;
    limits.rooms = 4;
}

TestSuite(join_limits, .init = start);

static uint32_t count(uint64_t origin, bool is_first, uint64_t now_ns)
{
    uint32_t taken = 0;
    while (taken < 1000 && ls_join_limits_take(&limits, origin, is_first, now_ns)) {
        taken++;
    }
    return taken;
}

Test(join_limits, an_origin_joins_so_often_at_once_and_as_often_a_minute)
{
    cr_expect_eq(count(1, false, NOW), 10);
    cr_expect_eq(count(2, false, NOW), 10, "another origin is another one");
    cr_expect_eq(count(1, false, NOW + MINUTE / 10 - 1), 0);
    cr_expect_eq(count(1, false, NOW + MINUTE / 10), 1);
    cr_expect_eq(count(1, false, NOW + 20 * MINUTE), 10);
}

Test(join_limits, rooms_come_back_in_four_minutes_or_when_somebody_plays)
{
    cr_expect_eq(count(1, true, NOW), 4);
    cr_expect_eq(count(1, false, NOW), 6, "a room that has somebody counts no more");
    cr_expect_eq(count(1, true, NOW + MINUTE), 1);
    ls_join_limits_give_back(&limits, 1);
    ls_join_limits_give_back(&limits, 7);
    cr_expect_eq(count(1, true, NOW + MINUTE), 1);
    for (uint32_t i = 0; i < 10; i++) {
        ls_join_limits_give_back(&limits, 1);
    }
    cr_expect_eq(count(1, true, NOW + 8 * MINUTE), 4, "no more than at first");
}

Test(join_limits, a_refusal_takes_nothing)
{
    cr_expect_eq(count(1, true, NOW), 4);
    for (uint32_t i = 0; i < 100; i++) {
        cr_expect_not(ls_join_limits_take(&limits, 1, true, NOW));
    }
    cr_expect_eq(count(1, false, NOW), 6);
    cr_expect_eq(count(1, true, NOW + MINUTE), 1);
}

Test(join_limits, without_numbers_nothing_is_limited)
{
    limits.joins = 0;
    limits.rooms = 0;
    cr_expect_eq(count(1, true, NOW), 1000);
}

Test(join_limits, an_origin_has_so_many_connections_at_all_workers_together)
{
    limits.connections = 3;
    cr_expect(ls_join_limits_connect(&limits, 0, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 15, 1, NOW));
    cr_expect_not(ls_join_limits_connect(&limits, 2, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 2, 2, NOW), "another origin is another one");
    ls_join_limits_disconnect(&limits, 1, 1);
    ls_join_limits_disconnect(&limits, 1, 1);
    ls_join_limits_disconnect(&limits, 1, 7);
    cr_expect(ls_join_limits_connect(&limits, 2, 1, NOW));
    cr_expect_not(ls_join_limits_connect(&limits, 1, 1, NOW));
}

Test(join_limits, connections_of_a_worker_that_has_ended_are_gone)
{
    limits.connections = 2;
    cr_expect(ls_join_limits_connect(&limits, 0, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW));
    ls_join_limits_forget_worker(&limits, 1);
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW));
    cr_expect_not(ls_join_limits_connect(&limits, 1, 1, NOW));
    limits.connections = 0;
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW), "no limit");
}

Test(join_limits, no_number_of_origins_makes_one_with_a_connection_forgotten)
{
    limits.connections = 1;
    cr_expect(ls_join_limits_connect(&limits, 0, 1, NOW));
    cr_expect_eq(count(1, false, NOW), 10);
    for (uint64_t origin = 2; origin < 4 * LS_JOIN_LIMITS_ORIGINS_MAX; origin++) {
        (void)ls_join_limits_take(&limits, origin, false, NOW + 1);
    }
    cr_expect_not(ls_join_limits_connect(&limits, 1, 1, NOW + 2));
    cr_expect_eq(count(1, false, NOW + 2), 0);
    ls_join_limits_disconnect(&limits, 0, 1);
    for (uint64_t origin = 2; origin < 4 * LS_JOIN_LIMITS_ORIGINS_MAX; origin++) {
        (void)ls_join_limits_take(&limits, origin, false, NOW + 3);
    }
    cr_expect_eq(count(1, false, NOW + 4), 10, "it has given way to others");
}

/* A worker may be killed while it counts. */
Test(join_limits, a_count_that_was_never_finished_stops_nobody)
{
    atomic_store(&limits.is_held, 1u);
    cr_expect_eq(count(1, false, NOW), 10);
    cr_expect_eq(atomic_load(&limits.is_held), 0);
}

Test(join_limits, other_numbers_hold_at_once)
{
    cr_expect_eq(count(1, false, NOW), 10);
    ls_join_limits_set(&limits, 20, 0);
    cr_expect_eq(count(1, true, NOW), 0, "a minute's were taken");
    cr_expect_eq(count(1, true, NOW + MINUTE / 2), 10);
    ls_join_limits_set(&limits, 0, 0);
    cr_expect_eq(count(1, true, NOW), 1000);
}

/* As an attack from one address has it: two rooms a second. */
Test(join_limits, forty_five_seconds_of_empty_rooms_are_few)
{
    limits.joins = 120;
    limits.rooms = 24;
    uint32_t rooms = 0;
    for (uint32_t half = 0; half < 90; half++) {
        uint64_t now_ns = NOW + half * LS_NS_PER_SECOND / 2;
        rooms += ls_join_limits_take(&limits, 1, true, now_ns) ? 1 : 0;
        (void)ls_join_limits_take(&limits, 1, false, now_ns);
    }
    cr_expect_eq(rooms, 24 + 4);
}

Test(join_limits, the_newest_origins_are_remembered)
{
    for (uint64_t origin = 1; origin <= 100000; origin++) {
        (void)ls_join_limits_take(&limits, origin, true, NOW + origin);
    }
    uint32_t known = 0;
    for (uint64_t origin = 100000 - 99; origin <= 100000; origin++) {
        known += count(origin, true, NOW + 100000) == 3 ? 1 : 0;
    }
    cr_expect_geq(known, 90, "%u", known);
}

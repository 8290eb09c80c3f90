#include "lockstep/server/service/room_glances.h"

#include <criterion/criterion.h>

enum {
    ROOMS = 3,
};

static ls_room_glances *glances;

static void open_glances(void)
{
    const ls_room_glance empty = {
        .is_there = true, .is_lobby = true, .is_quiet = true, .seats = 4, .open = 4};
    const ls_room_glance begun = {
        .is_there = true, .is_lobby = true, .seats = 4, .open = 1, .players = 3};
    cr_assert_eq(ls_room_glances_create(ROOMS, &glances), LS_OK);
    ls_room_glances_set(glances, 0, &empty);
    ls_room_glances_set(glances, 2, &begun);
}

static void close_glances(void)
{
    ls_room_glances_destroy(glances);
}

TestSuite(room_glances, .init = open_glances, .fini = close_glances);

static void expect_seats(uint32_t coming, uint32_t open, uint32_t awaited, uint32_t players)
{
    ls_worker_seats seats = ls_room_glances_seats(glances, ROOMS, coming);
    cr_expect_eq(seats.open, open, "%u coming: %u", coming, seats.open);
    cr_expect_eq(seats.awaited, awaited, "%u coming: %u", coming, seats.awaited);
    cr_expect_eq(seats.players, players, "%u coming: %u", coming, seats.players);
}

Test(room_glances, newcomers_come_first_to_the_room_where_others_wait)
{
    expect_seats(0, 5, 1, 3);
    expect_seats(1, 4, 0, 4);
    expect_seats(2, 3, 3, 5);
    expect_seats(9, 0, 0, 8);
}

Test(room_glances, running_match_is_not_awaited_and_a_closed_room_has_no_seats)
{
    const ls_room_glance running = {.is_there = true, .seats = 4, .open = 2, .players = 2};
    const ls_room_glance none = {.is_there = false};
    ls_room_glances_set(glances, 2, &running);
    expect_seats(0, 6, 0, 2);
    ls_room_glances_set(glances, 0, &none);
    expect_seats(0, 2, 0, 2);
    cr_expect_not(ls_room_glances_at(glances, 1)->is_there);
}

#include "lockstep/server/service/room_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>

static ls_room_directory *directory;

static void open_directory(void)
{
    cr_assert_eq(ls_room_directory_create(&directory), LS_OK);
}

static void close_directory(void)
{
    ls_room_directory_destroy(directory);
}

TestSuite(room_directory, .init = open_directory, .fini = close_directory);

Test(room_directory, a_room_is_found_by_its_name_and_by_the_id_of_its_match)
{
    ls_room_directory_note(directory, "arena-1", UINT64_C(0xfedcba9876543210), 2, true);
    cr_assert_eq(ls_room_directory_find(directory, "arena-1"), 2);
    cr_assert_eq(ls_room_directory_find(directory, "fedcba9876543210"), 2);
    cr_assert_eq(ls_room_directory_find_match(directory, UINT64_C(0xfedcba9876543210)), 2);
    cr_assert_eq(ls_room_directory_find_match(directory, 0), UINT32_MAX);
    cr_assert_eq(ls_room_directory_find(directory, "arena-2"), UINT32_MAX);
}

Test(room_directory, a_room_that_is_gone_is_not_found)
{
    ls_room_directory_note(directory, "a", 1, 0, true);
    ls_room_directory_note(directory, "b", 2, 1, true);
    ls_room_directory_note(directory, "a", 0, 0, true);
    ls_room_directory_note(directory, "never", 0, 0, true);
    cr_assert_eq(ls_room_directory_find(directory, "a"), UINT32_MAX);
    cr_assert_eq(ls_room_directory_find(directory, "b"), 1);
}

Test(room_directory, a_room_that_was_opened_again_has_its_new_match)
{
    ls_room_directory_note(directory, "a", 1, 0, true);
    ls_room_directory_note(directory, "a", 2, 3, true);
    cr_assert_eq(ls_room_directory_find(directory, "0000000000000001"), UINT32_MAX);
    cr_assert_eq(ls_room_directory_find(directory, "a"), 3);
}

/* A token for that match is good for no other one. */
Test(room_directory, players_of_the_match_before_come_back_to_the_room_that_plays_the_next)
{
    ls_room_directory_note(directory, "a", 1, 3, true);
    ls_room_directory_note(directory, "a", 1, 3, false);
    ls_room_directory_note(directory, "a", 2, 3, true);
    cr_assert_eq(ls_room_directory_find_match(directory, 1), 3);
    cr_assert_eq(ls_room_directory_find_match(directory, 2), 3);
    cr_assert_eq(ls_room_directory_find_match(directory, 0), UINT32_MAX);
    cr_assert_eq(ls_room_directory_find(directory, "0000000000000001"), UINT32_MAX);
    ls_room_directory_note(directory, "a", 3, 3, true);
    cr_assert_eq(ls_room_directory_find_match(directory, 1), UINT32_MAX);
    ls_room_directory_note(directory, "a", 0, 3, true);
    cr_assert_eq(ls_room_directory_find_match(directory, 2), UINT32_MAX);
}

Test(room_directory, a_room_that_is_to_go_on_is_expected_until_it_does)
{
    ls_room_directory_note(directory, "a", 7, 0, false);
    cr_assert(ls_room_directory_is_expected(directory, "a", 0));
    cr_assert(ls_room_directory_is_expected(directory, "", 7));
    cr_assert_not(ls_room_directory_is_expected(directory, "", 0));
    cr_assert_not(ls_room_directory_is_expected(directory, "b", 8));
    ls_room_directory_note(directory, "a", 7, 0, true);
    cr_assert_not(ls_room_directory_is_expected(directory, "a", 7));
    ls_room_directory_note(directory, "a", 7, 0, false);
    ls_room_directory_note(directory, "a", 0, 0, false);
    cr_assert_not(ls_room_directory_is_expected(directory, "a", 7));
}

Test(room_directory, it_holds_as_many_rooms_as_a_service_and_leaves_out_more)
{
    char name[16];
    for (uint32_t i = 0; i <= LS_SERVICE_ROOMS_MAX; i++) {
        snprintf(name, sizeof name, "r%u", i);
        ls_room_directory_note(directory, name, i + 1, 1, true);
    }
    cr_assert_eq(ls_room_directory_find(directory, name), UINT32_MAX);
    snprintf(name, sizeof name, "r%u", LS_SERVICE_ROOMS_MAX - 1);
    cr_assert_eq(ls_room_directory_find(directory, name), 1);
}

static void note(uint32_t worker, uint32_t open, uint32_t awaited, uint32_t players)
{
    const ls_worker_seats seats = {open, awaited, players};
    ls_room_directory_note_seats(directory, worker, &seats);
}

Test(room_directory, newcomers_are_for_the_worker_with_the_fewest_players_that_has_a_seat)
{
    cr_assert_eq(ls_room_directory_best(directory), UINT32_MAX);
    note(1, 2, 0, 10);
    note(3, 5, 0, 4);
    note(5, 0, 0, 0);
    note(99, 50, 0, 0);
    cr_assert_eq(ls_room_directory_best(directory), 3);
    note(3, 0, 0, 4);
    cr_assert_eq(ls_room_directory_best(directory), 1);
}

Test(room_directory, newcomers_come_first_to_players_who_are_waiting_for_them)
{
    note(0, 8, 0, 0);
    note(1, 1, 1, 30);
    cr_assert_eq(ls_room_directory_best(directory), 1);
    note(1, 0, 0, 31);
    cr_assert_eq(ls_room_directory_best(directory), 0);
}

Test(room_directory, intake_is_handed_on_to_the_worker_that_is_better_for_newcomers)
{
    cr_assert_eq(ls_room_directory_intake(directory), 0);
    note(0, 4, 0, 2);
    note(1, 4, 0, 0);
    cr_assert(ls_room_directory_hand_on(directory, 0));
    cr_assert_eq(ls_room_directory_intake(directory), 1);
    cr_assert_not(ls_room_directory_hand_on(directory, 0), "worker 0 has it no more");
    cr_assert_not(ls_room_directory_hand_on(directory, 1), "no worker is better");
    note(1, 0, 0, 4);
    cr_assert(ls_room_directory_hand_on(directory, 1), "no seat is left");
    cr_assert_eq(ls_room_directory_intake(directory), 0);
}

Test(room_directory, intake_stays_where_somebody_waits_for_one_more_player)
{
    note(0, 1, 1, 9);
    note(1, 4, 0, 0);
    cr_assert_not(ls_room_directory_hand_on(directory, 0));
    note(1, 3, 3, 1);
    cr_assert_not(ls_room_directory_hand_on(directory, 0));
    note(0, 4, 0, 10);
    cr_assert(ls_room_directory_hand_on(directory, 0));
}

Test(room_directory, intake_stays_when_there_is_no_seat_anywhere)
{
    note(0, 0, 0, 2);
    note(1, 0, 0, 0);
    cr_assert_not(ls_room_directory_hand_on(directory, 0));
    ls_room_directory_set_intake(directory, LS_SERVICE_WORKERS_MAX);
    cr_assert_eq(ls_room_directory_intake(directory), 0);
    ls_room_directory_set_intake(directory, 3);
    cr_assert_eq(ls_room_directory_intake(directory), 3);
}

Test(room_directory, newcomers_meet_at_the_intake_while_it_has_a_seat)
{
    note(0, 2, 0, 0);
    note(1, 1, 1, 1);
    ls_room_directory_set_intake(directory, 1);
    cr_assert(ls_room_directory_is_other_intake(directory, 0));
    cr_assert_not(ls_room_directory_is_other_intake(directory, 1));
    note(1, 0, 0, 2);
    cr_assert_not(ls_room_directory_is_other_intake(directory, 0));
}

/* Another newcomer each time. */
static uint32_t send_from(uint32_t worker)
{
    static uint64_t attempts;
    return ls_room_directory_send(directory, worker, ++attempts);
}

Test(room_directory, newcomers_are_sent_to_the_intake_as_long_as_it_has_seats)
{
    note(0, 2, 0, 5);
    note(1, 3, 0, 0);
    ls_room_directory_set_intake(directory, 1);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(send_from(0), 1);
    }
    cr_assert_eq(send_from(0), 0, "three were sent to three seats");
    cr_assert_eq(send_from(2), 0, "the one that has a seat left");
    note(1, 1, 1, 2);
    cr_assert_eq(send_from(0), 1, "one of them did not come");
    note(0, 0, 0, 7);
    cr_assert_eq(send_from(0), UINT32_MAX);
}

/* Over a slow link a client repeats itself before the first answer comes. */
Test(room_directory, seat_of_a_newcomer_who_never_comes_is_free_again_after_two_seconds)
{
    ls_worker_seats one = {.open = 1, .players = 1};
    ls_room_directory_note_seats(directory, 1, &one);
    ls_room_directory_set_intake(directory, 1);
    cr_assert_eq(ls_room_directory_send(directory, 0, 1), 1);
    cr_assert_eq(ls_room_directory_send(directory, 0, 2), UINT32_MAX);
    ls_room_directory_lapse(directory);
    cr_assert_eq(ls_room_directory_send(directory, 0, 2), UINT32_MAX, "it may be on its way");
    ls_room_directory_lapse(directory);
    cr_assert_eq(ls_room_directory_send(directory, 0, 2), 1);
    ls_room_directory_lapse(directory);
    ls_room_directory_note_seats(directory, 1, &one);
    cr_assert_eq(ls_room_directory_send(directory, 0, 3), 1);
    ls_room_directory_lapse(directory);
    cr_assert_eq(ls_room_directory_send(directory, 0, 4), UINT32_MAX, "it was sent after that");
}

Test(room_directory, newcomer_that_repeats_itself_takes_no_second_seat)
{
    note(0, 4, 0, 0);
    note(1, 2, 2, 1);
    ls_room_directory_set_intake(directory, 1);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(ls_room_directory_send(directory, 0, 1000), 1);
    }
    cr_assert_eq(ls_room_directory_send(directory, 0, 1001), 1, "one seat is left for another");
    cr_assert_eq(ls_room_directory_send(directory, 0, 1002), 0);
    cr_assert_eq(ls_room_directory_send(directory, 0, 1000), 1, "it stays with its answer");
}

/* Rows that go are taken out of what finds them, wherever they stand. */
Test(room_directory, as_many_rooms_as_a_service_has_are_found_while_others_come_and_go)
{
    char name[32];
    char id[32];
    for (uint32_t i = 0; i < LS_SERVICE_ROOMS_MAX; i++) {
        snprintf(name, sizeof name, "room-%u", i);
        ls_room_directory_note(directory, name, i + 1, i % 7, true);
    }
    ls_room_directory_note(directory, "one too many", 1u << 20, 0, true);
    cr_assert_eq(ls_room_directory_find(directory, "one too many"), UINT32_MAX);
    for (uint32_t i = 0; i < LS_SERVICE_ROOMS_MAX; i++) {
        snprintf(name, sizeof name, "room-%u", i);
        if (i % 3 == 0) {
            ls_room_directory_note(directory, name, 0, 0, true);
        } else if (i % 3 == 1) {
            ls_room_directory_note(directory, name, (1u << 20) + i, 8, false);
        }
    }
    for (uint32_t i = 0; i < LS_SERVICE_ROOMS_MAX; i++) {
        uint32_t worker = i % 3 == 0 ? UINT32_MAX : i % 3 == 1 ? 8 : i % 7;
        uint32_t match = i % 3 == 1 ? (1u << 20) + i : i + 1;
        snprintf(name, sizeof name, "room-%u", i);
        snprintf(id, sizeof id, "%016x", match);
        cr_assert_eq(ls_room_directory_find(directory, name), worker, "%s", name);
        cr_assert_eq(ls_room_directory_find(directory, id), worker, "%s", id);
        cr_assert_eq(ls_room_directory_find_match(directory, i + 1), worker, "%s", name);
        cr_assert_eq(ls_room_directory_is_expected(directory, name, 0), i % 3 == 1, "%s", name);
    }
    cr_assert_eq(ls_room_directory_find(directory, "FEDCBA9876543210"), UINT32_MAX);
}

/* A service's rooms: where they are, what they are named, when they end, what they play. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/file.h"
#include "lockstep/server/service/room_directory.h"
#include "lockstep/server/service/room_glances.h"
#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/room_rotation.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/service_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- room_directory ---- */

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

/* ---- room_register ---- */

static char path[64];
static char lock_path[80];
static ls_room_register *rooms;

static void open_register(void)
{
    snprintf(path, sizeof path, "/tmp/lockstep-register-%d.json", (int)getpid());
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    cr_assert_eq(ls_room_register_create(path, &rooms, NULL), LS_OK);
}

static void close_register(void)
{
    ls_room_register_destroy(rooms);
    remove(path);
    remove(lock_path);
}

TestSuite(room_register, .init = open_register, .fini = close_register);

static ls_registered_room *add(const char *name)
{
    ls_registered_room *room = ls_room_register_add(rooms, name);
    cr_assert_not_null(room);
    return room;
}

Test(room_register, rooms_stand_in_the_order_of_their_names_and_each_name_once)
{
    add("b");
    add("c");
    add("a");
    cr_assert_null(ls_room_register_add(rooms, "b"));
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(ls_room_register_at(rooms, i)->report.name[0], 'a' + (int)i);
    }
    ls_room_register_remove(rooms, "b");
    ls_room_register_remove(rooms, "b");
    cr_assert_eq(ls_room_register_count(rooms), 2);
    cr_assert_null(ls_room_register_find(rooms, "b"));
    cr_assert_str_eq(ls_room_register_find(rooms, "c")->report.name, "c");
}

Test(room_register, what_rooms_counted_is_kept_when_they_go_or_their_worker_does)
{
    ls_registered_room *room = add("a");
    room->is_open = true;
    room->report.counters.ticks = 10;
    ls_room_register_lose(rooms, room);
    cr_assert_eq(room->report.counters.ticks, 0);
    cr_assert_not(room->is_open);
    room->is_open = true;
    room->report.counters.ticks = 5;
    ls_room_register_remove(rooms, "a");
    cr_assert_eq(ls_room_register_gone(rooms)->ticks, 15);
    cr_assert_eq(ls_room_register_ended(rooms), 1);
}

static void save(const char *name)
{
    ls_room_register_note(rooms, name);
    cr_assert_eq(ls_room_register_save(rooms, NULL), LS_OK);
}

/* The service was killed, and one that is started with the same folder reads the file. */
static void open_again(void)
{
    ls_room_register_destroy(rooms);
    cr_assert_eq(ls_room_register_create(path, &rooms, NULL), LS_OK);
}

Test(room_register, a_service_that_was_killed_knows_its_rooms_again)
{
    const char *journal = "/j/a \"b\".journal";
    ls_registered_room *room = add("arena-1");
    ls_name_copy(room->report.group, sizeof room->report.group, "arena");
    ls_name_copy(room->journal, sizeof room->journal, journal);
    room->report.worker = 3;
    room->report.match_id = UINT64_C(0xfedcba9876543210);
    ls_room_settings settings = {.count = 0};
    cr_assert_eq(ls_room_settings_set(&settings, "param", "size=3", NULL), LS_OK);
    cr_assert_eq(ls_room_register_set(room, &settings), LS_OK);
    room->is_paused = true;
    room->is_unplayed = true;
    ls_text_set(&room->pause_why, "lunch");
    add("without-a-journal");
    save(NULL);
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 1);
    const ls_registered_room *known = ls_room_register_find(rooms, "arena-1");
    cr_assert_str_eq(known->report.group, "arena");
    cr_assert_str_eq(known->journal, journal);
    cr_assert_eq(known->report.worker, 3);
    cr_assert_eq(known->report.match_id, UINT64_C(0xfedcba9876543210));
    cr_assert(known->is_paused);
    cr_assert(known->is_unplayed);
    cr_assert_str_eq(known->pause_why.bytes, "lunch");
    cr_assert(known->is_kept);
    cr_assert_not(known->is_open);
    cr_assert_str_eq(ls_room_settings_find(known->settings, "param"), "size=3");
}

/* The folder has another name when the service is started elsewhere. */
Test(room_register, a_journal_beside_the_file_is_found_wherever_both_are)
{
    ls_registered_room *room = add("arena-1");
    char moved[sizeof path + 16];
    ls_name_copy(room->journal, sizeof room->journal, "/tmp/arena-1.journal");
    save(NULL);
    snprintf(moved, sizeof moved, "/tmp/../tmp/%s", path + strlen("/tmp/"));
    ls_room_register_destroy(rooms);
    cr_assert_eq(ls_room_register_create(moved, &rooms, NULL), LS_OK);
    cr_assert_str_eq(ls_room_register_find(rooms, "arena-1")->journal,
                     "/tmp/../tmp/arena-1.journal");
}

Test(room_register, bans_are_known_again_until_they_end)
{
    ls_ban_list *bans = ls_room_register_bans(rooms);
    ls_ban long_one = {.until_unix_s = UINT32_MAX, .why = "rude"};
    ls_ban short_one = {.until_unix_s = 1};
    cr_assert_eq(ls_ban_set(&short_one, LS_BAN_ADDRESS, "192.0.2.8", NULL), LS_OK);
    cr_assert_eq(ls_ban_set(&long_one, LS_BAN_NAME, "Mallory", NULL), LS_OK);
    ls_ban_list_add(bans, &short_one);
    cr_assert_eq(ls_ban_list_add(bans, &long_one)->number, 2);
    save(NULL);
    open_again();
    bans = ls_room_register_bans(rooms);
    const ls_ban_subject who = {.origin = 7, .name = "mallory"};
    const ls_ban *found = ls_ban_list_find(bans, &who, 0);
    cr_assert(found && found->number == 2 && strcmp(found->why, "rude") == 0);
    const ls_ban_subject other = {.origin = 7, .name = "ann"};
    cr_assert_null(ls_ban_list_find(bans, &other, 0));
}

static void add_with_journal(const char *name)
{
    ls_registered_room *room = add(name);
    snprintf(room->journal, sizeof room->journal, "/j/%s.journal", name);
    save(name);
}

static void add_to_file(const char *text)
{
    FILE *file = fopen(path, "a");
    fputs(text, file);
    fclose(file);
}

Test(room_register, each_change_is_known_again)
{
    ls_ban ban = {.until_unix_s = UINT32_MAX};
    add_with_journal("a");
    add_with_journal("b");
    add_with_journal("c");
    ls_room_register_remove(rooms, "a");
    save("a");
    ls_room_register_find(rooms, "b")->report.worker = 5;
    save("b");
    ls_room_register_find(rooms, "c")->journal[0] = '\0';
    save("c");
    cr_assert_eq(ls_ban_set(&ban, LS_BAN_NAME, "Mallory", NULL), LS_OK);
    uint64_t number = ls_ban_list_add(ls_room_register_bans(rooms), &ban)->number;
    save(NULL);
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 1);
    cr_assert_eq(ls_room_register_find(rooms, "b")->report.worker, 5);
    cr_assert(ls_ban_list_lift(ls_room_register_bans(rooms), number));
    save(NULL);
    save(NULL);
    open_again();
    cr_assert_not(ls_ban_list_lift(ls_room_register_bans(rooms), number));
}

Test(room_register, a_change_that_was_not_written_to_its_end_is_not_known)
{
    add_with_journal("a");
    add_with_journal("b");
    add_to_file("{\"gone\":\"a\"");
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 2);
    add_with_journal("c"); /* not behind what is torn */
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 3);
    add_to_file("{\"gone\":\"a\"}}\n");
    ls_room_register_destroy(rooms);
    rooms = NULL;
    ls_text why = {{0}};
    cr_assert_eq(ls_room_register_create(path, &rooms, &why), LS_MALFORMED);
}

/* As when a service opens its rooms: to write all of them for each would take the square of them.
 */
Test(room_register, many_rooms_are_written_anew_a_few_times)
{
    enum {
        ROOMS = 600,
    };
    char name[16];
    uint64_t number = 0;
    uint32_t anew = 0;
    for (uint32_t i = 0; i < ROOMS; i++) {
        ls_file_facts facts;
        snprintf(name, sizeof name, "r%u", i);
        add_with_journal(name);
        cr_assert(ls_file_look(path, &facts));
        anew += facts.number != number;
        number = facts.number;
    }
    cr_assert_leq(anew, 10, "%u", anew);
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), ROOMS);
    cr_assert_str_eq(ls_room_register_find(rooms, "r599")->journal, "/j/r599.journal");
}

Test(room_register, what_changes_in_a_turn_is_written_together)
{
    static const char *const names[] = {"a", "b", "c"};
    ls_file_facts before;
    ls_file_facts after;
    add_with_journal("0");
    cr_assert(ls_file_look(path, &before));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(add(names[i])->journal, LS_WORKER_PATH_BYTES_MAX, "/j/%s.journal", names[i]);
        ls_room_register_note(rooms, names[i]);
    }
    ls_room_register_remove(rooms, "0");
    ls_room_register_note(rooms, "0");
    cr_assert(ls_file_look(path, &after));
    cr_assert_eq(after.bytes, before.bytes, "nothing is written yet");
    cr_assert_eq(ls_room_register_save(rooms, NULL), LS_OK);
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 3);
}

Test(room_register, a_file_that_was_deleted_is_made_anew)
{
    add_with_journal("a");
    cr_assert_eq(remove(path), 0);
    add_with_journal("b");
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 2);
}

Test(room_register, two_services_have_no_folder_together)
{
    ls_room_register *other = NULL;
    ls_text why = {{0}};
    cr_assert_eq(ls_room_register_create(path, &other, &why), LS_ALREADY_STARTED);
    cr_assert(strstr(why.bytes, path), "%s", why.bytes);
    cr_assert_null(other);
    open_again();
}

Test(room_register, a_damaged_file_is_refused_by_name_and_not_written_over)
{
    static const char *const texts[] = {"", "{\"rooms\":[{}]}", "{\"rooms\":[{\"name\":\"a\"}]}",
                                        "{\"rooms\""};
    ls_room_register_destroy(rooms);
    rooms = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        FILE *file = fopen(path, "w");
        fputs(texts[i], file);
        fclose(file);
        ls_room_register *again = NULL;
        ls_text why = {{0}};
        cr_assert_neq(ls_room_register_create(path, &again, &why), LS_OK, "%s", texts[i]);
        cr_assert_null(again);
        cr_assert(strstr(why.bytes, path), "%s", why.bytes);
    }
}

Test(room_register, a_file_that_cannot_be_written_is_told)
{
    ls_room_register *other = NULL;
    cr_assert_eq(ls_room_register_create("/nowhere/rooms.json", &other, NULL), LS_OK);
    ls_text why = {{0}};
    ls_room_register_note(other, NULL);
    cr_assert_eq(ls_room_register_save(other, &why), LS_IO);
    cr_assert(strstr(why.bytes, "/nowhere/rooms.json"));
    ls_room_register_destroy(other);
}

Test(room_register, it_takes_as_many_rooms_as_a_service_has)
{
    char name[16];
    for (uint32_t i = 0; i < LS_SERVICE_ROOMS_MAX; i++) {
        snprintf(name, sizeof name, "r%u", (i * 2654435761u) % 100000 + i * 100000u);
        if (i < 64 || i % 64 == 0) {
            add(name);
        }
    }
    for (uint32_t i = 1; i < ls_room_register_count(rooms); i++) {
        cr_assert_lt(strcmp(ls_room_register_at(rooms, i - 1)->report.name,
                            ls_room_register_at(rooms, i)->report.name),
                     0);
    }
}

/* ---- room_glances ---- */

enum {
    ROOM_GLANCES_ROOMS = 3,
};

static ls_room_glances *glances;

static void open_glances(void)
{
    const ls_room_glance empty = {
        .is_there = true, .is_lobby = true, .is_quiet = true, .seats = 4, .open = 4};
    const ls_room_glance begun = {
        .is_there = true, .is_lobby = true, .seats = 4, .open = 1, .players = 3};
    cr_assert_eq(ls_room_glances_create(ROOM_GLANCES_ROOMS, &glances), LS_OK);
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
    ls_worker_seats seats = ls_room_glances_seats(glances, ROOM_GLANCES_ROOMS, coming);
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

/* ---- room_rotation ---- */

static ls_room_settings room;
static ls_room_settings match;
static ls_room_votes votes;
static ls_text why;

static void set(const char *flag, const char *value)
{
    cr_assert_eq(ls_room_settings_set(&room, flag, value, &why), LS_OK, "%s", why.bytes);
}

static void plan(void)
{
    set("players", "4");
    set("ticks", "600");
    set("param", "size=3");
    set("next", "vote");
    set("rotation", "map=canyon");
    set("rotation", "map=plain ticks=60");
    set("rotation", "sim=units players=2");
}

static void settle(uint32_t turn)
{
    cr_assert_eq(ls_room_rotation_set_turn(&room, turn), LS_OK);
    cr_assert_eq(ls_room_rotation_turn(&room), turn);
    cr_assert_eq(ls_room_rotation_settle(&room, &match, &why), LS_OK, "%s", why.bytes);
}

static void expect(const char *flag, const char *value)
{
    const char *is = ls_room_settings_find(&match, flag);
    cr_assert(value ? is && strcmp(is, value) == 0 : !is, "%s is %s", flag, is ? is : "not there");
}

static ls_status check(void)
{
    return ls_room_rotation_check(&room, (ls_room_match_check){0}, &why);
}

static void refuse(const char *words, const char *reason)
{
    room.count = 0;
    set("rotation", words);
    cr_assert_eq(check(), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, reason), "%s", why.bytes);
}

TestSuite(room_rotation, .init = plan);

Test(room_rotation, a_match_has_the_settings_of_its_turn_over_those_of_the_room)
{
    cr_assert_eq(ls_room_rotation_count(&room), 3);
    cr_assert_eq(ls_room_rotation_turn(&room), 0);
    settle(1);
    expect("players", "4");
    expect("ticks", "60");
    expect("rotation", NULL);
    expect("next", NULL);
    expect("turn", NULL);
    cr_assert_eq(match.count, 4);
    cr_assert_str_eq(match.rows[2].value, "size=3");
    cr_assert_str_eq(match.rows[3].value, "map=plain");
}

Test(room_rotation, a_match_of_another_simulation_has_none_of_the_rooms_parameters)
{
    set("sha256", "1234");
    settle(2);
    expect("sim", "units");
    expect("players", "2");
    expect("param", NULL);
    expect("sha256", NULL);
}

Test(room_rotation, a_room_without_one_plays_what_it_is_set_to)
{
    room.count = 0;
    set("players", "3");
    cr_assert_eq(ls_room_rotation_count(&room), 0);
    cr_assert_eq(check(), LS_OK);
    cr_assert_eq(ls_room_rotation_settle(&room, &match, &why), LS_OK);
    cr_assert_eq(match.count, 1);
    expect("players", "3");
}

Test(room_rotation, what_cannot_be_played_is_refused_at_once)
{
    refuse("canyon", "words like map=canyon");
    refuse("=3", "words like map=canyon");
    refuse("private=on", "'private' is of a room");
    refuse("map=a name=b", "'name' is of a room");
    refuse("turn=2", "'turn' is of a room");
    refuse("map=a players=0", "players");
    room.count = 0;
    set("next", "vote");
    cr_assert_eq(check(), LS_BAD_ARGUMENT);
    set("rotation", "map=a");
    cr_assert_eq(check(), LS_OK, "%s", why.bytes);
    set("next", "votes");
    cr_assert_eq(check(), LS_BAD_ARGUMENT);
    set("next", "in-turn");
    set("turn", "2");
    cr_assert_eq(check(), LS_BAD_ARGUMENT);
}

Test(room_rotation, a_rotation_has_so_many_matches_and_no_more)
{
    room.count = 0;
    for (uint32_t i = 0; i < LS_ROTATION_MATCHES_MAX; i++) {
        set("rotation", "map=a");
    }
    cr_assert_eq(check(), LS_OK, "%s", why.bytes);
    set("rotation", "map=a");
    cr_assert_eq(check(), LS_BAD_ARGUMENT);
}

Test(room_rotation, another_rotation_takes_the_place_of_the_whole)
{
    ls_room_settings over = {.count = 0};
    cr_assert_eq(ls_room_settings_set(&over, "rotation", "map=hill", &why), LS_OK);
    cr_assert_eq(ls_room_settings_merge(&room, &over, &why), LS_OK);
    cr_assert_eq(ls_room_rotation_count(&room), 1);
    cr_assert_str_eq(ls_room_rotation_words(&room, 0), "map=hill");
}

/* ---- votes ---- */

static bool vote(uint32_t slot, const char *line)
{
    return ls_room_votes_receive(&votes, &room, slot, line);
}

Test(room_rotation, without_votes_the_matches_come_in_turn)
{
    for (uint32_t turn = 0; turn < 3; turn++) {
        settle(turn);
        cr_assert_eq(ls_room_votes_next(&votes, &room), (turn + 1) % 3);
    }
}

Test(room_rotation, the_match_with_the_most_votes_is_next)
{
    cr_assert(vote(0, "/vote 3"));
    cr_assert_eq(ls_room_votes_next(&votes, &room), 2);
    cr_assert(vote(1, "/vote 1"));
    cr_assert(vote(2, "/vote 1"));
    cr_assert_eq(ls_room_votes_next(&votes, &room), 0);
    ls_text words;
    ls_room_votes_write(&votes, &room, &words);
    cr_assert_str_eq(words.bytes,
                     "say /vote and a number for the next match: 1 map=canyon (2 votes), 2 "
                     "map=plain ticks=60, 3 sim=units players=2 (1 vote)");
}

Test(room_rotation, of_equal_votes_the_first_in_turn_is_next)
{
    settle(1);
    cr_assert(vote(0, "/vote 2"));
    cr_assert(vote(1, "/vote 1"));
    cr_assert_eq(ls_room_votes_next(&votes, &room), 0);
}

Test(room_rotation, a_player_has_one_vote_and_may_change_it)
{
    cr_assert(vote(0, "/vote 1"));
    cr_assert(vote(0, "/vote 3"));
    cr_assert_eq(ls_room_votes_next(&votes, &room), 2);
}

Test(room_rotation, what_is_no_vote_counts_for_nothing)
{
    static const char *const lines[] = {"/vote",   "/vote ", "/vote 0",  "/vote 4", "/vote 1 2",
                                        "/vote x", "vote 1", "/vote -1", "/votes 1"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_assert_not(vote(0, lines[i]), "%s", lines[i]);
    }
    room.count = 0;
    set("rotation", "map=a");
    set("rotation", "map=b");
    cr_assert_not(vote(0, "/vote 1"), "it goes in turn");
}

/* ---- event_ring ---- */

static ls_event_ring ring;

static void event_ring_add(uint64_t unix_ms)
{
    const ls_service_event event = {.unix_ms = unix_ms, .slot = -1};
    ls_event_ring_add(&ring, &event);
}

Test(event_ring, events_are_numbered_from_1_and_are_there_to_be_read_again)
{
    cr_assert_null(ls_event_ring_at(&ring, 0));
    event_ring_add(5);
    event_ring_add(6);
    cr_assert_eq(ls_event_ring_at(&ring, 0)->number, 1);
    cr_assert_eq(ls_event_ring_at(&ring, 2)->unix_ms, 6);
    cr_assert_null(ls_event_ring_at(&ring, 3));
}

Test(event_ring, a_reader_who_is_too_late_goes_on_with_the_oldest_that_is_kept)
{
    for (uint64_t i = 1; i <= LS_SERVICE_EVENTS_KEPT + 10; i++) {
        event_ring_add(i);
    }
    cr_assert_eq(ls_event_ring_at(&ring, 1)->number, 11);
    cr_assert_eq(ls_event_ring_at(&ring, 11)->unix_ms, 11);
    cr_assert_eq(ls_event_ring_at(&ring, ring.newest)->unix_ms, LS_SERVICE_EVENTS_KEPT + 10);
}

Test(event_ring, an_event_without_a_time_gets_that_of_now)
{
    event_ring_add(0);
    cr_assert_gt(ls_event_ring_at(&ring, 1)->unix_ms, UINT64_C(1600000000000));
}

/* ---- plugin_choice ---- */

/* Of the three bytes "abc", as FIPS 180-4 has it. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static char plugin_choice_directory[] = "/tmp/lockstep-plugin-choice-XXXXXX";
static char file[64];
static char plugin_choice_path[128];
static ls_text plugin_choice_why;

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(plugin_choice_directory));
    snprintf(file, sizeof file, "%s/game.so", plugin_choice_directory);
    FILE *out = fopen(file, "w");
    cr_assert_not_null(out);
    fputs("abc", out);
    fclose(out);
}

static void remove_folder(void)
{
    unlink(file);
    rmdir(plugin_choice_directory);
}

TestSuite(plugin_choice, .init = make_folder, .fini = remove_folder);

static ls_status find(const char *name, const char *sha256)
{
    const ls_plugin_choice choice = {
        .directory = plugin_choice_directory, .name = name, .sha256 = sha256};
    return ls_plugin_choice_find(&choice, plugin_choice_path, sizeof plugin_choice_path,
                                 &plugin_choice_why);
}

Test(plugin_choice, file_is_one_of_the_folder)
{
    cr_assert_eq(find("game.so", NULL), LS_OK);
    cr_assert_str_eq(plugin_choice_path, file);
    cr_assert_eq(find("arena", NULL), LS_OK);
    cr_assert_str_eq(plugin_choice_path, "arena");
    cr_assert_eq(find("../game.so", NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(find("/tmp/game.so", NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(find("/tmp/game", NULL), LS_BAD_ARGUMENT, "the loader takes it for a file");
    cr_assert_eq(find("../game", NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(find("../game", ABC), LS_BAD_ARGUMENT);
    const ls_plugin_choice without = {.name = "game.so"};
    cr_assert_eq(ls_plugin_choice_find(&without, plugin_choice_path, sizeof plugin_choice_path,
                                       &plugin_choice_why),
                 LS_BAD_ARGUMENT);
    cr_assert_eq(ls_plugin_choice_find(&without, plugin_choice_path, 4, &plugin_choice_why),
                 LS_BAD_ARGUMENT);
}

Test(plugin_choice, file_is_of_the_digest_that_is_asked_for)
{
    cr_assert_eq(find("game.so", ABC), LS_OK);
    char other[] = ABC;
    other[63] = '0';
    cr_assert_eq(find("game.so", other), LS_BAD_ARGUMENT);
    cr_assert(strstr(plugin_choice_why.bytes, "its SHA-256 is " ABC), "%s",
              plugin_choice_why.bytes);
    other[63] = 'D';
    cr_assert_eq(find("game.so", other), LS_OK, "digits of either case");
    cr_assert_eq(find("gone.so", ABC), LS_BAD_ARGUMENT);
}

Test(plugin_choice, digest_that_cannot_be_is_refused)
{
    cr_assert_eq(find("game.so", ""), LS_BAD_ARGUMENT);
    cr_assert_eq(find("game.so", "ba78"), LS_BAD_ARGUMENT);
    cr_assert_eq(find("game.so", ABC "00"), LS_BAD_ARGUMENT);
    cr_assert_eq(find("arena", ABC), LS_BAD_ARGUMENT);
    cr_assert_eq(find(NULL, ABC), LS_BAD_ARGUMENT);
}

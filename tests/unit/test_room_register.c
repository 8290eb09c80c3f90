#define _POSIX_C_SOURCE 200809L
#include "lockstep/server/service/room_register.h"

#include "lockstep/common/system/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    cr_assert_eq(ls_room_register_save(rooms, NULL, NULL), LS_OK);
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
    cr_assert_eq(ls_room_register_save(rooms, NULL, NULL), LS_OK);
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
    cr_assert_eq(ls_room_register_save(rooms, NULL, NULL), LS_OK);
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
    cr_assert_eq(ls_room_register_save(rooms, name, NULL), LS_OK);
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
    cr_assert_eq(ls_room_register_save(rooms, "a", NULL), LS_OK);
    ls_room_register_find(rooms, "b")->report.worker = 5;
    cr_assert_eq(ls_room_register_save(rooms, "b", NULL), LS_OK);
    ls_room_register_find(rooms, "c")->journal[0] = '\0';
    cr_assert_eq(ls_room_register_save(rooms, "c", NULL), LS_OK);
    cr_assert_eq(ls_ban_set(&ban, LS_BAN_NAME, "Mallory", NULL), LS_OK);
    uint64_t number = ls_ban_list_add(ls_room_register_bans(rooms), &ban)->number;
    cr_assert_eq(ls_room_register_save(rooms, NULL, NULL), LS_OK);
    open_again();
    cr_assert_eq(ls_room_register_count(rooms), 1);
    cr_assert_eq(ls_room_register_find(rooms, "b")->report.worker, 5);
    cr_assert(ls_ban_list_lift(ls_room_register_bans(rooms), number));
    cr_assert_eq(ls_room_register_save(rooms, NULL, NULL), LS_OK);
    cr_assert_eq(ls_room_register_save(rooms, NULL, NULL), LS_OK);
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
    cr_assert_eq(ls_room_register_save(other, NULL, &why), LS_IO);
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

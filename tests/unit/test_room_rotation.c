#include "lockstep/server/service/room_rotation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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

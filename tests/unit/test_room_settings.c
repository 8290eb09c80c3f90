#include "lockstep/server/service/room_settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ls_room_settings settings;
static ls_text why;

static ls_status set(const char *flag, const char *value)
{
    return ls_room_settings_set(&settings, flag, value, &why);
}

Test(room_settings, a_flag_is_there_once_and_the_newest_value_counts)
{
    cr_assert_eq(set("players", "2"), LS_OK);
    cr_assert_eq(set("late", "wait"), LS_OK);
    cr_assert_eq(set("players", "4"), LS_OK);
    cr_assert_eq(settings.count, 2);
    cr_assert_str_eq(ls_room_settings_find(&settings, "players"), "4");
    cr_assert_null(ls_room_settings_find(&settings, "ticks"));
}

Test(room_settings, parameters_are_told_apart_by_their_names)
{
    cr_assert_eq(set("param", "size=3"), LS_OK);
    cr_assert_eq(set("param", "sizes=4"), LS_OK);
    cr_assert_eq(set("param", "size=5"), LS_OK);
    cr_assert_eq(settings.count, 2);
    cr_assert_str_eq(settings.rows[0].value, "size=5");
}

Test(room_settings, there_is_room_for_so_many_and_no_more)
{
    char flag[8];
    for (uint32_t i = 0; i < LS_ROOM_SETTINGS_MAX; i++) {
        snprintf(flag, sizeof flag, "f%u", i);
        cr_assert_eq(set(flag, "1"), LS_OK);
    }
    cr_assert_eq(set("more", "1"), LS_FULL);
    cr_assert_eq(set("f0", "2"), LS_OK);
}

Test(room_settings, a_value_that_is_too_long_is_refused_and_not_cut)
{
    char value[257];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    cr_assert_eq(set("sim", value), LS_BAD_ARGUMENT);
    cr_assert_eq(settings.count, 0);
    value[255] = '\0';
    cr_assert_eq(set("sim", value), LS_OK);
}

/* A word that is not known would leave the room open to everybody. */
Test(room_settings, a_room_is_private_or_not_in_words_that_are_known)
{
    static const char *const words[][2] = {
        {"on", "on"}, {"true", "on"}, {"off", "off"}, {"false", "off"}};
    static const char *const wrong[] = {"yes", "1", "no", "0", "On", "TRUE", "", "on "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect_eq(set("private", words[i][0]), LS_OK, "%s", words[i][0]);
        cr_expect_str_eq(ls_room_settings_find(&settings, "private"), words[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect_eq(set("private", wrong[i]), LS_BAD_ARGUMENT, "%s", wrong[i]);
        cr_expect(strstr(why.bytes, "private takes on or off (true or false), not '"), "%s",
                  why.bytes);
    }
}

Test(room_settings, json_reads_back_and_takes_numbers_and_booleans)
{
    const char *text = "{\"players\":4,\"late\":\"wait\",\"find-causes\":false,"
                       "\"param\":[\"size=3\",\"walls=on\"],\"rotation\":[\"a=1\",\"a=1\"]}";
    ls_json *json = ls_json_parse(text, strlen(text));
    cr_assert_eq(ls_room_settings_read(json, &settings, &why), LS_OK, "%s", why.bytes);
    cr_assert_str_eq(ls_room_settings_find(&settings, "players"), "4");
    cr_assert_str_eq(ls_room_settings_find(&settings, "find-causes"), "off");
    cr_assert_eq(settings.count, 7);
    ls_json_destroy(json);
    json = ls_json_create();
    ls_room_settings_write(&settings, json);
    ls_room_settings again = {.count = 0};
    cr_assert_eq(ls_room_settings_read(json, &again, &why), LS_OK);
    cr_assert_eq(memcmp(&again, &settings, sizeof again), 0);
    ls_json_destroy(json);
}

Test(room_settings, other_json_is_refused_with_the_name_of_the_setting)
{
    const char *text = "{\"players\":4,\"late\":{\"x\":1}}";
    ls_json *json = ls_json_parse(text, strlen(text));
    cr_assert_eq(ls_room_settings_read(json, &settings, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "late"));
    cr_assert_eq(settings.count, 0);
    ls_json_destroy(json);
    cr_assert_eq(ls_room_settings_read(NULL, &settings, &why), LS_BAD_ARGUMENT);
}

Test(room_settings, join_timeout_is_a_number_of_seconds_within_a_day)
{
    uint32_t seconds = 7;
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_OK);
    cr_assert_eq(seconds, 0, "without the row never");
    cr_assert_eq(ls_room_settings_set(&settings, "join-timeout", "86400", &why), LS_OK);
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_OK);
    cr_assert_eq(seconds, 86400);
    cr_assert_eq(ls_room_settings_set(&settings, "join-timeout", "86401", &why), LS_OK);
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_room_settings_set(&settings, "join-timeout", "soon", &why), LS_OK);
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "soon"));
}

Test(room_settings, the_name_is_taken_out_and_the_order_of_the_others_stays)
{
    char name[LS_ROOM_NAME_BYTES_MAX] = "";
    cr_assert_eq(set("name", "cup"), LS_OK);
    cr_assert_eq(set("rotation", "map=a"), LS_OK);
    cr_assert_eq(set("rotation", "map=b"), LS_OK);
    cr_assert_eq(ls_room_settings_pop_name(&settings, name, &why), LS_OK);
    cr_assert_str_eq(name, "cup");
    cr_assert_eq(settings.count, 2);
    cr_assert_str_eq(settings.rows[0].value, "map=a");
    cr_assert_str_eq(settings.rows[1].value, "map=b");
}

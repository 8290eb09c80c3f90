#include "lockstep/protocol/sealed/token_user_data.h"

#include <criterion/criterion.h>
#include <string.h>

static void assert_refused(const uint8_t *user_data, const char *reason)
{
    ls_token_admission admission;
    ls_text why = {{0}};
    memset(&admission, 0x5a, sizeof admission);
    cr_assert_eq(ls_token_user_data_read(user_data, &admission, &why), LS_MALFORMED);
    cr_assert(strstr(why.bytes, reason), "%s", why.bytes);
    cr_assert_eq(((uint8_t *)&admission)[0], 0x5a);
}

Test(token_user_data, all_zeros_are_any_seat_of_any_match)
{
    const uint8_t zeros[LS_TOKEN_USER_DATA_BYTES] = {0};
    ls_token_admission admission;
    memset(&admission, 0x5a, sizeof admission);
    cr_assert_eq(ls_token_user_data_read(zeros, &admission, NULL), LS_OK);
    cr_assert_eq(admission.place, LS_TOKEN_PLACE_ANY);
    cr_assert_eq(admission.seat, 0);
    cr_assert_str_empty(admission.match);
    cr_assert_str_empty(admission.name);
}

Test(token_user_data, has_the_layout_of_the_page)
{
    uint8_t written[LS_TOKEN_USER_DATA_BYTES], expected[LS_TOKEN_USER_DATA_BYTES] = {1, 1, 31};
    ls_token_admission admission = {
        .place = LS_TOKEN_PLACE_SEAT, .seat = 31, .match = "cup", .name = "Ada"};
    memcpy(expected + 4, "cup", 3);
    memcpy(expected + 68, "Ada", 3);
    /* Bytes behind the end of a text are not written. */
    memcpy(admission.name + 4, "secret", 6);
    cr_assert_eq(ls_token_user_data_write(&admission, written, NULL), LS_OK);
    cr_assert_arr_eq(written, expected, sizeof expected);
}

Test(token_user_data, is_read_as_it_was_written)
{
    static const ls_token_admission said[] = {
        {.place = LS_TOKEN_PLACE_ANY},
        {.place = LS_TOKEN_PLACE_SEAT},
        {.place = LS_TOKEN_PLACE_SPECTATOR, .match = "0123456789abcdef", .name = "Åsa"},
        {.place = LS_TOKEN_PLACE_SEAT,
         .seat = LS_PLAYERS_MAX - 1,
         .match = "123456789012345678901234567890123456789012345678901234567890123",
         .name = "1234567890123456789012345678901"},
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        uint8_t user_data[LS_TOKEN_USER_DATA_BYTES];
        ls_token_admission read;
        cr_assert_eq(ls_token_user_data_write(&said[i], user_data, NULL), LS_OK);
        cr_assert_eq(ls_token_user_data_read(user_data, &read, NULL), LS_OK);
        cr_assert_eq(read.place, said[i].place);
        cr_assert_eq(read.seat, said[i].seat);
        cr_assert_str_eq(read.match, said[i].match);
        cr_assert_str_eq(read.name, said[i].name);
    }
}

Test(token_user_data, what_is_of_no_use_is_not_written)
{
    static const ls_token_admission said[] = {
        {.place = LS_TOKEN_PLACE_COUNT},
        {.place = LS_TOKEN_PLACE_SEAT, .seat = LS_PLAYERS_MAX},
        {.place = LS_TOKEN_PLACE_SPECTATOR, .seat = 1},
        {.name = "a\nb"},
        {.name = "\xff"},
        {.match = "\xe2\x80\xae"}, /* turns the direction of writing */
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        uint8_t user_data[LS_TOKEN_USER_DATA_BYTES] = {9};
        ls_text why = {{0}};
        cr_assert_eq(ls_token_user_data_write(&said[i], user_data, &why), LS_BAD_ARGUMENT);
        cr_assert_neq(why.bytes[0], '\0');
        cr_assert_eq(user_data[0], 9);
    }
    ls_token_admission endless = {.place = LS_TOKEN_PLACE_ANY};
    uint8_t user_data[LS_TOKEN_USER_DATA_BYTES];
    memset(endless.match, 'a', sizeof endless.match);
    cr_assert_eq(ls_token_user_data_write(&endless, user_data, NULL), LS_BAD_ARGUMENT);
}

Test(token_user_data, what_lockstep_does_not_know_is_refused)
{
    uint8_t good[LS_TOKEN_USER_DATA_BYTES];
    const ls_token_admission admission = {.place = LS_TOKEN_PLACE_ANY, .match = "m", .name = "n"};
    cr_assert_eq(ls_token_user_data_write(&admission, good, NULL), LS_OK);
    static const struct {
        size_t at;
        uint8_t value;
        const char *reason;
    } altered[] = {
        {0, 2, "version 2"},     {0, 0, "version 0"}, {1, 3, "seat"},       {2, 1, "seat"},
        {3, 1, "seat"},          {4, '\n', "match"},  {4 + 63, 1, "match"}, {68, 0x80, "player"},
        {68 + 2, 'x', "player"}, {99, 'x', "player"}, {100, 1, "more"},     {255, 1, "more"},
    };
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        uint8_t bytes[LS_TOKEN_USER_DATA_BYTES];
        memcpy(bytes, good, sizeof bytes);
        bytes[altered[i].at] = altered[i].value;
        assert_refused(bytes, altered[i].reason);
    }
}

#define _XOPEN_SOURCE 700
#include "lockstep/common/program/key_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/lockstep-token-key-XXXXXX";

static void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void leave_folder(void)
{
    remove("first");
    remove("second");
    cr_assert_eq(chdir("/tmp"), 0);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(token_key, .init = enter_folder, .fini = leave_folder);

Test(token_key, given_key_takes_the_place_of_what_is_there)
{
    ls_token_key read;
    const uint8_t given[LS_CIPHER_KEY_BYTES] = {1, 2, 3};
    for (uint32_t round = 0; round < 2; round++) {
        cr_assert_eq(ls_token_key_replace("key", given, NULL), LS_OK);
        cr_assert_eq(ls_token_key_read("key", &read, NULL), LS_OK);
        cr_assert_eq(read.count, 1);
        cr_assert_arr_eq(read.keys[0], given, sizeof given);
    }
    cr_assert_eq(ls_token_key_replace("no-folder/key", given, NULL), LS_IO);
    remove("key");
}

Test(token_key, a_new_one_takes_over_from_the_old_one)
{
    ls_token_key first, second, third;
    ls_text why = {{0}};
    cr_assert_eq(ls_token_key_make("first", NULL, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_token_key_read("first", &first, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(first.count, 1);
    cr_assert_eq(ls_token_key_make("second", &first, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_token_key_read("second", &second, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(second.count, 2);
    cr_assert_arr_eq(second.keys[1], first.keys[0], LS_CIPHER_KEY_BYTES);
    cr_assert_neq(memcmp(second.keys[0], first.keys[0], LS_CIPHER_KEY_BYTES), 0);
    /* Two are enough: the oldest goes. */
    remove("first");
    cr_assert_eq(ls_token_key_make("first", &second, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_token_key_read("first", &third, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(third.count, 2);
    cr_assert_arr_eq(third.keys[1], second.keys[0], LS_CIPHER_KEY_BYTES);
}

Test(token_key, no_file_is_overwritten_and_none_is_not_found)
{
    ls_token_key key = {.count = 7};
    cr_assert_eq(ls_token_key_read("first", &key, NULL), LS_NOT_FOUND);
    cr_assert_eq(key.count, 7);
    cr_assert_eq(ls_token_key_make("first", NULL, NULL), LS_OK);
    cr_assert_eq(ls_token_key_make("first", NULL, NULL), LS_IO);
}

#define _XOPEN_SOURCE 700
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/system/private_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- key_file ---- */

static char folder[] = "/tmp/lockstep-key-XXXXXX";
static char path[sizeof folder + 16];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/key", folder);
}

static void remove_folder(void)
{
    remove(path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(key_file, .init = make_folder, .fini = remove_folder);

#define HEAD "a key for tests 1\n# Keep it.\n"
#define LONG "long 000102030405060708090a0b0c0d0e0f\n"

static uint8_t long_bytes[16], short_bytes[2];
static ls_key_file_secret secrets[] = {
    {.name = "long", .bytes = long_bytes, .size = sizeof long_bytes},
    {.name = "short", .bytes = short_bytes, .size = sizeof short_bytes, .is_optional = true},
};
static const ls_key_file file = {"a key for tests", "Keep it.", secrets, 2};

static void fill(void)
{
    for (uint32_t i = 0; i < sizeof long_bytes; i++) {
        long_bytes[i] = (uint8_t)i;
    }
    short_bytes[0] = 0xab;
    short_bytes[1] = 0xcd;
}

static void write_text(const char *text)
{
    remove(path);
    cr_assert_eq(ls_private_file_make(path, "text", (const uint8_t *)text, strlen(text), NULL),
                 LS_OK);
}

static void expect_malformed(const char *text, const char *words)
{
    ls_text why = {{0}};
    write_text(text);
    cr_expect_eq(ls_key_file_read(path, &file, &why), LS_MALFORMED, "%s", text);
    cr_expect(strstr(why.bytes, words) && strstr(why.bytes, path), "%s: %s", text, why.bytes);
}

Test(key_file, says_what_it_is_and_has_a_line_for_each_secret)
{
    char text[256] = {0};
    size_t size = 0;
    fill();
    secrets[1].is_there = true;
    cr_assert_eq(ls_key_file_make(path, &file, NULL), LS_OK);
    cr_assert_eq(ls_private_file_read(path, (uint8_t *)text, sizeof text - 1, &size, NULL), LS_OK);
    cr_assert_str_eq(text, HEAD LONG "short abcd\n");
    memset(long_bytes, 0, sizeof long_bytes);
    memset(short_bytes, 0, sizeof short_bytes);
    cr_assert_eq(ls_key_file_read(path, &file, NULL), LS_OK);
    cr_assert_eq(long_bytes[15], 15);
    cr_assert_eq(short_bytes[0], 0xab);
    cr_assert(secrets[1].is_there);
}

Test(key_file, an_optional_secret_may_be_missing)
{
    fill();
    secrets[1].is_there = false;
    cr_assert_eq(ls_key_file_make(path, &file, NULL), LS_OK);
    secrets[1].is_there = true;
    cr_assert_eq(ls_key_file_read(path, &file, NULL), LS_OK);
    cr_assert_not(secrets[1].is_there);
}

Test(key_file, written_by_hand_is_read)
{
    write_text("a key for tests 1\n\nshort ABcd\n# a note\nlong 000102030405060708090A0B0C0D0E0F");
    cr_assert_eq(ls_key_file_read(path, &file, NULL), LS_OK);
    cr_assert_eq(long_bytes[15], 15);
    cr_assert_eq(short_bytes[0], 0xab);
}

/* Cut at every byte: none of it is taken, and the reason is the cut. */
Test(key_file, that_is_cut_short_is_refused_as_such)
{
    static const char whole[] = HEAD LONG "short abcd\n";
    const size_t head = strlen("a key for tests 1\n");
    char text[sizeof whole];
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        memcpy(text, whole, size);
        text[size] = '\0';
        bool is_whole =
            size == strlen(HEAD LONG) - 1 || size == strlen(HEAD LONG) || size == sizeof whole - 2;
        if (is_whole) {
            write_text(text);
            cr_expect_eq(ls_key_file_read(path, &file, NULL), LS_OK);
        } else {
            expect_malformed(text, size < head ? "its first line is not" : "is cut short");
        }
    }
    expect_malformed(HEAD "long 00", "its long has 2 of 32 digits");
    expect_malformed(HEAD "short abcd\n", "its long is missing");
}

Test(key_file, of_another_kind_or_with_something_else_in_it_is_refused)
{
    expect_malformed("another key 1\n" LONG, "no a key for tests");
    expect_malformed("a key for tests 2\n" LONG, "its first line is not");
    expect_malformed(HEAD LONG LONG, "not understood");
    expect_malformed(HEAD LONG "colour abcd\n", "not understood");
    expect_malformed(HEAD LONG "short abcde\n", "not understood");
    expect_malformed(HEAD LONG "short abcg\n", "not understood");
    expect_malformed(HEAD LONG "short\n", "not understood");
}

/* ---- token_key ---- */

static char token_key_folder[] = "/tmp/lockstep-token-key-XXXXXX";

static void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(token_key_folder));
    cr_assert_eq(chdir(token_key_folder), 0);
}

static void leave_folder(void)
{
    remove("first");
    remove("second");
    cr_assert_eq(chdir("/tmp"), 0);
    cr_expect_eq(rmdir(token_key_folder), 0, "something was left in %s", token_key_folder);
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

#define _XOPEN_SOURCE 700
#include "lockstep/common/system/private_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/lockstep-private-XXXXXX";
static char path[sizeof folder + 16];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/secret", folder);
}

static void remove_folder(void)
{
    remove(path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(private_file, .init = make_folder, .fini = remove_folder);

static const uint8_t content[] = "a secret";

static void make_file(void)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_private_file_make(path, "secret", content, sizeof content, &why), LS_OK, "%s",
                 why.bytes);
}

static void expect_unread(size_t capacity, ls_status expected, const char *words)
{
    uint8_t bytes[64];
    size_t size = 99;
    ls_text why = {{0}};
    cr_expect_eq(ls_private_file_read(path, bytes, capacity, &size, &why), expected);
    cr_expect(strstr(why.bytes, words) && strstr(why.bytes, path), "%s", why.bytes);
    cr_expect_eq(size, 99);
    cr_expect_eq(ls_private_file_read(path, bytes, capacity, &size, NULL), expected);
}

Test(private_file, is_read_as_it_was_made_and_for_its_owner_alone)
{
    uint8_t bytes[sizeof content];
    size_t size = 0;
    struct stat found;
    umask(0);
    make_file();
    cr_assert_eq(ls_private_file_read(path, bytes, sizeof bytes, &size, NULL), LS_OK);
    cr_assert_eq(size, sizeof content);
    cr_assert_arr_eq(bytes, content, sizeof content);
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0600);
}

Test(private_file, is_never_written_over)
{
    const uint8_t other[] = "another";
    uint8_t bytes[sizeof content];
    size_t size = 0;
    ls_text why = {{0}};
    make_file();
    cr_expect_eq(ls_private_file_make(path, "secret", other, sizeof other, &why), LS_IO);
    cr_expect(strstr(why.bytes, "is there already"), "%s", why.bytes);
    cr_expect_eq(ls_private_file_read(path, bytes, sizeof bytes, &size, NULL), LS_OK);
    cr_expect_arr_eq(bytes, content, sizeof content);
}

Test(private_file, that_cannot_be_made_is_refused_with_the_reason)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_private_file_make("/nowhere/secret", "secret", content, 1, &why), LS_IO);
    cr_expect(strstr(why.bytes, "cannot write the secret to /nowhere/secret: No such file"), "%s",
              why.bytes);
}

Test(private_file, that_is_missing_is_not_found)
{
    expect_unread(64, LS_NOT_FOUND, "No such file");
}

/* Each right that somebody else has, alone. */
Test(private_file, that_others_may_read_or_write_is_refused)
{
    make_file();
    for (unsigned right = 1; right <= 040; right <<= 1) {
        cr_assert_eq(chmod(path, 0600 | right), 0);
        expect_unread(64, LS_IO, "chmod 600");
    }
}

Test(private_file, of_another_user_is_refused)
{
    make_file();
    if (geteuid() != 0) {
        cr_skip_test("only root gives files away");
    }
    cr_assert_eq(chown(path, 12345, 0), 0);
    expect_unread(64, LS_IO, "belongs to another user");
}

Test(private_file, longer_than_there_is_room_is_refused)
{
    make_file();
    expect_unread(sizeof content - 1, LS_IO, "is longer than 8 bytes");
}

Test(private_file, a_pipe_and_a_directory_are_none)
{
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_unread(64, LS_IO, "is no file");
    remove(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    expect_unread(64, LS_IO, "is no file");
}

#define _XOPEN_SOURCE 700
#include "lockstep/common/system/private_file.h"

#include "lockstep/tests/support/rights.h"

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
    umask(0);
    make_file();
    cr_assert_eq(ls_private_file_read(path, bytes, sizeof bytes, &size, NULL), LS_OK);
    cr_assert_eq(size, sizeof content);
    cr_assert_arr_eq(bytes, content, sizeof content);
    cr_expect(has_rights(path, 0600));
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

#ifndef _WIN32
static void expect_read(void)
{
    uint8_t bytes[sizeof content];
    size_t size = 0;
    ls_text why = {""};
    cr_expect_eq(ls_private_file_read(path, bytes, sizeof bytes, &size, &why), LS_OK, "%s",
                 why.bytes);
    cr_expect_eq(size, sizeof content);
}

/* Each right that somebody else has, alone. Root's file may be one for the group of a service. */
Test(private_file, that_others_may_read_or_write_is_refused)
{
    make_file();
    for (unsigned right = 1; right <= 020; right <<= 1) {
        cr_assert_eq(chmod(path, 0600 | right), 0);
        expect_unread(64, LS_IO, "chmod 600");
    }
    cr_assert_eq(chmod(path, 0640), 0);
    if (geteuid() == 0) {
        expect_read();
    } else {
        expect_unread(64, LS_IO, "chmod 600");
    }
}

/* A process of another user, as that of a service is. */
Test(private_file, of_root_is_read_by_its_group_and_of_another_user_by_nobody)
{
    make_file();
    if (geteuid() != 0) {
        cr_skip_test("only root gives files away");
    }
    cr_assert_eq(chmod(folder, 0755), 0);
    cr_assert_eq(chmod(path, 0440), 0);
    cr_assert_eq(chown(path, 0, 12345), 0);
    cr_assert_eq(setegid(12345), 0);
    cr_assert_eq(seteuid(54321), 0);
    expect_read();
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chown(path, 12345, 12345), 0);
    cr_assert_eq(seteuid(54321), 0);
    expect_unread(64, LS_IO, "belongs to another user");
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chown(path, 54321, 12345), 0);
    cr_assert_eq(seteuid(54321), 0);
    expect_unread(64, LS_IO, "chmod 600");
    cr_assert_eq(seteuid(0), 0);
}

Test(private_file, of_the_credentials_of_a_service_is_found_by_the_environment)
{
    uint8_t bytes[sizeof content];
    size_t size = 0;
    ls_text why = {""};
    make_file();
    unsetenv("CREDENTIALS_DIRECTORY");
    cr_expect_eq(
        ls_private_file_read("$CREDENTIALS_DIRECTORY/secret", bytes, sizeof bytes, &size, &why),
        LS_IO);
    cr_expect(strstr(why.bytes, "gave this program no credentials"), "%s", why.bytes);
    cr_expect_not(ls_private_file_look("$CREDENTIALS_DIRECTORY/secret", NULL));
    setenv("CREDENTIALS_DIRECTORY", folder, 1);
    cr_expect_eq(
        ls_private_file_read("$CREDENTIALS_DIRECTORY/secret", bytes, sizeof bytes, &size, &why),
        LS_OK, "%s", why.bytes);
    cr_expect_arr_eq(bytes, content, sizeof content);
    cr_expect(ls_private_file_look("$CREDENTIALS_DIRECTORY/secret", NULL));
    cr_expect_eq(
        ls_private_file_read("$CREDENTIALS_DIRECTORY/none", bytes, sizeof bytes, &size, &why),
        LS_NOT_FOUND);
}
#endif

Test(private_file, longer_than_there_is_room_is_refused)
{
    make_file();
    expect_unread(sizeof content - 1, LS_IO, "is longer than 8 bytes");
}

#ifndef _WIN32
Test(private_file, a_pipe_and_a_directory_are_none)
{
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_unread(64, LS_IO, "is no file");
    remove(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    expect_unread(64, LS_IO, "is no file");
}
#endif

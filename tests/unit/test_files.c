/* Files that others may read at the same time, and pages of memory. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/file_beside.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/tests/support/rights.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- file_beside ---- */

static char folder[64];
static char place[96];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "file-beside-%ld", (long)getpid());
    cr_assert(ls_folder_make(folder, true));
    snprintf(place, sizeof place, "%s/größe.txt", folder);
}

static void remove_folder(void)
{
    remove(place);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(file_beside, .init = make_folder, .fini = remove_folder);

static void make_beside(const char *text, char beside[128])
{
    int file = ls_file_beside_make(place, LS_FILE_OF_ALL, beside, 128);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, (unsigned)strlen(text)), (int)strlen(text));
    cr_assert(ls_file_flush(file));
    close(file);
}

static void expect_content(const char *name, const char *content)
{
    char text[64] = {0};
    FILE *file = fopen(name, "rb");
    cr_assert_not_null(file, "%s", name);
    cr_expect_eq(fread(text, 1, sizeof text - 1, file), strlen(content));
    cr_expect_str_eq(text, content);
    fclose(file);
}

Test(file_beside, has_no_name_until_it_gets_one)
{
    char beside[128];
    make_beside("text", beside);
    cr_expect_not(ls_file_look(place, NULL));
    cr_assert(ls_file_give_name(beside, place, false));
    expect_content(place, "text");
    cr_expect_not(ls_file_look(beside, NULL));
}

Test(file_beside, that_is_dropped_leaves_nothing_and_the_reason)
{
    char beside[128];
    make_beside("text", beside);
    errno = ENOSPC;
    ls_file_beside_drop(beside);
    cr_expect_eq(errno, ENOSPC);
    cr_expect_not(ls_file_look(beside, NULL));
}

Test(file_beside, two_of_one_place_are_two)
{
    char first[128], second[128];
    make_beside("first", first);
    make_beside("second", second);
    expect_content(first, "first");
    expect_content(second, "second");
    ls_file_beside_drop(first);
    ls_file_beside_drop(second);
}

Test(file_beside, takes_a_name_away_only_where_it_may)
{
    char beside[128];
    make_beside("older", beside);
    cr_assert(ls_file_give_name(beside, place, true));
    make_beside("newer", beside);
    cr_expect_not(ls_file_give_name(beside, place, false));
    cr_expect_eq(errno, EEXIST);
    expect_content(place, "older");
    cr_expect(ls_file_give_name(beside, place, true));
    expect_content(place, "newer");
}

Test(file_beside, whose_name_is_too_long_is_refused)
{
    char beside[16];
    cr_expect_eq(ls_file_beside_make(place, LS_FILE_OF_ALL, beside, sizeof beside), -1);
    cr_expect_eq(errno, ENAMETOOLONG);
}

Test(file_beside, output_of_a_name_that_is_taken_gets_a_number_before_its_ending)
{
    char taken[96], expected[96];
    ls_text why = {{0}};
    for (unsigned i = 1; i <= 3; i++) {
        snprintf(taken, sizeof taken, "%s/a.bundle", folder);
        snprintf(expected, sizeof expected, i == 1 ? "%s/a.bundle" : "%s/a-%u.bundle", folder, i);
        cr_expect_eq(ls_output_write_new(taken, sizeof taken, "bundle", "b", 1, &why), LS_OK, "%s",
                     why.bytes);
        cr_expect_str_eq(taken, expected);
    }
    snprintf(taken, sizeof taken, "%s/a.bundle", folder);
    ls_output_new_name(taken, sizeof taken);
    cr_expect(strstr(taken, "a-4.bundle"), "%s", taken);
    for (unsigned i = 1; i <= 3; i++) {
        snprintf(taken, sizeof taken, i == 1 ? "%s/a.bundle" : "%s/a-%u.bundle", folder, i);
        cr_expect_eq(remove(taken), 0);
    }
}

Test(file_beside, output_replaces_what_was_there_and_tells_what_is_no_place)
{
    char nowhere[96];
    ls_text why = {{0}};
    cr_expect_eq(ls_output_check_path(place, &why), LS_OK, "%s", why.bytes);
    cr_expect_not(ls_file_look(place, NULL));
    cr_expect_eq(ls_output_write(place, "older", &why), LS_OK, "%s", why.bytes);
    cr_expect_eq(ls_output_write_port(place, 7300, &why), LS_OK, "%s", why.bytes);
    expect_content(place, "7300\n");
    cr_expect(ls_output_is_same_file(place, place));
    cr_expect_eq(ls_output_check_directory(folder, "bundles", &why), LS_OK, "%s", why.bytes);
    cr_expect_eq(ls_output_check_directory(place, "bundles", &why), LS_IO);
    snprintf(nowhere, sizeof nowhere, "%s/none/file", folder);
    cr_expect_eq(ls_output_write(nowhere, "text", &why), LS_IO);
    cr_expect(strstr(why.bytes, "cannot write the summary to "), "%s", why.bytes);
}

Test(file_beside, private_file_is_written_over_only_by_replacing_it)
{
    uint8_t bytes[16];
    size_t size = 0;
    ls_text why = {{0}};
    const uint8_t first[] = "first", second[] = "second";
    cr_assert_eq(ls_private_file_make(place, "key", first, 5, &why), LS_OK, "%s", why.bytes);
    cr_expect_eq(ls_private_file_make(place, "key", second, 6, &why), LS_IO);
    cr_expect(strstr(why.bytes, "is there already"), "%s", why.bytes);
    cr_expect_eq(ls_private_file_read(place, bytes, sizeof bytes, &size, &why), LS_OK, "%s",
                 why.bytes);
    cr_expect(size == 5 && memcmp(bytes, first, 5) == 0);
    cr_expect_eq(ls_private_file_replace(place, "key", second, 6, &why), LS_OK, "%s", why.bytes);
    cr_expect_eq(ls_private_file_read(place, bytes, sizeof bytes, &size, &why), LS_OK, "%s",
                 why.bytes);
    cr_expect(size == 6 && memcmp(bytes, second, 6) == 0);
    cr_expect_eq(ls_private_file_read(place, bytes, 5, &size, &why), LS_IO);
}

/* ---- mapped_file ---- */

static char path[sizeof "/tmp/lockstep-mapped-XXXXXX"];

static void make_file(void)
{
    snprintf(path, sizeof path, "/tmp/lockstep-mapped-XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
}

static void remove_file(void)
{
    remove(path);
}

TestSuite(mapped_file, .init = make_file, .fini = remove_file);

Test(mapped_file, its_bytes_are_those_of_the_file)
{
    FILE *file = fopen(path, "wb");
    for (uint32_t i = 0; i < 10000; i++) {
        fputc((int)(i % 251), file);
    }
    fclose(file);
    ls_mapped_file map;
    cr_assert_eq(ls_mapped_file_open(path, &map, NULL), LS_OK);
    cr_assert_eq(map.size, 10000u);
    for (uint32_t i = 0; i < 10000; i++) {
        cr_assert_eq(map.bytes[i], i % 251);
    }
    ls_mapped_file_close(&map);
    cr_expect_null(map.bytes);
    ls_mapped_file_close(&map);
}

Test(mapped_file, a_file_that_is_written_over_keeps_the_bytes_that_it_was_opened_with)
{
    FILE *file = fopen(path, "wb");
    for (uint32_t i = 0; i < 10000; i++) {
        fputc('a', file);
    }
    fclose(file);
    ls_mapped_file map;
    cr_assert_eq(ls_mapped_file_open(path, &map, NULL), LS_OK);
    fclose(fopen(path, "wb"));
    for (uint32_t i = 0; i < 10000; i++) {
        cr_assert_eq(map.bytes[i], 'a');
    }
    ls_mapped_file_close(&map);
}

Test(mapped_file, an_empty_file_has_no_bytes)
{
    ls_mapped_file map = {.size = 1};
    cr_assert_eq(ls_mapped_file_open(path, &map, NULL), LS_OK);
    cr_expect_eq(map.size, 0u);
    cr_expect_null(map.bytes);
    ls_mapped_file_close(&map);
}

Test(mapped_file, a_path_that_is_no_file_is_refused_with_its_name)
{
    ls_mapped_file map = {.size = 7};
    ls_text why = {{0}};
    cr_expect_eq(ls_mapped_file_open("/nowhere/at/all", &map, &why), LS_IO);
    cr_expect(strstr(why.bytes, "/nowhere/at/all"), "%s", why.bytes);
    cr_expect_eq(ls_mapped_file_open("/tmp", &map, &why), LS_IO);
    cr_expect(strstr(why.bytes, "it is not a file"), "%s", why.bytes);
    cr_expect_eq(map.size, 7u, "untouched");
}

#ifndef _WIN32
Test(mapped_file, a_pipe_that_nobody_writes_to_is_refused_at_once)
{
    ls_mapped_file map;
    ls_text why = {{0}};
    remove_file();
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(ls_mapped_file_open(path, &map, &why), LS_IO);
    cr_expect(strstr(why.bytes, "it is not a file"), "%s", why.bytes);
}
#endif

/* ---- private_file ---- */

static char private_file_folder[] = "/tmp/lockstep-private-XXXXXX";
static char private_file_path[sizeof private_file_folder + 16];

static void private_file_make_folder(void)
{
    cr_assert_not_null(mkdtemp(private_file_folder));
    snprintf(private_file_path, sizeof private_file_path, "%s/secret", private_file_folder);
}

static void private_file_remove_folder(void)
{
    remove(private_file_path);
    cr_expect_eq(rmdir(private_file_folder), 0, "something was left in %s", private_file_folder);
}

TestSuite(private_file, .init = private_file_make_folder, .fini = private_file_remove_folder);

static const uint8_t content[] = "a secret";

static void private_file_make_file(void)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_private_file_make(private_file_path, "secret", content, sizeof content, &why),
                 LS_OK, "%s", why.bytes);
}

static void expect_unread(size_t capacity, ls_status expected, const char *words)
{
    uint8_t bytes[64];
    size_t size = 99;
    ls_text why = {{0}};
    cr_expect_eq(ls_private_file_read(private_file_path, bytes, capacity, &size, &why), expected);
    cr_expect(strstr(why.bytes, words) && strstr(why.bytes, private_file_path), "%s", why.bytes);
    cr_expect_eq(size, 99);
    cr_expect_eq(ls_private_file_read(private_file_path, bytes, capacity, &size, NULL), expected);
}

Test(private_file, is_read_as_it_was_made_and_for_its_owner_alone)
{
    uint8_t bytes[sizeof content];
    size_t size = 0;
    umask(0);
    private_file_make_file();
    cr_assert_eq(ls_private_file_read(private_file_path, bytes, sizeof bytes, &size, NULL), LS_OK);
    cr_assert_eq(size, sizeof content);
    cr_assert_arr_eq(bytes, content, sizeof content);
    cr_expect(has_rights(private_file_path, 0600));
}

Test(private_file, is_never_written_over)
{
    const uint8_t other[] = "another";
    uint8_t bytes[sizeof content];
    size_t size = 0;
    ls_text why = {{0}};
    private_file_make_file();
    cr_expect_eq(ls_private_file_make(private_file_path, "secret", other, sizeof other, &why),
                 LS_IO);
    cr_expect(strstr(why.bytes, "is there already"), "%s", why.bytes);
    cr_expect_eq(ls_private_file_read(private_file_path, bytes, sizeof bytes, &size, NULL), LS_OK);
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
    cr_expect_eq(ls_private_file_read(private_file_path, bytes, sizeof bytes, &size, &why), LS_OK,
                 "%s", why.bytes);
    cr_expect_eq(size, sizeof content);
}

/* Each right that somebody else has, alone. Root's file may be one for the group of a service. */
Test(private_file, that_others_may_read_or_write_is_refused)
{
    private_file_make_file();
    for (unsigned right = 1; right <= 020; right <<= 1) {
        cr_assert_eq(chmod(private_file_path, 0600 | right), 0);
        expect_unread(64, LS_IO, "chmod 600");
    }
    cr_assert_eq(chmod(private_file_path, 0640), 0);
    if (geteuid() == 0) {
        expect_read();
    } else {
        expect_unread(64, LS_IO, "chmod 600");
    }
}

/* A process of another user, as that of a service is. */
Test(private_file, of_root_is_read_by_its_group_and_of_another_user_by_nobody)
{
    private_file_make_file();
    if (geteuid() != 0) {
        cr_skip_test("only root gives files away");
    }
    cr_assert_eq(chmod(private_file_folder, 0755), 0);
    cr_assert_eq(chmod(private_file_path, 0440), 0);
    cr_assert_eq(chown(private_file_path, 0, 12345), 0);
    cr_assert_eq(setegid(12345), 0);
    cr_assert_eq(seteuid(54321), 0);
    expect_read();
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chown(private_file_path, 12345, 12345), 0);
    cr_assert_eq(seteuid(54321), 0);
    expect_unread(64, LS_IO, "belongs to another user");
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chown(private_file_path, 54321, 12345), 0);
    cr_assert_eq(seteuid(54321), 0);
    expect_unread(64, LS_IO, "chmod 600");
    cr_assert_eq(seteuid(0), 0);
}

Test(private_file, of_the_credentials_of_a_service_is_found_by_the_environment)
{
    uint8_t bytes[sizeof content];
    size_t size = 0;
    ls_text why = {""};
    private_file_make_file();
    unsetenv("CREDENTIALS_DIRECTORY");
    cr_expect_eq(
        ls_private_file_read("$CREDENTIALS_DIRECTORY/secret", bytes, sizeof bytes, &size, &why),
        LS_IO);
    cr_expect(strstr(why.bytes, "gave this program no credentials"), "%s", why.bytes);
    cr_expect_not(ls_private_file_look("$CREDENTIALS_DIRECTORY/secret", NULL));
    setenv("CREDENTIALS_DIRECTORY", private_file_folder, 1);
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
    private_file_make_file();
    expect_unread(sizeof content - 1, LS_IO, "is longer than 8 bytes");
}

#ifndef _WIN32
Test(private_file, a_pipe_and_a_directory_are_none)
{
    cr_assert_eq(mkfifo(private_file_path, 0600), 0);
    expect_unread(64, LS_IO, "is no file");
    remove(private_file_path);
    cr_assert_eq(mkdir(private_file_path, 0700), 0);
    expect_unread(64, LS_IO, "is no file");
}
#endif

/* ---- pages ---- */

enum {
    LARGE = 2 << 20,
    BYTES = 3 * LARGE,
};

static uint8_t block[BYTES];

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 31 + at / 4096);
}

Test(pages, what_moves_into_larger_ones_stays_as_it_is)
{
    static const struct {
        size_t first, bytes;
    } pieces[] = {{0, BYTES}, {1, BYTES - 1}, {0, 0}, {4096, LARGE - 1}, {LARGE - 5, LARGE + 10}};
    for (size_t at = 0; at < BYTES; at++) {
        block[at] = byte_at(at);
    }
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        ls_pages_enlarge(block + pieces[i].first, pieces[i].bytes);
        for (size_t at = 0; at < BYTES; at++) {
            cr_assert_eq(block[at], byte_at(at), "piece %zu, byte %zu", i, at);
        }
    }
}

Test(pages, closed_pages_open_to_writing_and_are_zeros)
{
    size_t bytes = 2 * ls_pages_size();
    uint8_t *pages = ls_pages_acquire(0, bytes);
    cr_assert_not_null(pages);
    cr_assert(ls_pages_allow(pages, bytes, LS_PAGES_WRITTEN));
    cr_assert_eq(pages[0] | pages[bytes - 1], 0);
    pages[bytes - 1] = 7;
    cr_assert(ls_pages_allow(pages, bytes, LS_PAGES_READ));
    cr_assert_eq(pages[bytes - 1], 7);
    ls_pages_release(pages, bytes);
}

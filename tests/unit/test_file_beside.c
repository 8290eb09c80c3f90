#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/file_beside.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/private_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

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

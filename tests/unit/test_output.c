#define _XOPEN_SOURCE 700
#include "lockstep/common/system/output.h"

#include "lockstep/common/system/file.h"
#include "lockstep/tests/support/rights.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef _WIN32
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#endif

static char folder[] = "/tmp/lockstep-output-XXXXXX";
static char path[sizeof folder + 16];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/summary", folder);
}

static void remove_folder(void)
{
    remove(path);
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(output, .init = make_folder, .fini = remove_folder);

static void expect_refused(const char *name, const char *words)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_output_check_path(name, &why), LS_IO);
    name = strcmp(name, "-") == 0 ? "standard output" : name;
    cr_expect(strstr(why.bytes, words) && strstr(why.bytes, name), "%s", why.bytes);
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

Test(output, a_check_leaves_no_file_where_there_was_none)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_output_check_path(path, &why), LS_OK, "%s", why.bytes);
    cr_expect_neq(access(path, F_OK), 0);
}

Test(output, a_check_leaves_a_file_as_it_is)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_output_write(path, "before", &why), LS_OK);
    cr_expect_eq(ls_output_check_path(path, &why), LS_OK);
    expect_content(path, "before\n");
}

Test(output, a_file_that_cannot_be_written_is_refused_with_the_reason)
{
    char inside[sizeof path + 8];
    ls_text why = {{0}};
    cr_assert_eq(ls_output_write(path, "no folder", &why), LS_OK);
    snprintf(inside, sizeof inside, "%s/file", path);
    expect_refused("/nowhere/summary", "No such file or directory");
#ifdef _WIN32
    expect_refused(folder, "Permission denied");
    expect_refused(inside, "No such file or directory");
#else
    expect_refused(folder, "Is a directory");
    expect_refused(inside, "Not a directory");
#endif
    expect_refused("", "No such file or directory");
}

Test(output, a_new_file_is_its_owners_alone)
{
    char taken[sizeof path];
    ls_text why = {{0}};
    memcpy(taken, path, sizeof path);
    umask(022);
    cr_assert_eq(ls_output_write_new(taken, sizeof taken, "bundle", "text", 4, &why), LS_OK);
    cr_expect(has_rights(taken, 0600));
}

Test(output, a_new_file_never_replaces_another)
{
    static const char *const names[] = {"a.b/desync.bundle", "a.b/desync-2.bundle",
                                        "a.b/desync-3.bundle", "a.b/plain", "a.b/plain-2"};
    char expected[sizeof path + 64], inner[sizeof path + 8];
    ls_text why = {{0}};
    snprintf(inner, sizeof inner, "%s/a.b", folder);
    cr_assert(ls_folder_make(inner, true));
    for (size_t i = 0; i < 5; i++) {
        char taken[sizeof path + 64];
        snprintf(expected, sizeof expected, "%s/%s", folder, names[i]);
        snprintf(taken, sizeof taken, "%s/%s", folder, names[i < 3 ? 0 : 3]);
        cr_expect_eq(
            ls_output_write_new(taken, sizeof taken, "bundle", names[i], strlen(names[i]), &why),
            LS_OK);
        cr_expect_str_eq(taken, expected);
    }
    for (size_t i = 0; i < 5; i++) {
        snprintf(expected, sizeof expected, "%s/%s", folder, names[i]);
        expect_content(expected, names[i]);
        remove(expected);
    }
    cr_expect_eq(rmdir(inner), 0);
}

Test(output, a_disk_keeps_a_reserve_for_what_matters_more)
{
    cr_assert_not(ls_output_has_room(".", UINT64_MAX));
    cr_assert_not(ls_output_has_room(".", UINT64_MAX - LS_OUTPUT_RESERVE_BYTES));
    cr_assert(ls_output_has_room("/no/such/folder", 1), "it is not known");
}

#ifndef _WIN32

/* ---- pipes ---- */

Test(output, the_reader_of_a_pipe_sees_no_end_before_the_summary)
{
    ls_text why = {{0}};
    char text[16] = {0};
    cr_assert_eq(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    cr_assert_geq(reader, 0);
    struct pollfd ended = {.fd = reader, .events = POLLIN};
    cr_expect_eq(ls_output_check_path(path, &why), LS_OK);
    cr_expect_eq(poll(&ended, 1, 0), 0);
    cr_expect_eq(ls_output_write(path, "all", &why), LS_OK);
    cr_expect_eq(read(reader, text, sizeof text), 4);
    cr_expect_str_eq(text, "all\n");
    close(reader);
}

Test(output, a_pipe_that_nobody_reads_yet_is_not_waited_for)
{
    ls_text why = {{0}};
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(ls_output_check_path(path, &why), LS_OK);
}

Test(output, a_standard_output_that_was_closed_is_refused)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_output_check_path("-", &why), LS_OK);
    int read_only = open("/dev/null", O_RDONLY);
    cr_assert_eq(dup2(read_only, STDOUT_FILENO), STDOUT_FILENO);
    close(read_only);
    expect_refused("-", "Bad file descriptor");
}

/* ---- a full disk: all of it, or nothing ---- */

enum {
    DISC_BYTES = 4096
};

/* A disk that is full after so many bytes, for this process. */
static void fill_disk(void)
{
    const struct rlimit limit = {DISC_BYTES, DISC_BYTES};
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *opened = opendir(folder);
    cr_assert_not_null(opened);
    for (const struct dirent *entry = readdir(opened); entry; entry = readdir(opened)) {
        count += entry->d_name[0] != '.';
    }
    closedir(opened);
    return count;
}

Test(output, a_full_disk_leaves_no_half_file)
{
    static const uint8_t bytes[2 * DISC_BYTES];
    char taken[sizeof path];
    ls_text why = {{0}};
    memcpy(taken, path, sizeof path);
    fill_disk();
    cr_expect_eq(ls_output_write_bytes(path, "bundle", bytes, sizeof bytes, &why), LS_IO);
    cr_expect(strstr(why.bytes, "cannot write the bundle to /tmp/") &&
                  strstr(why.bytes, "File too large"),
              "%s", why.bytes);
    cr_expect_eq(ls_output_write_new(taken, sizeof taken, "bundle", bytes, sizeof bytes, &why),
                 LS_IO);
    cr_expect_str_eq(taken, path);
    cr_expect_eq(count_files(), 0);
}

Test(output, a_full_disk_leaves_the_older_file)
{
    static char text[2 * DISC_BYTES];
    ls_text why = {{0}};
    memset(text, 'x', sizeof text - 1);
    cr_assert_eq(ls_output_write(path, "older", &why), LS_OK);
    fill_disk();
    cr_expect_eq(ls_output_write(path, text, &why), LS_IO);
    expect_content(path, "older\n");
    cr_expect_eq(count_files(), 1);
}

/* ---- rights and links ---- */

Test(output, a_file_that_is_replaced_keeps_its_rights)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_output_write(path, "older", &why), LS_OK);
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(ls_output_write(path, "newer", &why), LS_OK);
    cr_expect(has_rights(path, 0640));
    expect_content(path, "newer\n");
}

Test(output, a_link_stays_a_link)
{
    char target[sizeof path + 8];
    ls_text why = {{0}};
    struct stat found;
    snprintf(target, sizeof target, "%s.json", path);
    cr_assert_eq(symlink(target, path), 0);
    cr_assert_eq(ls_output_write(path, "text", &why), LS_OK);
    cr_assert_eq(lstat(path, &found), 0);
    cr_expect(S_ISLNK(found.st_mode));
    expect_content(target, "text\n");
    remove(target);
}

/* As root alone a test can make files of others. */
static void expect_link_is_refused(uid_t of_link, uid_t of_target)
{
    char target[sizeof path + 8];
    ls_text why = {{0}};
    snprintf(target, sizeof target, "%s.json", path);
    cr_assert_eq(ls_output_write(target, "before", &why), LS_OK);
    cr_assert_eq(symlink(target, path), 0);
    cr_assert_eq(lchown(path, of_link, of_link), 0);
    cr_assert_eq(chown(target, of_target, of_target), 0);
    cr_expect_eq(ls_output_check_path(path, &why), LS_IO);
    cr_expect_eq(ls_output_write(path, "after", &why), LS_IO);
    cr_expect_eq(ls_output_write_port(path, 7300, &why), LS_IO);
    expect_content(target, "before\n");
    remove(target);
    remove(path);
}

Test(output, a_link_of_others_or_to_a_file_of_others_is_not_followed)
{
    const uid_t other = 65534;
    if (geteuid() != 0) {
        cr_skip_test("only root can give a link to somebody else");
    }
    expect_link_is_refused(other, 0);
    expect_link_is_refused(0, other);
    expect_link_is_refused(other, other);
}

#endif

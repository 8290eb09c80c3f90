#define _XOPEN_SOURCE 700
#include "lockstep/common/program/output.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

Test(output, a_check_leaves_no_file_where_there_was_none)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_output_check_path(path, &why), LS_OK, "%s", why.bytes);
    cr_expect_neq(access(path, F_OK), 0);
}

Test(output, a_check_leaves_a_file_as_it_is)
{
    ls_text why = {{0}};
    struct stat found;
    cr_assert_eq(ls_output_write(path, "before", &why), LS_OK);
    cr_expect_eq(ls_output_check_path(path, &why), LS_OK);
    cr_assert_eq(stat(path, &found), 0);
    cr_expect_eq(found.st_size, 7);
}

Test(output, a_file_that_cannot_be_written_is_refused_with_the_reason)
{
    char inside[sizeof path + 8];
    ls_text why = {{0}};
    cr_assert_eq(ls_output_write(path, "no folder", &why), LS_OK);
    snprintf(inside, sizeof inside, "%s/file", path);
    expect_refused("/nowhere/summary", "No such file or directory");
    expect_refused(folder, "Is a directory");
    expect_refused(inside, "Not a directory");
    expect_refused("", "No such file or directory");
}

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

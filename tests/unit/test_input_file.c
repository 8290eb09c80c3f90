#define _XOPEN_SOURCE 700
#include "lockstep/common/program/input_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/lockstep-input-XXXXXX";

static void make_file(void)
{
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, "12345", 5), 5);
    close(file);
}

static void remove_file(void)
{
    remove(path);
}

TestSuite(input_file, .init = make_file, .fini = remove_file);

static ls_status read_file(const char *name, uint64_t size_max, size_t *size, ls_text *why)
{
    uint8_t *bytes = NULL;
    ls_status status = ls_input_file_read(name, size_max, ls_allocator_heap(), &bytes, size, why);
    cr_assert(status != LS_OK || *size == 0 || memcmp(bytes, "12345", *size) == 0);
    cr_assert(status == LS_OK || bytes == NULL);
    ls_release(ls_allocator_heap(), bytes);
    return status;
}

Test(input_file, a_file_is_read_whole_up_to_the_limit_and_not_beyond)
{
    size_t size = 0;
    ls_text why = {{0}};
    cr_expect_eq(read_file(path, 5, &size, &why), LS_OK);
    cr_expect_eq(size, 5);
    cr_expect_eq(read_file(path, 4, &size, &why), LS_FULL);
    cr_expect_not_null(strstr(why.bytes, "5 bytes, more than 4"));
}

Test(input_file, an_empty_file_is_no_failure)
{
    size_t size = 9;
    cr_assert_eq(truncate(path, 0), 0);
    cr_expect_eq(read_file(path, 4, &size, NULL), LS_OK);
    cr_expect_eq(size, 0);
}

Test(input_file, a_file_that_cannot_be_read_is_named)
{
    size_t size = 0;
    ls_text why = {{0}};
    cr_expect_eq(read_file("/nowhere/file", 5, &size, &why), LS_IO);
    cr_expect_not_null(strstr(why.bytes, "/nowhere/file"));
    cr_expect_eq(read_file("/tmp", 5, &size, &why), LS_IO);
    cr_expect_not_null(strstr(why.bytes, "/tmp"));
}

Test(input_file, a_pipe_that_nobody_writes_to_is_refused_at_once)
{
    size_t size = 0;
    ls_text why = {{0}};
    remove(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(read_file(path, 5, &size, &why), LS_IO);
    cr_expect_not_null(strstr(why.bytes, "it is not a file"));
}

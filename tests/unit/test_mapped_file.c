#define _XOPEN_SOURCE 700
#include "lockstep/common/system/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

#define _XOPEN_SOURCE 700
#include "lockstep/client/program/seat_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/seat-file-XXXXXX";
static char path[64];
static ls_text why;

static void open_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/seat", folder);
}

static void close_folder(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(seat_file, .init = open_folder, .fini = close_folder);

static uint32_t entries_of(const char *name)
{
    uint32_t count = 0;
    DIR *directory = opendir(name);
    cr_assert_not_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(directory);
    return count;
}

static ls_session_seat seat_of(uint8_t byte)
{
    ls_session_seat seat = {.match_id = UINT64_C(0x1122334455667700) + byte};
    memset(seat.secret, byte, sizeof seat.secret);
    return seat;
}

Test(seat_file, the_newest_seat_comes_back)
{
    ls_session_seat seat = {0};
    cr_assert_eq(ls_seat_file_read(path, "host:1", &seat, &why), LS_NOT_FOUND);
    for (uint8_t byte = 1; byte < 3; byte++) {
        const ls_session_seat written = seat_of(byte);
        cr_assert_eq(ls_seat_file_write(path, "host:1", &written, &why), LS_OK, "%s", why.bytes);
        cr_assert_eq(ls_seat_file_read(path, "host:1", &seat, &why), LS_OK, "%s", why.bytes);
        cr_assert_eq(seat.match_id, written.match_id);
        cr_assert_eq(memcmp(seat.secret, written.secret, sizeof seat.secret), 0);
    }
    cr_assert_eq(entries_of(folder), 1u, "nothing is left beside it");
    struct stat found;
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_eq(found.st_mode & 0777, 0600);
    cr_assert_eq(ls_seat_file_read(path, "host:2", &seat, &why), LS_NOT_FOUND);
    ls_seat_file_remove(path);
    cr_assert_eq(ls_seat_file_read(path, "host:1", &seat, &why), LS_NOT_FOUND);
}

Test(seat_file, a_file_that_others_may_read_or_that_is_no_seat_is_refused)
{
    ls_session_seat seat = seat_of(1);
    cr_assert_eq(ls_seat_file_write(path, "host:1", &seat, &why), LS_OK);
    cr_assert_eq(chmod(path, 0644), 0);
    cr_assert_eq(ls_seat_file_read(path, "host:1", &seat, &why), LS_IO);
    cr_assert_eq(chmod(path, 0600), 0);
    cr_assert_eq(truncate(path, 20), 0);
    cr_assert_eq(ls_seat_file_read(path, "host:1", &seat, &why), LS_IO);
}

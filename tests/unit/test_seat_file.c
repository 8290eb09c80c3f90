#define _XOPEN_SOURCE 700
#include "lockstep/client/link/seat_file.h"

#include "lockstep/tests/support/rights.h"

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
    cr_expect(has_rights(path, 0600));
    cr_assert_eq(ls_seat_file_read(path, "host:2", &seat, &why), LS_NOT_FOUND);
    ls_seat_file_remove(path);
    cr_assert_eq(ls_seat_file_read(path, "host:1", &seat, &why), LS_NOT_FOUND);
}

/* Whether there still is a file after a session has ended with this status. */
static bool is_kept_after(ls_status status)
{
    const ls_session_event over = {.kind = LS_SESSION_EVENT_OVER, .status = status};
    const ls_session_seat seat = seat_of(1);
    ls_session_seat found = {0};
    cr_assert_eq(ls_seat_file_write(path, "host:1", &seat, &why), LS_OK, "%s", why.bytes);
    ls_seat_file_receive_event(path, "host:1", NULL, &over, NULL);
    return ls_seat_file_read(path, "host:1", &found, &why) == LS_OK;
}

Test(seat_file, goes_with_the_seat_and_with_nothing_else)
{
    static const ls_status gone[] = {LS_OK, LS_ALREADY_OVER, LS_NOT_FOUND, LS_KICKED, LS_DESYNCED};
    static const ls_status kept[] = {LS_NO_MEMORY,
                                     LS_IO,
                                     LS_FULL,
                                     LS_UNSUPPORTED,
                                     LS_PLUGIN,
                                     LS_PROTOCOL_MISMATCH,
                                     LS_ARITHMETIC_MISMATCH,
                                     LS_SIMULATION_MISMATCH,
                                     LS_SIMULATION_VERSION_MISMATCH,
                                     LS_PARAMETER_MISMATCH,
                                     LS_SCHEMA_MISMATCH,
                                     LS_CONTENT_MISMATCH,
                                     LS_INITIAL_STATE_MISMATCH,
                                     LS_MATCH_FULL,
                                     LS_TIMED_OUT,
                                     LS_FELL_BEHIND,
                                     LS_MISBEHAVED,
                                     LS_DISCONNECTED,
                                     LS_REFUSED,
                                     LS_NOT_ADMITTED,
                                     LS_SAVED};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        cr_expect_not(is_kept_after(gone[i]), "%s", ls_status_name(gone[i]));
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        cr_expect(is_kept_after(kept[i]), "%s", ls_status_name(kept[i]));
    }
}

#ifndef _WIN32
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
#endif

#define _POSIX_C_SOURCE 200809L
/* The report about the disk of journals, of folders and limits of the test's own. */
#include "lockstep/server/service/journal_disk.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOOK_MS = 20,
};

static char folder[] = "/tmp/lockstep-disk-XXXXXX";
static ls_event_loop *loop;
static ls_journal_disk *disk;
static ls_storage_report report;
static bool is_good_wanted;

static void drop_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static const ls_log quiet = {.level = LS_LOG_ERROR, .write = drop_line};

static void on_look(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    if ((report.why_not.bytes[0] == '\0') == is_good_wanted) {
        ls_event_loop_stop(loop);
    }
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
    cr_assert_eq(ls_event_loop_add_timer(loop, LOOK_MS, (ls_loop_handler){on_look, NULL}, NULL),
                 LS_OK);
}

static void end(void)
{
    ls_journal_disk_destroy(disk);
    ls_event_loop_destroy(loop);
    rmdir(folder);
}

TestSuite(journal_disk, .init = begin, .fini = end);

static void create(uint64_t bytes_min)
{
    const ls_journal_disk_config config = {.directory = folder,
                                           .bytes_min = bytes_min,
                                           .loop = loop,
                                           .log = &quiet,
                                           .report = &report};
    cr_assert_eq(ls_journal_disk_create(&config, &disk), LS_OK);
}

static void wait_until(bool is_good)
{
    is_good_wanted = is_good;
    ls_event_loop_run(loop);
}

Test(journal_disk, folder_that_goes_and_comes_back_is_noticed_and_nothing_is_left_in_it)
{
    create(LS_JOURNAL_DISK_BYTES_MIN);
    cr_assert_str_empty(report.why_not.bytes);
    cr_assert_gt(report.bytes, report.free_bytes);
    cr_assert_gt(report.free_bytes, 0);
    cr_assert_eq(rmdir(folder), 0, "it is empty");
    wait_until(false);
    cr_assert(strstr(report.why_not.bytes, folder) && strstr(report.why_not.bytes, "No such file"),
              "%s", report.why_not.bytes);
    cr_assert_eq(mkdir(folder, 0700), 0);
    wait_until(true);
}

Test(journal_disk, disk_that_takes_nothing_is_noticed)
{
    const struct rlimit limit = {1000, RLIM_INFINITY};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    create(LS_JOURNAL_DISK_BYTES_MIN);
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    wait_until(false);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    wait_until(true);
}

Test(journal_disk, disk_with_too_little_left_is_not_good_for_new_rooms)
{
    create(UINT64_MAX);
    cr_assert(strstr(report.why_not.bytes, "KiB left"), "%s", report.why_not.bytes);
}

#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/server/service/journal_disk.h"
#include "lockstep/server/service/journal_upload.h"

#include "lockstep/tests/support/journal_sample.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== journal_upload ==== */

/* Closed journals that are handed to a command, by processes and in a folder of the test's own. */

enum {
    JOURNALS = 200,
    LOOK_MS = 20,
    LOOKS_OF_NOTHING = 60, /* more than two of the upload's own */
};

static char folder[] = "/tmp/lockstep-upload-XXXXXX";
static ls_event_loop *loop;
static ls_journal_upload *upload;
static ls_upload_report report;
static const ls_log quiet = {.level = LS_LOG_ERROR};
static const char *in_use; /* the name of a journal that a room has; NULL: none */
static bool (*is_reached)(void);
static uint32_t looks;
static journal_sample journal;
static size_t header_bytes; /* of it, with the head of the file */

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The first bytes of a file: a journal's header, or less of it, filled up to `bytes` when there are
 * more. `age_s` before the others. */
static void write_part(const char *name, size_t intact, size_t bytes, uint32_t age_s)
{
    struct timespec times[2] = {{.tv_sec = 1000000 - (time_t)age_s},
                                {.tv_sec = 1000000 - (time_t)age_s}};
    FILE *file = fopen(path_of(name), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(journal.bytes, 1, intact, file), intact);
    for (size_t i = intact; i < bytes; i++) {
        fputc('j', file);
    }
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static void write_file(const char *name, size_t bytes, uint32_t age_s)
{
    write_part(name, header_bytes, bytes, age_s);
}

static void write_journals(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%03u.journal", i);
        write_file(name, 1, 0);
    }
}

static bool is_there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void on_look(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    looks++;
    if (is_reached()) {
        ls_event_loop_stop(loop);
    }
}

static void run_until(bool (*reached)(void))
{
    is_reached = reached;
    ls_event_loop_run(loop);
}

static bool is_written(void *user, const char *path)
{
    (void)user;
    return in_use && strcmp(strrchr(path, '/') + 1, in_use) == 0;
}

static ls_journal_upload_config config_of(const char *command)
{
    return (ls_journal_upload_config){.directory = folder,
                                      .command = command,
                                      .parallel = 4,
                                      .retry_ms = 10,
                                      .loop = loop,
                                      .log = &quiet,
                                      .is_in_use = is_written,
                                      .report = &report};
}

static void begin(void)
{
    const journal_sample_config sample = journal_sample_default();
    ls_record header;
    journal_sample_make(&journal, &sample);
    cr_assert(ls_record_read(&ls_journal_format, journal.bytes, journal.size,
                             LS_RECORD_FILE_HEAD_BYTES, &header));
    header_bytes = (size_t)ls_record_end(&header, &ls_journal_format);
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
    cr_assert_eq(ls_event_loop_add_timer(loop, LOOK_MS, (ls_loop_handler){on_look, NULL}, NULL),
                 LS_OK);
}

static void end(void)
{
    char command[64];
    ls_journal_upload_destroy(upload);
    ls_event_loop_destroy(loop);
    journal_sample_release(&journal);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(journal_upload, .init = begin, .fini = end);

static void start(const ls_journal_upload_config *config)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_journal_upload_create(config, &upload, &why), LS_OK, "%s", why.bytes);
}

static bool have_others_left(void)
{
    return report.uploaded == JOURNALS - 1 && report.failures >= 2;
}

static bool have_all_left(void)
{
    return report.uploaded == JOURNALS && report.waiting == 0;
}

Test(journal_upload, one_that_fails_holds_up_no_other_and_leaves_when_it_can)
{
    char command[128];
    write_journals(JOURNALS);
    write_file("bad", 1, 0);
    snprintf(command, sizeof command, "test ! -e %s -o {} != %s/007.journal", path_of("bad"),
             folder);
    const ls_journal_upload_config config = config_of(command);
    start(&config);
    run_until(have_others_left);
    cr_assert(is_there("007.journal"));
    cr_assert(is_there("uploaded/006.journal"));
    cr_assert_eq(unlink(path_of("bad")), 0);
    run_until(have_all_left);
    cr_assert(is_there("uploaded/007.journal"));
    cr_assert_eq(report.oldest_unix_ms, 0);
}

static bool has_waited(void)
{
    return looks > LOOKS_OF_NOTHING;
}

Test(journal_upload, commands_that_all_fail_are_not_tried_for_every_journal)
{
    write_journals(50);
    ls_journal_upload_config config = config_of("false {}");
    config.retry_ms = 60000;
    start(&config);
    run_until(has_waited);
    cr_assert_geq(report.failures, config.parallel);
    cr_assert_lt(report.failures, 2 * config.parallel); /* those that ran when it was clear */
    cr_assert_eq(report.waiting, 50);
    cr_assert_eq(report.oldest_unix_ms, UINT64_C(1000000000));
}

static bool have_three_left(void)
{
    return report.uploaded == 3 && !is_there("uploaded/a.journal");
}

Test(journal_upload, the_oldest_leave_first_and_the_newest_are_kept)
{
    char line[64] = "";
    char command[128];
    write_file("a.journal", 1 << 20, 30);
    write_file("c.journal", 1 << 20, 20);
    write_file("b.journal", 1 << 20, 10);
    write_file("notes.txt", 1, 40);
    snprintf(command, sizeof command, "basename {} | tr '\\n' ' ' >>%s", path_of("order"));
    ls_journal_upload_config config = config_of(command);
    config.parallel = 1;
    config.keep_mib = 2;
    start(&config);
    run_until(have_three_left);
    FILE *order = fopen(path_of("order"), "r");
    cr_assert(order && fgets(line, sizeof line, order));
    fclose(order);
    cr_assert_str_eq(line, "a.journal c.journal b.journal ");
    cr_assert(is_there("uploaded/b.journal") && is_there("uploaded/c.journal"));
    cr_assert(is_there("notes.txt"));
}

static bool has_one_left(void)
{
    return report.uploaded >= 1 && looks > LOOKS_OF_NOTHING;
}

static bool have_two_left(void)
{
    return report.uploaded == 2;
}

Test(journal_upload, journal_of_a_room_waits_until_the_room_is_over)
{
    write_journals(2);
    in_use = "000.journal";
    const ls_journal_upload_config config = config_of("true {}");
    start(&config);
    run_until(has_one_left);
    cr_assert(is_there("000.journal"));
    cr_assert_eq(report.waiting, 0);
    in_use = NULL;
    run_until(have_two_left);
    cr_assert(is_there("uploaded/000.journal"));
}

/* As a full disk or a killed process leaves them. */
Test(journal_upload, file_without_a_whole_header_is_set_aside)
{
    static const char *const torn[] = {"empty.journal", "head.journal", "header.journal",
                                       "other.journal"};
    const size_t intact[] = {0, 10, header_bytes - 1, 0};
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++) {
        write_part(torn[i], intact[i], i == 3 ? 5000 : 0, 10);
    }
    write_journals(1);
    const ls_journal_upload_config config = config_of("true {}");
    start(&config);
    run_until(has_one_left);
    cr_expect(is_there("uploaded/000.journal"));
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++) {
        char aside[64];
        snprintf(aside, sizeof aside, "%s.torn", torn[i]);
        cr_expect(is_there(aside), "%s", aside);
        cr_expect(!is_there(torn[i]), "%s", torn[i]);
    }
    cr_expect_eq(report.failures, 0);
    cr_expect_eq(report.waiting, 0);
}

/* Only a server of the version that wrote a journal can judge it; an upgrade leaves such ones. */
Test(journal_upload, journal_of_another_format_is_uploaded)
{
    journal.bytes[LS_RECORD_MAGIC_BYTES]++;
    write_journals(1);
    const ls_journal_upload_config config = config_of("true {}");
    start(&config);
    run_until(has_one_left);
    cr_expect(is_there("uploaded/000.journal"));
}

static bool is_all_uploaded(void)
{
    return report.uploaded == 3;
}

/* With names that a shell would take apart, and that are no text. */
static void upload_three_by(const char *command)
{
    ls_journal_upload_config config = config_of(command);
    write_file("a  b.journal", 1, 0);
    write_file("*$(exit 1);.journal", 1, 1);
    write_file("'\"\n\xe9\x1b[2J.journal", 1, 2);
    start(&config);
    run_until(is_all_uploaded);
    cr_assert_eq(report.failures, 0);
}

Test(journal_upload, a_file_is_one_word_of_the_command_in_quotes_too)
{
    upload_three_by("test -f {} && test -f \"{}\" && test -f '{}' && test \\\" != '\"' && "
                    "test -f \"\\\"{}\" || test \"x{}x\" = x'{}'x");
}

Test(journal_upload, a_command_may_take_the_file_away)
{
    upload_three_by("rm {}");
    cr_assert(!is_there("uploaded/a  b.journal"));
}

/* Opening a pipe waits for somebody who writes. A link is to a file that is not the service's. */
Test(journal_upload, what_is_no_file_of_the_folder_is_left_alone)
{
    const ls_journal_upload_config config = config_of("true");
    write_file("000.journal", header_bytes, 0);
    write_file("outside", header_bytes, 0);
    cr_assert_eq(mkfifo(path_of("001.journal"), 0600), 0);
    cr_assert_eq(mkdir(path_of("002.journal"), 0700), 0);
    cr_assert_eq(symlink("outside", path_of("003.journal")), 0);
    cr_assert_eq(symlink("/dev/zero", path_of("004.journal")), 0);
    start(&config);
    run_until(has_one_left);
    looks = 0;
    run_until(has_waited);
    cr_expect_eq(report.uploaded, 1);
    cr_expect_eq(report.failures, 0);
    cr_expect_eq(report.waiting, 0);
    for (const char *name = "1234"; *name != '\0'; name++) {
        char entry[] = "00?.journal";
        entry[2] = *name;
        struct stat facts;
        cr_expect_eq(lstat(path_of(entry), &facts), 0, "%s", entry);
    }
}

/* ==== journal_disk ==== */

/* The report about the disk of journals, of folders and limits of the test's own. */

enum {
    DISK_LOOK_MS = 20,
};

static char disk_folder[] = "/tmp/lockstep-disk-XXXXXX";
static ls_event_loop *disk_loop;
static ls_journal_disk *disk;
static ls_storage_report disk_report;
static bool is_good_wanted;

static void drop_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static const ls_log disk_quiet = {.level = LS_LOG_ERROR, .write = drop_line};

static void disk_on_look(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    if ((disk_report.why_not.bytes[0] == '\0') == is_good_wanted) {
        ls_event_loop_stop(disk_loop);
    }
}

static void disk_begin(void)
{
    cr_assert_not_null(mkdtemp(disk_folder));
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &disk_loop), LS_OK);
    cr_assert_eq(ls_event_loop_add_timer(disk_loop, DISK_LOOK_MS,
                                         (ls_loop_handler){disk_on_look, NULL}, NULL),
                 LS_OK);
}

static void disk_end(void)
{
    ls_journal_disk_destroy(disk);
    ls_event_loop_destroy(disk_loop);
    rmdir(disk_folder);
}

TestSuite(journal_disk, .init = disk_begin, .fini = disk_end);

static void create(uint64_t bytes_min)
{
    const ls_journal_disk_config config = {.directory = disk_folder,
                                           .bytes_min = bytes_min,
                                           .loop = disk_loop,
                                           .log = &disk_quiet,
                                           .report = &disk_report};
    cr_assert_eq(ls_journal_disk_create(&config, &disk), LS_OK);
}

static void wait_until(bool is_good)
{
    is_good_wanted = is_good;
    ls_event_loop_run(disk_loop);
}

Test(journal_disk, folder_that_goes_and_comes_back_is_noticed_and_nothing_is_left_in_it)
{
    create(LS_JOURNAL_DISK_BYTES_MIN);
    cr_assert_str_empty(disk_report.why_not.bytes);
    cr_assert_gt(disk_report.bytes, disk_report.free_bytes);
    cr_assert_gt(disk_report.free_bytes, 0);
    cr_assert_eq(rmdir(disk_folder), 0, "it is empty");
    wait_until(false);
    cr_assert(strstr(disk_report.why_not.bytes, disk_folder) &&
                  strstr(disk_report.why_not.bytes, "No such file"),
              "%s", disk_report.why_not.bytes);
    cr_assert_eq(mkdir(disk_folder, 0700), 0);
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
    cr_assert(strstr(disk_report.why_not.bytes, "KiB left"), "%s", disk_report.why_not.bytes);
}

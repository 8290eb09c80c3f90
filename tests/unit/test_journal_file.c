/* A journal on the disk, and the summary of its match. */
#define _XOPEN_SOURCE 700
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/file.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/journal/journal_file.h"
#include "lockstep/server/rooms/match_summary.h"
#include "lockstep/tests/support/rights.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== journal_file ==== */

#ifndef _WIN32
#include <sys/resource.h>
#endif

enum {
    RECORD_BYTES = 3000,
};

/* Hands on one record after another, as a recorder does. */
typedef struct writing {
    ls_event_loop *loop;
    ls_journal_file *file;
    ls_journal_store store;
    uint8_t bytes[RECORD_BYTES];
    uint32_t wanted;
    uint32_t written;
    uint32_t failed;
    uint64_t written_bytes;
    ls_text why;
} writing;

static writing here;
static char folder[] = "/tmp/lockstep-journal-XXXXXX";
static char path[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.journal", folder);
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &here.loop), LS_OK);
}

static void remove_folder(void)
{
    ls_journal_file_destroy(here.file);
    ls_event_loop_destroy(here.loop);
    remove(path);
    rmdir(folder);
}

TestSuite(journal_file, .init = make_folder, .fini = remove_folder);

static void hand_on(void)
{
    uint64_t number = here.written + here.failed;
    ls_journal_raw raw = {.kind = LS_JOURNAL_EVENT, .bytes = here.bytes, .size = RECORD_BYTES};
    for (uint32_t i = 0; i < RECORD_BYTES; i++) {
        here.bytes[i] = (uint8_t)ls_hash_pair(i, number); /* nothing that could be compressed */
    }
    if (number == 0) {
        raw.kind = LS_JOURNAL_HEADER;
        ls_journal_header header = {.config = {.tick_rate_hz = 1, .players = 1},
                                    .hash_interval_ticks = 1};
        ls_byte_stream stream = ls_byte_stream_write(here.bytes, sizeof here.bytes);
        ls_journal_header_stream(&stream, &header);
        raw.size = stream.at;
    }
    cr_assert(here.store.submit(here.store.user, &raw));
    cr_assert(!here.store.submit(here.store.user, &raw), "one at a time");
}

static void on_done(void *user, const ls_journal_completion *done, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    if (done->status == LS_OK) {
        here.written++;
        here.written_bytes += done->written_bytes;
        cr_assert_str_empty(done->why);
    } else {
        here.failed++;
        cr_assert_eq(done->status, LS_IO);
        ls_text_set(&here.why, "%s", done->why);
    }
    if (here.written + here.failed < here.wanted) {
        hand_on();
    }
}

static ls_journal_file_config config_after(ls_journal *continued)
{
    return (ls_journal_file_config){
        .path = path, .raw_bytes_max = RECORD_BYTES, .continued = continued, .on_done = on_done};
}

static ls_status open_file(ls_journal *continued, ls_text *why)
{
    ls_journal_file_config config = config_after(continued);
    ls_status status =
        ls_journal_file_create(&config, here.loop, ls_allocator_heap(), &here.file, why);
    if (status == LS_OK) {
        here.store = ls_journal_file_store(here.file);
    }
    return status;
}

static void write_records(uint32_t count)
{
    here.wanted += count;
    hand_on();
    ls_event_loop_run(here.loop);
    cr_assert_eq(here.written + here.failed, here.wanted);
}

typedef struct opened_journal {
    ls_journal *journal;
    ls_mapped_file file;
} opened_journal;

/* The file, or the first half of it for 2. */
static opened_journal open_journal(size_t part)
{
    opened_journal opened = {0};
    cr_assert_eq(ls_mapped_file_open(path, &opened.file, NULL), LS_OK);
    cr_assert_eq(ls_journal_open(opened.file.bytes, opened.file.size / part, LS_JOURNAL_CHECK_ALL,
                                 ls_allocator_heap(), &opened.journal, NULL),
                 LS_OK);
    return opened;
}

static void close_journal(opened_journal *opened)
{
    ls_journal_close(opened->journal);
    ls_mapped_file_close(&opened->file);
}

/* How many records the file has; all of its bytes belong to one. */
static uint64_t count_records(void)
{
    opened_journal opened = open_journal(1);
    ls_journal *journal = opened.journal;
    uint64_t count = 0;
    cr_assert_eq(ls_journal_info_of(journal)->lost_bytes, 0u);
    for (uint32_t kind = 0; kind < LS_JOURNAL_KIND_COUNT; kind++) {
        count += ls_journal_info_of(journal)->records[kind];
    }
    cr_assert_eq(opened.file.size, here.written_bytes);
    close_journal(&opened);
    return count;
}

Test(journal_file, records_are_in_the_file_in_their_order)
{
    cr_assert_eq(open_file(NULL, NULL), LS_OK);
    write_records(50);
    cr_expect_eq(here.written, 50u);
    cr_expect_eq(count_records(), 50u);
    cr_expect(has_rights(path, 0600), "it holds a key");
}

Test(journal_file, a_file_that_is_there_is_not_written_over)
{
    ls_text why = {{0}};
    fclose(fopen(path, "w"));
    cr_expect_eq(open_file(NULL, &why), LS_IO);
    cr_expect(strstr(why.bytes, path), "%s", why.bytes);
}

#ifndef _WIN32
static void limit_file(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(journal_file, a_record_that_does_not_fit_leaves_nothing_behind_and_the_rest_follows)
{
    cr_assert_eq(open_file(NULL, NULL), LS_OK);
    write_records(10);
    limit_file(here.written_bytes + RECORD_BYTES / 2); /* in the middle of the next one */
    write_records(3);
    cr_expect_eq(here.failed, 3u);
    cr_expect_neq(here.why.bytes[0], '\0');
    cr_expect_eq(count_records(), 10u);
    limit_file(RLIM_INFINITY);
    write_records(5);
    cr_expect_eq(here.written, 15u);
    cr_expect_eq(count_records(), 15u);
}
#endif

Test(journal_file, one_that_was_cut_is_gone_on_with_behind_its_last_good_record)
{
    cr_assert_eq(open_file(NULL, NULL), LS_OK);
    write_records(10);
    ls_journal_file_destroy(here.file);
    here.file = NULL;
    uint64_t whole = here.written_bytes;
    cr_assert_eq(truncate(path, (off_t)whole - 100), 0);
    opened_journal opened = open_journal(1);
    here.written_bytes = ls_journal_info_of(opened.journal)->append_offset;
    ls_text why = {{0}};
    cr_assert_eq(open_file(opened.journal, &why), LS_OK, "%s", why.bytes);
    close_journal(&opened);
    write_records(5);
    cr_expect_eq(count_records(), 14u);
}

/* Goes on with the first half of the journal, as a server that resumes it does. */
static ls_status open_second(ls_journal_file **second, ls_text *why)
{
    opened_journal opened = open_journal(2);
    ls_journal_file_config config = config_after(opened.journal);
    ls_status status = ls_journal_file_create(&config, here.loop, ls_allocator_heap(), second, why);
    close_journal(&opened);
    return status;
}

Test(journal_file, one_that_is_being_written_is_not_gone_on_with)
{
    ls_journal_file *second = NULL;
    ls_text why = {{0}};
    cr_assert_eq(open_file(NULL, NULL), LS_OK);
    write_records(10);
    cr_expect_eq(open_second(&second, &why), LS_ALREADY_STARTED);
    cr_expect(strstr(why.bytes, "another process"), "%s", why.bytes);
    cr_expect_eq(count_records(), 10u, "and nothing was cut off");
    ls_journal_file_destroy(here.file);
    here.file = NULL;
    cr_expect_eq(open_second(&second, &why), LS_OK, "%s", why.bytes);
    ls_journal_file_destroy(second);
}

static void write_end(void)
{
    ls_journal_raw raw = {.kind = LS_JOURNAL_END,
                          .is_pressing = true,
                          .bytes = here.bytes,
                          .size = LS_JOURNAL_END_BYTES};
    here.wanted++;
    cr_assert(here.store.submit(here.store.user, &raw));
    ls_event_loop_run(here.loop);
    cr_assert_eq(here.written, here.wanted);
}

Test(journal_file, one_that_is_deleted_is_found_out_when_it_is_synchronised)
{
    ls_text why;
    cr_assert_eq(open_file(NULL, &why), LS_OK);
    write_records(2);
    write_end();
    cr_assert_not(ls_journal_file_is_deleted(here.file));
    cr_assert_eq(remove(path), 0);
    write_end();
    cr_assert(ls_journal_file_is_deleted(here.file));
}

Test(journal_file, is_destroyed_while_it_writes)
{
    cr_assert_eq(open_file(NULL, NULL), LS_OK);
    here.wanted = 10;
    hand_on();
    ls_journal_file_destroy(here.file);
    here.file = NULL;
    ls_event_loop_run(here.loop);
    cr_expect_eq(here.written, 0u, "nobody is told any more");
}

/* ==== match_summary ==== */

static ls_text logged;

static void keep_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    ls_text_add(&logged, "%s\n", line);
}

/* The state that differs first is state 40, which tick 39 made. */
static bool says_state(ls_tick values_tick, ls_differing_pass pass)
{
    const ls_log log = {.level = LS_LOG_INFO, .write = keep_line};
    const ls_desync_finding finding = {.tick = 40,
                                       .agreed_tick = 39,
                                       .first_tick = 40,
                                       .elements = 1,
                                       .place_count = 1,
                                       .pass = "move",
                                       .differing_pass = pass,
                                       .values_tick = values_tick};
    logged = (ls_text){{0}};
    ls_desync_report_log(&finding, "ann", NULL, NULL, &log);
    cr_expect_not_null(strstr(logged.bytes, "DESYNC of ann at tick 40"), "%s", logged.bytes);
    return strstr(logged.bytes, "the values are those of state 58") != NULL;
}

Test(match_summary, values_of_another_state_are_said_to_be_so_whatever_is_known_of_the_pass)
{
    for (ls_differing_pass pass = LS_PASS_UNKNOWN; pass <= LS_PASS_WRITES; pass++) {
        cr_expect(says_state(58, pass), "%d: %s", (int)pass, logged.bytes);
        cr_expect_not(says_state(40, pass), "%d: %s", (int)pass, logged.bytes);
    }
}

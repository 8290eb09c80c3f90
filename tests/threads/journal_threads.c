/* Several journals written at once by the threads of one event loop, for ThreadSanitizer: the loop
 * hands on records while others are written, and destroys each file while its last record is being
 * written. Then the files are read back. With --race two threads write to one variable, which the
 * sanitizer has to report. */
#define _XOPEN_SOURCE 700
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/file.h"
#include "lockstep/server/journal/journal_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    JOURNALS = 6, /* more than libuv has threads */
    RECORDS = 200,
    RECORD_BYTES = 3000,
};

typedef struct journal_writing {
    ls_journal_file *file;
    ls_journal_store store;
    char path[80];
    uint8_t bytes[RECORD_BYTES];
    uint32_t submitted;
    uint32_t written;
} journal_writing;

static journal_writing journals[JOURNALS];
static char folder[] = "/tmp/lockstep-threads-XXXXXX";

static void require(bool is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "journal_threads: not true: %s\n", what);
        exit(1);
    }
}

static void submit_next(journal_writing *journal)
{
    ls_journal_raw raw = {.kind = LS_JOURNAL_EVENT, .bytes = journal->bytes, .size = RECORD_BYTES};
    for (uint32_t i = 0; i < RECORD_BYTES; i++) {
        journal->bytes[i] = (uint8_t)ls_hash_pair(i, journal->submitted);
    }
    if (journal->submitted == 0) {
        raw.kind = LS_JOURNAL_HEADER;
        ls_journal_header header = {.config = {.tick_rate_hz = 1, .players = 1},
                                    .hash_interval_ticks = 1};
        ls_byte_stream stream = ls_byte_stream_write(journal->bytes, sizeof journal->bytes);
        ls_journal_header_stream(&stream, &header);
        raw.size = stream.at;
    }
    raw.is_pressing = journal->submitted % 8 == 0; /* is synchronised, which is a path of its own */
    journal->submitted++;
    require(journal->store.submit(journal->store.user, &raw), "a file that is idle takes a record");
    require(!ls_journal_file_is_deleted(journal->file), "the file is still there");
}

static void on_done(void *user, const ls_journal_completion *done, uint64_t now_ns)
{
    journal_writing *journal = user;
    (void)now_ns;
    require(done->status == LS_OK && done->written_bytes > 0, "the record was written");
    journal->written++;
    if (journal->submitted < RECORDS) {
        submit_next(journal);
    }
}

static uint64_t count_records(const char *path)
{
    ls_mapped_file map;
    ls_journal *journal = NULL;
    uint64_t count = 0;
    const ls_allocator *heap = ls_allocator_heap();
    require(ls_mapped_file_open(path, &map, NULL) == LS_OK, "it is read");
    require(ls_journal_open(map.bytes, map.size, LS_JOURNAL_CHECK_ALL, heap, &journal, NULL) ==
                LS_OK,
            "it is a journal");
    for (uint32_t kind = 0; kind < LS_JOURNAL_KIND_COUNT; kind++) {
        count += ls_journal_info_of(journal)->records[kind];
    }
    ls_journal_close(journal);
    ls_mapped_file_close(&map);
    return count;
}

static void write_journals(ls_event_loop *loop)
{
    for (uint32_t i = 0; i < JOURNALS; i++) {
        journal_writing *journal = &journals[i];
        snprintf(journal->path, sizeof journal->path, "%s/%" PRIu32 ".journal", folder, i);
        ls_journal_file_config config = {.path = journal->path,
                                         .raw_bytes_max = RECORD_BYTES,
                                         .on_done = on_done,
                                         .user = journal};
        require(ls_journal_file_create(&config, loop, ls_allocator_heap(), &journal->file, NULL) ==
                    LS_OK,
                "the file is made");
        journal->store = ls_journal_file_store(journal->file);
        submit_next(journal);
    }
    ls_event_loop_run(loop);
}

static int test_journals(void)
{
    ls_event_loop *loop = NULL;
    uint64_t count = 0;
    require(mkdtemp(folder) != NULL, "there is a folder");
    require(ls_event_loop_create(ls_allocator_heap(), &loop) == LS_OK, "there is a loop");
    write_journals(loop);
    for (uint32_t i = 0; i < JOURNALS; i++) {
        require(journals[i].written == RECORDS, "every record was completed");
        submit_next(&journals[i]);
    }
    for (uint32_t i = 0; i < JOURNALS; i++) {
        ls_journal_file_destroy(journals[i].file);
    }
    ls_event_loop_destroy(loop);
    for (uint32_t i = 0; i < JOURNALS; i++) {
        count += count_records(journals[i].path);
        remove(journals[i].path);
    }
    rmdir(folder);
    require(count == (uint64_t)JOURNALS * (RECORDS + 1), "the files have all records");
    printf("%" PRIu64 " records in %d journals\n", count, JOURNALS);
    return 0;
}

/* ---- the race ---- */

static uint64_t shared;

static void add_to_shared(void *user)
{
    (void)user;
    shared++;
}

static void ignore(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
}

static int race(void)
{
    ls_event_loop *loop = NULL;
    ls_loop_job *job = NULL;
    ls_loop_handler done = {ignore, NULL};
    require(ls_event_loop_create(ls_allocator_heap(), &loop) == LS_OK, "there is a loop");
    require(ls_loop_job_create(loop, add_to_shared, done, &job) == LS_OK, "there is a job");
    ls_loop_job_start(job);
    shared++;
    ls_event_loop_run(loop);
    ls_loop_job_destroy(job);
    ls_event_loop_destroy(loop);
    printf("%" PRIu64 " additions\n", shared);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "--race") == 0 ? race() : test_journals();
}

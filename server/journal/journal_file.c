#include "lockstep/server/journal/journal_file.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/runtime/event_loop.h"

#include <string.h>

#define SYNCHRONISE_NS LS_NS_PER_SECOND

struct ls_journal_file {
    const ls_allocator *allocator;
    ls_journal_file_config config;
    ls_event_loop *loop;
    ls_loop_job *job;
    int file;

    /* The job's own while it runs. */
    ls_journal_writer *writer;
    ls_journal_raw raw;
    ls_status status;
    uint64_t written_bytes;
    ls_text why;
    uint64_t synchronised_ns;
    bool is_found_deleted;

    bool is_deleted; /* the loop's own */
};

/* ---- in a thread of the pool ---- */

static ls_status write_record(ls_journal_file *file)
{
    ls_journal_framed record = ls_journal_writer_frame(file->writer, &file->raw);
    uint64_t now_ns = ls_event_loop_now_ns(file->loop);
    bool is_due = file->raw.is_pressing || now_ns - file->synchronised_ns >= SYNCHRONISE_NS;
    ls_status status =
        ls_loop_file_write(file->file, record.bytes, record.size, record.offset, &file->why);
    if (status == LS_OK && is_due) {
        file->synchronised_ns = now_ns;
        status = ls_loop_file_synchronise(file->file, &file->why);
        file->is_found_deleted = ls_loop_file_is_deleted(file->file);
    }
    file->written_bytes = record.size;
    if (status != LS_OK) {
        ls_text unimportant;
        /* The next record is written over what is torn, so that this may fail. */
        ls_loop_file_cut(file->file, record.offset, &unimportant);
    }
    return status;
}

static void work(void *user)
{
    ls_journal_file *file = user;
    file->written_bytes = 0;
    file->why.bytes[0] = '\0';
    file->status = write_record(file);
    if (file->status == LS_OK) {
        ls_journal_writer_keep(file->writer);
    } else {
        file->written_bytes = 0;
    }
}

/* ---- in the loop's thread ---- */

static void on_worked(void *user, uint64_t now_ns)
{
    ls_journal_file *file = user;
    file->is_deleted = file->is_found_deleted;
    ls_journal_completion completion = {
        .status = file->status, .written_bytes = file->written_bytes, .why = file->why.bytes};
    file->config.on_done(file->config.user, &completion, now_ns);
}

static bool submit(void *user, const ls_journal_raw *raw)
{
    ls_journal_file *file = user;
    if (ls_loop_job_is_running(file->job)) {
        return false;
    }
    file->raw = *raw;
    ls_loop_job_start(file->job);
    return true;
}

ls_journal_store ls_journal_file_store(ls_journal_file *file)
{
    return (ls_journal_store){.submit = submit, .user = file};
}

bool ls_journal_file_is_deleted(const ls_journal_file *file)
{
    return file->is_deleted;
}

/* ---- life ---- */

static ls_status open_file(ls_journal_file *file, ls_text *why)
{
    ls_journal *continued = file->config.continued;
    ls_text reason = {{0}};
    int opened = -1;
    ls_status status = ls_loop_file_open(
        file->config.path, continued ? LS_LOOP_FILE_PRESENT : LS_LOOP_FILE_NEW, &opened, &reason);
    if (status == LS_OK) {
        file->file = opened;
    }
    if (status == LS_OK && continued) {
        status = ls_loop_file_cut(opened, ls_journal_info_of(continued)->append_offset, &reason);
    }
    if (status != LS_OK) {
        ls_text_set(why, "cannot write the journal %s", reason.bytes);
    }
    return status;
}

ls_status ls_journal_file_create(const ls_journal_file_config *config, ls_event_loop *loop,
                                 const ls_allocator *allocator, ls_journal_file **out, ls_text *why)
{
    ls_journal_file *file = ls_allocate(allocator, sizeof *file);
    if (!file) {
        return LS_NO_MEMORY;
    }
    file->allocator = allocator;
    file->config = *config;
    file->loop = loop;
    file->file = -1;
    file->synchronised_ns = ls_event_loop_now_ns(loop);
    ls_loop_handler done = {on_worked, file};
    ls_status status = ls_journal_writer_create(config->raw_bytes_max, config->continued, allocator,
                                                &file->writer);
    LS_THEN(status, ls_loop_job_create(loop, work, done, &file->job));
    LS_THEN(status, open_file(file, why));
    if (status != LS_OK) {
        ls_journal_file_destroy(file);
        return status;
    }
    file->config.path = NULL;
    file->config.continued = NULL;
    *out = file;
    return LS_OK;
}

void ls_journal_file_destroy(ls_journal_file *file)
{
    if (!file) {
        return;
    }
    ls_loop_job_destroy(file->job);
    if (file->file >= 0) {
        ls_loop_file_close(file->file);
    }
    ls_journal_writer_destroy(file->writer);
    ls_release(file->allocator, file);
}

#include "lockstep/server/service/journal_disk.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/system/output.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- journal header ---- */

enum {
    FRAME_BYTES = LS_RECORD_FILE_HEAD_BYTES + LS_RECORD_MARKED_BYTES,
};

static bool is_missing(const uint8_t *bytes, size_t size)
{
    ls_record header;
    ls_text why;
    if (size < LS_RECORD_FILE_HEAD_BYTES ||
        memcmp(bytes, ls_journal_format.magic, LS_RECORD_MAGIC_BYTES) != 0) {
        return true;
    }
    if (ls_record_file_check(&ls_journal_format, bytes, size, &why) != LS_OK) {
        return false; /* a server of another version wrote it, and only that one can judge it */
    }
    return !ls_record_read(&ls_journal_format, bytes, size, LS_RECORD_FILE_HEAD_BYTES, &header) ||
           header.kind != LS_JOURNAL_HEADER;
}

bool ls_journal_header_is_missing(const char *path)
{
    uint8_t bytes[FRAME_BYTES + LS_JOURNAL_HEADER_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    bool has_failed = ferror(file) != 0;
    fclose(file);
    return !has_failed && is_missing(bytes, size);
}

enum {
    LOOK_MS = 1000,
    PROBE_BYTES = 4096,
};

struct ls_journal_disk {
    ls_journal_disk_config config;
    ls_loop_source *timer;
    ls_loop_job *job;
    ls_storage_report seen; /* by the thread */
    char path[1024];        /* of the small file */
};

/* In the thread. */
static void look(void *user)
{
    static const char bytes[PROBE_BYTES];
    ls_journal_disk *disk = user;
    const char *directory = disk->config.directory;
    ls_storage_report *seen = &disk->seen;
    *seen = (ls_storage_report){.bytes = 0};
    if (ls_output_write_bytes(disk->path, "journals", bytes, sizeof bytes, &seen->why_not) ==
        LS_OK) {
        remove(disk->path);
    }
    ls_output_space(directory, &seen->free_bytes, &seen->bytes);
    if (seen->why_not.bytes[0] == '\0' && seen->bytes > 0 &&
        seen->free_bytes < disk->config.bytes_min) {
        ls_text_set(&seen->why_not, "the disk of %.200s has %" PRIu64 " KiB left", directory,
                    seen->free_bytes >> 10);
    }
}

static void on_looked(void *user, uint64_t now_ns)
{
    ls_journal_disk *disk = user;
    (void)now_ns;
    bool was_good = disk->config.report->why_not.bytes[0] == '\0';
    bool is_good = disk->seen.why_not.bytes[0] == '\0';
    *disk->config.report = disk->seen;
    if (was_good && !is_good) {
        ls_log_line(disk->config.log, LS_LOG_ERROR,
                    "new rooms could not be recorded, and the service is not ready: %s",
                    disk->seen.why_not.bytes);
    } else if (is_good && !was_good) {
        ls_log_line(disk->config.log, LS_LOG_INFO, "new rooms can be recorded again");
    }
}

static void on_timer(void *user, uint64_t now_ns)
{
    ls_journal_disk *disk = user;
    (void)now_ns;
    if (!ls_loop_job_is_running(disk->job)) {
        ls_loop_job_start(disk->job);
    }
}

ls_status ls_journal_disk_create(const ls_journal_disk_config *config, ls_journal_disk **out)
{
    ls_journal_disk *disk = ls_allocate(ls_allocator_heap(), sizeof *disk);
    if (!disk) {
        return LS_NO_MEMORY;
    }
    disk->config = *config;
    snprintf(disk->path, sizeof disk->path, "%.1000s/.probe", config->directory);
    ls_status status =
        ls_loop_job_create(config->loop, look, (ls_loop_handler){on_looked, disk}, &disk->job);
    LS_THEN(status, ls_event_loop_add_timer(config->loop, LOOK_MS,
                                            (ls_loop_handler){on_timer, disk}, &disk->timer));
    if (status != LS_OK) {
        ls_journal_disk_destroy(disk);
        return status;
    }
    look(disk);
    on_looked(disk, 0);
    *out = disk;
    return LS_OK;
}

void ls_journal_disk_destroy(ls_journal_disk *disk)
{
    if (disk) {
        ls_loop_job_destroy(disk->job);
        ls_loop_source_remove(disk->timer);
        ls_release(ls_allocator_heap(), disk);
    }
}

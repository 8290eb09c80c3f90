#include "lockstep/server/service/journal_upload.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LOOK_MS = 500,
    RETRY_MS_MAX = 60000,
    COMMAND_BYTES_MAX = 2048,
    KEPT_MAX = 4096, /* files that are looked at for the oldest */
};

struct ls_journal_upload {
    ls_journal_upload_config config;
    ls_loop_source *timer;
    ls_child_process process;
    bool is_late; /* it is killed, since it takes too long */
    uint64_t started_ns;
    uint64_t again_ns;
    uint32_t again_ms;
    char path[LS_JOURNAL_UPLOAD_PATH_BYTES_MAX]; /* that the process has */
    char name[LS_JOURNAL_UPLOAD_PATH_BYTES_MAX]; /* of it, without the directory */
    char uploaded[LS_JOURNAL_UPLOAD_PATH_BYTES_MAX];
    ls_journal_upload_figures figures;
};

static bool is_journal(const char *name)
{
    static const char ending[] = ".journal";
    size_t length = strlen(name);
    return length > sizeof ending - 1 && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

/* ---- choosing ---- */

/* The first journal, in the order of the directory, that is not written any more. */
static bool choose(ls_journal_upload *upload)
{
    ls_folder *folder = ls_folder_open(upload->config.directory);
    bool is_found = false;
    const char *name = NULL;
    while (folder && !is_found && (name = ls_folder_next(folder)) != NULL) {
        int bytes =
            snprintf(upload->path, sizeof upload->path, "%s/%s", upload->config.directory, name);
        is_found = is_journal(name) && bytes > 0 && (size_t)bytes < sizeof upload->path &&
                   !upload->config.is_in_use(upload->config.user, upload->path);
        if (is_found) {
            snprintf(upload->name, sizeof upload->name, "%s", name);
        }
    }
    ls_folder_close(folder);
    return is_found;
}

/* ---- the command ---- */

/* {} becomes "$1", so that no name of a file is read by the shell. */
static bool write_command(const char *command, char out[COMMAND_BYTES_MAX])
{
    static const char argument[] = "\"$1\"";
    size_t filled = 0;
    while (*command != '\0' && filled + sizeof argument < COMMAND_BYTES_MAX) {
        if (strncmp(command, "{}", 2) == 0) {
            memcpy(out + filled, argument, sizeof argument - 1);
            filled += sizeof argument - 1;
            command += 2;
        } else {
            out[filled++] = *command++;
        }
    }
    out[filled] = '\0';
    return *command == '\0';
}

static void start(ls_journal_upload *upload)
{
    char command[COMMAND_BYTES_MAX];
    if (!write_command(upload->config.command, command)) {
        return;
    }
    const char *arguments[] = {"sh", "-c", command, "sh", upload->path, NULL};
    const ls_child_process_config process = {
        .program = "/bin/sh",
        .arguments = arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .has_group = true};
    upload->is_late = false;
    upload->started_ns = ls_event_loop_now_ns(upload->config.loop);
    ls_text why = {{0}};
    if (ls_child_process_start(&process, &upload->process, &why) != LS_OK) {
        upload->again_ns = ls_event_loop_now_ns(upload->config.loop) + RETRY_MS_MAX * LS_NS_PER_MS;
        ls_log_line(upload->config.log, LS_LOG_ERROR, "%s", why.bytes);
    }
}

/* ---- what is kept ---- */

/* The oldest of the journals that were handed over, and the bytes of all; false: there is none. */
static bool find_oldest(const ls_journal_upload *upload, char *path, size_t capacity,
                        uint64_t *bytes)
{
    ls_folder *folder = ls_folder_open(upload->uploaded);
    const char *name = NULL;
    int64_t oldest_ns = 0;
    bool is_found = false;
    *bytes = 0;
    for (uint32_t i = 0; folder && i < KEPT_MAX && (name = ls_folder_next(folder)) != NULL; i++) {
        char file[LS_JOURNAL_UPLOAD_PATH_BYTES_MAX];
        ls_file_facts facts;
        int length = snprintf(file, sizeof file, "%s/%s", upload->uploaded, name);
        if (!is_journal(name) || length <= 0 || (size_t)length >= sizeof file ||
            !ls_file_look(file, &facts)) {
            continue;
        }
        *bytes += facts.bytes;
        if (!is_found || facts.changed_ns < oldest_ns) {
            oldest_ns = facts.changed_ns;
            snprintf(path, capacity, "%s", file);
            is_found = true;
        }
    }
    ls_folder_close(folder);
    return is_found;
}

static void remove_oldest(const ls_journal_upload *upload)
{
    char path[LS_JOURNAL_UPLOAD_PATH_BYTES_MAX];
    uint64_t bytes = 0;
    while (upload->config.keep_mib > 0 && find_oldest(upload, path, sizeof path, &bytes) &&
           bytes > (uint64_t)upload->config.keep_mib << 20) {
        if (remove(path) != 0) {
            return;
        }
    }
}

/* ---- the end of a command ---- */

static void note_success(ls_journal_upload *upload)
{
    char moved[2 * LS_JOURNAL_UPLOAD_PATH_BYTES_MAX];
    snprintf(moved, sizeof moved, "%s/%s", upload->uploaded, upload->name);
    upload->figures.uploaded++;
    upload->figures.is_failing = false;
    upload->again_ms = upload->config.retry_ms;
    upload->again_ns = 0;
    if (rename(upload->path, moved) != 0) {
        ls_log_line(upload->config.log, LS_LOG_WARNING,
                    "the journal %s was uploaded and cannot be moved to %s: %s", upload->path,
                    upload->uploaded, strerror(errno));
        upload->again_ns = ls_event_loop_now_ns(upload->config.loop) + RETRY_MS_MAX * LS_NS_PER_MS;
        return;
    }
    ls_log_line(upload->config.log, LS_LOG_DEBUG, "the journal %s was uploaded", upload->path);
    remove_oldest(upload);
}

static void note_failure(ls_journal_upload *upload, uint64_t now_ns)
{
    upload->figures.failures++;
    upload->figures.is_failing = true;
    ls_log_line(upload->config.log, LS_LOG_WARNING,
                "the journal %s was not uploaded: the command of [upload] %s; it is tried again in "
                "%" PRIu32 " ms",
                upload->path, upload->is_late ? "took longer than time-limit" : "failed",
                upload->again_ms);
    upload->again_ns = now_ns + upload->again_ms * LS_NS_PER_MS;
    upload->again_ms = LS_MIN(upload->again_ms * 2, RETRY_MS_MAX);
}

static bool is_late(const ls_journal_upload *upload, uint64_t now_ns)
{
    uint64_t limit_ns = upload->config.limit_s * LS_NS_PER_SECOND;
    return upload->process.id != 0 && limit_ns > 0 && now_ns - upload->started_ns > limit_ns;
}

static void on_timer(void *user, uint64_t now_ns)
{
    ls_journal_upload *upload = user;
    ls_child_process_end end;
    if (upload->process.id != 0 && ls_child_process_wait(&upload->process, 0, &end)) {
        if (end.exit_code == 0) {
            note_success(upload);
        } else {
            note_failure(upload, now_ns);
        }
    }
    if (is_late(upload, now_ns)) {
        upload->is_late = true;
        ls_child_process_strike(&upload->process);
    }
    if (upload->process.id == 0 && now_ns >= upload->again_ns && choose(upload)) {
        start(upload);
    }
}

/* ---- life ---- */

ls_status ls_journal_upload_create(const ls_journal_upload_config *config, ls_journal_upload **out,
                                   ls_text *why)
{
    ls_journal_upload *upload = ls_allocate(ls_allocator_heap(), sizeof *upload);
    if (!upload) {
        return LS_NO_MEMORY;
    }
    upload->config = *config;
    upload->again_ms = config->retry_ms;
    snprintf(upload->uploaded, sizeof upload->uploaded, "%s/uploaded", config->directory);
    ls_loop_handler timer = {on_timer, upload};
    ls_status status = LS_OK;
    if (!ls_folder_make(upload->uploaded, true) && errno != EEXIST) {
        status =
            ls_fail(LS_IO, why, "cannot make the folder %s: %s", upload->uploaded, strerror(errno));
    }
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(config->loop, LOOK_MS, timer, &upload->timer);
    }
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), upload);
        return status;
    }
    *out = upload;
    return LS_OK;
}

void ls_journal_upload_destroy(ls_journal_upload *upload)
{
    if (upload) {
        ls_loop_source_remove(upload->timer);
        ls_child_process_kill(&upload->process);
        ls_release(ls_allocator_heap(), upload);
    }
}

ls_journal_upload_figures ls_journal_upload_figures_of(const ls_journal_upload *upload)
{
    return upload->figures;
}

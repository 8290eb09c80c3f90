#include "lockstep/server/service/journal_upload.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/server/service/journal_disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LOOK_MS = 500,
    RETRY_MS_MAX = 60000,
    COMMAND_BYTES_MAX = 2048,
    PATH_BYTES_MAX = 1024,
    NAME_BYTES_MAX = 256,
};

#define TORN ".torn"

/* A journal that waits for its command, or has it. */
typedef struct upload_job {
    char name[NAME_BYTES_MAX]; /* without the directory */
    int64_t changed_ns;
    uint64_t bytes;
    uint64_t again_ns;
    uint32_t failures;
    bool is_running;
    bool is_seen;   /* by this look */
    bool is_closed; /* it was no room's when that was looked at */
} upload_job;

/* Sorted by name; of the folder as the last look has seen it. */
typedef struct upload_jobs {
    upload_job **rows;
    uint32_t count;
    uint32_t capacity;
} upload_jobs;

typedef struct upload_run {
    ls_journal_upload *upload;
    upload_job *job;
    ls_child_process process;
    ls_loop_source *ending;
    uint64_t started_ns;
    bool is_late; /* it is killed, since it takes too long */
} upload_run;

struct ls_journal_upload {
    ls_journal_upload_config config;
    ls_loop_source *timer;
    upload_jobs jobs;
    upload_run runs[LS_SERVICE_UPLOADS_MAX];
    uint32_t running;
    uint32_t failed_in_row; /* journals, one after the other, with no success between */
    uint64_t again_ns;      /* nothing is started before, while every command fails */
    bool has_moved;         /* some were handed over since the last look */
    char command[COMMAND_BYTES_MAX];
    char uploaded[PATH_BYTES_MAX];
};

static uint64_t now_of(const ls_journal_upload *upload)
{
    return ls_event_loop_now_ns(upload->config.loop);
}

/* False: it is too long. */
static bool write_path(const char *folder, const char *name, char path[PATH_BYTES_MAX])
{
    int bytes = snprintf(path, PATH_BYTES_MAX, "%s/%s", folder, name);
    return bytes > 0 && bytes < PATH_BYTES_MAX;
}

/* ---- jobs ---- */

/* The index of the name, or where it would stand. */
static uint32_t place_of(const upload_jobs *jobs, const char *name)
{
    uint32_t low = 0;
    uint32_t high = jobs->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(jobs->rows[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool make_room(upload_jobs *jobs)
{
    if (jobs->count < jobs->capacity) {
        return true;
    }
    uint32_t capacity = jobs->capacity > 0 ? 2 * jobs->capacity : 64;
    upload_job **rows = ls_allocate(ls_allocator_heap(), capacity * sizeof(upload_job *));
    if (rows && jobs->count > 0) {
        memcpy(rows, jobs->rows, jobs->count * sizeof(upload_job *));
    }
    if (rows) {
        ls_release(ls_allocator_heap(), jobs->rows);
        jobs->rows = rows;
        jobs->capacity = capacity;
    }
    return rows != NULL;
}

/* NULL: there is no memory for it, this time. */
static upload_job *job_of(upload_jobs *jobs, const char *name)
{
    uint32_t place = place_of(jobs, name);
    if (place < jobs->count && strcmp(jobs->rows[place]->name, name) == 0) {
        return jobs->rows[place];
    }
    upload_job *job = make_room(jobs) ? ls_allocate(ls_allocator_heap(), sizeof(upload_job)) : NULL;
    if (job) {
        memcpy(job->name, name, strlen(name) + 1); /* any bytes that a file's name has */
        memmove(&jobs->rows[place + 1], &jobs->rows[place],
                (jobs->count - place) * sizeof(upload_job *));
        jobs->rows[place] = job;
        jobs->count++;
    }
    return job;
}

static void remove_job(upload_jobs *jobs, uint32_t place)
{
    ls_release(ls_allocator_heap(), jobs->rows[place]);
    jobs->count--;
    memmove(&jobs->rows[place], &jobs->rows[place + 1],
            (jobs->count - place) * sizeof(upload_job *));
}

static void release_jobs(upload_jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->count; i++) {
        ls_release(ls_allocator_heap(), jobs->rows[i]);
    }
    ls_release(ls_allocator_heap(), jobs->rows);
    *jobs = (upload_jobs){.count = 0};
}

/* Reads the journals of a folder into jobs, and forgets those that are there no more. */
static void read_folder(const char *directory, upload_jobs *jobs)
{
    ls_folder *folder = ls_folder_open(directory);
    const char *name = NULL;
    for (uint32_t i = 0; i < jobs->count; i++) {
        jobs->rows[i]->is_seen = false;
    }
    while (folder && (name = ls_folder_next(folder)) != NULL) {
        char path[PATH_BYTES_MAX];
        ls_file_facts facts;
        bool is_file = ls_journal_is_named(name) && strlen(name) < NAME_BYTES_MAX &&
                       write_path(directory, name, path) && ls_file_look(path, &facts) &&
                       facts.kind == LS_FILE_PLAIN && !facts.is_link;
        upload_job *job = is_file ? job_of(jobs, name) : NULL;
        if (job) {
            job->is_seen = true;
            job->changed_ns = facts.changed_ns;
            job->bytes = facts.bytes;
        }
    }
    ls_folder_close(folder);
    for (uint32_t i = jobs->count; i > 0; i--) {
        if (!jobs->rows[i - 1]->is_seen && !jobs->rows[i - 1]->is_running) {
            remove_job(jobs, i - 1);
        }
    }
}

/* ---- choosing ---- */

/* Those that have failed come behind those that have not; of the others the oldest is first. */
static bool is_before(const upload_job *a, const upload_job *b)
{
    return a->failures != b->failures ? a->failures < b->failures : a->changed_ns < b->changed_ns;
}

static void look_whether_closed(const ls_journal_upload *upload, upload_job *job,
                                char path[PATH_BYTES_MAX])
{
    job->is_closed = write_path(upload->config.directory, job->name, path) &&
                     !upload->config.is_in_use(upload->config.user, path);
}

/* NULL: none is due. */
static upload_job *choose(ls_journal_upload *upload, uint64_t now_ns, char path[PATH_BYTES_MAX])
{
    for (;;) {
        upload_job *best = NULL;
        for (uint32_t i = 0; i < upload->jobs.count; i++) {
            upload_job *job = upload->jobs.rows[i];
            bool is_due = job->is_closed && !job->is_running && now_ns >= job->again_ns;
            best = is_due && (!best || is_before(job, best)) ? job : best;
        }
        if (!best) {
            return NULL;
        }
        look_whether_closed(upload, best, path); /* a room may have gone on from it meanwhile */
        if (best->is_closed) {
            return best;
        }
    }
}

/* ---- the command ---- */

/* {} becomes "$1", also where it stands in quotes, so that no name of a file is read by the shell.
 * False: it is too long. */
static bool write_command(const char *command, char out[COMMAND_BYTES_MAX])
{
    char quote = '\0';
    size_t filled = 0;
    while (*command != '\0' && filled + sizeof "'\"$1\"'" < COMMAND_BYTES_MAX) {
        bool is_escaped = *command == '\\' && quote != '\'' && command[1] != '\0';
        bool is_quote = (*command == '"' || *command == '\'') && (!quote || quote == *command);
        if (strncmp(command, "{}", 2) == 0) {
            const char *word = quote == '\'' ? "'\"$1\"'" : quote == '"' ? "$1" : "\"$1\"";
            filled += (size_t)snprintf(out + filled, COMMAND_BYTES_MAX - filled, "%s", word);
            command += 2;
            continue;
        }
        quote = is_quote && !quote ? *command : is_quote ? '\0' : quote;
        if (is_escaped) {
            out[filled++] = *command++;
        }
        out[filled++] = *command++;
    }
    out[filled] = '\0';
    return *command == '\0';
}

static void on_end(void *user, uint64_t now_ns);

static ls_status start_process(upload_run *run, const char *path, ls_text *why)
{
    ls_journal_upload *upload = run->upload;
    const char *arguments[] = {"sh", "-c", upload->command, "sh", path, NULL};
    const ls_child_process_config process = {
        .program = "/bin/sh",
        .arguments = arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .has_group = true};
    ls_status status = ls_child_process_start(&process, &run->process, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_event_loop_watch(upload->config.loop, run->process.ended,
                                 (ls_loop_handler){on_end, run}, &run->ending);
    if (status != LS_OK) {
        ls_child_process_kill(&run->process);
    }
    return status;
}

/* A run that has no process. */
static upload_run *free_run(ls_journal_upload *upload)
{
    upload_run *run = upload->runs;
    while (run->job) {
        run++;
    }
    return run;
}

/* ---- the end of a command ---- */

static uint64_t pause_ns(const ls_journal_upload *upload, uint32_t failures)
{
    uint64_t pause_ms = (uint64_t)upload->config.retry_ms << LS_MIN(failures - 1, 16u);
    return LS_MIN(pause_ms, (uint64_t)RETRY_MS_MAX) * LS_NS_PER_MS;
}

/* It may be the journal, or what all of them are handed to: then they are not all tried in vain. */
static bool is_failing(const ls_journal_upload *upload)
{
    return upload->failed_in_row >= upload->config.parallel;
}

static void note_failure(ls_journal_upload *upload, upload_job *job, const char *why)
{
    uint64_t now_ns = now_of(upload);
    bool is_first = job->failures == 0;
    job->failures++;
    job->again_ns = now_ns + pause_ns(upload, job->failures);
    upload->config.report->failures++;
    upload->failed_in_row += is_first || is_failing(upload) ? 1 : 0;
    if (is_failing(upload)) {
        uint32_t tries = upload->failed_in_row - upload->config.parallel + 1;
        upload->again_ns = now_ns + pause_ns(upload, tries);
    }
    ls_log_line(upload->config.log, LS_LOG_WARNING,
                "the journal %s/%s was not uploaded: %s; it is tried again in %" PRIu64 " ms",
                upload->config.directory, job->name, why,
                (LS_MAX(job->again_ns, is_failing(upload) ? upload->again_ns : 0) - now_ns) /
                    LS_NS_PER_MS);
}

/* After a time in which every command failed, all are tried again at once. */
static void note_success(ls_journal_upload *upload)
{
    for (uint32_t i = 0; is_failing(upload) && i < upload->jobs.count; i++) {
        upload->jobs.rows[i]->again_ns = 0;
    }
    upload->failed_in_row = 0;
    upload->again_ns = 0;
    upload->config.report->uploaded++;
    upload->has_moved = true;
}

static void move_away(ls_journal_upload *upload, upload_job *job)
{
    char path[PATH_BYTES_MAX];
    char moved[PATH_BYTES_MAX];
    ls_text why = {{0}};
    bool is_named = write_path(upload->config.directory, job->name, path) &&
                    write_path(upload->uploaded, job->name, moved);
    /* A command such as mv has taken it away itself. */
    if (is_named && (!ls_file_look(path, NULL) || rename(path, moved) == 0)) {
        ls_log_line(upload->config.log, LS_LOG_DEBUG, "the journal %s was uploaded", path);
        remove_job(&upload->jobs, place_of(&upload->jobs, job->name));
        note_success(upload);
        return;
    }
    ls_text_set(&why, "the command has succeeded, and it cannot be moved to %.120s: %s",
                upload->uploaded, strerror(errno));
    note_failure(upload, job, why.bytes);
}

static void fill(ls_journal_upload *upload);

static void on_end(void *user, uint64_t now_ns)
{
    upload_run *run = user;
    ls_journal_upload *upload = run->upload;
    upload_job *job = run->job;
    ls_child_process_end end;
    (void)now_ns;
    if (!ls_child_process_wait(&run->process, 0, &end)) {
        return;
    }
    ls_loop_source_remove(run->ending);
    run->ending = NULL;
    run->job = NULL;
    job->is_running = false;
    upload->running--;
    if (end.exit_code == 0 && end.signal == 0) {
        move_away(upload, job);
    } else {
        note_failure(upload, job,
                     run->is_late ? "the command of [upload] took longer than time-limit"
                                  : "the command of [upload] failed");
    }
    fill(upload);
}

static void start(ls_journal_upload *upload, upload_job *job, const char *path)
{
    upload_run *run = free_run(upload);
    ls_text why = {{0}};
    *run = (upload_run){.upload = upload, .started_ns = now_of(upload)};
    if (start_process(run, path, &why) != LS_OK) {
        note_failure(upload, job, why.bytes);
        return;
    }
    run->job = job;
    job->is_running = true;
    upload->running++;
}

static void fill(ls_journal_upload *upload)
{
    uint64_t now_ns = now_of(upload);
    char path[PATH_BYTES_MAX];
    for (;;) {
        uint32_t parallel = is_failing(upload) ? 1 : upload->config.parallel;
        bool may_start = upload->running < parallel && now_ns >= upload->again_ns;
        upload_job *job = may_start ? choose(upload, now_ns, path) : NULL;
        if (!job) {
            return;
        }
        start(upload, job, path);
    }
}

/* ---- what is kept ---- */

static uint32_t find_oldest(const upload_jobs *jobs)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < jobs->count; i++) {
        oldest = jobs->rows[i]->changed_ns < jobs->rows[oldest]->changed_ns ? i : oldest;
    }
    return oldest;
}

/* The oldest of the journals that were handed over, as many as are too many. */
static void remove_oldest(const ls_journal_upload *upload)
{
    upload_jobs there = {.count = 0};
    uint64_t bytes = 0;
    read_folder(upload->uploaded, &there);
    for (uint32_t i = 0; i < there.count; i++) {
        bytes += there.rows[i]->bytes;
    }
    while (there.count > 0 && bytes > (uint64_t)upload->config.keep_mib << 20) {
        uint32_t oldest = find_oldest(&there);
        char path[PATH_BYTES_MAX];
        bool is_gone =
            write_path(upload->uploaded, there.rows[oldest]->name, path) && remove(path) == 0;
        bytes -= is_gone ? there.rows[oldest]->bytes : 0;
        remove_job(&there, oldest);
    }
    release_jobs(&there);
}

/* ---- looking ---- */

/* A file that is no journal gets a name by which nothing takes it for one. It is not removed: this
 * program may not have made it. */
static void set_aside(ls_journal_upload *upload, uint32_t place, const char *path)
{
    upload_job *job = upload->jobs.rows[place];
    char name[NAME_BYTES_MAX + sizeof TORN];
    char aside[PATH_BYTES_MAX];
    snprintf(name, sizeof name, "%s" TORN, job->name);
    if (!write_path(upload->config.directory, name, aside)) {
        errno = ENAMETOOLONG;
    } else if (rename(path, aside) == 0) {
        ls_log_line(upload->config.log, LS_LOG_WARNING,
                    "%s has no whole journal header, since the disk was full or its writer was "
                    "killed; it is %s now, and not uploaded",
                    path, aside);
        remove_job(&upload->jobs, place);
        return;
    }
    if (job->failures++ == 0) {
        ls_log_line(upload->config.log, LS_LOG_WARNING,
                    "%s has no whole journal header and is not uploaded; it cannot be renamed: %s",
                    path, strerror(errno));
    }
    job->is_closed = false; /* it is looked at again */
}

static void kill_late(ls_journal_upload *upload, uint64_t now_ns)
{
    uint64_t limit_ns = upload->config.limit_s * LS_NS_PER_SECOND;
    for (uint32_t i = 0; i < LS_SERVICE_UPLOADS_MAX; i++) {
        upload_run *run = &upload->runs[i];
        if (run->job && limit_ns > 0 && now_ns - run->started_ns > limit_ns) {
            run->is_late = true;
            ls_child_process_strike(&run->process);
        }
    }
}

static void look(ls_journal_upload *upload)
{
    char path[PATH_BYTES_MAX];
    read_folder(upload->config.directory, &upload->jobs);
    for (uint32_t i = upload->jobs.count; i > 0; i--) {
        upload_job *job = upload->jobs.rows[i - 1];
        if (job->is_closed) {
            continue;
        }
        look_whether_closed(upload, job, path);
        if (job->is_closed && ls_journal_header_is_missing(path)) {
            set_aside(upload, i - 1, path);
        }
    }
}

static void report(ls_journal_upload *upload)
{
    ls_upload_report *report = upload->config.report;
    int64_t oldest_ns = 0;
    report->waiting = 0;
    for (uint32_t i = 0; i < upload->jobs.count; i++) {
        const upload_job *job = upload->jobs.rows[i];
        bool is_oldest = job->is_closed && (report->waiting == 0 || job->changed_ns < oldest_ns);
        oldest_ns = is_oldest ? job->changed_ns : oldest_ns;
        report->waiting += job->is_closed ? 1 : 0;
    }
    report->oldest_unix_ms =
        report->waiting > 0 ? (uint64_t)(oldest_ns / (int64_t)LS_NS_PER_MS) : 0;
}

static void on_timer(void *user, uint64_t now_ns)
{
    ls_journal_upload *upload = user;
    kill_late(upload, now_ns);
    look(upload);
    fill(upload);
    report(upload);
    if (upload->has_moved && upload->config.keep_mib > 0) {
        remove_oldest(upload);
    }
    upload->has_moved = false;
}

/* ---- life ---- */

ls_status ls_journal_upload_change(ls_journal_upload *upload,
                                   const ls_journal_upload_config *config, ls_text *why)
{
    char command[COMMAND_BYTES_MAX];
    if (!write_command(config->command, command)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "[upload]: the command is too long");
    }
    memcpy(upload->command, command, sizeof upload->command);
    upload->config.parallel = config->parallel;
    upload->config.keep_mib = config->keep_mib;
    upload->config.limit_s = config->limit_s;
    return LS_OK;
}

ls_status ls_journal_upload_create(const ls_journal_upload_config *config, ls_journal_upload **out,
                                   ls_text *why)
{
    ls_journal_upload *upload = ls_allocate(ls_allocator_heap(), sizeof *upload);
    if (!upload) {
        return LS_NO_MEMORY;
    }
    upload->config = *config;
    ls_loop_handler timer = {on_timer, upload};
    ls_status status = LS_OK;
    if (!write_command(config->command, upload->command)) {
        status = ls_fail(LS_BAD_ARGUMENT, why, "[upload]: the command is too long");
    } else if (!write_path(config->directory, "uploaded", upload->uploaded)) {
        status = ls_fail(LS_BAD_ARGUMENT, why, "the name of the folder of journals is too long");
    } else if (!ls_folder_make(upload->uploaded, true) && errno != EEXIST) {
        status =
            ls_fail(LS_IO, why, "cannot make the folder %s: %s", upload->uploaded, strerror(errno));
    }
    LS_THEN(status, ls_event_loop_add_timer(config->loop, LOOK_MS, timer, &upload->timer));
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), upload);
        return status;
    }
    *out = upload;
    return LS_OK;
}

void ls_journal_upload_destroy(ls_journal_upload *upload)
{
    if (!upload) {
        return;
    }
    ls_loop_source_remove(upload->timer);
    for (uint32_t i = 0; i < LS_SERVICE_UPLOADS_MAX; i++) {
        ls_loop_source_remove(upload->runs[i].ending);
        ls_child_process_kill(&upload->runs[i].process);
    }
    release_jobs(&upload->jobs);
    ls_release(ls_allocator_heap(), upload);
}

#include "lockstep/server/rooms/room_journal.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/server/journal/journal_file.h"
#include "lockstep/server/journal/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
};

struct ls_room_journal {
    ls_room_journal_config config;
    const ls_allocator *allocator;
    ls_recorder *recorder;
    ls_journal_file *file;
    bool is_deletion_told;
    char path[PATH_BYTES_MAX];
};

/* ---- what is said ---- */

static void forward_events(ls_room_journal *journal)
{
    const ls_log *log = journal->config.log;
    const ls_recorder_figures *figures = ls_recorder_figures_of(journal->recorder);
    if (!ls_recorder_has_event(journal->recorder)) {
        return;
    }
    if (figures->is_failing) {
        ls_log_line(log, LS_LOG_ERROR,
                    "the journal %s cannot be written: %s; the match goes on without it",
                    journal->path, figures->why.bytes);
    } else {
        ls_log_line(log, LS_LOG_WARNING,
                    "the journal %s is written again; %" PRIu64 " ticks are missing in it",
                    journal->path, figures->ticks_missing);
    }
}

static void log_snapshot_event(ls_room_journal *journal)
{
    const ls_log *log = journal->config.log;
    const ls_recorder_figures *figures = ls_recorder_figures_of(journal->recorder);
    if (!ls_recorder_has_snapshot_event(journal->recorder)) {
        return;
    }
    if (figures->is_leaving_out_snapshots) {
        ls_log_line(log, LS_LOG_WARNING,
                    "a snapshot cannot be written to the journal %s: %s; snapshots are left out "
                    "from now on, and tried again",
                    journal->path, figures->why.bytes);
    } else {
        ls_log_line(log, LS_LOG_WARNING,
                    "the journal %s has snapshots again; %" PRIu64 " could not be written",
                    journal->path, figures->snapshots_failed);
    }
}

static void report_deletion(ls_room_journal *journal)
{
    if (ls_journal_file_is_deleted(journal->file) && !journal->is_deletion_told) {
        journal->is_deletion_told = true;
        ls_log_line(journal->config.log, LS_LOG_WARNING,
                    "the journal %s was deleted while it was written: nothing will be left of it",
                    journal->path);
    }
}

static void report_missing(const ls_room_journal *journal)
{
    const ls_recorder_figures *figures = ls_recorder_figures_of(journal->recorder);
    if (figures->ticks_missing > 0) {
        ls_log_line(journal->config.log, LS_LOG_WARNING,
                    "the journal %s lacks %" PRIu64 " ticks of the match", journal->path,
                    figures->ticks_missing);
    }
    if (figures->is_leaving_out_snapshots) {
        ls_log_line(journal->config.log, LS_LOG_WARNING,
                    "%" PRIu64 " snapshots could not be written to the journal %s",
                    figures->snapshots_failed, journal->path);
    }
    if (journal->is_deletion_told) {
        ls_log_line(journal->config.log, LS_LOG_WARNING,
                    "there is no journal of %s: %s was deleted", journal->config.title,
                    journal->path);
    }
}

/* ---- while matches run ---- */

static void on_done(void *user, const ls_journal_completion *completion, uint64_t now_ns)
{
    ls_room_journal *journal = user;
    ls_recorder_complete(journal->recorder, completion, now_ns);
    forward_events(journal);
    log_snapshot_event(journal);
    report_deletion(journal);
    bool is_end = ls_recorder_is_done(journal->recorder);
    if (is_end) {
        report_missing(journal);
    }
    if (is_end) {
        journal->config.on_closed(journal->config.user);
    }
}

void ls_room_journal_pull(ls_room_journal *journal, uint64_t now_ns)
{
    ls_recorder_pull(journal->recorder, now_ns);
}

/* START says nothing of ticks: the match may be called for the first of them only much later. */
void ls_room_journal_receive_event(ls_room_journal *journal, const ls_match_event *event)
{
    ls_recorder_receive_event(journal->recorder, event);
    ls_recorder_pull(journal->recorder, ls_event_loop_now_ns(journal->config.loop));
}

bool ls_room_journal_is_closed(const ls_room_journal *journal)
{
    return ls_recorder_is_done(journal->recorder);
}

bool ls_room_journal_is_there(const ls_room_journal *journal)
{
    return ls_file_look(journal->path, NULL);
}

uint32_t ls_room_journal_backlog(const ls_room_journal *journal)
{
    return ls_recorder_figures_of(journal->recorder)->backlog_ticks;
}

uint64_t ls_room_journal_ticks_missing(const ls_room_journal *journal)
{
    return ls_recorder_figures_of(journal->recorder)->ticks_missing;
}

void ls_room_journal_summarize(const ls_room_journal *journal, ls_summary_journal *out)
{
    const ls_recorder_figures *figures = ls_recorder_figures_of(journal->recorder);
    *out = (ls_summary_journal){.file = journal->path,
                                .bytes = figures->bytes,
                                .records = figures->records,
                                .failures = figures->failures,
                                .ticks_missing = figures->ticks_missing};
    if (!ls_recorder_is_done(journal->recorder)) {
        out->ticks_missing += figures->backlog_ticks; /* the recorder gave them up */
    }
}

/* ---- life ---- */

static ls_status write_path(ls_room_journal *journal)
{
    const ls_room_journal_config *config = &journal->config;
    const ls_match_config *match = ls_match_config_of(config->match);
    if (config->continued_path) {
        snprintf(journal->path, sizeof journal->path, "%s", config->continued_path);
        return strlen(config->continued_path) < sizeof journal->path ? LS_OK : LS_FULL;
    }
    int bytes = snprintf(journal->path, sizeof journal->path, "%s/%s-%s%s%016" PRIx64 ".journal",
                         config->directory, match->simulation->name, config->label,
                         config->label[0] != '\0' ? "-" : "", match->match_id);
    return bytes > 0 && (size_t)bytes < sizeof journal->path ? LS_OK : LS_FULL;
}

/* The file first: the recorder is made for it. */
static ls_status create_parts(ls_room_journal *journal, ls_text *why)
{
    const ls_room_journal_config *own = &journal->config;
    ls_recorder_config config = ls_recorder_config_default();
    config.match_number = own->number;
    config.print = own->print;
    config.is_continued = own->continued != NULL;
    ls_journal_file_config file = {.path = journal->path,
                                   .raw_bytes_max = ls_recorder_raw_bytes_max(&config, own->match),
                                   .continued = own->continued,
                                   .on_done = on_done,
                                   .user = journal};
    ls_status status =
        ls_journal_file_create(&file, own->loop, journal->allocator, &journal->file, why);
    if (status != LS_OK) {
        return status;
    }
    ls_journal_store store = ls_journal_file_store(journal->file);
    status =
        ls_recorder_create(&config, own->match, &store, journal->allocator, &journal->recorder);
    if (status == LS_OK && own->is_public && !own->continued) {
        const ls_journal_event event = {.kind = LS_JOURNAL_EVENT_PUBLIC,
                                        .slot = LS_JOURNAL_NO_SLOT};
        ls_recorder_note(journal->recorder, &event);
    }
    return status;
}

static ls_status open_journal(ls_room_journal *journal, ls_text *why)
{
    ls_status status = write_path(journal);
    if (status == LS_OK && !journal->config.continued_path) {
        status = ls_output_check_directory(journal->config.directory, "journals", why);
    }
    LS_THEN(status, create_parts(journal, why));
    if (status == LS_OK) {
        ls_log_line(journal->config.log, LS_LOG_INFO, "the journal of %s is %s",
                    journal->config.title, journal->path);
    }
    journal->config.continued = NULL;
    return status;
}

ls_status ls_room_journal_create(const ls_room_journal_config *config,
                                 const ls_allocator *allocator, ls_room_journal **out, ls_text *why)
{
    ls_room_journal *journal = ls_allocate(allocator, sizeof *journal);
    if (!journal) {
        return LS_NO_MEMORY;
    }
    journal->config = *config;
    journal->allocator = allocator;
    ls_status status = open_journal(journal, why);
    if (status != LS_OK) {
        ls_room_journal_destroy(journal);
        return status;
    }
    *out = journal;
    return LS_OK;
}

void ls_room_journal_destroy(ls_room_journal *journal)
{
    if (journal) {
        ls_journal_file_destroy(journal->file);
        ls_recorder_destroy(journal->recorder);
        ls_release(journal->allocator, journal);
    }
}

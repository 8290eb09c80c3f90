#include "lockstep/server/program/journals.h"

#include "lockstep/common/program/output.h"
#include "lockstep/server/journal/journal_file.h"
#include "lockstep/server/journal/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
    PULL_MS = 100, /* for what becomes due while no tick is closed */
};

typedef struct one_journal {
    ls_journals *all;
    uint32_t number; /* of its match */
    ls_match *match;
    ls_recorder *recorder;
    ls_journal_file *file;
    bool is_deletion_told;
    char path[PATH_BYTES_MAX];
} one_journal;

struct ls_journals {
    ls_journals_config config;
    const ls_allocator *allocator;
    ls_host *host;
    ls_loop_source *timer;
    uint32_t count;
    one_journal *journals;
};

/* ---- what is said ---- */

static void forward_events(one_journal *journal)
{
    const ls_log *log = journal->all->config.log;
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

static void log_snapshot_event(one_journal *journal)
{
    const ls_log *log = journal->all->config.log;
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

static void tell_deletion(one_journal *journal)
{
    if (ls_journal_file_is_deleted(journal->file) && !journal->is_deletion_told) {
        journal->is_deletion_told = true;
        ls_log_line(journal->all->config.log, LS_LOG_WARNING,
                    "the journal %s was deleted while it was written: nothing will be left of it",
                    journal->path);
    }
}

static void tell_what_is_missing(const one_journal *journal)
{
    const ls_recorder_figures *figures = ls_recorder_figures_of(journal->recorder);
    if (figures->ticks_missing > 0) {
        ls_log_line(journal->all->config.log, LS_LOG_WARNING,
                    "the journal %s lacks %" PRIu64 " ticks of the match", journal->path,
                    figures->ticks_missing);
    }
    if (figures->is_leaving_out_snapshots) {
        ls_log_line(journal->all->config.log, LS_LOG_WARNING,
                    "%" PRIu64 " snapshots could not be written to the journal %s",
                    figures->snapshots_failed, journal->path);
    }
    if (journal->is_deletion_told) {
        ls_log_line(journal->all->config.log, LS_LOG_WARNING,
                    "there is no journal of match %" PRIu32 ": %s was deleted", journal->number,
                    journal->path);
    }
}

/* ---- while matches run ---- */

static void on_done(void *user, const ls_journal_completion *completion, uint64_t now_ns)
{
    one_journal *journal = user;
    ls_recorder_complete(journal->recorder, completion, now_ns);
    forward_events(journal);
    log_snapshot_event(journal);
    tell_deletion(journal);
    bool is_end = ls_recorder_is_done(journal->recorder);
    if (is_end) {
        tell_what_is_missing(journal);
    }
    if (is_end && ls_journals_are_closed(journal->all)) {
        ls_event_loop_stop(ls_host_loop(journal->all->host));
    }
}

void ls_journals_pull(ls_journals *journals, uint32_t match, uint64_t now_ns)
{
    ls_recorder_pull(journals->journals[match].recorder, now_ns);
}

static void on_timer(void *user, uint64_t now_ns)
{
    ls_journals *journals = user;
    for (uint32_t i = 0; i < journals->count; i++) {
        ls_recorder_pull(journals->journals[i].recorder, now_ns);
    }
}

/* START says nothing of ticks: the match may be called for the first of them only much later. */
void ls_journals_take_event(ls_journals *journals, const ls_match_table_event *event)
{
    ls_recorder *recorder = journals->journals[event->match].recorder;
    ls_recorder_take_event(recorder, &event->event);
    ls_recorder_pull(recorder, ls_event_loop_now_ns(ls_host_loop(journals->host)));
}

bool ls_journals_are_closed(const ls_journals *journals)
{
    for (uint32_t i = 0; i < journals->count; i++) {
        if (!ls_recorder_is_done(journals->journals[i].recorder)) {
            return false;
        }
    }
    return true;
}

void ls_journals_summarize(const ls_journals *journals, uint32_t match, ls_summary_journal *out)
{
    const one_journal *journal = &journals->journals[match];
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

static ls_status write_path(one_journal *journal)
{
    const ls_match_config *match = ls_match_config_of(journal->match);
    const char *continued = journal->all->config.continued_path;
    char number[24] = "";
    if (continued) {
        snprintf(journal->path, sizeof journal->path, "%s", continued);
        return strlen(continued) < sizeof journal->path ? LS_OK : LS_FULL;
    }
    if (journal->all->count > 1) {
        snprintf(number, sizeof number, "match%" PRIu32 "-", journal->number);
    }
    int bytes =
        snprintf(journal->path, sizeof journal->path, "%s/%s-%s%016" PRIx64 ".journal",
                 journal->all->config.directory, match->simulation->name, number, match->match_id);
    return bytes > 0 && (size_t)bytes < sizeof journal->path ? LS_OK : LS_FULL;
}

/* The file first: the recorder is made for it. */
static ls_status create_parts(one_journal *journal, ls_text *why)
{
    ls_journals *all = journal->all;
    ls_recorder_config config = ls_recorder_config_default();
    config.match_number = journal->number;
    config.print = all->config.print;
    config.is_continued = all->config.continued != NULL;
    ls_journal_file_config file = {.path = journal->path,
                                   .raw_bytes_max =
                                       ls_recorder_raw_bytes_max(&config, journal->match),
                                   .continued = all->config.continued,
                                   .on_done = on_done,
                                   .user = journal};
    ls_status status =
        ls_journal_file_create(&file, ls_host_loop(all->host), all->allocator, &journal->file, why);
    if (status != LS_OK) {
        return status;
    }
    ls_journal_store store = ls_journal_file_store(journal->file);
    return ls_recorder_create(&config, journal->match, &store, all->allocator, &journal->recorder);
}

static ls_status create_one(one_journal *journal, ls_text *why)
{
    ls_journals *all = journal->all;
    journal->match = ls_match_table_match(ls_host_table(all->host), journal->number);
    ls_status status = write_path(journal);
    if (status == LS_OK) {
        status = create_parts(journal, why);
    }
    if (status == LS_OK) {
        ls_log_line(all->config.log, LS_LOG_INFO, "the journal of match %" PRIu32 " is %s",
                    journal->number, journal->path);
    }
    return status;
}

static ls_status create_all(ls_journals *journals, ls_text *why)
{
    uint32_t count = ls_match_table_count(ls_host_table(journals->host));
    journals->journals = ls_allocate_array(journals->allocator, count, sizeof *journals->journals);
    if (!journals->journals) {
        return LS_NO_MEMORY;
    }
    journals->count = count;
    ls_status status = LS_OK;
    if (!journals->config.continued) {
        status = ls_output_check_directory(journals->config.directory, "journals", why);
    }
    for (uint32_t i = 0; status == LS_OK && i < count; i++) {
        journals->journals[i].all = journals;
        journals->journals[i].number = i;
        status = create_one(&journals->journals[i], why);
    }
    journals->config.continued = NULL;
    ls_loop_handler timer = {on_timer, journals};
    return status == LS_OK ? ls_event_loop_add_timer(ls_host_loop(journals->host), PULL_MS, timer,
                                                     &journals->timer)
                           : status;
}

ls_status ls_journals_create(const ls_journals_config *config, ls_host *host,
                             const ls_allocator *allocator, ls_journals **out, ls_text *why)
{
    ls_journals *journals = ls_allocate(allocator, sizeof *journals);
    if (!journals) {
        return LS_NO_MEMORY;
    }
    journals->config = *config;
    journals->allocator = allocator;
    journals->host = host;
    ls_status status = create_all(journals, why);
    if (status != LS_OK) {
        ls_journals_destroy(journals);
        return status;
    }
    *out = journals;
    return LS_OK;
}

void ls_journals_destroy(ls_journals *journals)
{
    if (!journals) {
        return;
    }
    ls_loop_source_remove(journals->timer);
    for (uint32_t i = 0; i < journals->count; i++) {
        ls_journal_file_destroy(journals->journals[i].file);
        ls_recorder_destroy(journals->journals[i].recorder);
    }
    ls_release(journals->allocator, journals->journals);
    ls_release(journals->allocator, journals);
}

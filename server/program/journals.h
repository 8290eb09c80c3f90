/* Journals: a recorder and a file for each match of a server, with what is worth saying about them
 * on the console. A match whose journal cannot be written goes on without. Decides nothing about a
 * match. Called by server.c. */
#ifndef LOCKSTEP_SERVER_PROGRAM_JOURNALS_H
#define LOCKSTEP_SERVER_PROGRAM_JOURNALS_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/server/host/host.h"

typedef struct ls_journals ls_journals;

typedef struct ls_journals_config {
    const char *directory;      /* must be there */
    const char *continued_path; /* instead of a directory: the journal that is gone on with */
    ls_journal *continued;      /* of the only match, which stands where it ends; for create */
    const ls_build_fingerprint *print; /* of this program */
    const ls_log *log;                 /* borrowed until destroy */
} ls_journals_config;

/* Begins the journal of each of the host's matches and says where it is. IO with the path and the
 * reason in `why`, NO_MEMORY. The host outlives it. */
ls_status ls_journals_create(const ls_journals_config *config, ls_host *host,
                             const ls_allocator *allocator, ls_journals **out, ls_text *why);

/* Leaves what has not been written. NULL is allowed. */
void ls_journals_destroy(ls_journals *journals);

/* A match has been advanced, or has events. */
void ls_journals_pull(ls_journals *journals, uint32_t match, uint64_t now_ns);
void ls_journals_take_event(ls_journals *journals, const ls_match_table_event *event);

/* Every match is over and its journal closed, or given up. When that becomes true later than the
 * host's matches are over, the loop is stopped. */
bool ls_journals_are_closed(const ls_journals *journals);

/* Borrowed until destroy. */
void ls_journals_summarize(const ls_journals *journals, uint32_t match, ls_summary_journal *out);

#endif

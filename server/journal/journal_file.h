/* Journal file: the store of a recorder on a real disk: one file, written by the event loop's
 * thread pool, synchronised about once a second, never in the loop's own thread. Decides nothing
 * about what is written. Called by journals. */
#ifndef LOCKSTEP_SERVER_JOURNAL_JOURNAL_FILE_H
#define LOCKSTEP_SERVER_JOURNAL_JOURNAL_FILE_H

#include "lockstep/common/journal/journal.h"
#include "lockstep/common/runtime/event_loop.h"

typedef struct ls_journal_file ls_journal_file;

typedef struct ls_journal_file_config {
    const char *path; /* copied */
    size_t raw_bytes_max;

    /* The journal in that file, which is gone on with: everything behind its append_offset is cut
     * off. For create. NULL: the file must not exist, and is made with mode 0600. */
    ls_journal *continued;

    /* Called in the loop's thread for each record, after submit has returned. */
    void (*on_done)(void *user, const ls_journal_completion *completion, uint64_t now_ns);
    void *user;
} ls_journal_file_config;

/* Opens the file. IO with the path and the reason in `why`, NO_MEMORY. */
ls_status ls_journal_file_create(const ls_journal_file_config *config, ls_event_loop *loop,
                                 const ls_allocator *allocator, ls_journal_file **out,
                                 ls_text *why);

/* Waits for what is being written, completes nothing any more, and closes. Not from within one of
 * the loop's handlers. NULL is allowed. */
void ls_journal_file_destroy(ls_journal_file *file);

/* Borrowed from the file. */
ls_journal_store ls_journal_file_store(ls_journal_file *file);

/* Whether somebody had deleted the file, or its directory, when it was last synchronised: what is
 * written to it is lost with its closing, though no writing fails. */
bool ls_journal_file_is_deleted(const ls_journal_file *file);

#endif

/* Journal upload: hands closed journals to a command of the operator's, such as rclone, one at a
 * time and again until it succeeds, and keeps so much of them on this machine. Journals that were
 * handed over are moved to the folder "uploaded" beside the others. Never waits: the command is a
 * process beside the loop. Called by supervisor. */
#ifndef LOCKSTEP_SERVER_SERVICE_JOURNAL_UPLOAD_H
#define LOCKSTEP_SERVER_SERVICE_JOURNAL_UPLOAD_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"

#define LS_JOURNAL_UPLOAD_PATH_BYTES_MAX 1024u

typedef struct ls_journal_upload_config {
    const char *directory; /* of the journals */
    const char *command;   /* for a shell; {} stands for the file. Borrowed */
    uint32_t keep_mib;     /* of those that were handed over, the newest; 0: all */
    uint32_t limit_s;      /* a command that runs longer is killed, and has failed; 0: never */
    uint32_t retry_ms;     /* after the first failure; doubled with each, to a minute */
    ls_event_loop *loop;
    const ls_log *log;
    /* Whether a file of the directory is a journal that is still written. */
    bool (*is_in_use)(void *user, const char *path);
    void *user;
} ls_journal_upload_config;

typedef struct ls_journal_upload ls_journal_upload;

/* IO with `why` when there is no folder "uploaded" and none can be made; NO_MEMORY. */
ls_status ls_journal_upload_create(const ls_journal_upload_config *config, ls_journal_upload **out,
                                   ls_text *why);
/* Kills a command that still runs; its journal is handed over the next time. NULL is allowed. */
void ls_journal_upload_destroy(ls_journal_upload *upload);

/* Figures for an operator. */
typedef struct ls_journal_upload_figures {
    uint64_t uploaded;
    uint64_t failures;
    bool is_failing; /* the newest try failed */
} ls_journal_upload_figures;

ls_journal_upload_figures ls_journal_upload_figures_of(const ls_journal_upload *upload);

#endif

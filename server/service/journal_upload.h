/* Journal upload: hands closed journals to a command of the operator's, such as rclone, the oldest
 * first and several at a time, and keeps so much of them on this machine. Journals that were handed
 * over are moved to the folder "uploaded" beside the others. A journal whose command fails is tried
 * again later and holds up no other; while every command fails, one at a time is tried. A file
 * without a whole header is no journal: it is renamed to "NAME.torn" and not handed over. Never
 * waits: commands are processes beside the loop. Called by supervisor. */
#ifndef LOCKSTEP_SERVER_SERVICE_JOURNAL_UPLOAD_H
#define LOCKSTEP_SERVER_SERVICE_JOURNAL_UPLOAD_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/server/service/service_view.h"

typedef struct ls_journal_upload_config {
    const char *directory; /* of the journals. Texts are borrowed */
    const char *command;   /* for a shell; {} stands for the file */
    uint32_t parallel;     /* commands that run at a time: 1 to LS_SERVICE_UPLOADS_MAX */
    uint32_t keep_mib;     /* of those that were handed over, the newest; 0: all */
    uint32_t limit_s;      /* a command that runs longer is killed, and has failed; 0: never */
    uint32_t retry_ms;     /* after the first failure; doubled with each, to a minute */
    ls_event_loop *loop;
    const ls_log *log;
    /* Whether a file of the directory is a journal that is still written. */
    bool (*is_in_use)(void *user, const char *path);
    void *user;
    ls_upload_report *report; /* is kept up to date; outlives the upload */
} ls_journal_upload_config;

typedef struct ls_journal_upload ls_journal_upload;

/* IO with `why` when there is no folder "uploaded" and none can be made; NO_MEMORY. */
ls_status ls_journal_upload_create(const ls_journal_upload_config *config, ls_journal_upload **out,
                                   ls_text *why);

/* Takes the command, `parallel`, `keep_mib` and `limit_s` of another config from now on.
 * BAD_ARGUMENT with `why`, and all stays as it is. */
ls_status ls_journal_upload_change(ls_journal_upload *upload,
                                   const ls_journal_upload_config *config, ls_text *why);

/* Kills commands that still run; their journals are handed over the next time. NULL is allowed. */
void ls_journal_upload_destroy(ls_journal_upload *upload);

#endif

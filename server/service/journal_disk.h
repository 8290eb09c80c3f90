/* Journal disk: whether the journal of a new room could be written now, and how much room there is
 * for more: a small file is written and removed once a second, in a thread beside the loop, which a
 * disk that hangs does not hold up. Called by supervisor. */
#ifndef LOCKSTEP_SERVER_SERVICE_JOURNAL_DISK_H
#define LOCKSTEP_SERVER_SERVICE_JOURNAL_DISK_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/service/service_view.h"

#include <stdbool.h>

#define LS_JOURNAL_DISK_BYTES_MIN (UINT64_C(4) << 20) /* free, for the journal of a new room */

typedef struct ls_journal_disk_config {
    const char *directory; /* of the journals; borrowed */
    uint64_t bytes_min;    /* free; LS_JOURNAL_DISK_BYTES_MIN */
    ls_event_loop *loop;
    const ls_log *log;
    ls_storage_report *report; /* is kept up to date; outlives the disk */
} ls_journal_disk_config;

typedef struct ls_journal_disk ls_journal_disk;

/* NO_MEMORY. The report is of now when this returns. */
ls_status ls_journal_disk_create(const ls_journal_disk_config *config, ls_journal_disk **out);

/* Waits for a look that is under way. NULL is allowed. */
void ls_journal_disk_destroy(ls_journal_disk *disk);

/* ---- Journal header: whether a file has the header without which nothing of a journal can be
 * read. It lacks one when the disk was full, or the process was killed, while the file began. Never
 * changes the file. Called by whoever keeps or hands over the journals of a service ---- */

/* False of a file that is not there or cannot be read, too: nothing is known of it. */
bool ls_journal_header_is_missing(const char *path);

#endif

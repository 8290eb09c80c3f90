/* Rerun share: the re-runs that the server asks its host for, one for all investigations that are
 * about the same ticks and the same pass. Owns the tickets. Called by investigation. */
#ifndef LOCKSTEP_SERVER_MATCH_RERUN_SHARE_H
#define LOCKSTEP_SERVER_MATCH_RERUN_SHARE_H

#include "lockstep/common/diagnosis/state_inspector.h"

#define LS_RERUN_SHARES_MAX (3u * LS_PLAYERS_MAX) /* a slot's studies, or one and its search */

typedef struct ls_shared_rerun {
    ls_rerun_subject subject;
    uint32_t users; /* 0: free */
    uint32_t ticket;
    const ls_rerun_outcome *outcome; /* NULL: it goes on */
} ls_shared_rerun;

typedef struct ls_rerun_share {
    const ls_rerun_host *host; /* NULL: nothing can be run again */
    const ls_state_inspector *inspector;
    uint32_t time_max_ms; /* of a run */
    ls_shared_rerun runs[LS_RERUN_SHARES_MAX];
} ls_rerun_share;

/* Begins a re-run, or takes part in one. NULL: these ticks cannot be run again. */
ls_shared_rerun *ls_rerun_share_join(ls_rerun_share *share, const ls_rerun_subject *subject);
void ls_rerun_share_release(ls_rerun_share *share, ls_shared_rerun *run);

/* Asks the host how far the re-runs are. */
void ls_rerun_share_poll(ls_rerun_share *share, uint64_t now_ns);

#endif

/* Evidence hold: the states from which open cases are run again. The oldest of them stays in the
 * window until its case is over, also while nothing runs: a client may take long to answer, another
 * re-run may be wanted, and the bundle holds it. Called by investigation. */
#ifndef LOCKSTEP_SERVER_MATCH_EVIDENCE_HOLD_H
#define LOCKSTEP_SERVER_MATCH_EVIDENCE_HOLD_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/diagnosis/replay_window.h"

typedef struct ls_evidence_hold {
    const ls_replay_window *window; /* borrowed */
    uint32_t open;                  /* bit s: slot s has a case */
    ls_tick agreed[LS_PLAYERS_MAX]; /* of those */
} ls_evidence_hold;

void ls_evidence_hold_begin(ls_evidence_hold *hold, uint32_t slot, ls_tick agreed);

/* A slot without a case is allowed. */
void ls_evidence_hold_end(ls_evidence_hold *hold, uint32_t slot);

#endif

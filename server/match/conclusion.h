/* Conclusion: what a slot's investigation has come to, as its finding and as the contents of its
 * bundle. Sends nothing. Called by desync_service. */
#ifndef LOCKSTEP_SERVER_MATCH_CONCLUSION_H
#define LOCKSTEP_SERVER_MATCH_CONCLUSION_H

#include "lockstep/server/match/investigation.h"

/* Which state differs first, as far as is known now. */
void ls_conclusion_add_first_tick(ls_investigation *investigation);

/* Completes the finding of the slot with what is known now. */
ls_desync_finding *ls_conclusion_draw(ls_investigations *all, uint32_t slot,
                                      const ls_build_fingerprint *own_fingerprint);

/* The contents of the bundle, but for the stretch; good while the slot is REPORTED. */
void ls_conclusion_evidence(const ls_investigations *all, uint32_t slot,
                            ls_desync_evidence_set *out);

#endif

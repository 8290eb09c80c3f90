/* Conclusion: what a slot's investigation has come to, as its finding and as the contents of its
 * bundle. Sends nothing and decides nothing. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_CONCLUSION_H
#define LOCKSTEP_SERVER_INVESTIGATION_CONCLUSION_H

#include "lockstep/server/investigation/investigation.h"

/* Completes the finding of the slot with what is known now. Of the circumstances the match knows
 * who has which state; the elements are counted here. */
ls_desync_finding *ls_conclusion_draw(ls_investigations *all, uint32_t slot,
                                      const ls_build_fingerprint *own_fingerprint,
                                      ls_desync_circumstances circumstances);

/* Completes it with the first state that differs alone, as far as that is known. */
void ls_conclusion_add_first_tick(ls_investigation *investigation);

/* The contents of the bundle, but for the stretch; good while the slot is REPORTED. */
void ls_conclusion_evidence(const ls_investigations *all, uint32_t slot,
                            ls_desync_evidence_set *out);

#endif

/* Conclusion: what a slot's investigation has come to, as its finding and as the contents of its
 * bundle, and the messages that tell everybody. Decides nothing. */
#ifndef LOCKSTEP_SERVER_MATCH_CONCLUSION_H
#define LOCKSTEP_SERVER_MATCH_CONCLUSION_H

#include "lockstep/server/investigation/investigation.h"
#include "lockstep/server/match/seat_table.h"

/* Completes the finding of the slot with what is known now. Of the circumstances the match knows
 * who has which state; the elements are counted here. */
ls_desync_finding *ls_conclusion_draw(ls_investigations *all, uint32_t slot,
                                      const ls_build_fingerprint *own_fingerprint,
                                      ls_desync_circumstances circumstances);

/* The contents of the bundle, but for the stretch; good while the slot is REPORTED. */
void ls_conclusion_evidence(const ls_investigations *all, uint32_t slot,
                            ls_desync_evidence_set *out);

/* The inputs of the tick that made the state, if they are still held. */
void ls_conclusion_add_inputs(const ls_match *match, ls_desync_finding *finding);

/* Tells the values that differ ahead of all the rest, once, when they are known and looking for the
 * rest has taken a second. */
void ls_conclusion_report_values(const ls_match *match, uint32_t slot,
                                 ls_investigation *investigation, uint64_t found_ns);

/* Tells the players and the match's owner. */
void ls_conclusion_report(const ls_match *match, uint32_t slot, const ls_desync_finding *finding);

#endif

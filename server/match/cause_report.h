/* Cause report: tells everybody what was found out about a desync: the event, DESYNC_CAUSE, and the
 * inputs of the tick in words. Decides nothing. Called by desync_service. */
#ifndef LOCKSTEP_SERVER_MATCH_CAUSE_REPORT_H
#define LOCKSTEP_SERVER_MATCH_CAUSE_REPORT_H

#include "lockstep/server/match/investigation.h"
#include "lockstep/server/match/seat_table.h"

/* Adds the inputs of the tick that made the state, if they are still held. */
void ls_cause_report_add_inputs(const ls_match_context *match, ls_desync_finding *finding);

/* Tells the values that differ ahead of all the rest, once, when they are known and looking for the
 * rest has taken a second. */
void ls_cause_report_send_values(const ls_match_context *match, uint32_t slot,
                                 ls_investigation *investigation, uint64_t found_ns);

/* Tells the players and the match's owner. */
void ls_cause_report_send(const ls_match_context *match, uint32_t slot,
                          const ls_desync_finding *finding);

#endif

/* Finding report: the messages and events that tell of what was found about a difference. Decides
 * nothing. */
#ifndef LOCKSTEP_SERVER_MATCH_FINDING_REPORT_H
#define LOCKSTEP_SERVER_MATCH_FINDING_REPORT_H

#include "lockstep/server/investigation/investigation.h"
#include "lockstep/server/match/seat_table.h"

/* The outgoing message goes to the spectator that it is about, which alone is told; 0: it is about
 * a slot, and all players are. */
void ls_finding_report_send_to(const ls_match *match, ls_peer_id spectator);

/* The inputs of the tick that made the state, if they are still held. */
void ls_finding_report_add_inputs(const ls_match *match, ls_desync_finding *finding);

/* Tells the values that differ ahead of all the rest, once, when they are known and looking for the
 * rest has taken a second. */
void ls_finding_report_send_values(const ls_match *match, uint32_t slot, ls_peer_id spectator,
                                   ls_investigation *investigation, uint64_t found_ns);

/* Tells those whom it concerns, and the match's owner. */
void ls_finding_report_send(const ls_match *match, uint32_t slot, ls_peer_id spectator,
                            const ls_desync_finding *finding);

#endif

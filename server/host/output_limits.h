/* Output limits: how much of what one peer causes a program writes down: lines of its log and
 * bundles of desyncs. Decides only; writes nothing. Called by server.c, and by faultsim, which
 * holds it to its limits. */
#ifndef LOCKSTEP_SERVER_HOST_OUTPUT_LIMITS_H
#define LOCKSTEP_SERVER_HOST_OUTPUT_LIMITS_H

#include "lockstep/common/base/log.h"
#include "lockstep/server/match/match.h"

#define LS_SLOT_BUNDLES_MAX 8u /* of a slot, whoever sits there */

/* The budget of whom an event tells: one of `slots`, which are the match's, or `peers`, who have no
 * seat; NULL: the match itself, whose lines are not limited. */
ls_log_budget *ls_output_limits_lines(ls_log_budget *slots, ls_log_budget *peers,
                                      const ls_match_event *event);

/* Whether one more bundle of a slot may be written; `bundles` counts it then. */
bool ls_output_limits_reserve_bundle(uint32_t *bundles);

#endif

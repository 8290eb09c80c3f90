/* State handover: the parts of OFFER, of JOIN, and of the blob that goes with it, that are the same
 * for every player and spectator who comes. Owns nothing and sends nothing. Called by match.c,
 * join_service, spectator_states and spectators. */
#ifndef LOCKSTEP_SERVER_MATCH_STATE_HANDOVER_H
#define LOCKSTEP_SERVER_MATCH_STATE_HANDOVER_H

#include "lockstep/protocol/blob/blob.h"
#include "lockstep/server/match/seat_table.h"

#define LS_NOT_HANDED_ON "the state of this simulation cannot be handed on"

/* A blob with room for so many bytes. The one that is there goes when it is too small; it may not
 * be streamed to anybody then. Most states have a fixed size, and the blob was made with the match.
 * UNSUPPORTED: more than a blob can be. NO_MEMORY. */
ls_status ls_handover_make_blob(const ls_match_context *match, size_t bytes, ls_blob **blob);

/* Makes the outgoing message an OFFER, but for what belongs to a seat. */
ls_offer *ls_handover_begin_offer(const ls_match_context *match);

/* Makes the outgoing message a JOIN with what every JOIN tells. */
ls_join *ls_handover_begin_join(const ls_match_context *match, ls_join_source source);

/* Completes a JOIN that brings a blob; `how` says so in words. */
void ls_handover_set_blob(ls_join *join, const ls_state_copy *copy, const ls_blob *blob,
                          ls_text *how);

#endif

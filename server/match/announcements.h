/* Announcements: what the host of a match says to its players and spectators, and whether it is
 * paused, which newcomers are told as well. Closes no tick and drops nobody. Called by match and
 * match_conduct. */
#ifndef LOCKSTEP_SERVER_MATCH_ANNOUNCEMENTS_H
#define LOCKSTEP_SERVER_MATCH_ANNOUNCEMENTS_H

#include "lockstep/server/match/match_context.h"

/* NOT_FOUND: the match does not run, nor was it restored to. A paused match stays so, with the new
 * reason. */
ls_status ls_announcements_pause(ls_match_context *match, const char *why);
/* NOT_FOUND: the match is not paused. */
ls_status ls_announcements_unpause(ls_match_context *match, const char *why);

/* To one slot, or with LS_PLAYERS_MAX to all. NOT_FOUND: the seat is empty. */
ls_status ls_announcements_say(ls_match_context *match, uint32_t slot, const char *text);

/* A peer that was sent OFFER is told what it has missed. */
void ls_announcements_greet(const ls_match_context *match, ls_peer_id peer);

#endif

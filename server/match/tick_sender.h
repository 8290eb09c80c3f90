/* Tick sender: when TICKS leave for the players, and what is in them: at once when ticks have been
 * closed, a second time to a player that loses many packets, and as a heartbeat when nothing is
 * closed. Never closes a tick. Called by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_TICK_SENDER_H
#define LOCKSTEP_SERVER_MATCH_TICK_SENDER_H

#include "lockstep/server/match/seat_table.h"

/* Sends what is due; `is_waiting`: no tick is closed before an input comes. */
void ls_tick_sender_advance(ls_match_context *match, bool is_waiting);
uint64_t ls_tick_sender_next_ns(const ls_match_context *match);

#endif

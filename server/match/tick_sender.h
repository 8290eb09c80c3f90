/* Tick sender: when TICKS leave for the players, and what is in them: at once when ticks have been
 * closed, a second time to a player that loses many packets, and as a heartbeat when nothing is
 * closed. Never closes a tick. Called by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_TICK_SENDER_H
#define LOCKSTEP_SERVER_MATCH_TICK_SENDER_H

#include "lockstep/server/match/seat_table.h"

/* Sends what is due; `is_waiting`: no tick is closed before an input comes. */
void ls_tick_sender_advance(ls_match_context *match, bool is_waiting);

/* The newest packet of a player who follows came from an address that is not proven, to which a
 * packet of room_bytes may go: what was sent since the player moved is lost, and the address will
 * be proven a round trip from now only. */
void ls_tick_sender_answer(ls_match_context *match, uint32_t slot, size_t room_bytes);

uint64_t ls_tick_sender_next_ns(const ls_match_context *match);

#endif

/* Tick sender: when TICKS leave for the players, and what is in them: at once when ticks have been
 * closed, a second time to a player that loses many packets, and as a heartbeat when nothing is
 * closed. Never closes a tick. Called by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_TICK_SENDER_H
#define LOCKSTEP_SERVER_MATCH_TICK_SENDER_H

#include "lockstep/server/match/seat_table.h"

typedef struct ls_tick_sender {
    const ls_match_context *context;
    ls_tick_log *log;
    ls_outbox *outbox;
    const ls_seat_table *seats;
    ls_player_link *links;
    uint64_t sent_ns;  /* when TICKS last went out */
    uint64_t again_ns; /* when they go out a second time; 0: they do not */
    ls_tick sent_end;  /* the first tick that was not closed then */
} ls_tick_sender;

/* The sender borrows the other parts; `links` has one link for each slot. */
ls_tick_sender ls_tick_sender_make(const ls_match_context *context, ls_tick_log *log,
                                   ls_outbox *outbox, const ls_seat_table *seats,
                                   ls_player_link *links);

/* The log has been restored up to here, before any player came. */
void ls_tick_sender_restore(ls_tick_sender *sender);

/* Sends what is due; `is_waiting`: no tick is closed before an input comes. */
void ls_tick_sender_advance(ls_tick_sender *sender, bool is_waiting);
uint64_t ls_tick_sender_next_ns(const ls_tick_sender *sender);

#endif

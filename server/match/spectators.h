/* Spectators: the peers that watch a match and do not play: what they are sent, some ticks late and
 * all within one budget of bytes, and what they say. Never holds up the match; refuses its own
 * spectators itself. NULL where the match has no room for any: every function takes that. */
#ifndef LOCKSTEP_SERVER_MATCH_SPECTATORS_H
#define LOCKSTEP_SERVER_MATCH_SPECTATORS_H

#include "lockstep/server/match/seat_table.h"

typedef struct ls_spectators ls_spectators;

/* *out stays NULL when the match has no room for spectators. NO_MEMORY. */
ls_status ls_spectators_create(const ls_match *match, ls_spectators **out);
void ls_spectators_destroy(ls_spectators *spectators);

/* A peer whose HELLO is good comes to watch: sends OFFER, or says in `why` why it may not. One that
 * returns takes the place of its connection before. When all places are taken, and more than half
 * of them from an origin that is not the peer's, the spectator that came last from there is
 * refused. */
ls_status ls_spectators_admit(ls_spectators *spectators, const ls_match *match, ls_peer_id peer,
                              const ls_hello *hello, const ls_match_pass *pass, ls_text *why);

/* The spectator whose pass has this holder; 0: none of them. */
ls_peer_id ls_spectators_of_holder(const ls_spectators *spectators, uint64_t holder);

/* Whether the name of a spectator looks like this, but for those of an origin; 0: all count. */
bool ls_spectators_have_look(const ls_spectators *spectators, const ls_name_look *look,
                             uint64_t except_origin);

/* Nothing happens when the peer does not watch. */
void ls_spectators_disconnected(ls_spectators *spectators, ls_peer_id peer, ls_status reason);
void ls_spectators_receive(ls_spectators *spectators, ls_peer_id peer, ls_channel channel,
                           const uint8_t *bytes, size_t size, ls_incoming *incoming);

/* Sends what is due; comes after what is sent to players. */
void ls_spectators_advance(ls_spectators *spectators);
uint64_t ls_spectators_next_ns(const ls_spectators *spectators);

/* The spectator that desync_service watches has to go. */
void ls_spectators_drop_watched(ls_spectators *spectators, const char *why);

/* Every spectator has seen the end, or has had the time to. */
bool ls_spectators_are_done(const ls_spectators *spectators);

/* The message of the outbox goes to all of them. */
void ls_spectators_send_all(const ls_spectators *spectators);

/* Nothing more will happen: refuses those who are still there. */
void ls_spectators_close(ls_spectators *spectators, ls_status status, const char *why);

uint64_t ls_spectators_rejected(const ls_spectators *spectators); /* packets */

#endif

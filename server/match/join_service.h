/* Join service: how a player gets into a running match: the snapshot that all who come within a
 * second share, its streams, and the state that each joining player shows in the end. Sends JOIN
 * and the blob; what becomes of the seat it says, and match.c does it. */
#ifndef LOCKSTEP_SERVER_MATCH_JOIN_SERVICE_H
#define LOCKSTEP_SERVER_MATCH_JOIN_SERVICE_H

#include "lockstep/server/match/state_handover.h"

typedef struct ls_join_service ls_join_service;

/* NO_MEMORY: what there is by then is destroyed with the match. */
ls_status ls_join_service_create(const ls_match *match, ls_join_service **out);
void ls_join_service_destroy(ls_join_service *joins);

/* A player who is READY wants to join; `is_trusted`: its states never differed from the server's.
 * OK: JOIN has been sent. STALE: the player has to wait for its turn. Any other status: the player
 * cannot join, because the state cannot be handed on. */
ls_status ls_join_service_begin(ls_join_service *joins, uint32_t slot, bool is_trusted);

typedef struct ls_playing_from {
    ls_tick input;  /* the first tick that it makes an input for */
    ls_tick agreed; /* the newest of its states that is known to be the server's */
} ls_playing_from;

/* JOINED has come from a player that is joining. OK with departure->status OK: it may play. A
 * player that has strayed since the state which it was sent may play as well: what is compared next
 * differs, and is looked into. */
ls_status ls_join_service_receive_joined(ls_join_service *joins, uint32_t slot,
                                         const ls_joined *joined, ls_playing_from *from,
                                         ls_departure *departure);

/* BLOB_ACK, or the header of an INPUTS, has come from a player that is joining. */
ls_status ls_join_service_receive_ack(ls_join_service *joins, uint32_t slot, const uint8_t *bytes,
                                      size_t size);
void ls_join_service_note_progress(ls_join_service *joins, uint32_t slot, ls_tick simulated);

/* A player that plays differs from the server: it is sent the live state, as those who join are,
 * beside its match. OK: it was told so, about state `*tick`. STALE: it has to wait for its turn.
 * Any other status: the state cannot be handed on. */
ls_status ls_join_service_heal(ls_join_service *joins, uint32_t slot, ls_tick *tick);

/* It has said that it is healed: the blob is not needed any more. */
void ls_join_service_end_healing(ls_join_service *joins, uint32_t slot);

/* It acknowledges nothing any more, or has had the time that stepping to the match takes. */
bool ls_join_service_is_healing_stuck(ls_join_service *joins, uint32_t slot);

/* A player that was sent all that it may be of its blob, or takes it more slowly than every link
 * should, and has had its time. */
bool ls_join_service_is_slow(ls_join_service *joins, uint32_t slot);

/* One that was sent all that it may be of its blob. If others wait until no player is sent it, and
 * one takes it more slowly than every link should and has had its time: those who are sent it go on
 * with that blob, and others are sent another one; one of them, while such go on already.
 * MATCH_NO_SLOT: there is none. */
uint32_t ls_join_service_slowest(ls_join_service *joins, bool is_anybody_waiting);

/* The player is gone: its blob, if it is being sent one, is not needed any more. */
void ls_join_service_leave(ls_join_service *joins, uint32_t slot);

/* Compresses and sends what is due. */
void ls_join_service_advance(ls_join_service *joins);
uint64_t ls_join_service_next_ns(const ls_join_service *joins);

/* Asks for the memory that the next tick will need. */
void ls_join_service_prefetch(const ls_join_service *joins);

#endif

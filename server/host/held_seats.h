/* Held seats: of a match that follows another one in the same room, the seats of those who played
 * that one: a player comes back to its own by the secret that it had there, and others are given
 * the rest for a while. Called by match_table. */
#ifndef LOCKSTEP_SERVER_HOST_HELD_SEATS_H
#define LOCKSTEP_SERVER_HOST_HELD_SEATS_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/match.h"

LS_C_BEGIN

#define LS_HELD_SEATS_NS (UINT64_C(20) * 1000000000) /* from the opening of the next match on */

typedef struct ls_held_seats {
    uint64_t match_id; /* of the match before; 0: no seat is held */
    ls_slot_set slots; /* of those who were there when it ended */
    uint8_t secrets[LS_PLAYERS_MAX][LS_SECRET_BYTES];
} ls_held_seats;

/* The seats of those who are connected to a match now: LS_MATCH_ENDED is the time to call it. */
ls_held_seats ls_held_seats_of(const ls_match *match);

typedef enum ls_held_answer {
    LS_HELD_NOTHING, /* the match decides as ever */
    LS_HELD_SEAT,    /* this slot is free, and either its own or nobody's */
    LS_HELD_WAIT,    /* all that is free is held for others */
} ls_held_answer;

/* For a player who says this HELLO to the match that follows; `are_held`: the others have to wait
 * still. `is_own`: it has proved that the slot was its own. */
ls_held_answer ls_held_seats_ask(const ls_held_seats *held, const ls_match *next,
                                 const ls_hello *hello, bool are_held, uint32_t *slot,
                                 bool *is_own);

LS_C_END

#endif

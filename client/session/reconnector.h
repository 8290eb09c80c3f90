/* Reconnector: a link that was lost: why, how far the attempt to make it anew has got, when the
 * next attempt is due, and whether this client may claim the seat that it had. Sends nothing; never
 * reads a clock. Called by session, which says how far an attempt has got. */
#ifndef LOCKSTEP_CLIENT_SESSION_RECONNECTOR_H
#define LOCKSTEP_CLIENT_SESSION_RECONNECTOR_H

#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* How far an attempt to make the link anew has got. */
typedef enum ls_reconnect_attempt {
    LS_RECONNECT_NONE,
    LS_RECONNECT_GREETED, /* HELLO sent */
    LS_RECONNECT_SEATED,  /* READY sent */
} ls_reconnect_attempt;

/* To the seat of the last OFFER. */
typedef enum ls_seat_claim {
    LS_CLAIM_NONE,
    LS_CLAIM_OPTIONAL, /* the match may have begun without this client; where it has not and the
                          seat was given to another, it comes as a newcomer */
    LS_CLAIM_FIRM,     /* the match has begun */
} ls_seat_claim;

typedef struct ls_reconnector {
    ls_status status;  /* why the link was lost */
    uint64_t pause_ns; /* before the next attempt */
    uint64_t retry_ns; /* when that is due */
    ls_reconnect_attempt attempt;
    bool was_in_lobby; /* START or JOIN may come */
    ls_seat_claim claim;
} ls_reconnector;

/* The link is lost; with `in_lobby` before the match had begun for this client. The first attempt
 * is due after a short pause. */
void ls_reconnector_lose(ls_reconnector *reconnector, ls_status status, bool in_lobby,
                         ls_seat_claim claim);

/* An attempt has failed. False: it was the connection that was given up already. */
bool ls_reconnector_fail(ls_reconnector *reconnector, ls_status status, uint64_t now_ns);

/* Plans the next attempt, each after a longer pause than the one before; returns the pause. */
uint64_t ls_reconnector_plan(ls_reconnector *reconnector, uint64_t now_ns);

/* The offer of an attempt was taken. */
void ls_reconnector_claim_seat(ls_reconnector *reconnector, ls_seat_claim claim);

#endif

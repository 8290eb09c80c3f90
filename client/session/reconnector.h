/* Reconnector: a link that was lost: why, how far the attempt to make it anew has got, when the
 * next attempt is due, and whether this client may claim the seat that it had. Sends nothing; never
 * reads a clock. Called by session. */
#ifndef LOCKSTEP_CLIENT_SESSION_RECONNECTOR_H
#define LOCKSTEP_CLIENT_SESSION_RECONNECTOR_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ls_reconnector ls_reconnector;

/* NO_MEMORY. */
ls_status ls_reconnector_create(const ls_allocator *allocator, ls_reconnector **out);
void ls_reconnector_destroy(ls_reconnector *reconnector);

/* ---- losing the link ---- */

/* The link is lost; with `in_lobby` before the match had begun for this client. A seat in a lobby
 * cannot be claimed unless this player's match `is_running`: a claim would tell the lobby of a
 * resumed server that the match had begun. The first attempt is due after a short pause. */
void ls_reconnector_lose(ls_reconnector *reconnector, ls_status status, bool in_lobby,
                         bool is_running);

/* An attempt has failed. False: it was the connection that was given up already. */
bool ls_reconnector_fail(ls_reconnector *reconnector, ls_status status, uint64_t now_ns);

/* Plans the next attempt, each after a longer pause than the one before; returns the pause. */
uint64_t ls_reconnector_plan(ls_reconnector *reconnector, uint64_t now_ns);

/* ---- an attempt: HELLO was sent, the offer was taken, JOIN has come ---- */

void ls_reconnector_greet(ls_reconnector *reconnector);
void ls_reconnector_take_seat(ls_reconnector *reconnector, bool is_running);
void ls_reconnector_join(ls_reconnector *reconnector);

/* ---- reading ---- */

bool ls_reconnector_expects_offer(const ls_reconnector *reconnector);
bool ls_reconnector_is_seated(const ls_reconnector *reconnector);
bool ls_reconnector_has_claim(const ls_reconnector *reconnector);
bool ls_reconnector_was_in_lobby(const ls_reconnector *reconnector);

/* Why the link was lost, and when the next attempt is due. */
ls_status ls_reconnector_status(const ls_reconnector *reconnector);
uint64_t ls_reconnector_retry_ns(const ls_reconnector *reconnector);

#endif

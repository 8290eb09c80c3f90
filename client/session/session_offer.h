/* Session offer: judges what a server offers: whether this client can play it, and whether it is
 * the match that the client was in before its link was lost. Called by session. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_OFFER_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_OFFER_H

#include "lockstep/client/session/session.h"
#include "lockstep/protocol/wire/message.h"

/* Finds the simulation of the offer. SIMULATION_MISMATCH, SIMULATION_VERSION_MISMATCH or
 * PARAMETER_MISMATCH, with the item that differs in `why`. */
ls_status ls_session_offer_check(const ls_session_config *config, const ls_offer *offer,
                                 const ls_simulation **simulation, ls_text *why);

/* ALREADY_OVER when the server plays another match than the one that was left. */
ls_status ls_session_offer_compare(const ls_offer *left, const ls_offer *offered, ls_text *why);

#endif

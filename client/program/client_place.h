/* Client place: where a client is to connect, and what it knows of the server there, out of the
 * word on its command line: an invite, or HOST[:PORT]. Pure but for the system's resolver. Called
 * by client. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_CLIENT_PLACE_H
#define LOCKSTEP_CLIENT_PROGRAM_CLIENT_PLACE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/transport/endpoint.h"

#include <stdbool.h>

typedef struct ls_client_place {
    char server[LS_ENDPOINT_JOINED_BYTES]; /* HOST[:PORT], without a secret: may be shown */
    ls_sealed_client_config sealed;
} ls_client_place;

/* BAD_ARGUMENT, with what is wrong in `why`: also for an address on another machine alone, unless
 * the player is in a network to be trusted. NOT_FOUND when there is no such host. */
ls_status ls_client_place_read(const char *word, bool is_insecure, ls_client_place *out,
                               ls_text *why);

/* Why a client did not get in, and what its player can do about it. NONE: there was no answer. */
const char *ls_client_refusal_text(ls_sealed_refusal refusal);

/* The server will say the same whenever it is asked. */
bool ls_client_refusal_is_final(ls_sealed_refusal refusal);

#endif

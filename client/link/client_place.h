/* Client place: where a client is to connect, and what it knows of the server there, out of the
 * word on its command line, an invite or HOST[:PORT], or out of its connect token. Pure but for the
 * system's resolver and the token's file. */
#ifndef LOCKSTEP_CLIENT_LINK_CLIENT_PLACE_H
#define LOCKSTEP_CLIENT_LINK_CLIENT_PLACE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/sealed/sealed_client.h"

#include <stdbool.h>

#define LS_CLIENT_PLACE_NAME_BYTES (LS_TOKEN_SERVERS_MAX * LS_ENDPOINT_NUMERIC_BYTES)

typedef struct ls_client_place_source {
    const char *word; /* an invite, HOST[:PORT] or CODE@HOST[:PORT]; NULL: the token's addresses */
    const char *token_path; /* NULL: none */
    bool is_insecure;       /* believes whoever answers at HOST[:PORT], on any network */
    bool avoids_direct;     /* by a code, has the relay carry all */
    uint64_t now_s;         /* seconds since 1970 */
} ls_client_place_source;

typedef struct ls_client_place {
    /* HOST[:PORT], or CODE@HOST[:PORT] of a relay, without a secret: may be shown; to be tried in
     * this order. */
    uint32_t server_count;
    char servers[LS_TOKEN_SERVERS_MAX][LS_ENDPOINT_JOINED_BYTES];
    char name[LS_CLIENT_PLACE_NAME_BYTES]; /* all of them */
    /* A seat there is remembered by this: the server's key, or without one its name. */
    char identity[LS_CLIENT_PLACE_NAME_BYTES];
    char room[LS_INVITE_ROOM_BYTES_MAX]; /* that an invite is for; "": any */
    bool avoids_direct;                  /* as the source has it */
    bool is_token_expired;               /* by this machine's clock */
    ls_sealed_client_config sealed;
} ls_client_place;

/* BAD_ARGUMENT, with what is wrong in `why`: also for an address on another machine alone, unless
 * the player is in a network to be trusted or has a token. NOT_FOUND when there is no such host or
 * file, IO when the file cannot be read. */
ls_status ls_client_place_read(const ls_client_place_source *from, ls_client_place *out,
                               ls_text *why);

/* Why a client did not get in, and what its player can do about it. NONE: there was no answer. */
const char *ls_client_refusal_text(ls_sealed_refusal refusal,
                                   const ls_sealed_client_config *sealed);

/* The server will say the same whenever it is asked. */
bool ls_client_refusal_is_final(ls_sealed_refusal refusal);

#endif

/* Client link: a client's way to its server: the transport, the attempts to reach one of the
 * addresses that it may try, and the attempts to come back that its session asks for. Says on the
 * console that nobody answers yet. */
#ifndef LOCKSTEP_CLIENT_LINK_CLIENT_LINK_H
#define LOCKSTEP_CLIENT_LINK_CLIENT_LINK_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/relay/relay_client.h"
#include "lockstep/protocol/sealed/sealed_client.h"

#include <stdbool.h>

/* ---- place: where a client is to connect, and what it knows of the server there, out of the word
 * on its command line, an invite or HOST[:PORT], or out of its connect token. Pure but for the
 * system's resolver and the token's file ---- */

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

typedef struct ls_client_link_config {
    const ls_client_place *place; /* borrowed */
    ls_event_loop *loop;
    ls_loop_handler on_ready; /* packets have come: call ls_client_link_receive */
    /* READY: the way to a server by its code, taken also on failure, for a client that cannot be
     * held up. NULL: the link looks for it, which takes up to 10 s. */
    ls_relay_client *met;
    uint32_t connect_wait_ms; /* how long to try for the first time; 0: each address once */
} ls_client_link_config;

typedef struct ls_client_link ls_client_link;

/* Begins to look for the server of a code, which one of the servers of a place is: the caller turns
 * what it makes until it is ready or refused, and hands it to a link. Statuses as of open. */
ls_status ls_client_link_begin_meeting(const ls_client_place *to, uint32_t at,
                                       ls_relay_client **out, ls_text *why);

/* Begins to connect. NOT_FOUND, BAD_ARGUMENT, NO_MEMORY; IO or TIMED_OUT, without a route or an
 * answer of a name server, only where connect_wait_ms is 0. */
ls_status ls_client_link_open(const ls_client_link_config *config, ls_client_link **out,
                              ls_text *why);
/* Comes before the loop is destroyed. NULL is allowed. */
void ls_client_link_close(ls_client_link *link);

/* The session's way out. */
ls_packet_sink ls_client_link_sink(ls_client_link *link);

/* The match that the client has a place in: it comes back to that one. 0: none. */
void ls_client_link_set_match(ls_client_link *link, uint64_t match);

/* The same for a place that it had when its process ended: as one whose link was lost it tries for
 * so long at least, since the server may still be starting, or put it off until the match goes on.
 */
void ls_client_link_return_to(ls_client_link *link, uint64_t match, uint32_t wait_ms);

/* Hands what has come to the session. */
void ls_client_link_receive(ls_client_link *link, ls_session *session, uint64_t now_ns);

/* The same at a time of the caller's choice, without being called for it: each packet with the time
 * at which it arrived, but not before the newest call of the link. */
void ls_client_link_receive_waiting(ls_client_link *link, ls_session *session, uint64_t now_ns);

/* Whether packets may wait for that call instead of waking the loop. They wake it all the same
 * while more has come than one call takes, while something reliable is under way, and for a second
 * after something reliable has come, which often asks for an answer. */
void ls_client_link_let_wait(ls_client_link *link, bool may_wait, uint64_t now_ns);

/* Connects when that is due; says so while nobody answers. */
void ls_client_link_advance(ls_client_link *link, ls_session *session, const ls_log *log,
                            uint64_t now_ns);
void ls_client_link_flush(ls_client_link *link);
/* When advance has something to do; UINT64_MAX: the session alone decides. */
uint64_t ls_client_link_next_ns(const ls_client_link *link);

/* HOST[:PORT] of the address that is tried, or is reached. */
const char *ls_client_link_server(const ls_client_link *link);
bool ls_client_link_has_connected(const ls_client_link *link);
/* Why the newest attempt failed. */
const char *ls_client_link_failure(const ls_client_link *link);

/* Of all connections. */
ls_transport_traffic ls_client_link_traffic(const ls_client_link *link);

#endif

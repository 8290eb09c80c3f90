/* Relay client: a player's side of a relay: finds the server of a code, opens a direct way to it or
 * has the relay carry, and is the socket through which the player's transport reaches that server.
 * Goes on by the relay when a direct way fails, and joins anew when the relay has forgotten it.
 * Does no I/O but through the socket that it stands on. Called by client_link. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_CLIENT_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_CLIENT_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/datagram_socket.h"
#include "lockstep/protocol/relay/relay_packet.h"

typedef struct ls_relay_client_config {
    ls_endpoint relay;
    ls_relay_code code;
    bool has_server_key; /* from an invite; else the server proves its own by the code */
    bool avoids_direct;  /* has the relay carry all */
} ls_relay_client_config;

typedef enum ls_relay_client_state {
    LS_RELAY_CLIENT_MEETING, /* the server is not reached yet */
    LS_RELAY_CLIENT_READY,
    LS_RELAY_CLIENT_REFUSED,
} ls_relay_client_state;

typedef enum ls_relay_refusal {
    LS_RELAY_REFUSAL_NONE,
    LS_RELAY_REFUSAL_SILENCE, /* no relay answers */
    LS_RELAY_REFUSAL_CODE,    /* the relay knows no server of this code */
    LS_RELAY_REFUSAL_FULL,
    LS_RELAY_REFUSAL_SERVER, /* the server does not answer the relay, or is asked too often */
    LS_RELAY_REFUSAL_PROOF,  /* the server that has the first part of the code does not know the
                              * second one */
} ls_relay_refusal;

typedef struct ls_relay_client ls_relay_client;

/* The config is copied. The socket, one that listens, is taken, also on failure. Needs
 * ls_cipher_init. NO_MEMORY. */
ls_status ls_relay_client_create(const ls_relay_client_config *config, ls_datagram_socket *inner,
                                 const ls_allocator *allocator, ls_relay_client **out);
/* The socket for a transport; closing it destroys the client. */
ls_datagram_socket *ls_relay_client_socket(ls_relay_client *client);

/* Sends what is due, for an owner whose transport may have no turn while nothing comes. */
void ls_relay_client_advance(ls_relay_client *client, uint64_t now_ns);
/* Without a transport: takes what has come, and sends what is due. */
void ls_relay_client_turn(ls_relay_client *client, uint64_t now_ns);
/* The same until it is ready or refused; 10 s at most. REFUSED, or TIMED_OUT where nobody answers,
 * with the reason in words. */
ls_status ls_relay_client_meet(ls_relay_client *client, const ls_clock *clock, ls_text *why);

/* OK: it is ready; else as of meet. */
ls_status ls_relay_client_outcome(const ls_relay_client *client, ls_text *why);

ls_relay_client_state ls_relay_client_state_of(const ls_relay_client *client);
ls_relay_refusal ls_relay_client_refusal_of(const ls_relay_client *client);

/* In READY: the server's endpoint for the transport, which stays the same; whether datagrams go
 * there directly; and the server's key, if there was none. */
const ls_endpoint *ls_relay_client_server(const ls_relay_client *client);
bool ls_relay_client_is_direct(const ls_relay_client *client);
const uint8_t *ls_relay_client_server_key(const ls_relay_client *client);

#endif

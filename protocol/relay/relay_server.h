/* Relay server: a server's side of a relay: keeps it registered, and is the socket through which
 * its transport reaches the players of the relay beside those that come directly. A player through
 * the relay is an endpoint with a `via`, and the address that the relay says. Does no I/O but
 * through the socket that it stands on. Called by lockstep-server. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_SERVER_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_SERVER_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/system/datagram_socket.h"
#include "lockstep/protocol/relay/relay_listing.h"

#include <stdatomic.h>

/* So many players are known at a time. */
#define LS_RELAY_SERVER_PLAYERS_MAX 256u
/* The players of a relay, as the workers of a service share them: one of them is registered and
 * writes, the others read. Zeroed at first. A reader that looks while a place is written finds
 * nobody there. */
typedef struct ls_relay_flow {
    atomic_uint_least64_t flow;     /* 0: a free place, or one that is being written */
    atomic_uint_least64_t place[3]; /* an endpoint: its address and its port */
    atomic_uint_least64_t heard_ns;
} ls_relay_flow;

typedef struct ls_relay_flows {
    ls_relay_flow players[LS_RELAY_SERVER_PLAYERS_MAX];
    ls_relay_flow relay;   /* where it is; its flow is 1 */
    ls_relay_flow outside; /* where the server's router leads to it; its flow is 0: nowhere */
} ls_relay_flows;

/* ls_relay_server_advance is to be called so often. */
#define LS_RELAY_SERVER_PERIOD_MS 100u

typedef struct ls_relay_server_config {
    ls_endpoint relay;
    ls_endpoint local; /* this machine in its own network, without a port; all zero: not known */
    ls_key_pair identity;
    bool has_access_key; /* of the relay's key file */
    uint8_t access_key[LS_CIPHER_KEY_BYTES];
    ls_relay_flows *flows; /* borrowed; NULL: its own */
    bool is_follower;      /* another worker is registered: `flows` alone counts */
} ls_relay_server_config;

typedef enum ls_relay_server_state {
    LS_RELAY_SERVER_SEEKING, /* nothing has come of the relay yet, or for a while */
    LS_RELAY_SERVER_REGISTERED,
    LS_RELAY_SERVER_FULL,       /* the relay takes no more servers, or none of this address */
    LS_RELAY_SERVER_KEY_NEEDED, /* it takes only those with its key */
} ls_relay_server_state;

/* In the directory of the relay. */
typedef enum ls_relay_server_listed {
    LS_RELAY_SERVER_UNLISTED, /* not wanted, or not yet or no longer there */
    LS_RELAY_SERVER_LISTED,
    LS_RELAY_SERVER_LIST_FULL,
} ls_relay_server_listed;

typedef struct ls_relay_server ls_relay_server;

/* The config is copied. Needs ls_cipher_init. NO_MEMORY. */
ls_status ls_relay_server_create(const ls_relay_server_config *config,
                                 const ls_allocator *allocator, ls_relay_server **out);
/* After its socket was closed. Wipes its keys; NULL is allowed. */
void ls_relay_server_destroy(ls_relay_server *server);

/* The socket for a transport, once; takes the one that it stands on. */
ls_datagram_socket *ls_relay_server_socket(ls_relay_server *server, ls_datagram_socket *inner);

/* Registers and keeps that up. Does nothing without a socket. */
void ls_relay_server_advance(ls_relay_server *server, uint64_t now_ns);

/* Where the server's router leads to it; all zero: it does not. Players of the relay try that as
 * well. May be another process's. */
void ls_relay_flows_set_outside(ls_relay_flows *flows, const ls_endpoint *outside);
/* The same of its own flows. */
void ls_relay_server_set_outside(ls_relay_server *server, const ls_endpoint *outside);

/* The entry of the directory from its next renewal on, which comes soon when it is another one; all
 * of its bytes count. The secret is filled in. */
void ls_relay_server_set_listing(ls_relay_server *server, const ls_relay_listing *listing);
/* The server is about to end: its game is taken off the list now, not 30 s later. */
void ls_relay_server_withdraw(ls_relay_server *server);
ls_relay_server_listed ls_relay_server_listed_of(const ls_relay_server *server, uint64_t now_ns);

ls_relay_server_state ls_relay_server_state_of(const ls_relay_server *server);
/* As REGISTERED; they stay when the relay is lost, until others are given. */
const ls_relay_code *ls_relay_server_code(const ls_relay_server *server);
ls_relay_page ls_relay_server_page(const ls_relay_server *server);

#endif

/* UDP transport: carries packets over UDP, IPv6 and IPv4, as the server of many peers or the client
 * of one, sealed as protocol/SEALED.md says; what must arrive goes through ENet behind the seal.
 * Owns the socket, the keys and ENet's queues; never interprets a payload and never decides that a
 * silent peer is dead: that is its owner's job. Made by programs; driven by an event loop or,
 * without one, by ls_transport_udp_service. */
#ifndef LOCKSTEP_PROTOCOL_UDP_TRANSPORT_UDP_H
#define LOCKSTEP_PROTOCOL_UDP_TRANSPORT_UDP_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/datagram_socket.h"
#include "lockstep/protocol/enet/enet_datagram.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/protocol/transport/transport.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

/* Connections that one server can hold at most; of several workers of a port, each of them. */
#define LS_TRANSPORT_UDP_PEERS_MAX 32767u

/* How long a closed connection may take to deliver what was sent reliably, and how long destroy
 * may wait for the same. */
#define LS_TRANSPORT_UDP_CLOSE_MS 2000u
#define LS_TRANSPORT_UDP_DESTROY_MS 200u

typedef struct ls_transport_udp_server_config {
    /* Address or name of an interface; "::" is all of them, of IPv4 as well, "0.0.0.0" all of IPv4.
     */
    const char *bind_host;
    uint16_t port; /* 0: the system chooses, see ls_transport_udp_port */
    /* A UDP socket that is bound already, in place of host and port; taken, also when the transport
     * cannot be made. -1: none. One of a group (udp_group.h) is that of `sealed.worker`. */
    int descriptor;
    ls_socket_wrapper around; /* the socket, such as a relay's (relay_server.h) */
    /* Decides who gets in, and how many. `connections_max` is 1 .. LS_TRANSPORT_UDP_PEERS_MAX: give
     * more than a match has players, so that a peer that is let in can be told that the match is
     * full. `per_address_max` must leave room for
     * clients that share a machine or a home router. */
    ls_sealed_server_config sealed;
} ls_transport_udp_server_config;

/* All interfaces, port chosen by the system, 64 peers in all and from one address, an identity made
 * anew. A client on this machine is given the public key; any other one has to know it already,
 * from an invite (ls_transport_udp_invite), or is refused with KEY_WITHHELD. IO
 * when there are no random bytes. */
ls_status ls_transport_udp_server_config_default(ls_transport_udp_server_config *config);

/* BAD_ARGUMENT, NOT_FOUND (no such interface name), IO (port in use, no permission) or NO_MEMORY;
 * `error`, which may be NULL, then says what is wrong. The config is copied, the allocator must
 * outlive the transport. */
ls_status ls_transport_udp_listen(const ls_transport_udp_server_config *config,
                                  const ls_allocator *allocator, ls_transport **transport,
                                  ls_text *error);

typedef struct ls_transport_udp_client_config {
    /* "HOST:PORT", or an invite, which says of `sealed` what it knows; the room that an invite may
     * name is the session's to ask for. */
    const char *server;
    uint64_t connect_timeout_ns;    /* 1 or more */
    ls_sealed_client_config sealed; /* all zero: believes whatever key the server gives */
} ls_transport_udp_client_config;

/* No server, no key, 5 s. */
ls_transport_udp_client_config ls_transport_udp_client_config_default(void);

/* Resolves the name, which may block for seconds, and starts to connect. The outcome is an event:
 * CONNECTED, or DISCONNECTED: with REFUSED when the server lets nobody in; with UNREACHABLE as soon
 * as the host answers that nobody listens there, or when the time is over and no network led there;
 * with TIMED_OUT if there was no answer at all. Failures as in listen. */
ls_status ls_transport_udp_connect(const ls_transport_udp_client_config *config,
                                   const ls_allocator *allocator, ls_transport **transport,
                                   ls_text *error);

/* A socket and a clock that a transport stands on in place of the system's: those of a network in
 * virtual time. */
typedef struct ls_transport_udp_ground {
    ls_datagram_socket *socket; /* taken: the transport closes it, also when it cannot be made */
    ls_clock clock;
} ls_transport_udp_ground;

/* As above without a name to resolve, on a ground of the caller's. NO_MEMORY, IO. */
ls_status ls_transport_udp_listen_on(const ls_transport_udp_ground *ground,
                                     const ls_sealed_server_config *config,
                                     const ls_allocator *allocator, ls_transport **transport);
/* Likewise; the config's server is not looked at. */
ls_status ls_transport_udp_connect_on(const ls_transport_udp_ground *ground,
                                      const ls_endpoint *server,
                                      const ls_transport_udp_client_config *config,
                                      const ls_allocator *allocator, ls_transport **transport);

/* Of a server: the line that a player gives to a client as its `server`, for players who reach this
 * machine as `host`: a name or an address of 1 to LS_INVITE_HOST_BYTES_MAX - 1 bytes, one of IPv6
 * without brackets. It holds the secret where the config has one. */
void ls_transport_udp_invite(const ls_transport *transport, const char *host,
                             char text[LS_INVITE_TEXT_BYTES_MAX]);

/* Why a client's server refused it; NONE when it did not, or nobody was there. */
ls_sealed_refusal ls_transport_udp_refusal(const ls_transport *transport);

/* Of a client: gives up its connection, if there still is one, without an event for it, and starts
 * to connect to the same place anew. The outcome is an event as after connect, with another peer id
 * than before. NO_MEMORY. Not between an event and the use of its bytes. */
ls_status ls_transport_udp_reconnect(ls_transport *transport, uint64_t connect_timeout_ns);

/* Of a client: see ls_sealed_client_set_match. */
void ls_transport_udp_set_match(ls_transport *transport, uint64_t match);

/* From now on the loop drives the transport. on_ready is called when events may be waiting and
 * must take them all with ls_transport_next_event. IO or NO_MEMORY. At most once; the transport
 * must be destroyed before the loop. */
ls_status ls_transport_udp_attach(ls_transport *transport, ls_event_loop *loop,
                                  ls_loop_handler on_ready);

/* Whether the loop calls on_ready as packets come, as it does from the start, or not at all. Then
 * the owner calls ls_transport_udp_service in time, as without a loop: a server that takes its
 * packets right before it closes a tick wakes once a tick and not for each of them. */
void ls_transport_udp_set_eager(ls_transport *transport, bool is_eager);

/* Most that ls_transport_udp_coming tells at once. */
#define LS_TRANSPORT_UDP_COMING_MAX 16u

/* Of a server, before an event is taken: the peers whose datagrams are here already, in the order
 * in which they come, 0 for one that names nobody; returns how many. They are what the datagrams
 * say, which nothing has proven yet: of use to ask for memory in time, and for nothing else. Each
 * datagram is told of once: 0 as long as those before have not been taken. */
uint32_t ls_transport_udp_coming(ls_transport *transport,
                                 ls_peer_id peers[LS_TRANSPORT_UDP_COMING_MAX]);

/* Whether the last turn ended before everything that had come was taken in. */
bool ls_transport_udp_has_more(const ls_transport *transport);

/* Without a loop: opens a turn, to be followed by next_event until that gives 0. To be called
 * every few milliseconds; received packets, repeats and time-outs wait for it. One turn takes in a
 * bounded number of datagrams, so that a flood cannot keep its owner from its ticks. */
void ls_transport_udp_service(ls_transport *transport);

/* The transport's clock now: arrived_ns of its events is on it, and so has to be the `now_ns` that
 * a match or a session is given. */
uint64_t ls_transport_udp_now_ns(const ls_transport *transport);

/* When service is to be called at the latest, if nothing comes before; UINT64_MAX: nothing is
 * repeated and nobody is waited for. */
uint64_t ls_transport_udp_next_ns(const ls_transport *transport);

/* "[2001:db8::1]:7300" and its final NUL. */
#define LS_TRANSPORT_UDP_ADDRESS_BYTES 54u

/* Where a peer is now. NOT_FOUND when it is gone. */
ls_status ls_transport_udp_address(const ls_transport *transport, ls_peer_id peer,
                                   char text[LS_TRANSPORT_UDP_ADDRESS_BYTES]);

/* ls_endpoint_origin of where a server's peer is now; 0 when it is gone. */
uint64_t ls_transport_udp_origin(const ls_transport *transport, ls_peer_id peer);

/* The pass that a server's peer has by its connect token; NULL: it has none, or is gone. And: the
 * peer was given a place by it, or will not be: see ls_sealed_server_settle_pass. */
const ls_sealed_pass *ls_transport_udp_pass(const ls_transport *transport, ls_peer_id peer);
void ls_transport_udp_settle_pass(ls_transport *transport, ls_peer_id peer, bool is_used);

/* Clients that a server has let in and that have not said their first word: they are no peers yet.
 */
uint32_t ls_transport_udp_half_open(const ls_transport *transport);

/* The UDP port that a server is bound to, or a client sends from. */
uint16_t ls_transport_udp_port(const ls_transport *transport);

/* Every datagram that came or went, whoever sent it, with the headers of IP, UDP, seal and ENet. */
ls_transport_traffic ls_transport_udp_total(const ls_transport *transport);

/* Datagrams that were dropped for this reason, before their seal was open and behind it. */
uint64_t ls_transport_udp_rejections(const ls_transport *transport, ls_sealed_rejection rejection);
/* Clients that were told so. */
uint64_t ls_transport_udp_denials(const ls_transport *transport, ls_denial denial);
uint64_t ls_transport_udp_enet_rejections(const ls_transport *transport,
                                          ls_datagram_rejection rejection);

LS_C_END

#endif

/* Host: a table of matches on a real network: the event loop, the UDP transport and one alarm for
 * whatever is due next, wired together. Decides nothing about a match and tells nobody anything but
 * its owner. Called by server.c and by the benchmarks. */
#ifndef LOCKSTEP_SERVER_HOST_HOST_H
#define LOCKSTEP_SERVER_HOST_HOST_H

#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/server/host/match_table.h"

/* Players and spectators of all matches together. Beside them stand those who are told that there
 * is no place. */
#define LS_HOST_PENDING_MAX 64u
#define LS_HOST_PLACES_MAX (LS_TRANSPORT_UDP_PEERS_MAX - LS_HOST_PENDING_MAX)

typedef struct ls_host_config {
    /* The matches that are open from the start, and who is told of all. `players_max`: places of
     * players and spectators in all, .. LS_HOST_PLACES_MAX; 0: what those that are open from the
     * start need. The host sets `peers_max`. */
    ls_match_table_config table;
    const char *bind_host;    /* address or interface name; "::" is all, of IPv4 too */
    uint16_t port;            /* 0: chosen by the system, see ls_host_port */
    int descriptor;           /* of a UDP socket that is bound already, in place of both; 0: none */
    ls_socket_wrapper around; /* see ls_transport_udp_server_config */
    uint32_t per_address_max; /* connections of one address without a token; 0: no limit */
    /* Decides who gets in; how many is decided here. All zero: an identity of its own is made, and
     * clients on this machine alone come in by the address. */
    ls_sealed_server_config sealed;
    /* All with the table's user. Called for each event, within ls_host_run or ls_host_end_matches;
     * NULL: no callback. */
    void (*on_event)(void *user, const ls_match_table_event *event);
    /* A connection of this match has ended, and the transport is about to forget it; NULL: no
     * callback. */
    void (*on_gone)(void *user, uint32_t match, ls_peer_id peer);
    /* While every match is over: whether all is done; else somebody stops the loop. NULL: yes. */
    bool (*may_end)(void *user);
} ls_host_config;

typedef struct ls_host ls_host;

/* Listens. BAD_ARGUMENT, NOT_FOUND, IO or NO_MEMORY; `why` may then say more. The config is
 * copied; the allocator must outlive the host. */
ls_status ls_host_create(const ls_host_config *config, const ls_allocator *allocator,
                         ls_host **host, ls_text *why);
void ls_host_destroy(ls_host *host);

/* Hosts until every match is over or the loop is stopped. */
void ls_host_run(ls_host *host);

/* Ends every match after its newest closed tick; run returns once the clients know. */
void ls_host_end_matches(ls_host *host);

/* Opens another match, in which newcomers are given seats from then on: see ls_match_table_open.
 * FULL as well when not so many places are left as it has players: spectators come in as long as
 * there are some. */
ls_status ls_host_open_match(ls_host *host, const ls_match_opening *opening, uint32_t *number,
                             ls_text *why);
/* Forgets a match whose events have been taken. Not from within on_event or on_advanced. */
void ls_host_close_match(ls_host *host, uint32_t number);

/* No tick is closed and no packet taken from now on, while the loop goes on: for a process that is
 * about to leave its matches in their journals. */
void ls_host_freeze(ls_host *host);

/* A match was called past the host. */
void ls_host_touch(ls_host *host, uint32_t match);

/* As ls_match_table_was_called. */
bool ls_host_was_called(ls_host *host, uint32_t match);

/* For further sources; owned by the host. */
ls_event_loop *ls_host_loop(const ls_host *host);
const ls_match_table *ls_host_table(const ls_host *host);

uint16_t ls_host_port(const ls_host *host);

/* The transport, to ask it what it counts; owned by the host. */
const ls_transport *ls_host_transport(const ls_host *host);

/* Of everybody who ever sent or was sent anything. */
ls_transport_traffic ls_host_total(const ls_host *host);

#endif

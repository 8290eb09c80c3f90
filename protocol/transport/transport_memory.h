/* Transport memory: a network inside one process, in virtual time, with seeded faults.
 * The same seed and the same calls give the same deliveries, so a failing run replays exactly.
 * Never reads a clock: the owner moves time. For tests of whole matches. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_TRANSPORT_MEMORY_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_TRANSPORT_MEMORY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/protocol/transport/link_model.h"
#include "lockstep/protocol/transport/transport.h"

LS_C_BEGIN

#define LS_MEMORY_ENDPOINTS_MAX 512u

/* More are lost, as in a router; a connection whose reliable packet would be lost ends instead. */
#define LS_MEMORY_INBOX_PACKETS_MAX 16384u

/* Packets counted over the network's life. */
typedef struct ls_memory_counts {
    uint64_t sent;
    uint64_t delivered;
    uint64_t lost;           /* in all */
    uint64_t lost_in_bursts; /* of them */
    uint64_t lost_in_cuts;   /* of them; partitions are cuts */
    uint64_t reordered;      /* arrive before one that was sent earlier */
    uint64_t duplicated;
    uint64_t corrupted;
} ls_memory_counts;

typedef struct ls_memory_network ls_memory_network;

/* NO_MEMORY, which the makers of endpoints may give as well. The allocator must outlive it. */
ls_status ls_memory_network_create(uint64_t seed, const ls_allocator *allocator,
                                   ls_memory_network **out);
/* Destroys the endpoints too. */
void ls_memory_network_destroy(ls_memory_network *network);

/* Time only moves forward. */
void ls_memory_network_set_time(ls_memory_network *network, uint64_t now_ns);
ls_memory_counts ls_memory_network_counts(const ls_memory_network *network);

/* A reliable packet that is lost is sent again after so long, at most 1 s, then after twice as
 * long, and so on, as ENet does, which begins with 500 ms at worst. 0, the default: each time after
 * a round trip. */
void ls_memory_network_set_resend(ls_memory_network *network, uint64_t first_ns);

/* When the next packet arrives anywhere, or UINT64_MAX. */
uint64_t ls_memory_network_next_ns(const ls_memory_network *network);

/* Endpoints live as long as the network; ls_transport_destroy on one closes its connections, and
 * what is on its way to it is lost. A client is connected to its server after a round trip. FULL
 * beyond the maximum. */
ls_status ls_memory_server_create(ls_memory_network *network, ls_transport **out);
ls_status ls_memory_client_create(ls_memory_network *network, ls_transport *server,
                                  ls_transport **out);

/* The server's process dies and another one takes its place: it knows no connection of before, what
 * was on its way to it is lost, and nobody is told. */
void ls_memory_server_forget(ls_transport *server);

/* Sets how packets from the client travel (up) and to it (down), from now on. The configs must have
 * passed their check. A reliable packet waits until a cut or a partition is over. */
void ls_memory_client_set_links(ls_transport *client, const ls_link_config *up,
                                const ls_link_config *down);

LS_C_END

#endif

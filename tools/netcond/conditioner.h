/* Conditioner: one direction through a network for several clients: packets go in, and those that
 * its links do not lose come out when they are due. Owns the packets meanwhile, in fixed memory,
 * and counts what became of each. Pure: time is an argument; no clock, no socket. The same seed and
 * the same n-th packet of the n-th client give the same decisions. Called by proxy and by tests. */
#ifndef LOCKSTEP_TOOLS_NETCOND_CONDITIONER_H
#define LOCKSTEP_TOOLS_NETCOND_CONDITIONER_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/histogram.h"
#include "lockstep/protocol/transport/link_model.h"

#define NETCOND_CONDITIONER_CLIENTS_MAX 512u
/* Held at once: 17 MB, touched only as far as it is needed. */
#define NETCOND_CONDITIONER_PACKETS_MAX 8192u

#define NETCOND_HEADER_BYTES 28u /* IPv4 and UDP: they count against rate and queue */
#define NETCOND_DATAGRAM_BYTES_MAX (LS_LINK_WIRE_BYTES_MAX - NETCOND_HEADER_BYTES)

/* Why a packet was lost: by its link, or here. */
#define NETCOND_LOSS_MAP(X)                                                                        \
    LS_LINK_LOSS_MAP(X)                                                                            \
    X(TOO_LARGE, too_large) /* more than NETCOND_DATAGRAM_BYTES_MAX */                             \
    X(NO_ROOM, no_room)     /* the conditioner held as many as it can */                           \
    X(NO_CLIENT, no_client) /* its client was forgotten meanwhile */

typedef enum netcond_loss {
    NETCOND_LOSS_NONE,
#define NETCOND_LOSS_ENUM(name, key) NETCOND_LOSS_##name,
    NETCOND_LOSS_MAP(NETCOND_LOSS_ENUM)
#undef NETCOND_LOSS_ENUM
    NETCOND_LOSS_COUNT,
} netcond_loss;

typedef struct netcond_conditioner netcond_conditioner;

typedef enum netcond_direction {
    NETCOND_DIRECTION_UP,   /* clients to server */
    NETCOND_DIRECTION_DOWN, /* server to clients */
    NETCOND_DIRECTION_COUNT,
} netcond_direction;

typedef struct netcond_conditioner_config {
    ls_link_config link; /* of each client */
    uint64_t seed;
    netcond_direction direction; /* the two directions of one seed decide differently */
    uint32_t clients_max;        /* 1 .. NETCOND_CONDITIONER_CLIENTS_MAX */
} netcond_conditioner_config;

/* Durations that were measured: exact but for the percentiles. */
typedef struct netcond_conditioner_times {
    uint64_t count;
    uint64_t min_ns; /* UINT64_MAX without samples */
    uint64_t max_ns;
    uint64_t sum_ns;
    uint32_t magnified; /* the histogram holds so many times each duration: its bins get finer */
    ls_histogram histogram;
} netcond_conditioner_times;

typedef struct netcond_conditioner_figures {
    uint64_t received;
    uint64_t received_bytes; /* with IPv4 and UDP headers, here and below */
    uint64_t forwarded;      /* with copies */
    uint64_t forwarded_bytes;
    uint64_t duplicated; /* copies made; received + duplicated = forwarded + lost + held */
    uint64_t reordered;  /* forwarded after a later packet of their client (RFC 4737) */
    uint64_t lost[NETCOND_LOSS_COUNT];
    uint64_t loss_runs; /* of packets of one client that were lost one after another */
    uint64_t longest_loss_run;
    uint32_t held; /* now */
    uint32_t held_max;
    netcond_conditioner_times delay; /* from arrival to forwarding; bins of 250 us up to 1 s */
    netcond_conditioner_times late;  /* after it was due: the owner's doing; 10 us up to 40 ms */
} netcond_conditioner_figures;

/* A packet that is due. */
typedef struct netcond_conditioned_packet {
    uint32_t client;
    const uint8_t *bytes; /* borrowed until the next call */
    size_t size;
} netcond_conditioned_packet;

/* The config's link must have passed its check. NO_MEMORY. */
ls_status netcond_conditioner_create(const netcond_conditioner_config *config,
                                     const ls_allocator *allocator, netcond_conditioner **out);
void netcond_conditioner_destroy(netcond_conditioner *conditioner);

/* Partitions are counted from here, not from 0: for clients opened later. */
void netcond_conditioner_set_origin(netcond_conditioner *conditioner, uint64_t now_ns);

/* Starts the place `client` (below clients_max) anew for the `number`-th client of this run, from 1
 * on. Packets still held for the one before are lost. */
void netcond_conditioner_open(netcond_conditioner *conditioner, uint32_t client, uint64_t number);

/* Packets held for it are lost. */
void netcond_conditioner_close(netcond_conditioner *conditioner, uint32_t client);

/* Takes the next packet of an open client. Bytes beyond NETCOND_DATAGRAM_BYTES_MAX are not
 * looked at: such a packet is lost. Time never runs backwards. */
void netcond_conditioner_put(netcond_conditioner *conditioner, uint32_t client,
                             const uint8_t *bytes, size_t size, uint64_t now_ns);

/* When the next packet is due, or UINT64_MAX. */
uint64_t netcond_conditioner_next_ns(const netcond_conditioner *conditioner);

/* Gives out the first packet that is due by now; false when there is none. */
bool netcond_conditioner_pop(netcond_conditioner *conditioner, uint64_t now_ns,
                             netcond_conditioned_packet *packet);

/* Borrowed for the conditioner's life. */
const netcond_conditioner_figures *
netcond_conditioner_figures_of(const netcond_conditioner *conditioner);

uint64_t netcond_conditioner_lost(const netcond_conditioner_figures *figures); /* for any reason */

/* The upper edge of the bin below which `percent` (1 .. 100) of the durations lie, at most the
 * longest; 0 without any. */
uint64_t netcond_conditioner_percentile_ns(const netcond_conditioner_times *times,
                                           uint32_t percent);

#endif

/* Link: one direction of one client's way through a network: decides for each packet whether it is
 * lost, when it arrives, and whether it arrives twice. Pure: time is an argument, chance a seed. It
 * never holds a packet and never knows what is in it. Called by conditioner, which holds them.
 *
 * The way of a packet: partition, then random and burst loss, then the rate's queue, then delay,
 * jitter, duplication and reordering. Each random decision about the n-th packet depends on the
 * seed and on n alone: not on time, nor on what else the link is set to do. */
#ifndef LOCKSTEP_TOOLS_NETCOND_LINK_H
#define LOCKSTEP_TOOLS_NETCOND_LINK_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/maths/rng.h"

#include <stdbool.h>
#include <stdint.h>

#define NETCOND_LINK_DELAY_MS_MAX 10000u
#define NETCOND_LINK_JITTER_MS_MAX 4000u
#define NETCOND_LINK_BURST_PERCENT_MAX 90u
#define NETCOND_LINK_BURST_PACKETS_MAX 10000u
#define NETCOND_LINK_RATE_KBIT_MAX 10000000u
#define NETCOND_LINK_QUEUE_KB_MAX 65536u
#define NETCOND_LINK_PARTITION_MS_MAX 86400000u /* a day */

#define NETCOND_LINK_DATAGRAM_BYTES_MAX 2048u /* more than an Ethernet frame holds */
#define NETCOND_LINK_HEADER_BYTES 28u         /* IPv4 and UDP: they count against rate and queue */

/* Why a packet was lost. The first four are a link's doing, the others the conditioner's. */
#define NETCOND_LOSS_MAP(X)                                                                        \
    X(RANDOM, random)                                                                              \
    X(BURST, burst)                                                                                \
    X(PARTITION, partition)                                                                        \
    X(QUEUE, queue)         /* the rate's queue was full */                                        \
    X(TOO_LARGE, too_large) /* more than NETCOND_LINK_DATAGRAM_BYTES_MAX */                        \
    X(NO_ROOM, no_room)     /* the conditioner held as many as it can */                           \
    X(NO_CLIENT, no_client) /* its client was forgotten meanwhile */

typedef enum netcond_loss {
    NETCOND_LOSS_NONE,
#define NETCOND_LOSS_ENUM(name, key) NETCOND_LOSS_##name,
    NETCOND_LOSS_MAP(NETCOND_LOSS_ENUM)
#undef NETCOND_LOSS_ENUM
    NETCOND_LOSS_COUNT,
} netcond_loss;

/* All zero but what only comes with something else: a perfect link. Shares are in millionths. */
typedef struct netcond_link_config {
    uint64_t delay_ns;
    uint64_t jitter_ns;   /* each packet takes up to this much longer, uniformly */
    bool overtakes;       /* through jitter a packet may arrive before an earlier one; otherwise it
                             waits for it, as in a queue */
    uint32_t loss_ppm;    /* each packet for itself */
    uint32_t burst_ppm;   /* share of the packets that meet a bad period (Gilbert and Elliott) */
    uint32_t burst_milli; /* thousandths of packets that a bad period lasts on average; >= 1000 */
    uint32_t burst_loss_ppm; /* share that is lost in a bad period */
    uint32_t duplicate_ppm;  /* arrives again, with a jitter of its own */
    uint32_t reorder_ppm;    /* held back by reorder_ns, so that those behind it overtake */
    uint64_t reorder_ns;
    uint64_t rate_bps;           /* bits a second, headers counted; 0: without limit */
    uint64_t bucket_bytes;       /* what passes at once after a pause, faster than the rate */
    uint64_t queue_bytes;        /* what waits for the rate at most; the packet beyond it is lost */
    uint64_t partition_start_ns; /* after the origin */
    uint64_t partition_length_ns; /* 0: no partition. Packets sent meanwhile are lost */
    uint64_t partition_every_ns;  /* from start to start; 0: once */
} netcond_link_config;

netcond_link_config netcond_link_config_default(void);

/* BAD_ARGUMENT with the field that is out of range or does not go with another. */
ls_status netcond_link_config_check(const netcond_link_config *config, ls_text *why);

typedef enum netcond_link_chance {
    NETCOND_LINK_CHANCE_LOSS,
    NETCOND_LINK_CHANCE_PERIOD, /* a bad period begins or ends */
    NETCOND_LINK_CHANCE_BURST_LOSS,
    NETCOND_LINK_CHANCE_DUPLICATE,
    NETCOND_LINK_CHANCE_REORDER,
    NETCOND_LINK_CHANCE_JITTER,
    NETCOND_LINK_CHANCE_COPY_JITTER,
    NETCOND_LINK_CHANCE_COUNT,
} netcond_link_chance;

typedef struct netcond_link {
    netcond_link_config config;
    uint64_t origin_ns;
    ls_rng rngs[NETCOND_LINK_CHANCE_COUNT];
    bool is_bad;            /* within a bad period */
    uint64_t spent_ns;      /* when the rate has paid for all packets so far */
    uint64_t spent_rest;    /* what the last division left, in bits * ns / s */
    uint64_t latest_due_ns; /* of those that keep the order */
} netcond_link;

typedef struct netcond_link_start {
    uint64_t seed;
    uint64_t stream;    /* links of one seed with different streams are independent; below 2^60 */
    uint64_t origin_ns; /* from here partitions are counted */
} netcond_link_start;

/* The config must have passed its check; it is copied. */
void netcond_link_init(netcond_link *link, const netcond_link_config *config,
                       const netcond_link_start *start);

/* The fate of a packet. */
typedef struct netcond_link_fate {
    netcond_loss loss; /* the rest is meaningless unless NONE */
    bool has_copy;
    uint64_t due_ns; /* never before now */
    uint64_t copy_due_ns;
} netcond_link_fate;

/* Decides about the next packet. `payload_bytes`: 0 .. NETCOND_LINK_DATAGRAM_BYTES_MAX. Calls come
 * in the order of time. */
netcond_link_fate netcond_link_decide(netcond_link *link, uint64_t payload_bytes, uint64_t now_ns);

#endif

/* Link model: one direction of one connection through a bad network: decides for each packet
 * whether it is lost, when it arrives, whether it arrives twice, and whether a bit of it is
 * flipped. Pure: time is an argument, chance a seed. It never holds a packet and never looks into
 * one.
 *
 * The way of a packet: partition, then random and burst loss, then the rate's queue, then delay,
 * jitter, duplication, reordering and alteration. Each random decision about the n-th packet
 * depends on the seed and on n alone: not on time, nor on what else the link is set to do. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_LINK_MODEL_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_LINK_MODEL_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/maths/rng.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_LINK_DELAY_MS_MAX 10000u
#define LS_LINK_JITTER_MS_MAX 4000u
#define LS_LINK_BURST_PERCENT_MAX 90u
#define LS_LINK_BURST_PACKETS_MAX 10000u
#define LS_LINK_RATE_KBIT_MAX 10000000u
#define LS_LINK_QUEUE_KB_MAX 65536u
#define LS_LINK_PARTITION_MS_MAX 86400000u /* a day */

/* The largest packet, headers counted: more than an Ethernet frame holds. */
#define LS_LINK_WIRE_BYTES_MAX 2076u

/* Why a packet was lost. */
#define LS_LINK_LOSS_MAP(X)                                                                        \
    X(RANDOM, random)                                                                              \
    X(BURST, burst)                                                                                \
    X(PARTITION, partition)                                                                        \
    X(QUEUE, queue) /* the rate's queue was full */

typedef enum ls_link_loss {
    LS_LINK_LOSS_NONE,
#define LS_LINK_LOSS_ENUM(name, key) LS_LINK_LOSS_##name,
    LS_LINK_LOSS_MAP(LS_LINK_LOSS_ENUM)
#undef LS_LINK_LOSS_ENUM
    LS_LINK_LOSS_COUNT,
} ls_link_loss;

/* All zero: instant and perfect. Shares are in millionths of the packets. */
typedef struct ls_link_config {
    uint64_t delay_ns;
    uint64_t jitter_ns; /* each packet takes up to this much longer, uniformly */
    bool keeps_order;   /* a packet that jitter would let arrive before an earlier one waits for it,
                           as in a queue; otherwise it overtakes */
    bool is_cut;        /* nothing passes until the owner sets the link anew */
    uint32_t loss_ppm;  /* each packet for itself */
    uint32_t burst_ppm; /* share that meets a bad period (Gilbert and Elliott) */
    uint32_t burst_milli; /* thousandths of packets that a bad period lasts on average; >= 1000 */
    uint32_t burst_loss_ppm; /* share that is lost in a bad period */
    uint32_t duplicate_ppm;  /* arrives again, with a jitter of its own */
    uint32_t corrupt_ppm;    /* one random bit is flipped */
    uint32_t reorder_ppm;    /* held back by reorder_ns, so that those behind it overtake */
    uint64_t reorder_ns;
    uint64_t rate_bps;           /* bits a second, headers counted; 0: without limit */
    uint64_t bucket_bytes;       /* what passes at once after a pause, faster than the rate */
    uint64_t queue_bytes;        /* what waits for the rate at most; the packet beyond it is lost */
    uint64_t partition_start_ns; /* after the origin */
    uint64_t partition_length_ns; /* 0: no partition. Packets sent meanwhile are lost */
    uint64_t partition_every_ns;  /* from start to start; 0: once */
} ls_link_config;

/* A perfect link that keeps the order, with what a bad period, reordering and a rate come with
 * unless something else is asked: all packets lost, 25 ms, a bucket of 3 and a queue of 64 KB. */
ls_link_config ls_link_config_default(void);

/* BAD_ARGUMENT with the field that is out of range or does not go with another. */
ls_status ls_link_config_check(const ls_link_config *config, ls_text *why);

typedef struct ls_link_model {
    ls_link_config config;
    uint64_t origin_ns;
    ls_rng rng;
    bool is_bad;            /* within a bad period */
    uint64_t spent_ns;      /* when the rate has paid for all packets so far */
    uint64_t spent_rest;    /* what the last division left, in bits * ns / s */
    uint64_t latest_due_ns; /* of those that keep the order */
} ls_link_model;

typedef struct ls_link_start {
    uint64_t seed;
    uint64_t stream;    /* links of one seed with different streams are independent; below 2^63 */
    uint64_t origin_ns; /* from here partitions are counted */
} ls_link_start;

/* The config must have passed its check; it is copied. */
void ls_link_model_init(ls_link_model *link, const ls_link_config *config,
                        const ls_link_start *start);

/* From the next packet on the link is another one. */
void ls_link_model_set_config(ls_link_model *link, const ls_link_config *config);

/* When packets pass again: now, or when a partition is over; UINT64_MAX while the link is cut. */
uint64_t ls_link_model_opens_ns(const ls_link_model *link, uint64_t now_ns);

/* Ends a bad period: the next packet leaves much later than the one before. */
void ls_link_model_end_burst(ls_link_model *link);

/* The fate of a packet. */
typedef struct ls_link_fate {
    ls_link_loss loss; /* the rest is meaningless unless NONE */
    bool has_copy;
    bool is_altered;
    uint32_t altered_share; /* which of its bits, of 2^32 */
    uint64_t due_ns;        /* never before now */
    uint64_t copy_due_ns;
} ls_link_fate;

/* Decides about the next packet. `wire_bytes`: at most LS_LINK_WIRE_BYTES_MAX. Calls come in the
 * order of time. */
ls_link_fate ls_link_model_decide(ls_link_model *link, uint64_t wire_bytes, uint64_t now_ns);

/* Flips the bit of a packet whose fate is to be altered; `size` > 0. */
void ls_link_fate_alter(const ls_link_fate *fate, uint8_t *bytes, uint64_t size);

LS_C_END

#endif

/* Link meter: what one direction of a connection does to the packets of one stream: how many it
 * loses and how unevenly it delays them. Measured by the receiver from the packets' sequence
 * numbers and from the times they were due to be sent. Never reads a clock, nor compares two. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_LINK_METER_H
#define LOCKSTEP_PROTOCOL_WIRE_LINK_METER_H

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/tick_packet.h"

/* In place of a stamp: one of the machines was late by more than this, and it is not known when the
 * packet went out or came. */
#define LS_LINK_STAMP_NONE INT64_MIN
#define LS_LINK_LATE_NS (UINT64_C(2) * LS_NS_PER_MS)

/* An outage says nothing of jitter, which a sample moves by this share (RFC 3550). */
#define LS_LINK_SILENCE_NS (UINT64_C(250) * LS_NS_PER_MS)
#define LS_LINK_JITTER_SHARE 16

typedef struct ls_link_meter {
    bool has_first;
    uint32_t newest;         /* sequence of the newest packet */
    uint64_t seen;           /* bit b: the packet b before the newest has come */
    uint64_t sent;           /* packets sent so far, as far as sequences tell */
    uint64_t lost;           /* of them, not arrived */
    uint32_t window_sent[2]; /* of this window and the one before */
    uint32_t window_lost[2];
    uint64_t heard_ns;   /* when anything last came */
    uint64_t arrived_ns; /* of the newest stamp */
    int64_t stamp_ns;
    uint64_t jitter_ns; /* RFC 3550, section 6.4.1 */
} ls_link_meter;

typedef enum ls_link_arrival {
    LS_LINK_NEWER,    /* newer than any before */
    LS_LINK_OLDER,    /* overtaken by another */
    LS_LINK_REPEATED, /* has come before */
} ls_link_arrival;

/* A packet with the low LS_SEQUENCE_BITS of its number came. `stamp_ns`: when its newest content
 * was due, by any clock that keeps the sender's pace. A `meter` of zeros is a new one. */
ls_link_arrival ls_link_meter_add(ls_link_meter *meter, uint32_t sequence, int64_t stamp_ns,
                                  uint64_t now_ns);

/* Loss of the last 256 to 512 packets, smoothed jitter. */
ls_link_figures ls_link_meter_figures(const ls_link_meter *meter);

#endif

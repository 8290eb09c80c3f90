/* Blob sender: streams a blob to one receiver over the unreliable channel: numbers and paces the
 * parts, sends again what was lost (selective repeat), and finds the rate of the link, whose queue
 * it leaves to others. Time and acknowledgements come in as arguments, packets come out; never
 * reads a clock, never allocates after create. */
#ifndef LOCKSTEP_PROTOCOL_BLOB_BLOB_SENDER_H
#define LOCKSTEP_PROTOCOL_BLOB_BLOB_SENDER_H

#include "lockstep/common/base/text.h"
#include "lockstep/protocol/blob/blob.h"

/* Bytes a second that a sender can be told to send at most. */
#define LS_BLOB_RATE_MIN 65536u
#define LS_BLOB_RATE_MAX (1u << 30)
#define LS_BLOB_BURST_PACKETS_MAX 64u

typedef struct ls_blob_sender_config {
    uint32_t bytes_per_second; /* highest rate, headers counted: LS_BLOB_RATE_MIN .. _MAX */
    uint32_t header_bytes;     /* of the layers below, for each packet: 0 .. 256 */
    uint32_t burst_packets;    /* at most at once, after a pause: 1 .. LS_BLOB_BURST_PACKETS_MAX;
                                * more at rates at which they take less than half a millisecond */
    uint64_t tick_ns;          /* the receiver may answer two ticks late */
    uint32_t blob_bytes_max;   /* of what it is started with: 1 .. LS_BLOB_BYTES_MAX */
} ls_blob_sender_config;

/* 1 MiB/s, 40 bytes (IPv4, UDP and ENet), 4 packets, 60 Hz, any blob. */
ls_blob_sender_config ls_blob_sender_config_default(void);

/* BAD_ARGUMENT, and the field in `why`, which may be NULL. */
ls_status ls_blob_sender_config_check(const ls_blob_sender_config *config, ls_text *why);

typedef struct ls_blob_sender ls_blob_sender;

/* A valid config is copied. Takes 2 % of the largest blob, 400 KB at most; NO_MEMORY. */
ls_status ls_blob_sender_create(const ls_blob_sender_config *config, const ls_allocator *allocator,
                                ls_blob_sender **out);
/* Stops it as well; takes NULL. */
void ls_blob_sender_destroy(ls_blob_sender *sender);

/* Begins to stream a sealed blob, which it holds until it is stopped or destroyed, from the first
 * part on. `number` (0 .. 255) tells this blob from others on the
 * same connection. `rtt_ns`: the round trip, 0 when it is unknown. A stream that was under way
 * ends. The blob's owner calls ls_blob_advance until the blob is compressed. */
void ls_blob_sender_start(ls_blob_sender *sender, ls_blob *blob, uint32_t number, uint64_t rtt_ns,
                          uint64_t now_ns);
/* The receiver may have parts of the blob from another connection, which it acknowledges. */
void ls_blob_sender_expect_held(ls_blob_sender *sender);
void ls_blob_sender_stop(ls_blob_sender *sender);

/* The next packet that is due: its size, or 0 when none is. Call it until then. */
size_t ls_blob_sender_next(ls_blob_sender *sender, uint64_t now_ns,
                           uint8_t bytes[LS_PACKET_BYTES_MAX]);

/* When the next packet is due; UINT64_MAX when none is before an acknowledgement comes or the blob
 * has been advanced. */
uint64_t ls_blob_sender_next_ns(const ls_blob_sender *sender);

/* Takes a BLOB_ACK. MALFORMED when it is none or acknowledges what was neither sent nor expected to
 * be held; STALE when it is for another blob, or nothing is streamed. Either changes nothing. */
ls_status ls_blob_sender_receive_ack(ls_blob_sender *sender, uint64_t now_ns, const uint8_t *bytes,
                                     size_t size);

/* It has less than a window before it: ls_blob_advance is what it will wait for. */
bool ls_blob_sender_is_starved(const ls_blob_sender *sender);

/* Streaming, and not everything is acknowledged. */
bool ls_blob_sender_is_busy(const ls_blob_sender *sender);

/* Of the blob that is, or was last, streamed. */
typedef struct ls_blob_sender_figures {
    uint32_t acknowledged;     /* parts before the first one missing */
    uint32_t packets;          /* sent */
    uint32_t repeated;         /* of them */
    uint64_t bytes;            /* sent, with the headers of the layers below */
    uint64_t rtt_ns;           /* smoothed */
    uint32_t bytes_per_second; /* that it would send now at most */
} ls_blob_sender_figures;

ls_blob_sender_figures ls_blob_sender_figures_of(const ls_blob_sender *sender);

#endif

/* Blob packet: the two unreliable packets of PROTOCOL.md that carry a large byte string, BLOB_PART
 * and BLOB_ACK, and the layout of the compressed stream that the parts are cut from. Never trusts a
 * byte; a packet whose check does not fit is MALFORMED. */
#ifndef LOCKSTEP_PROTOCOL_BLOB_BLOB_PACKET_H
#define LOCKSTEP_PROTOCOL_BLOB_BLOB_PACKET_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The raw bytes are compressed in pieces of this size, fewer in the last one. Each stands in the
 * stream as its compressed size (u32) and so many bytes; where it would not get smaller it stands
 * as it is, with its raw size. */
#define LS_BLOB_PIECE_BYTES 65536u
#define LS_BLOB_FRAME_BYTES 4u

/* The stream is cut into parts of this size, fewer bytes in the last one (at least 1). */
#define LS_BLOB_PART_BYTES 1139u

/* Parts behind the first one missing that may be on their way: what 1 Gbit/s carries in 150 ms. An
 * acknowledgement tells of fewer, or it would not fit a packet. */
#define LS_BLOB_WINDOW_PARTS 16384u
#define LS_BLOB_ACK_PARTS 8192u

#define LS_BLOB_BYTES_MAX LS_STATE_BYTES_MAX

/* Pieces of `raw_bytes` and the most bytes that their stream can have. */
uint32_t ls_blob_piece_count(uint32_t raw_bytes);
uint32_t ls_blob_stream_bytes_max(uint32_t raw_bytes);

typedef struct ls_blob_part {
    uint32_t blob; /* number, 0 .. 255: which of a connection's blobs */
    bool is_last;
    uint32_t index;
    uint32_t packet; /* counts the BLOB_PARTs of this blob, repeated ones too; the first is 0 */
    uint32_t size;   /* LS_BLOB_PART_BYTES, or what is left for the last one */
    const uint8_t *bytes;
} ls_blob_part;

typedef struct ls_blob_ack {
    uint32_t blob;
    uint32_t first;    /* part that is missing; acknowledges all before it */
    uint32_t received; /* BLOB_PARTs of this blob, repeated ones too */
    uint32_t newest;   /* highest packet number among them */
    uint32_t hold;     /* time since that one came, as in INPUTS */
    uint32_t count;    /* parts told of behind `first`: 0 .. LS_BLOB_ACK_PARTS - 1 */
    uint8_t has[LS_BLOB_ACK_PARTS / 8]; /* bit i: part first + 1 + i has come */
} ls_blob_ack;

/* Write a packet and return its size. */
size_t ls_blob_part_write(const ls_blob_part *part, uint8_t bytes[LS_PACKET_BYTES_MAX]);
size_t ls_blob_ack_write(const ls_blob_ack *ack, uint8_t bytes[LS_PACKET_BYTES_MAX]);

/* Read a packet, kind included; MALFORMED leaves `out` untouched. A part's bytes stay where they
 * are in the packet. */
ls_status ls_blob_part_read(const uint8_t *bytes, size_t size, ls_blob_part *out);
ls_status ls_blob_ack_read(const uint8_t *bytes, size_t size, ls_blob_ack *out);

#endif

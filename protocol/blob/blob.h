/* Blob: one large byte string (a snapshot, or a history of ticks) and its compressed stream, which
 * any number of senders read. It compresses bit by bit, so that no call takes longer than one piece
 * (about 0.2 ms). Never sends, never allocates after create. */
#ifndef LOCKSTEP_PROTOCOL_BLOB_BLOB_H
#define LOCKSTEP_PROTOCOL_BLOB_BLOB_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Blob packet: the two unreliable packets of PROTOCOL.md that carry a large byte string,
 * BLOB_PART and BLOB_ACK, and the layout of the compressed stream that the parts are cut from.
 * Never trusts a byte; a packet whose check does not fit is MALFORMED ---- */

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

typedef struct ls_blob ls_blob;

/* Room for strings of up to `bytes_max` (1 .. LS_BLOB_BYTES_MAX): takes that, 1/16,384 of it and
 * 0.7 MiB. NO_MEMORY. */
ls_status ls_blob_create(uint32_t bytes_max, const ls_allocator *allocator, ls_blob **out);
/* No sender may be streaming it. */
void ls_blob_destroy(ls_blob *blob);

uint32_t ls_blob_bytes_max(const ls_blob *blob);

/* Begins a new string of `bytes` (1 .. bytes_max), which the caller writes to where the result
 * points before it seals it. The string before is lost: no sender may be streaming it. */
uint8_t *ls_blob_start(ls_blob *blob, uint32_t bytes);

/* Hashes what was written (0.1 ms a MiB at most). From here on the string belongs to the blob. */
void ls_blob_seal(ls_blob *blob);

/* The facts that the receiver must know: the size and XXH3-64 (seed 0) of the sealed string. */
uint32_t ls_blob_bytes(const ls_blob *blob);
uint64_t ls_blob_hash(const ls_blob *blob);

/* Compresses up to `pieces` more pieces of 64 KiB. True when all of it is compressed. */
bool ls_blob_advance(ls_blob *blob, uint32_t pieces);
bool ls_blob_is_compressed(const ls_blob *blob);

/* For senders: parts that can be cut from the stream so far, and one of them. Only with all of it
 * compressed the last part is known as such. */
uint32_t ls_blob_part_count(const ls_blob *blob);
ls_blob_part ls_blob_part_at(const ls_blob *blob, uint32_t index);

/* Senders say when they begin and end; while any is between, the blob must not change. */
void ls_blob_add_user(ls_blob *blob);
void ls_blob_remove_user(ls_blob *blob);
bool ls_blob_is_in_use(const ls_blob *blob);

#endif

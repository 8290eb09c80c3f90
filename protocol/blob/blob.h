/* Blob: one large byte string (a snapshot, or a history of ticks) and its compressed stream, which
 * any number of senders read. It compresses bit by bit, so that no call takes longer than one piece
 * (about 0.2 ms). Never sends, never allocates after create. */
#ifndef LOCKSTEP_PROTOCOL_BLOB_BLOB_H
#define LOCKSTEP_PROTOCOL_BLOB_BLOB_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/protocol/blob/blob_packet.h"

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

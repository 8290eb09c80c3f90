/* Blob receiver: puts a blob's parts together and decompresses them, and acknowledges what came.
 * Time and packets come in as arguments, acknowledgements come out. Every byte is hostile: memory
 * is fixed at create, contradictions are MALFORMED, and what does not have the hash that was stated
 * beforehand is never given out. */
#ifndef LOCKSTEP_PROTOCOL_BLOB_BLOB_RECEIVER_H
#define LOCKSTEP_PROTOCOL_BLOB_BLOB_RECEIVER_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/blob/blob.h"

#define LS_BLOB_ACK_NS (10 * LS_NS_PER_MS)      /* between two while parts arrive */
#define LS_BLOB_ACK_FIRST_NS (2 * LS_NS_PER_MS) /* likewise of the first LS_BLOB_ACKS_FIRST */
#define LS_BLOB_ACKS_FIRST 64u
#define LS_BLOB_ACK_IDLE_NS                                                                        \
    (100 * LS_NS_PER_MS) /* while something is missing and nothing comes                           \
                          */

typedef enum ls_blob_receiver_state {
    LS_BLOB_IDLE, /* never started, or stopped */
    LS_BLOB_RECEIVING,
    LS_BLOB_COMPLETE, /* every byte is there, and the hash fits */
    LS_BLOB_FAILED,   /* the stream is not what it should be; more of it cannot help */
} ls_blob_receiver_state;

typedef struct ls_blob_receiver ls_blob_receiver;

/* Room for strings of up to `bytes_max` (1 .. LS_BLOB_BYTES_MAX): takes that, 0.3 MB, and as much
 * again, up to 19 MB, for parts that came out of order, of which it touches what they need.
 * NO_MEMORY. */
ls_status ls_blob_receiver_create(uint32_t bytes_max, const ls_allocator *allocator,
                                  ls_blob_receiver **out);
void ls_blob_receiver_destroy(ls_blob_receiver *receiver);

/* The sender's announcement of a blob. */
typedef struct ls_blob_promise {
    uint32_t number; /* 0 .. 255 */
    uint32_t bytes;
    uint64_t hash; /* XXH3-64, seed 0 */
} ls_blob_promise;

/* Begins to receive; what it had before is lost. MALFORMED, without a change, when the number or
 * the size (1 .. bytes_max) is out of range. */
ls_status ls_blob_receiver_start(ls_blob_receiver *receiver, const ls_blob_promise *promise,
                                 uint64_t now_ns);
/* The blob comes on under another number, on another connection, and what there is of it is
 * acknowledged at once. Nothing happens when none was begun. */
void ls_blob_receiver_go_on(ls_blob_receiver *receiver, uint32_t number, uint64_t now_ns);
void ls_blob_receiver_stop(ls_blob_receiver *receiver);

/* Takes a BLOB_PART: stores it, no more. MALFORMED when it is none or contradicts what came before;
 * STALE when it is for another blob or nothing is received; FUTURE when it is beyond the window. */
ls_status ls_blob_receiver_receive_part(ls_blob_receiver *receiver, uint64_t now_ns,
                                        const uint8_t *bytes, size_t size);

/* Decompresses up to `pieces` of 64 KiB (about 0.1 ms each; with the last one it hashes the whole
 * string, 0.1 ms a MiB). Call it whenever parts were taken, and while it returns true: then more is
 * ready to be decompressed. */
bool ls_blob_receiver_advance(ls_blob_receiver *receiver, uint32_t pieces);

/* The next BLOB_ACK that is due: its size, or 0. UINT64_MAX: none before a part comes. A complete
 * blob is still acknowledged when parts of it come. */
size_t ls_blob_receiver_next(ls_blob_receiver *receiver, uint64_t now_ns,
                             uint8_t bytes[LS_PACKET_BYTES_MAX]);
uint64_t ls_blob_receiver_next_ns(const ls_blob_receiver *receiver);

ls_blob_receiver_state ls_blob_receiver_state_of(const ls_blob_receiver *receiver);

/* Raw bytes that are there so far, for a progress bar. */
uint32_t ls_blob_receiver_progress(const ls_blob_receiver *receiver);

/* The whole string once it is COMPLETE, until the next start; else NULL. */
const uint8_t *ls_blob_receiver_bytes(const ls_blob_receiver *receiver);

#endif

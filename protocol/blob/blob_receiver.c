#include "lockstep/protocol/blob/blob_receiver.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <string.h>

/* Parts wait in a pool until they are in order; from there they are gathered into a piece, and a
 * whole piece is decompressed to where it belongs. The place that was left last is taken first, so
 * that of a large window no more memory is touched than parts wait at a time. */
struct ls_blob_receiver {
    const ls_allocator *allocator;
    ls_decompressor *decompressor;
    uint32_t bytes_max;
    uint32_t window;     /* parts that the pool holds */
    uint8_t *raw;        /* [bytes_max] */
    uint8_t *pool;       /* [window][LS_BLOB_PART_BYTES] */
    uint16_t *places;    /* [window] of part index % window, in the pool, from 1 on; 0: none */
    uint16_t *free;      /* [window] places */
    uint32_t free_count; /* of them */
    uint8_t *piece;      /* [LS_BLOB_FRAME_BYTES + LS_BLOB_PIECE_BYTES] */
    uint32_t piece_size; /* of it, gathered */

    ls_blob_receiver_state state;
    ls_blob_promise promise;
    uint32_t pieces;   /* decompressed */
    uint32_t gathered; /* parts that left the pool */
    uint32_t offset;   /* bytes of part `gathered` that did */
    uint32_t first;    /* part that is missing; gathered <= first <= gathered + window */
    uint32_t end;      /* behind the furthest part that was seen */
    bool has_last;     /* then it is part end - 1 */
    uint32_t last_size;

    uint32_t received;
    uint32_t newest;
    uint64_t newest_ns;
    uint32_t acks;
    bool wants_ack; /* parts came since the last one */
    uint64_t acked_ns;
};

/* ---- create ---- */

static uint32_t parts_in(uint32_t stream_bytes)
{
    return (stream_bytes + LS_BLOB_PART_BYTES - 1) / LS_BLOB_PART_BYTES;
}

ls_status ls_blob_receiver_create(uint32_t bytes_max, const ls_allocator *allocator,
                                  ls_blob_receiver **out)
{
    LS_ASSERT(bytes_max >= 1 && bytes_max <= LS_BLOB_BYTES_MAX);
    ls_blob_receiver *receiver = ls_allocate(allocator, sizeof *receiver);
    if (!receiver) {
        return LS_NO_MEMORY;
    }
    uint32_t parts = parts_in(ls_blob_stream_bytes_max(bytes_max));
    receiver->allocator = allocator;
    receiver->bytes_max = bytes_max;
    receiver->window = LS_MIN(parts, LS_BLOB_WINDOW_PARTS);
    receiver->decompressor = ls_decompressor_create(allocator);
    receiver->raw = ls_allocate(allocator, bytes_max);
    receiver->pool = ls_allocate_array(allocator, receiver->window, LS_BLOB_PART_BYTES);
    receiver->places = ls_allocate_array(allocator, receiver->window, sizeof receiver->places[0]);
    receiver->free = ls_allocate_array(allocator, receiver->window, sizeof receiver->free[0]);
    receiver->piece = ls_allocate(allocator, LS_BLOB_FRAME_BYTES + LS_BLOB_PIECE_BYTES);
    if (!receiver->decompressor || !receiver->raw || !receiver->pool || !receiver->places ||
        !receiver->free || !receiver->piece) {
        ls_blob_receiver_destroy(receiver);
        return LS_NO_MEMORY;
    }
    *out = receiver;
    return LS_OK;
}

void ls_blob_receiver_destroy(ls_blob_receiver *receiver)
{
    if (!receiver) {
        return;
    }
    ls_release(receiver->allocator, receiver->piece);
    ls_release(receiver->allocator, receiver->free);
    ls_release(receiver->allocator, receiver->places);
    ls_release(receiver->allocator, receiver->pool);
    ls_release(receiver->allocator, receiver->raw);
    ls_decompressor_destroy(receiver->decompressor);
    ls_release(receiver->allocator, receiver);
}

ls_status ls_blob_receiver_start(ls_blob_receiver *receiver, const ls_blob_promise *promise,
                                 uint64_t now_ns)
{
    if (promise->number > UINT8_MAX || promise->bytes == 0 ||
        promise->bytes > receiver->bytes_max) {
        return LS_MALFORMED;
    }
    memset(receiver->places, 0, receiver->window * sizeof receiver->places[0]);
    for (uint32_t i = 0; i < receiver->window; i++) {
        receiver->free[i] = (uint16_t)(receiver->window - i);
    }
    receiver->free_count = receiver->window;
    receiver->piece_size = 0;
    receiver->state = LS_BLOB_RECEIVING;
    receiver->promise = *promise;
    receiver->pieces = 0;
    receiver->gathered = 0;
    receiver->offset = 0;
    receiver->first = 0;
    receiver->end = 0;
    receiver->has_last = false;
    receiver->received = 0;
    receiver->newest = 0;
    receiver->acks = 0;
    receiver->wants_ack = false;
    receiver->acked_ns = now_ns - LS_MIN(LS_BLOB_ACK_FIRST_NS, now_ns);
    return LS_OK;
}

void ls_blob_receiver_go_on(ls_blob_receiver *receiver, uint32_t number, uint64_t now_ns)
{
    receiver->promise.number = number;
    receiver->received = 0;
    receiver->newest = 0;
    receiver->acks = 0;
    receiver->wants_ack = true;
    receiver->acked_ns = now_ns - LS_MIN(LS_BLOB_ACK_NS, now_ns);
}

void ls_blob_receiver_stop(ls_blob_receiver *receiver)
{
    receiver->state = LS_BLOB_IDLE;
}

/* ---- parts ---- */

static bool contradicts(const ls_blob_receiver *receiver, const ls_blob_part *part)
{
    uint32_t parts_max = parts_in(ls_blob_stream_bytes_max(receiver->promise.bytes));
    if (part->index >= parts_max) {
        return true;
    }
    if (!receiver->has_last) {
        return part->is_last && part->index + 1 < receiver->end;
    }
    bool is_at_end = part->index + 1 == receiver->end;
    return part->index + 1 > receiver->end || part->is_last != is_at_end ||
           (part->is_last && part->size != receiver->last_size);
}

static void note_arrival(ls_blob_receiver *receiver, const ls_blob_part *part, uint64_t now_ns)
{
    if (receiver->received == 0 || part->packet > receiver->newest) {
        receiver->newest = part->packet;
        receiver->newest_ns = now_ns;
    }
    receiver->received++;
    receiver->wants_ack = true;
    if (part->index + 1 > receiver->end) {
        receiver->end = part->index + 1;
    }
    if (part->is_last) {
        receiver->has_last = true;
        receiver->last_size = part->size;
    }
}

static uint8_t *held(const ls_blob_receiver *receiver, uint32_t index)
{
    size_t place = receiver->places[index % receiver->window] - 1u;
    return receiver->pool + place * LS_BLOB_PART_BYTES;
}

static bool is_held(const ls_blob_receiver *receiver, uint32_t index)
{
    return index >= receiver->gathered && index - receiver->gathered < receiver->window &&
           receiver->places[index % receiver->window] != 0;
}

static ls_status store(ls_blob_receiver *receiver, const ls_blob_part *part)
{
    if (part->index < receiver->first || is_held(receiver, part->index)) {
        return LS_OK;
    }
    if (part->index - receiver->gathered >= receiver->window) {
        return LS_FUTURE;
    }
    receiver->places[part->index % receiver->window] = receiver->free[--receiver->free_count];
    memcpy(held(receiver, part->index), part->bytes, part->size);
    while (is_held(receiver, receiver->first)) {
        receiver->first++;
    }
    return LS_OK;
}

ls_status ls_blob_receiver_receive_part(ls_blob_receiver *receiver, uint64_t now_ns,
                                        const uint8_t *bytes, size_t size)
{
    ls_blob_part part;
    ls_status status = ls_blob_part_read(bytes, size, &part);
    if (status != LS_OK) {
        return status;
    }
    bool is_open = receiver->state == LS_BLOB_RECEIVING || receiver->state == LS_BLOB_COMPLETE;
    if (!is_open || part.blob != receiver->promise.number) {
        return LS_STALE;
    }
    if (contradicts(receiver, &part)) {
        return LS_MALFORMED;
    }
    note_arrival(receiver, &part, now_ns);
    return store(receiver, &part);
}

/* ---- pieces ---- */

static uint32_t piece_bytes(const ls_blob_receiver *receiver)
{
    uint32_t left = receiver->promise.bytes - receiver->pieces * LS_BLOB_PIECE_BYTES;
    return LS_MIN(left, LS_BLOB_PIECE_BYTES);
}

static bool is_at_end(const ls_blob_receiver *receiver)
{
    return receiver->has_last && receiver->gathered == receiver->end;
}

/* Moves bytes that are in order from the pool into the piece, until that has `wanted`. */
static bool gather(ls_blob_receiver *receiver, uint32_t wanted)
{
    while (receiver->piece_size < wanted && receiver->gathered < receiver->first) {
        bool is_last = receiver->has_last && receiver->gathered + 1 == receiver->end;
        uint32_t left = (is_last ? receiver->last_size : LS_BLOB_PART_BYTES) - receiver->offset;
        uint32_t open = wanted - receiver->piece_size;
        uint32_t taken = LS_MIN(left, open);
        memcpy(receiver->piece + receiver->piece_size,
               held(receiver, receiver->gathered) + receiver->offset, taken);
        receiver->piece_size += taken;
        receiver->offset += taken;
        if (taken == left) {
            uint16_t *place = &receiver->places[receiver->gathered % receiver->window];
            receiver->free[receiver->free_count++] = *place;
            *place = 0;
            receiver->gathered++;
            receiver->offset = 0;
        }
    }
    return receiver->piece_size >= wanted;
}

/* True when a whole piece is there. A size that cannot be, or an end too early, is a failure. */
static bool gather_piece(ls_blob_receiver *receiver)
{
    bool is_whole = false;
    if (gather(receiver, LS_BLOB_FRAME_BYTES)) {
        uint32_t size = ls_load_u32(receiver->piece);
        if (size == 0 || size > piece_bytes(receiver)) {
            receiver->state = LS_BLOB_FAILED;
            return false;
        }
        is_whole = gather(receiver, LS_BLOB_FRAME_BYTES + size);
    }
    if (!is_whole && is_at_end(receiver)) {
        receiver->state = LS_BLOB_FAILED;
    }
    return is_whole;
}

static ls_status unpack_piece(ls_blob_receiver *receiver)
{
    uint32_t bytes = piece_bytes(receiver);
    uint32_t packed = receiver->piece_size - LS_BLOB_FRAME_BYTES;
    const uint8_t *from = receiver->piece + LS_BLOB_FRAME_BYTES;
    uint8_t *to = receiver->raw + (size_t)receiver->pieces * LS_BLOB_PIECE_BYTES;
    receiver->piece_size = 0;
    if (packed == bytes) {
        memcpy(to, from, bytes);
        return LS_OK;
    }
    return ls_decompressor_run(receiver->decompressor, from, packed, to, bytes);
}

static void finish(ls_blob_receiver *receiver)
{
    bool is_right = is_at_end(receiver) && ls_hash_bytes(receiver->raw, receiver->promise.bytes,
                                                         0) == receiver->promise.hash;
    receiver->state = is_right ? LS_BLOB_COMPLETE : LS_BLOB_FAILED;
}

bool ls_blob_receiver_advance(ls_blob_receiver *receiver, uint32_t pieces)
{
    while (receiver->state == LS_BLOB_RECEIVING && gather_piece(receiver)) {
        if (pieces == 0) {
            return true;
        }
        pieces--;
        if (unpack_piece(receiver) != LS_OK) {
            receiver->state = LS_BLOB_FAILED;
            return false;
        }
        receiver->pieces++;
        if (receiver->pieces == ls_blob_piece_count(receiver->promise.bytes)) {
            finish(receiver);
        }
    }
    return false;
}

/* ---- acknowledgements ---- */

static void report_later_parts(const ls_blob_receiver *receiver, ls_blob_ack *ack)
{
    for (uint32_t i = 0; i < LS_BLOB_ACK_PARTS - 1; i++) {
        uint32_t index = receiver->first + 1 + i;
        if (index >= receiver->end) {
            break;
        }
        if (is_held(receiver, index)) {
            ack->has[i / 8] |= (uint8_t)(1u << (i % 8));
            ack->count = i + 1;
        }
    }
}

size_t ls_blob_receiver_next(ls_blob_receiver *receiver, uint64_t now_ns,
                             uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    if (now_ns < ls_blob_receiver_next_ns(receiver)) {
        return 0;
    }
    bool has_any = receiver->received > 0;
    ls_blob_ack ack = {
        .blob = receiver->promise.number,
        .first = receiver->first,
        .received = receiver->received,
        .newest = receiver->newest,
        .hold = has_any ? ls_hold_from_ns(now_ns - receiver->newest_ns) : LS_HOLD_NONE,
    };
    report_later_parts(receiver, &ack);
    receiver->acks++;
    receiver->wants_ack = false;
    receiver->acked_ns = now_ns;
    return ls_blob_ack_write(&ack, bytes);
}

uint64_t ls_blob_receiver_next_ns(const ls_blob_receiver *receiver)
{
    bool is_open = receiver->state == LS_BLOB_RECEIVING || receiver->state == LS_BLOB_COMPLETE;
    if (is_open && receiver->wants_ack) {
        bool is_early = receiver->acks < LS_BLOB_ACKS_FIRST;
        return receiver->acked_ns + (is_early ? LS_BLOB_ACK_FIRST_NS : LS_BLOB_ACK_NS);
    }
    bool is_all_there = receiver->has_last && receiver->first == receiver->end;
    if (receiver->state == LS_BLOB_RECEIVING && !is_all_there) {
        return receiver->acked_ns + LS_BLOB_ACK_IDLE_NS;
    }
    return UINT64_MAX;
}

/* ---- results ---- */

ls_blob_receiver_state ls_blob_receiver_state_of(const ls_blob_receiver *receiver)
{
    return receiver->state;
}

uint32_t ls_blob_receiver_progress(const ls_blob_receiver *receiver)
{
    uint64_t bytes = (uint64_t)receiver->pieces * LS_BLOB_PIECE_BYTES;
    return bytes < receiver->promise.bytes ? (uint32_t)bytes : receiver->promise.bytes;
}

const uint8_t *ls_blob_receiver_bytes(const ls_blob_receiver *receiver)
{
    return receiver->state == LS_BLOB_COMPLETE ? receiver->raw : NULL;
}

#include "lockstep/server/match/tick_history.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/protocol/blob/blob.h"

#include <string.h>

enum {
    PIECE_BYTES = 1 << 20,
    PIECES_MAX = LS_BLOB_BYTES_MAX / PIECE_BYTES,
    BLOCK_BYTES = 1 << 17, /* of which the largest tick takes a third */
    SIZE_BYTES = 4,
};

struct ls_tick_history {
    const ls_allocator *allocator;
    uint32_t slot_count;
    uint64_t chain; /* behind the newest tick */
    bool is_cut;    /* a tick is missing */
    uint32_t bytes; /* in the pieces */
    uint8_t *pieces[PIECES_MAX];
    ls_tick_block_writer writer;
    uint8_t block[BLOCK_BYTES];
};

static void start_block(ls_tick_history *history)
{
    ls_tick_block_start(&history->writer, history->block, sizeof history->block,
                        history->slot_count);
}

ls_status ls_tick_history_create(uint32_t slot_count, uint32_t input_bytes_max,
                                 const ls_allocator *allocator, ls_tick_history **out)
{
    LS_ASSERT(LS_TICK_BLOCK_HEAD_BYTES + ls_tick_block_tick_bytes(slot_count, input_bytes_max) <=
              BLOCK_BYTES);
    ls_tick_history *history = ls_allocate(allocator, sizeof *history);
    if (!history) {
        return LS_NO_MEMORY;
    }
    history->allocator = allocator;
    history->slot_count = slot_count;
    start_block(history);
    *out = history;
    return LS_OK;
}

void ls_tick_history_destroy(ls_tick_history *history)
{
    if (!history) {
        return;
    }
    for (uint32_t i = 0; i < PIECES_MAX; i++) {
        ls_release(history->allocator, history->pieces[i]);
    }
    ls_release(history->allocator, history);
}

/* False when there is no room for all of it. */
static bool reserve(ls_tick_history *history, size_t size)
{
    if (size > LS_BLOB_BYTES_MAX - history->bytes) {
        return false;
    }
    size_t last = (history->bytes + size - 1) / PIECE_BYTES;
    for (size_t i = history->bytes / PIECE_BYTES; i <= last; i++) {
        if (!history->pieces[i]) {
            history->pieces[i] = ls_allocate(history->allocator, PIECE_BYTES);
        }
        if (!history->pieces[i]) {
            return false;
        }
    }
    return true;
}

static void append(ls_tick_history *history, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t at = history->bytes % PIECE_BYTES;
        size_t part = LS_MIN(PIECE_BYTES - at, size);
        memcpy(history->pieces[history->bytes / PIECE_BYTES] + at, bytes, part);
        history->bytes += (uint32_t)part;
        bytes += part;
        size -= part;
    }
}

static void end_block(ls_tick_history *history)
{
    uint8_t head[SIZE_BYTES];
    if (history->writer.count == 0) {
        return;
    }
    size_t size = ls_tick_block_finish(&history->writer, history->chain);
    start_block(history);
    if (!reserve(history, SIZE_BYTES + size)) {
        history->is_cut = true;
        return;
    }
    ls_store_u32(head, (uint32_t)size);
    append(history, head, sizeof head);
    append(history, history->block, size);
}

void ls_tick_history_add(ls_tick_history *history, const ls_tick_inputs *inputs,
                         uint64_t state_hash, uint64_t chain)
{
    if (history->is_cut) {
        return;
    }
    if (!ls_tick_block_add(&history->writer, inputs, state_hash)) {
        end_block(history);
        bool is_added = history->is_cut || ls_tick_block_add(&history->writer, inputs, state_hash);
        LS_ASSERT(is_added);
    }
    history->chain = chain;
}

uint32_t ls_tick_history_flush(ls_tick_history *history)
{
    end_block(history);
    return history->is_cut ? 0 : history->bytes;
}

void ls_tick_history_write(const ls_tick_history *history, uint8_t *bytes, uint32_t size)
{
    LS_ASSERT(size <= history->bytes);
    uint32_t left = size;
    for (uint32_t i = 0; left > 0; i++) {
        uint32_t part = LS_MIN(left, PIECE_BYTES);
        memcpy(bytes + (size_t)i * PIECE_BYTES, history->pieces[i], part);
        left -= part;
    }
}

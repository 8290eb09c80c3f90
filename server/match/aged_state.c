#include "lockstep/server/match/aged_state.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/blob/blob.h"

#include <string.h>

/* ---- tick history ---- */

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

ls_status ls_aged_state_init(ls_aged_state *aged, const ls_aged_state_config *config,
                             const ls_allocator *allocator)
{
    uint64_t state_hash = ls_sim_instance_digests(config->instance).initial;
    size_t bytes = ls_sim_instance_save_bytes(config->instance);
    bytes = LS_MAX(bytes, ls_sim_instance_image_bytes(config->instance)); /* a save may grow */
    bool is_saved = bytes > 0 && bytes <= LS_BLOB_BYTES_MAX;
    *aged = (ls_aged_state){.config = *config,
                            .bytes = is_saved ? bytes : 0,
                            .has_copies = is_saved || config->history,
                            .pause_ticks = LS_MAX(config->age_ticks, config->pause_min_ticks),
                            .ready = {.state_hash = state_hash,
                                      .chain = ls_hash_chain_start(state_hash),
                                      .tick_chain = LS_TICK_CHAIN_START}};
    for (uint32_t i = 0; aged->bytes > 0 && i < 2; i++) {
        aged->rooms[i] = ls_allocate(allocator, aged->bytes);
        if (!aged->rooms[i]) {
            return LS_NO_MEMORY;
        }
    }
    return LS_OK;
}

void ls_aged_state_deinit(ls_aged_state *aged, const ls_allocator *allocator)
{
    ls_release(allocator, aged->rooms[0]);
    ls_release(allocator, aged->rooms[1]);
    *aged = (ls_aged_state){0};
}

static bool is_copy_due(const ls_aged_state *aged, ls_tick tick)
{
    return aged->has_copies && !aged->is_coming && tick - aged->ready.tick >= aged->pause_ticks;
}

static bool is_of_age(const ls_aged_state *aged, ls_tick tick)
{
    return aged->is_coming && tick - aged->coming.tick >= aged->config.age_ticks;
}

bool ls_aged_state_is_due(const ls_aged_state *aged, ls_tick tick)
{
    return is_copy_due(aged, tick) || is_of_age(aged, tick);
}

static void copy_live(ls_aged_state *aged, const ls_state_copy *live)
{
    const ls_aged_state_config *config = &aged->config;
    size_t size = aged->bytes > 0 ? ls_sim_instance_save_bytes(config->instance) : 0;
    if (size > aged->bytes ||
        (size > 0 && ls_sim_instance_save(config->instance, aged->rooms[0]) != LS_OK)) {
        return; /* the next tick's state, perhaps */
    }
    if (aged->bytes == 0 && (size = ls_tick_history_flush(config->history)) == 0) {
        aged->has_copies = false; /* it has ended */
        return;
    }
    aged->coming = *live;
    aged->coming.state_hash = ls_sim_instance_hash(config->instance);
    aged->coming.size = (uint32_t)size;
    aged->coming.bytes = aged->rooms[0];
    aged->is_coming = true;
}

static void come_of_age(ls_aged_state *aged, ls_tick tick)
{
    if (!is_of_age(aged, tick)) {
        return;
    }
    aged->ready = aged->coming;
    aged->is_coming = false;
    aged->rooms[0] = aged->rooms[1];
    aged->rooms[1] = aged->ready.bytes;
}

void ls_aged_state_advance(ls_aged_state *aged, const ls_state_copy *live)
{
    come_of_age(aged, live->tick);
    if (is_copy_due(aged, live->tick)) {
        copy_live(aged, live);
        come_of_age(aged, live->tick);
    }
}

#include "lockstep/client/session/tick_backlog.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/encoding/tick_block.h"

enum {
    CHUNK_HEAD_BYTES = 16
};

typedef struct chunk {
    struct chunk *next;
    uint32_t size; /* of its block; 0 while that is written */
    uint8_t block[LS_TICK_BACKLOG_CHUNK_BYTES - CHUNK_HEAD_BYTES];
} chunk;

_Static_assert(sizeof(chunk) <= LS_TICK_BACKLOG_CHUNK_BYTES, "what the limit counts in");

struct ls_tick_backlog {
    const ls_allocator *allocator;
    ls_tick_backlog_config config;
    chunk *oldest; /* read first */
    chunk *newest; /* written to, unless its block is finished */
    chunk *spare;  /* so that what comes and goes tick by tick takes no memory each time */
    uint32_t chunks;
    uint32_t count;
    bool is_reading; /* `reader` is in the oldest one */
    ls_tick_block_writer writer;
    ls_tick_block_reader reader;
};

ls_status ls_tick_backlog_create(const ls_tick_backlog_config *config,
                                 const ls_allocator *allocator, ls_tick_backlog **out)
{
    LS_ASSERT(config->bytes_max >= LS_TICK_BACKLOG_CHUNK_BYTES);
    size_t tick_bytes = ls_tick_block_tick_bytes(config->slot_count, config->input_bytes_max);
    LS_ASSERT(LS_TICK_BLOCK_HEAD_BYTES + tick_bytes <= sizeof((chunk *)NULL)->block);
    ls_tick_backlog *backlog = ls_allocate(allocator, sizeof *backlog);
    if (!backlog) {
        return LS_NO_MEMORY;
    }
    backlog->allocator = allocator;
    backlog->config = *config;
    *out = backlog;
    return LS_OK;
}

void ls_tick_backlog_destroy(ls_tick_backlog *backlog)
{
    if (!backlog) {
        return;
    }
    while (backlog->oldest) {
        chunk *next = backlog->oldest->next;
        ls_release(backlog->allocator, backlog->oldest);
        backlog->oldest = next;
    }
    ls_release(backlog->allocator, backlog->spare);
    ls_release(backlog->allocator, backlog);
}

/* ---- adding ---- */

static bool is_writing(const ls_tick_backlog *backlog)
{
    return backlog->newest && backlog->newest->size == 0;
}

static void finish_block(ls_tick_backlog *backlog)
{
    backlog->newest->size = (uint32_t)ls_tick_block_finish(&backlog->writer, 0);
}

static chunk *get_chunk(ls_tick_backlog *backlog)
{
    chunk *taken = backlog->spare ? backlog->spare : ls_allocate(backlog->allocator, sizeof *taken);
    backlog->spare = NULL;
    return taken;
}

static ls_status start_block(ls_tick_backlog *backlog)
{
    if (backlog->chunks == backlog->config.bytes_max / LS_TICK_BACKLOG_CHUNK_BYTES) {
        return LS_FULL;
    }
    chunk *added = get_chunk(backlog);
    if (!added) {
        return LS_NO_MEMORY;
    }
    added->next = NULL;
    added->size = 0;
    if (is_writing(backlog)) {
        finish_block(backlog);
    }
    if (backlog->newest) {
        backlog->newest->next = added;
    } else {
        backlog->oldest = added;
    }
    backlog->newest = added;
    backlog->chunks++;
    ls_tick_block_start(&backlog->writer, added->block, sizeof added->block,
                        backlog->config.slot_count);
    return LS_OK;
}

ls_status ls_tick_backlog_add(ls_tick_backlog *backlog, const ls_tick_inputs *inputs)
{
    if (!is_writing(backlog) || !ls_tick_block_add(&backlog->writer, inputs, 0)) {
        ls_status status = start_block(backlog);
        if (status != LS_OK) {
            return status;
        }
        bool is_added = ls_tick_block_add(&backlog->writer, inputs, 0);
        LS_ASSERT(is_added);
    }
    backlog->count++;
    return LS_OK;
}

/* ---- taking ---- */

static void open_oldest(ls_tick_backlog *backlog)
{
    if (backlog->oldest->size == 0) {
        finish_block(backlog);
    }
    ls_status status =
        ls_tick_block_open(&backlog->reader, backlog->oldest->block, backlog->oldest->size,
                           backlog->config.slot_count, backlog->config.input_bytes_max);
    LS_ASSERT(status == LS_OK);
    backlog->is_reading = true;
}

static void drop_oldest(ls_tick_backlog *backlog)
{
    chunk *read = backlog->oldest;
    backlog->oldest = read->next;
    backlog->newest = read->next ? backlog->newest : NULL;
    backlog->chunks--;
    backlog->is_reading = false;
    if (backlog->spare) {
        ls_release(backlog->allocator, read);
    } else {
        backlog->spare = read;
    }
}

ls_status ls_tick_backlog_pop(ls_tick_backlog *backlog, ls_slot_input slots[LS_PLAYERS_MAX],
                              ls_tick_inputs *out)
{
    uint64_t state_hash = 0;
    if (backlog->count == 0) {
        return LS_NOT_FOUND;
    }
    if (!backlog->is_reading) {
        open_oldest(backlog);
    }
    ls_status status = ls_tick_block_next(&backlog->reader, slots, out, &state_hash);
    LS_ASSERT(status == LS_OK);
    backlog->count--;
    if (backlog->reader.next == backlog->reader.head.first + backlog->reader.head.count) {
        drop_oldest(backlog); /* the inputs are the reader's */
    }
    return LS_OK;
}

/* ---- what it holds ---- */

uint32_t ls_tick_backlog_count(const ls_tick_backlog *backlog)
{
    return backlog->count;
}

uint32_t ls_tick_backlog_bytes(const ls_tick_backlog *backlog)
{
    return backlog->chunks * LS_TICK_BACKLOG_CHUNK_BYTES;
}

#include "lockstep/common/diagnosis/state_history.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

#define NONE UINT32_MAX
#define SWAP_BYTES 256u
#define CHUNK_HASH_BYTES sizeof(uint64_t)

/* A block as it was in the states of ticks `from` to `to`, before it changed. */
typedef struct old_block {
    uint32_t block;
    ls_tick from;
    ls_tick to;
    uint32_t newer; /* the same block after that, or NONE: the newest state has it */
    uint32_t older; /* and before, or NONE */
    uint32_t next;  /* in the queue in which it stands, or among the free ones */
} old_block;

typedef struct block_queue {
    uint32_t first; /* NONE: it is empty */
    uint32_t last;
} block_queue;

typedef struct snapshot {
    ls_tick tick;
    block_queue held; /* blocks that would be gone if this snapshot did not need them */
} snapshot;

struct ls_state_history {
    const ls_allocator *allocator;
    ls_state_history_config config;
    uint32_t block_count;  /* of a state */
    uint8_t *state;        /* that of tick `shown` */
    uint8_t *chunk_hashes; /* of the newest state */
    bool has_chunk_hashes; /* they are known */
    ls_tick shown;
    ls_tick newest;
    ls_tick first_recent; /* all states added from this tick on are there */
    ls_tick *since;       /* [block_count]: from which tick on a block is as in the newest state */
    uint32_t *heads;      /* [block_count]: what it was before that, or NONE */
    old_block *old;       /* [old_blocks] */
    uint8_t *old_bytes;   /* [old_blocks][block_bytes] */
    uint32_t free;        /* the first of those given back, or NONE */
    uint32_t unused;      /* from here on none has been used */
    block_queue recent;   /* by `to` */
    uint32_t snapshot_count;
    snapshot snapshots[LS_HISTORY_SNAPSHOTS_MAX]; /* by tick */
};

/* ---- size ---- */

uint32_t ls_state_history_blocks(const ls_state_history_config *config)
{
    return (uint32_t)((config->state_bytes + config->block_bytes - 1) / config->block_bytes);
}

size_t ls_state_history_old_block_bytes(const ls_state_history_config *config)
{
    return sizeof(old_block) + config->block_bytes;
}

static size_t chunk_hashes_bytes(size_t state_bytes)
{
    return (state_bytes + LS_HASH_CHUNK_BYTES - 1) / LS_HASH_CHUNK_BYTES * CHUNK_HASH_BYTES;
}

size_t ls_state_history_bytes(const ls_state_history_config *config)
{
    size_t blocks = ls_state_history_blocks(config);
    return sizeof(ls_state_history) + config->state_bytes +
           chunk_hashes_bytes(config->state_bytes) + blocks * (sizeof(ls_tick) + sizeof(uint32_t)) +
           config->old_blocks * ls_state_history_old_block_bytes(config);
}

/* ---- life ---- */

static bool is_config_valid(const ls_state_history_config *config)
{
    uint32_t block = config->block_bytes;
    return config->state_bytes > 0 && block >= LS_HISTORY_BLOCK_BYTES_MIN &&
           (block & (block - 1)) == 0 && config->snapshots >= 2 &&
           config->snapshots <= LS_HISTORY_SNAPSHOTS_MAX &&
           (uint64_t)config->snapshots * ls_state_history_blocks(config) <= config->old_blocks;
}

static ls_status allocate_parts(ls_state_history *history)
{
    const ls_allocator *allocator = history->allocator;
    const ls_state_history_config *config = &history->config;
    history->state = ls_allocate(allocator, config->state_bytes);
    history->chunk_hashes = ls_allocate(allocator, chunk_hashes_bytes(config->state_bytes));
    history->since = ls_allocate_array(allocator, history->block_count, sizeof(ls_tick));
    history->heads = ls_allocate_array(allocator, history->block_count, sizeof(uint32_t));
    history->old = ls_allocate_array(allocator, config->old_blocks, sizeof(old_block));
    history->old_bytes = ls_allocate_array(allocator, config->old_blocks, config->block_bytes);
    bool has_all = history->state && history->chunk_hashes && history->since && history->heads &&
                   history->old && history->old_bytes;
    return has_all ? LS_OK : LS_NO_MEMORY;
}

ls_status ls_state_history_create(const ls_state_history_config *config,
                                  const ls_allocator *allocator, ls_state_history **out)
{
    if (!is_config_valid(config)) {
        return LS_BAD_ARGUMENT;
    }
    ls_state_history *history = ls_allocate(allocator, sizeof *history);
    if (!history) {
        return LS_NO_MEMORY;
    }
    history->allocator = allocator;
    history->config = *config;
    history->block_count = ls_state_history_blocks(config);
    ls_status status = allocate_parts(history);
    if (status != LS_OK) {
        ls_state_history_destroy(history);
        return status;
    }
    *out = history;
    return LS_OK;
}

void ls_state_history_destroy(ls_state_history *history)
{
    if (!history) {
        return;
    }
    ls_release(history->allocator, history->old_bytes);
    ls_release(history->allocator, history->old);
    ls_release(history->allocator, history->heads);
    ls_release(history->allocator, history->since);
    ls_release(history->allocator, history->chunk_hashes);
    ls_release(history->allocator, history->state);
    ls_release(history->allocator, history);
}

/* ---- queues ---- */

static void put_last(ls_state_history *history, block_queue *queue, uint32_t index)
{
    history->old[index].next = NONE;
    if (queue->first == NONE) {
        queue->first = index;
    } else {
        history->old[queue->last].next = index;
    }
    queue->last = index;
}

/* NONE from an empty queue. */
static uint32_t take_first(ls_state_history *history, block_queue *queue)
{
    uint32_t index = queue->first;
    if (index != NONE) {
        queue->first = history->old[index].next;
    }
    return index;
}

/* ---- old blocks ---- */

/* The oldest snapshot that needs what a block was from one tick to another; NULL: none does. */
static snapshot *snapshot_in(ls_state_history *history, ls_tick from, ls_tick to)
{
    for (uint32_t i = 0; i < history->snapshot_count; i++) {
        ls_tick tick = history->snapshots[i].tick;
        if (tick >= from && tick <= to) {
            return &history->snapshots[i];
        }
    }
    return NULL;
}

static void give_back(ls_state_history *history, uint32_t index)
{
    old_block *gone = &history->old[index];
    if (gone->newer == NONE) {
        history->heads[gone->block] = gone->older;
    } else {
        history->old[gone->newer].older = gone->older;
    }
    if (gone->older != NONE) {
        history->old[gone->older].newer = gone->newer;
    }
    gone->next = history->free;
    history->free = index;
}

/* It stays only if a snapshot needs it. */
static void retire(ls_state_history *history, uint32_t index)
{
    snapshot *needs = snapshot_in(history, history->old[index].from, history->old[index].to);
    if (needs) {
        put_last(history, &needs->held, index);
    } else {
        give_back(history, index);
    }
}

static void retire_oldest(ls_state_history *history)
{
    uint32_t index = take_first(history, &history->recent);
    history->first_recent = LS_MAX(history->first_recent, history->old[index].to + 1);
    retire(history, index);
}

/* A free one, for which the oldest states may have to go; NONE when the snapshots need them all. */
static uint32_t take_free(ls_state_history *history)
{
    while (history->free == NONE && history->unused == history->config.old_blocks) {
        if (history->recent.first == NONE) {
            return NONE;
        }
        retire_oldest(history);
    }
    uint32_t index = history->free;
    if (index == NONE) {
        return history->unused++;
    }
    history->free = history->old[index].next;
    return index;
}

static size_t size_of_block(const ls_state_history *history, uint32_t block)
{
    size_t begin = (size_t)block * history->config.block_bytes;
    return LS_MIN(history->config.state_bytes - begin, history->config.block_bytes);
}

static uint8_t *bytes_of_block(const ls_state_history *history, uint32_t block)
{
    return history->state + (size_t)block * history->config.block_bytes;
}

static uint8_t *bytes_of_old(const ls_state_history *history, uint32_t index)
{
    return history->old_bytes + (size_t)index * history->config.block_bytes;
}

/* The block is about to change: notes what it is in the newest state. */
static void keep_block(ls_state_history *history, uint32_t block)
{
    ls_tick from = history->since[block];
    ls_tick to = history->newest;
    uint32_t index = take_free(history);
    if (index == NONE) {
        /* Each snapshot has room for a whole state, so this is needed by none of them. */
        LS_ASSERT(!snapshot_in(history, from, to));
        history->first_recent = to + 1;
        return;
    }
    uint32_t older = history->heads[block];
    history->old[index] = (old_block){block, from, to, NONE, older, NONE};
    if (older != NONE) {
        history->old[older].newer = index;
    }
    history->heads[block] = index;
    memcpy(bytes_of_old(history, index), bytes_of_block(history, block),
           size_of_block(history, block));
    put_last(history, &history->recent, index);
}

/* ---- showing another state ---- */

/* The block as it was at that tick, or NONE: as it is in the newest state. */
static uint32_t old_block_at(const ls_state_history *history, uint32_t block, ls_tick tick)
{
    if (history->since[block] <= tick) {
        return NONE;
    }
    uint32_t index = history->heads[block];
    while (history->old[index].from > tick) {
        index = history->old[index].older;
        LS_ASSERT(index != NONE);
    }
    LS_ASSERT(history->old[index].to >= tick);
    return index;
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t size)
{
    uint8_t held[SWAP_BYTES];
    while (size > 0) {
        size_t part = LS_MIN(size, SWAP_BYTES);
        memcpy(held, a, part);
        memcpy(a, b, part);
        memcpy(b, held, part);
        a += part;
        b += part;
        size -= part;
    }
}

/* Exchanges the blocks in which a state differs from the newest one: there and back again. */
static void exchange(ls_state_history *history, ls_tick tick)
{
    for (uint32_t block = 0; block < history->block_count; block++) {
        uint32_t index = old_block_at(history, block, tick);
        if (index != NONE) {
            swap_bytes(bytes_of_block(history, block), bytes_of_old(history, index),
                       size_of_block(history, block));
        }
    }
}

static void show(ls_state_history *history, ls_tick tick)
{
    if (history->shown != history->newest) {
        exchange(history, history->shown);
    }
    if (tick != history->newest) {
        exchange(history, tick);
    }
    history->shown = tick;
}

/* ---- adding ---- */

void ls_state_history_start(ls_state_history *history, ls_tick tick, const uint8_t *state)
{
    memcpy(history->state, state, history->config.state_bytes);
    for (uint32_t block = 0; block < history->block_count; block++) {
        history->since[block] = tick;
        history->heads[block] = NONE;
    }
    history->has_chunk_hashes = false;
    history->free = NONE;
    history->unused = 0;
    history->recent.first = NONE;
    history->shown = tick;
    history->newest = tick;
    history->first_recent = tick;
    history->snapshots[0] = (snapshot){tick, {NONE, NONE}};
    history->snapshot_count = 1;
}

static void drop_oldest_snapshot(ls_state_history *history)
{
    block_queue held = history->snapshots[0].held;
    history->snapshot_count--;
    memmove(history->snapshots, history->snapshots + 1,
            history->snapshot_count * sizeof history->snapshots[0]);
    for (uint32_t index = take_first(history, &held); index != NONE;
         index = take_first(history, &held)) {
        retire(history, index);
    }
}

static void add_snapshot(ls_state_history *history, ls_tick tick)
{
    if (history->snapshot_count == history->config.snapshots) {
        drop_oldest_snapshot(history);
    }
    history->snapshots[history->snapshot_count++] = (snapshot){tick, {NONE, NONE}};
}

static void retire_outdated(ls_state_history *history)
{
    uint32_t held = history->config.recent_ticks;
    while (history->recent.first != NONE &&
           history->newest - history->old[history->recent.first].to > held) {
        retire_oldest(history);
    }
}

/* Those blocks from `first` to `end` that are no longer what they were. */
static void take_changes(ls_state_history *history, ls_tick tick, const uint8_t *state,
                         uint32_t first, uint32_t end)
{
    for (uint32_t block = first; block < end; block++) {
        uint8_t *here = bytes_of_block(history, block);
        const uint8_t *now = state + (here - history->state);
        size_t size = size_of_block(history, block);
        if (memcmp(here, now, size) != 0) {
            keep_block(history, block);
            memcpy(here, now, size);
            history->since[block] = tick;
        }
    }
}

/* Of `size` bytes from the chunk at `begin` on. Most of a large state is as it was, and reading all
 * of it twice would cost more than hashing it. */
static bool is_as_before(const ls_state_history *history, const ls_history_state *state,
                         size_t begin, size_t size)
{
    if (!state->chunk_hashes || !history->has_chunk_hashes) {
        return memcmp(history->state + begin, state->bytes + begin, size) == 0;
    }
    size_t first = begin / LS_HASH_CHUNK_BYTES * CHUNK_HASH_BYTES;
    return memcmp(history->chunk_hashes + first, state->chunk_hashes + first,
                  chunk_hashes_bytes(size)) == 0;
}

static void note_chunk_hashes(ls_state_history *history, const uint8_t *chunk_hashes)
{
    history->has_chunk_hashes = chunk_hashes != NULL;
    if (chunk_hashes) {
        memcpy(history->chunk_hashes, chunk_hashes,
               chunk_hashes_bytes(history->config.state_bytes));
    }
}

void ls_state_history_add(ls_state_history *history, ls_tick tick, ls_history_state state,
                          bool is_snapshot)
{
    LS_ASSERT(tick > history->newest);
    show(history, history->newest);
    uint32_t block_bytes = history->config.block_bytes;
    uint32_t blocks_at_once = LS_MAX(LS_HASH_CHUNK_BYTES / block_bytes, 1);
    for (uint32_t block = 0; block < history->block_count; block += blocks_at_once) {
        size_t begin = (size_t)block * block_bytes;
        size_t left = history->config.state_bytes - begin;
        size_t size = LS_MIN((size_t)blocks_at_once * block_bytes, left);
        if (!is_as_before(history, &state, begin, size)) {
            uint32_t end = LS_MIN(block + blocks_at_once, history->block_count);
            take_changes(history, tick, state.bytes, block, end);
        }
    }
    note_chunk_hashes(history, state.chunk_hashes);
    history->newest = tick;
    history->shown = tick;
    retire_outdated(history);
    if (is_snapshot) {
        add_snapshot(history, tick);
    }
}

/* ---- questions ---- */

bool ls_state_history_snapshot(const ls_state_history *history, ls_tick tick, ls_tick *out)
{
    for (uint32_t i = history->snapshot_count; i > 0; i--) {
        if (history->snapshots[i - 1].tick <= tick) {
            *out = history->snapshots[i - 1].tick;
            return true;
        }
    }
    return false;
}

bool ls_state_history_has(const ls_state_history *history, ls_tick tick)
{
    ls_tick snapshot_tick = 0;
    if (tick > history->newest) {
        return false;
    }
    return tick >= history->first_recent ||
           (ls_state_history_snapshot(history, tick, &snapshot_tick) && snapshot_tick == tick);
}

const uint8_t *ls_state_history_state(ls_state_history *history, ls_tick tick)
{
    if (!ls_state_history_has(history, tick)) {
        return NULL;
    }
    show(history, tick);
    return history->state;
}

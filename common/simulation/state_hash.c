#include "lockstep/common/simulation/state_hash.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

#include <string.h>

struct ls_state_hasher {
    const ls_allocator *allocator;
    const ls_schema *schema;
    size_t chunk_count;
    uint8_t *chunk_hashes; /* [chunk_count][8], little-endian */
    uint8_t *canonical;    /* [state_bytes], NULL where states are canonical as they lie */
};

/* Makes a chain's first link differ from its state hash. */
static const uint64_t chain_seed = UINT64_C(0x6c6f636b73746570); /* "lockstep" */

ls_status ls_state_hasher_create(const ls_schema *schema, const ls_allocator *allocator,
                                 ls_state_hasher **out)
{
    ls_state_hasher *hasher = ls_allocate(allocator, sizeof *hasher);
    if (!hasher) {
        return LS_NO_MEMORY;
    }
    size_t state_bytes = ls_schema_state_bytes(schema);
    bool needs_copy = !ls_schema_is_canonical_here();
    hasher->allocator = allocator;
    hasher->schema = schema;
    hasher->chunk_count = (state_bytes + LS_HASH_CHUNK_BYTES - 1) / LS_HASH_CHUNK_BYTES;
    hasher->chunk_hashes = ls_allocate_array(allocator, hasher->chunk_count, sizeof(uint64_t));
    hasher->canonical = needs_copy ? ls_allocate(allocator, state_bytes) : NULL;
    if (!hasher->chunk_hashes || (needs_copy && !hasher->canonical)) {
        ls_state_hasher_destroy(hasher);
        return LS_NO_MEMORY;
    }
    *out = hasher;
    return LS_OK;
}

void ls_state_hasher_destroy(ls_state_hasher *hasher)
{
    if (!hasher) {
        return;
    }
    ls_release(hasher->allocator, hasher->canonical);
    ls_release(hasher->allocator, hasher->chunk_hashes);
    ls_release(hasher->allocator, hasher);
}

static const uint8_t *canonical_of(const ls_state_hasher *hasher, const void *state)
{
    if (hasher->canonical) {
        ls_schema_to_canonical(hasher->schema, state, hasher->canonical);
        return hasher->canonical;
    }
    return state;
}

static uint64_t hash_of_chunks(const ls_state_hasher *hasher)
{
    return ls_hash_bytes(hasher->chunk_hashes, hasher->chunk_count * sizeof(uint64_t), 0);
}

/* Of `count` chunks from `first` on. */
static void hash_some(const ls_state_hasher *hasher, const uint8_t *bytes, size_t first,
                      size_t count, uint8_t *hashes)
{
    size_t left = ls_schema_state_bytes(hasher->schema) - first * LS_HASH_CHUNK_BYTES;
    ls_hash_chunks(bytes + first * LS_HASH_CHUNK_BYTES, LS_MIN(left, count * LS_HASH_CHUNK_BYTES),
                   LS_HASH_CHUNK_BYTES, hashes);
}

LS_TICK_CODE uint64_t ls_state_hash(ls_state_hasher *hasher, const void *state)
{
    hash_some(hasher, canonical_of(hasher, state), 0, hasher->chunk_count, hasher->chunk_hashes);
    return hash_of_chunks(hasher);
}

uint64_t ls_state_hash_written(ls_state_hasher *hasher, const void *state,
                               const ls_written *written)
{
    const uint8_t *bytes = canonical_of(hasher, state);
    const uint8_t *end = written->chunks + written->count;
    for (const uint8_t *next = written->chunks;
         (next = memchr(next, 1, (size_t)(end - next))) != NULL;) {
        size_t first = (size_t)(next - written->chunks);
        while (next < end && *next == 1) {
            next++;
        }
        hash_some(hasher, bytes, first, (size_t)(next - written->chunks) - first,
                  hasher->chunk_hashes + first * sizeof(uint64_t));
    }
    return hash_of_chunks(hasher);
}

uint64_t ls_state_hash_check(ls_state_hasher *hasher, const void *state, const ls_written *written,
                             size_t *unnamed)
{
    const uint8_t *bytes = canonical_of(hasher, state);
    *unnamed = written->count;
    for (size_t chunk = 0; chunk < written->count; chunk++) {
        uint8_t hash[sizeof(uint64_t)];
        uint8_t *before = hasher->chunk_hashes + chunk * sizeof hash;
        hash_some(hasher, bytes, chunk, 1, hash);
        bool is_unnamed = !written->chunks[chunk] && memcmp(before, hash, sizeof hash) != 0;
        *unnamed = is_unnamed ? LS_MIN(*unnamed, chunk) : *unnamed;
        memcpy(before, hash, sizeof hash);
    }
    return hash_of_chunks(hasher);
}

const uint8_t *ls_state_hasher_chunk_hashes(const ls_state_hasher *hasher)
{
    return hasher->chunk_hashes;
}

uint64_t ls_hash_chain_start(uint64_t state_hash)
{
    return ls_hash_pair(chain_seed, state_hash);
}

uint64_t ls_hash_chain_next(uint64_t chain, uint64_t state_hash)
{
    return ls_hash_pair(chain, state_hash);
}

/* ---- tick chain ---- */

enum {
    HEAD_BYTES = 12,
    SLOT_BYTES = 12
};

LS_TICK_CODE uint64_t ls_tick_chain_next(uint64_t chain, const ls_tick_inputs *inputs)
{
    uint8_t bytes[HEAD_BYTES + SLOT_BYTES * LS_PLAYERS_MAX];
    ls_store_u64(bytes, chain);
    ls_store_u32(bytes + 8, inputs->tick);
    uint8_t *end = bytes + HEAD_BYTES;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        ls_store_u32(end, input->size << 8 | input->events);
        ls_store_u64(end + 4, ls_hash_bytes(input->bytes, input->size, 0));
        end += SLOT_BYTES;
    }
    return ls_hash_bytes(bytes, (size_t)(end - bytes), 0);
}

#include "lockstep/common/simulation/snapshot_ring.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/shared_copies.h"
#include "lockstep/common/simulation/state_hash.h"

#include <string.h>

typedef struct place {
    bool is_taken;
    bool has_chunk_hashes;
    ls_tick tick;
    uint64_t state_hash;
    size_t save_bytes;
} place;

struct ls_snapshot_ring {
    const ls_allocator *allocator;
    ls_sim_instance *instance;
    uint32_t capacity;
    size_t save_bytes_max;
    size_t chunk_hash_bytes; /* of one state; 0: it has none */
    place *places;           /* [capacity] */
    uint8_t *chunk_hashes;   /* [capacity][chunk_hash_bytes] */
    uint8_t *fresh;          /* save_bytes_max; NULL: the live state is its own save */
    ls_shared_copies *copies;
};

static uint32_t number_of(const ls_snapshot_ring *ring, ls_tick tick)
{
    return tick % ring->capacity;
}

static uint8_t *chunk_hashes_of(const ls_snapshot_ring *ring, ls_tick tick)
{
    return ring->chunk_hashes + number_of(ring, tick) * ring->chunk_hash_bytes;
}

/* Of the state, or NULL when it is not held. */
static const place *place_of(const ls_snapshot_ring *ring, ls_tick tick)
{
    const place *held = &ring->places[number_of(ring, tick)];
    return held->is_taken && held->tick == tick ? held : NULL;
}

static size_t chunk_hash_bytes_of(const ls_sim_instance *instance)
{
    size_t bytes = ls_sim_instance_state_bytes(instance);
    size_t chunks = (bytes + LS_HASH_CHUNK_BYTES - 1) / LS_HASH_CHUNK_BYTES;
    return ls_sim_instance_schema(instance) ? chunks * sizeof(uint64_t) : 0;
}

static size_t save_bytes_max_of(const ls_sim_instance *instance)
{
    size_t save_bytes = ls_sim_instance_save_bytes(instance);
    size_t most = ls_sim_instance_schema(instance) ? save_bytes : 2 * save_bytes;
    if (ls_sim_instance_simulation(instance)->save_bytes_max) {
        most = LS_MAX(most, ls_sim_instance_image_bytes(instance));
    }
    return most;
}

static ls_status allocate(ls_snapshot_ring *ring)
{
    const ls_allocator *allocator = ring->allocator;
    bool is_own_save = ls_sim_instance_schema(ring->instance) && ls_schema_is_canonical_here();
    ring->places = ls_allocate_array(allocator, ring->capacity, sizeof ring->places[0]);
    if (ring->chunk_hash_bytes > 0) {
        ring->chunk_hashes = ls_allocate_array(allocator, ring->capacity, ring->chunk_hash_bytes);
    }
    if (!is_own_save) {
        ring->fresh = ls_allocate(allocator, ring->save_bytes_max);
    }
    if (!ring->places || (ring->chunk_hash_bytes > 0 && !ring->chunk_hashes) ||
        (!is_own_save && !ring->fresh)) {
        return LS_NO_MEMORY;
    }
    return ls_shared_copies_create(ring->capacity, ring->save_bytes_max, allocator, &ring->copies);
}

ls_status ls_snapshot_ring_create(ls_sim_instance *instance, uint32_t capacity,
                                  const ls_allocator *allocator, ls_snapshot_ring **out)
{
    LS_ASSERT(capacity >= 1);
    if (ls_sim_instance_save_bytes(instance) == 0) {
        return LS_UNSUPPORTED;
    }
    ls_snapshot_ring *ring = ls_allocate(allocator, sizeof *ring);
    if (!ring) {
        return LS_NO_MEMORY;
    }
    ring->allocator = allocator;
    ring->instance = instance;
    ring->capacity = capacity;
    ring->save_bytes_max = save_bytes_max_of(instance);
    ring->chunk_hash_bytes = chunk_hash_bytes_of(instance);
    ls_status status = allocate(ring);
    if (status != LS_OK) {
        ls_snapshot_ring_destroy(ring);
        return status;
    }
    *out = ring;
    return LS_OK;
}

void ls_snapshot_ring_destroy(ls_snapshot_ring *ring)
{
    if (!ring) {
        return;
    }
    ls_shared_copies_destroy(ring->copies);
    ls_release(ring->allocator, ring->fresh);
    ls_release(ring->allocator, ring->chunk_hashes);
    ls_release(ring->allocator, ring->places);
    ls_release(ring->allocator, ring);
}

void ls_snapshot_ring_clear(ls_snapshot_ring *ring)
{
    for (uint32_t i = 0; i < ring->capacity; i++) {
        ring->places[i].is_taken = false;
    }
}

static void keep_chunk_hashes(ls_snapshot_ring *ring, place *taken)
{
    const uint8_t *chunk_hashes = ls_sim_instance_chunk_hashes(ring->instance);
    taken->has_chunk_hashes = chunk_hashes != NULL;
    if (chunk_hashes) {
        memcpy(chunk_hashes_of(ring, taken->tick), chunk_hashes, ring->chunk_hash_bytes);
    }
}

ls_status ls_snapshot_ring_save(ls_snapshot_ring *ring, uint64_t state_hash)
{
    ls_tick tick = ls_sim_instance_tick(ring->instance);
    place *taken = &ring->places[number_of(ring, tick)];
    size_t save_bytes = ls_sim_instance_save_bytes(ring->instance);
    taken->is_taken = false;
    if (save_bytes > ring->save_bytes_max) {
        return LS_FULL;
    }
    const uint8_t *bytes = ls_sim_instance_view(ring->instance);
    if (ring->fresh) {
        ls_status status = ls_sim_instance_save(ring->instance, ring->fresh);
        if (status != LS_OK) {
            return status;
        }
        bytes = ring->fresh;
    }
    ls_shared_copies_store(ring->copies, number_of(ring, tick), bytes, save_bytes);
    *taken =
        (place){.is_taken = true, .tick = tick, .state_hash = state_hash, .save_bytes = save_bytes};
    keep_chunk_hashes(ring, taken);
    return LS_OK;
}

ls_status ls_snapshot_ring_load(ls_snapshot_ring *ring, ls_tick tick)
{
    ls_saved_state saved = ls_snapshot_ring_get(ring, tick);
    return saved.bytes ? ls_sim_instance_load(ring->instance, saved.bytes, saved.size, tick)
                       : LS_NOT_FOUND;
}

ls_status ls_snapshot_ring_hash(const ls_snapshot_ring *ring, ls_tick tick, uint64_t *state_hash)
{
    const place *held = place_of(ring, tick);
    if (!held) {
        return LS_NOT_FOUND;
    }
    *state_hash = held->state_hash;
    return LS_OK;
}

ls_saved_state ls_snapshot_ring_get(ls_snapshot_ring *ring, ls_tick tick)
{
    const place *held = place_of(ring, tick);
    if (!held) {
        return (ls_saved_state){0};
    }
    return (ls_saved_state){
        .bytes = ls_shared_copies_read(ring->copies, number_of(ring, tick)),
        .size = held->save_bytes,
        .chunk_hashes = held->has_chunk_hashes ? chunk_hashes_of(ring, tick) : NULL,
    };
}

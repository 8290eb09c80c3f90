#include "lockstep/common/simulation/snapshot_ring.h"

#include "lockstep/common/base/assert.h"

typedef struct place {
    bool is_taken;
    ls_tick tick;
    uint64_t state_hash;
} place;

struct ls_snapshot_ring {
    const ls_allocator *allocator;
    ls_sim_instance *instance;
    uint32_t capacity;
    size_t save_bytes_max;
    place *places;  /* [capacity] */
    uint8_t *bytes; /* [capacity][save_bytes_max] */
};

static uint8_t *bytes_of(const ls_snapshot_ring *ring, ls_tick tick)
{
    return ring->bytes + tick % ring->capacity * ring->save_bytes_max;
}

/* Of the state, or NULL when it is not held. */
static const place *place_of(const ls_snapshot_ring *ring, ls_tick tick)
{
    const place *held = &ring->places[tick % ring->capacity];
    return held->is_taken && held->tick == tick ? held : NULL;
}

ls_status ls_snapshot_ring_create(ls_sim_instance *instance, uint32_t capacity,
                                  const ls_allocator *allocator, ls_snapshot_ring **out)
{
    LS_ASSERT(capacity >= 1);
    size_t save_bytes = ls_sim_instance_save_bytes(instance);
    if (save_bytes == 0) {
        return LS_UNSUPPORTED;
    }
    ls_snapshot_ring *ring = ls_allocate(allocator, sizeof *ring);
    if (!ring) {
        return LS_NO_MEMORY;
    }
    ring->allocator = allocator;
    ring->instance = instance;
    ring->capacity = capacity;
    ring->save_bytes_max = ls_sim_instance_schema(instance) ? save_bytes : 2 * save_bytes;
    if (ls_sim_instance_simulation(instance)->save_bytes_max) {
        size_t most = ls_sim_instance_image_bytes(instance);
        ring->save_bytes_max = LS_MAX(ring->save_bytes_max, most);
    }
    ring->places = ls_allocate_array(allocator, capacity, sizeof ring->places[0]);
    ring->bytes = ls_allocate_array(allocator, capacity, ring->save_bytes_max);
    if (!ring->places || !ring->bytes) {
        ls_snapshot_ring_destroy(ring);
        return LS_NO_MEMORY;
    }
    *out = ring;
    return LS_OK;
}

void ls_snapshot_ring_destroy(ls_snapshot_ring *ring)
{
    if (!ring) {
        return;
    }
    ls_release(ring->allocator, ring->bytes);
    ls_release(ring->allocator, ring->places);
    ls_release(ring->allocator, ring);
}

void ls_snapshot_ring_clear(ls_snapshot_ring *ring)
{
    for (uint32_t i = 0; i < ring->capacity; i++) {
        ring->places[i].is_taken = false;
    }
}

ls_status ls_snapshot_ring_save(ls_snapshot_ring *ring, uint64_t state_hash)
{
    ls_tick tick = ls_sim_instance_tick(ring->instance);
    place *taken = &ring->places[tick % ring->capacity];
    taken->is_taken = false;
    if (ls_sim_instance_save_bytes(ring->instance) > ring->save_bytes_max) {
        return LS_FULL;
    }
    ls_status status = ls_sim_instance_save(ring->instance, bytes_of(ring, tick));
    if (status == LS_OK) {
        *taken = (place){.is_taken = true, .tick = tick, .state_hash = state_hash};
    }
    return status;
}

ls_status ls_snapshot_ring_load(ls_snapshot_ring *ring, ls_tick tick)
{
    if (!place_of(ring, tick)) {
        return LS_NOT_FOUND;
    }
    return ls_sim_instance_load(ring->instance, bytes_of(ring, tick), tick);
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

const uint8_t *ls_snapshot_ring_bytes(const ls_snapshot_ring *ring, ls_tick tick)
{
    return place_of(ring, tick) ? bytes_of(ring, tick) : NULL;
}

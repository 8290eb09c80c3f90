#include "lockstep/common/simulation/snapshot_ring.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/state_hash.h"

#include <string.h>

/* ---- shared copies ---- */

#define NO_CHUNK UINT32_MAX

/* One copy: which kept chunk stands for each of its own; NO_CHUNK behind its end. */
typedef struct copy {
    size_t size;
    uint32_t *chunks; /* [chunks_max] */
} copy;

struct ls_shared_copies {
    const ls_allocator *allocator;
    uint32_t count;
    uint32_t chunks_max;     /* of one copy */
    copy *copies;            /* [count], and one for the whole bytes */
    uint32_t *chunk_numbers; /* of all copies */
    uint32_t newest;         /* the one that was taken last */
    uint8_t *whole;          /* the one that was read last, in one piece */
    uint32_t kept_max;
    uint8_t *kept;  /* chunks */
    uint32_t *uses; /* of each: copies that have it */
    uint32_t *free; /* those without a use */
    uint32_t free_count;
};

/* ---- life ---- */

static void set_up(ls_shared_copies *copies)
{
    for (uint32_t i = 0; i <= copies->count; i++) {
        copies->copies[i].chunks = copies->chunk_numbers + (size_t)i * copies->chunks_max;
    }
    for (uint32_t i = 0; i < copies->kept_max; i++) {
        copies->chunk_numbers[i] = NO_CHUNK;
        copies->free[i] = copies->kept_max - 1 - i;
    }
    copies->free_count = copies->kept_max;
}

/* As many chunks as all copies have, when no two are the same; the whole bytes are one of them. */
ls_status ls_shared_copies_create(uint32_t count, size_t bytes_max, const ls_allocator *allocator,
                                  ls_shared_copies **out)
{
    LS_ASSERT(count >= 1 && bytes_max >= 1);
    size_t chunks_max = (bytes_max - 1) / LS_HASH_CHUNK_BYTES + 1;
    if (chunks_max >= NO_CHUNK / (count + 1u)) {
        return LS_NO_MEMORY;
    }
    ls_shared_copies *copies = ls_allocate(allocator, sizeof *copies);
    if (!copies) {
        return LS_NO_MEMORY;
    }
    copies->allocator = allocator;
    copies->count = count;
    copies->chunks_max = (uint32_t)chunks_max;
    copies->kept_max = (count + 1) * copies->chunks_max;
    uint32_t most = copies->kept_max;
    copies->copies = ls_allocate_array(allocator, count + 1u, sizeof copies->copies[0]);
    copies->chunk_numbers = ls_allocate_array(allocator, most, sizeof copies->chunk_numbers[0]);
    copies->whole = ls_allocate_array(allocator, chunks_max, LS_HASH_CHUNK_BYTES);
    copies->kept = ls_allocate_array(allocator, most, LS_HASH_CHUNK_BYTES);
    copies->uses = ls_allocate_array(allocator, most, sizeof copies->uses[0]);
    copies->free = ls_allocate_array(allocator, most, sizeof copies->free[0]);
    if (!copies->copies || !copies->chunk_numbers || !copies->whole || !copies->kept ||
        !copies->uses || !copies->free) {
        ls_shared_copies_destroy(copies);
        return LS_NO_MEMORY;
    }
    set_up(copies);
    *out = copies;
    return LS_OK;
}

void ls_shared_copies_destroy(ls_shared_copies *copies)
{
    if (!copies) {
        return;
    }
    ls_release(copies->allocator, copies->free);
    ls_release(copies->allocator, copies->uses);
    ls_release(copies->allocator, copies->kept);
    ls_release(copies->allocator, copies->whole);
    ls_release(copies->allocator, copies->chunk_numbers);
    ls_release(copies->allocator, copies->copies);
    ls_release(copies->allocator, copies);
}

/* ---- chunks ---- */

static size_t size_of_chunk(size_t size, uint32_t chunk)
{
    size_t begin = (size_t)chunk * LS_HASH_CHUNK_BYTES;
    return begin < size ? LS_MIN(size - begin, LS_HASH_CHUNK_BYTES) : 0;
}

static uint8_t *kept_bytes(const ls_shared_copies *copies, uint32_t kept)
{
    return copies->kept + (size_t)kept * LS_HASH_CHUNK_BYTES;
}

/* Gives `of` this kept chunk, or none, in place of the one that it had. */
static void set_chunk(ls_shared_copies *copies, copy *of, uint32_t chunk, uint32_t kept)
{
    uint32_t before = of->chunks[chunk];
    if (kept != NO_CHUNK) {
        copies->uses[kept]++;
    }
    of->chunks[chunk] = kept;
    if (before != NO_CHUNK && --copies->uses[before] == 0) {
        copies->free[copies->free_count++] = before;
    }
}

static uint32_t keep(ls_shared_copies *copies, const uint8_t *bytes, size_t size)
{
    LS_ASSERT(copies->free_count > 0);
    uint32_t kept = copies->free[--copies->free_count];
    memcpy(kept_bytes(copies, kept), bytes, size);
    return kept;
}

/* ---- copies ---- */

/* The chunk of the newest copy, where that has this one. */
static uint32_t find_same(const ls_shared_copies *copies, uint32_t chunk, const uint8_t *bytes,
                          size_t size)
{
    const copy *newest = &copies->copies[copies->newest];
    uint32_t kept = newest->chunks[chunk];
    bool is_same = size > 0 && size_of_chunk(newest->size, chunk) == size &&
                   memcmp(kept_bytes(copies, kept), bytes, size) == 0;
    return is_same ? kept : NO_CHUNK;
}

void ls_shared_copies_store(ls_shared_copies *copies, uint32_t place, const uint8_t *bytes,
                            size_t size)
{
    LS_ASSERT(place < copies->count);
    LS_ASSERT(size <= (size_t)copies->chunks_max * LS_HASH_CHUNK_BYTES);
    copy *taken = &copies->copies[place];
    for (uint32_t chunk = 0; chunk < copies->chunks_max; chunk++) {
        size_t chunk_bytes = size_of_chunk(size, chunk);
        const uint8_t *from = bytes + LS_MIN((size_t)chunk * LS_HASH_CHUNK_BYTES, size);
        uint32_t kept = find_same(copies, chunk, from, chunk_bytes);
        set_chunk(copies, taken, chunk, kept); /* if that is none, there is a free one then */
        if (kept == NO_CHUNK && chunk_bytes > 0) {
            set_chunk(copies, taken, chunk, keep(copies, from, chunk_bytes));
        }
    }
    taken->size = size;
    copies->newest = place;
}

const uint8_t *ls_shared_copies_read(ls_shared_copies *copies, uint32_t place)
{
    LS_ASSERT(place < copies->count);
    const copy *wanted = &copies->copies[place];
    copy *whole = &copies->copies[copies->count];
    for (uint32_t chunk = 0; chunk < copies->chunks_max; chunk++) {
        uint32_t kept = wanted->chunks[chunk];
        if (kept == whole->chunks[chunk]) {
            continue;
        }
        if (kept != NO_CHUNK) {
            memcpy(copies->whole + (size_t)chunk * LS_HASH_CHUNK_BYTES, kept_bytes(copies, kept),
                   size_of_chunk(wanted->size, chunk));
        }
        set_chunk(copies, whole, chunk, kept);
    }
    whole->size = wanted->size;
    return copies->whole;
}

size_t ls_shared_copies_chunks(const ls_shared_copies *copies)
{
    return copies->kept_max - copies->free_count;
}

/* ---- snapshot ring ---- */

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

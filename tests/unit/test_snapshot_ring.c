#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/snapshot_ring.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* ---- snapshot_ring ---- */

static void destroy_ring(void *ring)
{
    ls_snapshot_ring_destroy(ring);
}

static ls_snapshot_ring *make_ring(ls_sim_instance *instance, uint32_t capacity)
{
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(instance, capacity, ls_allocator_heap(), &ring), LS_OK);
    return keep_until_end(ring, destroy_ring);
}

static void step(ls_sim_instance *instance, uint8_t byte)
{
    ls_slot_input slots[2] = {{&byte, 1, 0}, {&byte, 1, 0}};
    ls_sim_instance_step(instance, &(ls_tick_inputs){ls_sim_instance_tick(instance), 2, slots});
}

TestSuite(snapshot_ring, .fini = destroy_kept);

Test(snapshot_ring, brings_back_every_state_that_it_holds)
{
    uint64_t state_hashes[5];
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 5);
    for (uint32_t tick = 0; tick < 5; tick++) {
        state_hashes[tick] = ls_sim_instance_hash(instance);
        cr_assert_eq(ls_snapshot_ring_save(ring, state_hashes[tick]), LS_OK);
        step(instance, (uint8_t)(1 + tick));
    }
    for (uint32_t i = 0; i < 5; i++) {
        ls_tick tick = (3 * i + 4) % 5; /* in any order */
        uint64_t state_hash = 0;
        cr_assert_eq(ls_snapshot_ring_load(ring, tick), LS_OK);
        cr_assert_eq(ls_sim_instance_tick(instance), tick);
        cr_assert_eq(ls_sim_instance_hash(instance), state_hashes[tick]);
        cr_assert_eq(ls_snapshot_ring_hash(ring, tick, &state_hash), LS_OK);
        cr_assert_eq(state_hash, state_hashes[tick]);
    }
    cr_assert_neq(state_hashes[0], state_hashes[4]);
}

Test(snapshot_ring, a_cleared_ring_holds_nothing_and_takes_new_states)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 3);
    cr_assert_eq(ls_snapshot_ring_save(ring, 7), LS_OK);
    ls_snapshot_ring_clear(ring);
    cr_assert_null(ls_snapshot_ring_get(ring, 0).bytes);
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_NOT_FOUND);
    step(instance, 1);
    cr_assert_eq(ls_snapshot_ring_save(ring, 8), LS_OK);
    cr_assert_eq(ls_snapshot_ring_load(ring, 1), LS_OK);
}

Test(snapshot_ring, shows_the_bytes_of_what_it_holds)
{
    static uint8_t saved[1 << 16];
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 2);
    cr_assert_leq(ls_sim_instance_save_bytes(instance), sizeof saved);
    cr_assert_null(ls_snapshot_ring_get(ring, 0).bytes);
    (void)ls_sim_instance_state(instance); /* somebody may write to it: it is not hashed any more */
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
    ls_saved_state state = ls_snapshot_ring_get(ring, 0);
    cr_assert_arr_eq(state.bytes, saved, ls_sim_instance_save_bytes(instance));
    cr_assert_null(state.chunk_hashes, "it was not hashed");
    cr_assert_null(ls_snapshot_ring_get(ring, 2).bytes, "the same place, another tick");
    (void)ls_sim_instance_hash(instance);
    cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
    const uint8_t *chunk_hashes = ls_sim_instance_chunk_hashes(instance);
    cr_assert_arr_eq(ls_snapshot_ring_get(ring, 0).chunk_hashes, chunk_hashes, sizeof(uint64_t));
}

Test(snapshot_ring, a_save_takes_the_place_of_the_state_that_is_too_old)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 2);
    uint64_t state_hash = 77;
    cr_assert_eq(ls_snapshot_ring_hash(ring, 0, &state_hash), LS_NOT_FOUND);
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_NOT_FOUND);
    for (uint32_t tick = 0; tick < 3; tick++) {
        cr_assert_eq(ls_snapshot_ring_save(ring, tick), LS_OK);
        step(instance, 1);
    }
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_NOT_FOUND);
    cr_assert_eq(ls_snapshot_ring_hash(ring, 0, &state_hash), LS_NOT_FOUND);
    cr_assert_eq(ls_snapshot_ring_load(ring, 3), LS_NOT_FOUND);
    cr_assert_eq(state_hash, 77, "untouched by a failure");
    cr_assert_eq(ls_sim_instance_tick(instance), 3);
    cr_assert_eq(ls_snapshot_ring_load(ring, 1), LS_OK);
    cr_assert_eq(ls_snapshot_ring_load(ring, 2), LS_OK);
}

Test(snapshot_ring, the_newest_save_of_a_tick_counts)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 3);
    cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
    step(instance, 1);
    cr_assert_eq(ls_snapshot_ring_save(ring, 1), LS_OK);
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_OK);
    step(instance, 2);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    cr_assert_eq(ls_snapshot_ring_save(ring, state_hash), LS_OK);
    step(instance, 3);
    cr_assert_eq(ls_snapshot_ring_load(ring, 1), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), state_hash);
}

Test(snapshot_ring, allocates_at_create_only_and_gives_everything_back)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(instance, 8, &counting.allocator, &ring), LS_OK);
    cr_assert_geq(counting.live_bytes, 8 * ls_sim_instance_state_bytes(instance));
    uint64_t calls = heap_calls();
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
        step(instance, 1);
        cr_assert_eq(ls_snapshot_ring_load(ring, i), LS_OK);
        step(instance, 2);
    }
    cr_assert_eq(heap_calls(), calls);
    ls_snapshot_ring_destroy(ring);
    ls_snapshot_ring_destroy(NULL);
    cr_assert_eq(counting.live_blocks, 0);
}

Test(snapshot_ring, every_failed_allocation_is_survived)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_snapshot_ring *ring = NULL;
        refused.status = ls_snapshot_ring_create(instance, 8, &refused.counting.allocator, &ring);
        cr_assert_eq(ring != NULL, refused.status == LS_OK);
        ls_snapshot_ring_destroy(ring);
    }
}

Test(snapshot_ring, a_ring_without_room_is_a_mistake, .signal = SIGABRT)
{
    ls_snapshot_ring *ring = NULL;
    ls_snapshot_ring_create(keep_instance(counter_simulation(), NULL), 0, ls_allocator_heap(),
                            &ring);
}

/* ---- an engine of somebody else's, whose saves grow ---- */

static uint64_t engine_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    return ((const counter_state *)state)->total;
}

/* 64 bytes, and one more for each that was played; all of them tell the total. */
static size_t engine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    (void)config;
    size_t size = 64 + (size_t)((const counter_state *)state)->total;
    if (size <= capacity) {
        memset(bytes, (int)(size - 64), size);
    }
    return size;
}

static ls_status engine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    (void)config;
    ((counter_state *)state)->total = bytes[size - 1];
    return LS_OK;
}

static ls_simulation *engine_simulation(void)
{
    static ls_simulation simulation; /* outlives what is kept */
    simulation = *counter_simulation();
    simulation.fields = NULL;
    simulation.hash = engine_hash;
    simulation.save = engine_save;
    simulation.load = engine_load;
    return &simulation;
}

Test(snapshot_ring, saves_may_grow_to_twice_their_size)
{
    ls_sim_instance *instance = keep_instance(engine_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 4);
    size_t header = ls_sim_instance_save_bytes(instance) - 64;
    counter_state *state = ls_sim_instance_state(instance);
    state->total = 64 + header;
    cr_assert_eq(ls_snapshot_ring_save(ring, 5), LS_OK);
    state->total = 1;
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_OK);
    cr_assert_eq(state->total, 64 + header);

    uint64_t state_hash = 0;
    state->total++;
    cr_assert_eq(ls_snapshot_ring_save(ring, 6), LS_FULL);
    cr_assert_eq(ls_snapshot_ring_hash(ring, 0, &state_hash), LS_NOT_FOUND, "its place is empty");
}

Test(snapshot_ring, an_engine_that_cannot_save_is_refused)
{
    ls_simulation *simulation = engine_simulation();
    simulation->save = NULL;
    simulation->load = NULL;
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(instance, 4, ls_allocator_heap(), &ring), LS_UNSUPPORTED);
    cr_assert_null(ring);
}

/* ---- shared_copies ---- */

#define CHUNK LS_HASH_CHUNK_BYTES
#define CHUNKS 6u
#define BYTES (CHUNKS * CHUNK - 100u)
#define PLACES 5u

static void destroy_copies(void *copies)
{
    ls_shared_copies_destroy(copies);
}

static ls_shared_copies *make_copies(void)
{
    ls_shared_copies *copies = NULL;
    cr_assert_eq(ls_shared_copies_create(PLACES, BYTES, ls_allocator_heap(), &copies), LS_OK);
    return keep_until_end(copies, destroy_copies);
}

TestSuite(shared_copies, .fini = destroy_kept);

Test(shared_copies, a_chunk_that_stays_the_same_is_kept_once)
{
    static uint8_t block[BYTES];
    ls_shared_copies *copies = make_copies();
    cr_assert_eq(ls_shared_copies_chunks(copies), 0);
    for (uint32_t place = 0; place < PLACES; place++) {
        block[2 * CHUNK + 7] = (uint8_t)place;
        ls_shared_copies_store(copies, place, block, BYTES);
    }
    cr_assert_eq(ls_shared_copies_chunks(copies), CHUNKS + PLACES - 1);
    for (uint32_t place = 0; place < PLACES; place++) {
        cr_assert_eq(ls_shared_copies_read(copies, place)[2 * CHUNK + 7], place);
    }
}

/* Sizes that grow and shrink, changes here and there, reads and takes in any order: every copy is
 * what was taken, and no chunk is ever lost. */
Test(shared_copies, every_copy_is_what_was_taken)
{
    static uint8_t block[BYTES];
    static uint8_t expected[PLACES][BYTES];
    size_t sizes[PLACES] = {0};
    ls_shared_copies *copies = make_copies();
    ls_rng rng = ls_rng_make(1, 2);
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t place = ls_rng_below(&rng, PLACES);
        if (ls_rng_below(&rng, 3) == 0) {
            const uint8_t *bytes = ls_shared_copies_read(copies, place);
            cr_assert_eq(memcmp(bytes, expected[place], sizes[place]), 0, "read %u", i);
            continue;
        }
        for (uint32_t changes = ls_rng_below(&rng, 4); changes > 0; changes--) {
            block[ls_rng_below(&rng, BYTES)] = (uint8_t)ls_rng_below(&rng, 3);
        }
        sizes[place] = ls_rng_below(&rng, 2) == 0 ? BYTES : ls_rng_below(&rng, BYTES + 1);
        memcpy(expected[place], block, sizes[place]);
        ls_shared_copies_store(copies, place, block, sizes[place]);
    }
    cr_assert_leq(ls_shared_copies_chunks(copies), (PLACES + 1) * CHUNKS);
}

Test(shared_copies, there_is_room_when_everything_changes)
{
    static uint8_t block[BYTES];
    ls_shared_copies *copies = make_copies();
    for (uint32_t i = 0; i < 4 * PLACES; i++) {
        memset(block, (int)i, BYTES);
        ls_shared_copies_store(copies, i % PLACES, block, BYTES);
        (void)ls_shared_copies_read(copies, (i * 3 + 1) % PLACES);
    }
    cr_assert_leq(ls_shared_copies_chunks(copies), (PLACES + 1) * CHUNKS);
    for (uint32_t place = 0; place < PLACES; place++) {
        const uint8_t *bytes = ls_shared_copies_read(copies, place);
        cr_assert_eq(bytes[0], 3 * PLACES + place);
        cr_assert_eq(memcmp(bytes, bytes + 1, BYTES - 1), 0);
    }
}

Test(shared_copies, allocates_at_create_only_and_gives_everything_back)
{
    static uint8_t block[BYTES];
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_shared_copies *copies = NULL;
    cr_assert_eq(ls_shared_copies_create(PLACES, BYTES, &counting.allocator, &copies), LS_OK);
    uint64_t calls = heap_calls();
    for (uint32_t i = 0; i < 20; i++) {
        block[i * 1000] ^= 1;
        ls_shared_copies_store(copies, i % PLACES, block, BYTES - i);
    }
    cr_assert_eq(heap_calls(), calls);
    ls_shared_copies_destroy(copies);
    ls_shared_copies_destroy(NULL);
    cr_assert_eq(counting.live_blocks, 0);
}

Test(shared_copies, every_failed_allocation_is_survived)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_shared_copies *copies = NULL;
        refused.status =
            ls_shared_copies_create(PLACES, BYTES, &refused.counting.allocator, &copies);
        cr_assert_eq(copies != NULL, refused.status == LS_OK);
        ls_shared_copies_destroy(copies);
    }
}

Test(shared_copies, copies_without_room_are_a_mistake, .signal = SIGABRT)
{
    ls_shared_copies *copies = NULL;
    ls_shared_copies_create(0, BYTES, ls_allocator_heap(), &copies);
}

#include "lockstep/common/simulation/snapshot_ring.h"

#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

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

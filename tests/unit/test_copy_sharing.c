#include "lockstep/common/base/hash.h"
#include "lockstep/common/diagnosis/copy_sharing.h"
#include "lockstep/common/diagnosis/state_history.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    PAGES = 64,
    TICKS_UNTIL_SHARED = 2 * LS_COPY_SHARING_TICKS,
};

static ls_block_pair pair;
static ls_copy_sharing *sharing;

static void destroy_sharing(void *made)
{
    ls_copy_sharing_destroy(made);
    ls_release_pair(&pair);
}

static void open_sharing(void)
{
    cr_assert(
        ls_allocate_pair(ls_allocator_paired(), (size_t)PAGES * ls_pages_size() - 100, &pair));
    cr_assert_eq(pair.bytes, PAGES * pair.page_bytes, "whole pages");
    cr_assert_eq(ls_copy_sharing_create(&pair, ls_allocator_heap(), &sharing), LS_OK);
    keep_until_end(sharing, destroy_sharing);
}

static void take_turns(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ls_copy_sharing_turn(sharing);
    }
}

/* A write to the copy of a shared page shows in the block. */
static bool is_shared(size_t page)
{
    size_t at = page * pair.page_bytes;
    uint8_t was = pair.copy[at];
    uint8_t of_block = pair.block[at];
    pair.copy[at] = (uint8_t)(was + 1);
    bool shows = pair.block[at] != of_block;
    pair.copy[at] = was;
    return shows;
}

static void change(size_t page, uint8_t to)
{
    pair.block[page * pair.page_bytes + 7] = to;
    ls_copy_sharing_before_write(sharing, page * pair.page_bytes + 7, 1);
    pair.copy[page * pair.page_bytes + 7] = to;
}

Test(copy_sharing, a_page_that_holds_still_is_shared)
{
    open_sharing();
    change(0, 1);
    change(PAGES - 1, 2);
    cr_expect_not(is_shared(0));
    cr_expect_not(is_shared(PAGES - 1));
    take_turns(TICKS_UNTIL_SHARED);
    cr_expect(is_shared(0));
    cr_expect(is_shared(PAGES - 1));
    cr_expect_eq(pair.block[7], 1);
    cr_expect_eq(pair.block[(PAGES - 1) * pair.page_bytes + 7], 2);
}

Test(copy_sharing, a_page_that_goes_on_changing_is_not_shared)
{
    open_sharing();
    for (uint32_t tick = 0; tick < 10 * TICKS_UNTIL_SHARED; tick++) {
        change(3, (uint8_t)tick);
        take_turns(1);
        cr_assert_not(is_shared(3));
    }
}

Test(copy_sharing, a_page_that_differs_is_never_shared)
{
    open_sharing();
    change(5, 1);
    pair.block[6 * pair.page_bytes - 1] = 9; /* a write that nobody has named */
    take_turns(10 * TICKS_UNTIL_SHARED);
    cr_expect_eq(pair.block[6 * pair.page_bytes - 1], 9);
    cr_expect_not(is_shared(5));
}

Test(copy_sharing, pages_of_the_block_part_before_the_copy_changes)
{
    open_sharing();
    change(1, 1);
    change(2, 1);
    take_turns(TICKS_UNTIL_SHARED);
    cr_assert(is_shared(1) && is_shared(2));
    size_t first = 2 * pair.page_bytes - 1;
    ls_copy_sharing_before_write(sharing, first, 2);
    memset(pair.copy + first, 7, 2);
    cr_expect_eq(pair.block[first], 0);
    cr_expect_eq(pair.block[first + 1], 0);
    take_turns(TICKS_UNTIL_SHARED);
    cr_expect_eq(pair.block[first], 0, "they differ");
}

/* ---- a state history over a pair ---- */

enum {
    CHUNKS = 61,
    STATE_BYTES = CHUNKS * LS_HASH_CHUNK_BYTES - 21,
    TICKS = 700,
    RECENT = 90,
    REACH = 80,
};

static uint8_t states[TICKS + 1][STATE_BYTES]; /* every one, to compare with */
static uint8_t hashes[CHUNKS * 8];
static uint32_t compared;

static void destroy_history(void *history)
{
    ls_release_pair(&pair); /* as a match may: before its history */
    ls_state_history_destroy(history);
}

static ls_state_history *open_history(void)
{
    cr_assert(ls_allocate_pair(ls_allocator_paired(), STATE_BYTES, &pair));
    const ls_state_history_config config = {.state_bytes = STATE_BYTES,
                                            .log_bytes = STATE_BYTES / 16 * 8,
                                            .recent_ticks = RECENT,
                                            .reach_ticks = REACH,
                                            .snapshots = 2,
                                            .pair = &pair};
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(&config, ls_allocator_heap(), &history), LS_OK);
    return keep_until_end(history, destroy_history);
}

static void hash_state(void)
{
    ls_hash_chunks(pair.block, STATE_BYTES, LS_HASH_CHUNK_BYTES, hashes);
}

/* Little changes for most of the time, all of it for some, and what hashes know of is not all. */
static void step(ls_rng *rng, ls_tick tick)
{
    bool is_dense = tick % 350 > 250;
    for (uint32_t i = 0; i < (is_dense ? 2u * CHUNKS : 3u); i++) {
        size_t chunk = is_dense ? i % CHUNKS : ls_rng_below(rng, CHUNKS / 2);
        size_t at = chunk * LS_HASH_CHUNK_BYTES + ls_rng_below(rng, LS_HASH_CHUNK_BYTES - 21);
        pair.block[at] ^= (uint8_t)(1u + ls_rng_below(rng, 255));
    }
    hash_state();
    if (tick % 7 == 0) { /* after it was hashed */
        pair.block[ls_rng_below(rng, STATE_BYTES)] ^= 16;
    }
    memcpy(states[tick], pair.block, STATE_BYTES);
}

static void check_an_older_one(ls_state_history *history, ls_rng *rng, ls_tick tick)
{
    ls_tick asked = tick - ls_rng_below(rng, LS_MIN(tick, RECENT) + 1);
    const uint8_t *bytes = ls_state_history_state(history, asked);
    compared += bytes != NULL;
    cr_assert_arr_eq(pair.block, states[tick], STATE_BYTES, "looking at %u, live %u", asked, tick);
}

Test(copy_sharing, a_history_never_changes_the_live_state)
{
    ls_state_history *history = open_history();
    ls_rng rng = ls_rng_make(7, 1);
    memset(pair.block, 3, STATE_BYTES);
    hash_state();
    memcpy(states[0], pair.block, STATE_BYTES);
    ls_state_history_start(history, 0, &(ls_history_state){pair.block, hashes, false});
    for (ls_tick tick = 1; tick <= TICKS; tick++) {
        step(&rng, tick);
        if (ls_state_history_add(history, tick, (ls_history_state){pair.block, hashes, false})) {
            ls_state_history_share(history);
        }
        cr_assert_arr_eq(pair.block, states[tick], STATE_BYTES, "tick %u", tick);
        if (tick % 5 == 0) {
            check_an_older_one(history, &rng, tick);
        }
        if (tick == TICKS / 2 + 60) { /* healed, say */
            memcpy(pair.block, states[10], STATE_BYTES);
            memcpy(states[tick], states[10], STATE_BYTES);
            hash_state();
            ls_state_history_start(history, tick, &(ls_history_state){pair.block, hashes, false});
            cr_assert_arr_eq(pair.block, states[tick], STATE_BYTES);
        }
    }
    cr_expect_gt(compared, TICKS / 10);
}

Test(copy_sharing, older_states_come_back_as_they_were)
{
    ls_state_history *history = open_history();
    ls_rng rng = ls_rng_make(8, 1);
    hash_state();
    ls_state_history_start(history, 0, &(ls_history_state){pair.block, hashes, false});
    for (ls_tick tick = 1; tick <= 200; tick++) {
        pair.block[ls_rng_below(&rng, STATE_BYTES)]++;
        hash_state();
        memcpy(states[tick], pair.block, STATE_BYTES);
        cr_assert(
            ls_state_history_add(history, tick, (ls_history_state){pair.block, hashes, false}));
        ls_state_history_share(history);
        ls_tick asked = tick - ls_rng_below(&rng, LS_MIN(tick - 1, REACH) + 1);
        cr_assert_arr_eq(ls_state_history_state(history, asked), states[asked], STATE_BYTES,
                         "%u at %u", asked, tick);
    }
}

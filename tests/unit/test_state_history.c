#include "lockstep/common/diagnosis/state_history.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    BLOCKS = 7,
    STATE_BYTES = BLOCKS * 64 - 13, /* the last block is shorter */
    TICKS = 600,
};

/* Every state, to compare with. */
static uint8_t states[TICKS + 1][STATE_BYTES];
static bool was_added[TICKS + 1];

static const ls_state_history_config roomy = {.state_bytes = STATE_BYTES,
                                              .block_bytes = 64,
                                              .old_blocks = 40 * BLOCKS,
                                              .snapshots = 3,
                                              .recent_ticks = 30};

static void destroy_history(void *history)
{
    ls_state_history_destroy(history);
}

static ls_state_history *open_history(const ls_state_history_config *config)
{
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(config, ls_allocator_heap(), &history), LS_OK);
    keep_until_end(history, destroy_history);
    ls_state_history_start(history, 0, states[0]);
    was_added[0] = true;
    return history;
}

/* The state of `tick`: the one before it with so many of its blocks changed. */
static void make_state(ls_rng *rng, ls_tick tick, uint32_t changed_blocks)
{
    memcpy(states[tick], states[tick - 1], STATE_BYTES);
    for (uint32_t i = 0; i < changed_blocks; i++) {
        uint32_t block = changed_blocks == BLOCKS ? i : ls_rng_below(rng, BLOCKS);
        uint32_t end = LS_MIN((block + 1) * 64, STATE_BYTES);
        states[tick][end - 1 - ls_rng_below(rng, 40)] += 1;
    }
}

static void check_state(ls_state_history *history, ls_tick tick)
{
    const uint8_t *state = ls_state_history_state(history, tick);
    cr_assert_not_null(state, "tick %u", tick);
    cr_assert_arr_eq(state, states[tick], STATE_BYTES, "tick %u", tick);
}

/* All states that are said to be there, in no order. */
static void check_all(ls_state_history *history, ls_rng *rng, ls_tick newest)
{
    for (uint32_t i = 0; i < 12; i++) {
        ls_tick tick = ls_rng_below(rng, newest + 1);
        if (was_added[tick] && ls_state_history_has(history, tick)) {
            check_state(history, tick);
        }
    }
}

TestSuite(state_history, .fini = destroy_kept);

Test(state_history, states_come_back_as_they_were_however_much_changes)
{
    ls_state_history_config tight = roomy;
    tight.old_blocks = tight.snapshots * BLOCKS;
    const ls_state_history_config configs[] = {roomy, tight};
    ls_rng rng = ls_rng_make(3, 3);
    for (uint32_t c = 0; c < 2 * 4; c++) {
        const uint32_t changes[] = {0, 1, 4, BLOCKS};
        ls_state_history *history = open_history(&configs[c % 2]);
        ls_tick snapshots[TICKS] = {0};
        uint32_t snapshot_count = 1;
        for (ls_tick tick = 1; tick <= TICKS; tick++) {
            make_state(&rng, tick, changes[c / 2]);
            was_added[tick] = ls_rng_below(&rng, 50) != 0;
            if (!was_added[tick]) {
                continue; /* a state that is not to be had */
            }
            ls_state_history_add(history, tick, (ls_history_state){states[tick], NULL},
                                 tick % 16 == 0);
            if (tick % 16 == 0) {
                snapshots[snapshot_count++] = tick;
            }
            check_all(history, &rng, tick);
            for (uint32_t i = 0; i < LS_MIN(3, snapshot_count); i++) {
                check_state(history, snapshots[snapshot_count - 1 - i]);
            }
        }
    }
}

Test(state_history, all_recent_states_are_there_while_they_fit)
{
    ls_state_history *history = open_history(&roomy);
    ls_rng rng = ls_rng_make(4, 4);
    for (ls_tick tick = 1; tick <= TICKS; tick++) {
        make_state(&rng, tick, BLOCKS);
        was_added[tick] = true;
        ls_state_history_add(history, tick, (ls_history_state){states[tick], NULL}, tick % 16 == 0);
        ls_tick oldest = tick > 30 ? tick - 30 : 0;
        cr_assert(ls_state_history_has(history, oldest));
        check_state(history, oldest);
        cr_assert(tick < 100 || !ls_state_history_has(history, tick - 32) || (tick - 32) % 16 == 0);
    }
}

Test(state_history, the_oldest_states_go_first_when_room_is_short)
{
    ls_state_history_config config = roomy;
    config.old_blocks = 10 * BLOCKS;
    ls_state_history *history = open_history(&config);
    ls_rng rng = ls_rng_make(5, 5);
    for (ls_tick tick = 1; tick <= 200; tick++) {
        make_state(&rng, tick, BLOCKS);
        ls_state_history_add(history, tick, (ls_history_state){states[tick], NULL}, tick % 16 == 0);
    }
    for (ls_tick tick = 194; tick <= 200; tick++) {
        check_state(history, tick); /* three of the ten are of snapshots: 160, 176, 192 */
    }
    cr_assert_not(ls_state_history_has(history, 180));
    cr_assert_null(ls_state_history_state(history, 180));
    cr_assert_null(ls_state_history_state(history, 201));
    ls_tick snapshot = 0;
    cr_assert(ls_state_history_snapshot(history, 191, &snapshot));
    cr_assert_eq(snapshot, 176);
    check_state(history, 160);
    cr_assert_not(ls_state_history_snapshot(history, 159, &snapshot));
}

Test(state_history, a_start_forgets_everything)
{
    ls_state_history *history = open_history(&roomy);
    ls_rng rng = ls_rng_make(6, 6);
    for (ls_tick tick = 1; tick <= 50; tick++) {
        make_state(&rng, tick, 3);
        ls_state_history_add(history, tick, (ls_history_state){states[tick], NULL}, tick % 16 == 0);
    }
    check_state(history, 45);
    ls_state_history_start(history, 20, states[20]);
    cr_assert_null(ls_state_history_state(history, 19));
    cr_assert_null(ls_state_history_state(history, 21));
    for (ls_tick tick = 21; tick <= 50; tick++) {
        ls_state_history_add(history, tick, (ls_history_state){states[tick], NULL}, tick % 16 == 0);
        check_state(history, 20);
        check_state(history, tick - 1);
    }
}

Test(state_history, the_memory_it_says_is_the_memory_it_takes_and_adding_takes_none)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(&roomy, &counting.allocator, &history), LS_OK);
    cr_expect_eq(counting.live_bytes, ls_state_history_bytes(&roomy));
    ls_state_history_start(history, 0, states[0]);
    ls_rng rng = ls_rng_make(7, 7);
    uint64_t calls = heap_calls();
    for (ls_tick tick = 1; tick <= 100; tick++) {
        make_state(&rng, tick, 4);
        ls_state_history_add(history, tick, (ls_history_state){states[tick], NULL}, tick % 16 == 0);
        (void)ls_state_history_state(history, tick - 1);
    }
    cr_expect_eq(heap_calls(), calls);
    ls_state_history_destroy(history);
    cr_expect_eq(counting.live_bytes, 0);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_state_history *made = NULL;
        refused.status = ls_state_history_create(&roomy, &refused.counting.allocator, &made);
        ls_state_history_destroy(made);
    }
}

/* A state of three chunks is added with their hashes, or without, in turns of its own. */
Test(state_history, chunk_hashes_tell_what_has_changed)
{
    enum {
        BYTES = 2 * LS_HASH_CHUNK_BYTES + 100,
        ADDED = 300
    };
    static uint8_t made[ADDED + 1][BYTES];
    static uint64_t hashes[3];
    const ls_state_history_config config = {BYTES, 256, 300 * 33, 2, 200};
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(&config, ls_allocator_heap(), &history), LS_OK);
    keep_until_end(history, destroy_history);
    ls_state_history_start(history, 0, made[0]);
    ls_rng rng = ls_rng_make(8, 8);
    for (ls_tick tick = 1; tick <= ADDED; tick++) {
        memcpy(made[tick], made[tick - 1], BYTES);
        for (uint32_t i = ls_rng_below(&rng, 4); i > 0; i--) {
            made[tick][ls_rng_below(&rng, BYTES)]++;
        }
        for (uint32_t chunk = 0; chunk < 3; chunk++) {
            size_t begin = chunk * LS_HASH_CHUNK_BYTES;
            hashes[chunk] =
                ls_hash_bytes(made[tick] + begin, LS_MIN(BYTES - begin, LS_HASH_CHUNK_BYTES), 0);
        }
        bool is_hashed = ls_rng_below(&rng, 5) != 0;
        ls_history_state state = {made[tick], is_hashed ? (const uint8_t *)hashes : NULL};
        ls_state_history_add(history, tick, state, tick % 64 == 0);
        ls_tick asked = tick - ls_rng_below(&rng, LS_MIN(tick, 200u));
        cr_assert_arr_eq(ls_state_history_state(history, asked), made[asked], BYTES, "%u", asked);
    }
}

static ls_status create_with(ls_state_history_config config)
{
    ls_state_history *history = NULL;
    ls_status status = ls_state_history_create(&config, ls_allocator_heap(), &history);
    ls_state_history_destroy(history);
    return status;
}

Test(state_history, configurations_out_of_range_are_refused)
{
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 2, 2, 0}), LS_OK);
    cr_expect_eq(create_with((ls_state_history_config){0, 64, 2, 2, 0}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 32, 2, 2, 0}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 96, 2, 2, 0}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 1, 2, 0}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 9, 1, 0}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 99, 17, 0}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){65, 64, 3, 2, 0}), LS_BAD_ARGUMENT);
}

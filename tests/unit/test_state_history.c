#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, mincore */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/diagnosis/state_history.h"
#include "lockstep/common/diagnosis/word_changes.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* ---- state_history ---- */

enum {
    BLOCKS = 7,
    STATE_BYTES = BLOCKS * 64 - 13, /* the last word is shorter */
    TICKS = 1800,
    RECENT = 30,
    REACH = 24,
};

/* Every state, to compare with. */
static uint8_t states[TICKS + 1][STATE_BYTES];
static bool was_added[TICKS + 1];

/* A log for all states of the time, one for few of them, and one that no dense change fits in. */
static ls_state_history_config config_with(size_t log_bytes)
{
    return (ls_state_history_config){STATE_BYTES, log_bytes, RECENT, REACH, 2, 0, NULL};
}

static ls_state_history_config roomy(void)
{
    return config_with(ls_state_history_whole_log_bytes(STATE_BYTES, RECENT));
}

static void destroy_history(void *history)
{
    ls_state_history_destroy(history);
}

static ls_state_history *open_history(const ls_state_history_config *config)
{
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(config, ls_allocator_heap(), &history), LS_OK);
    keep_until_end(history, destroy_history);
    ls_state_history_start(history, 0, &(ls_history_state){states[0], NULL, false});
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
        ls_tick found = 0;
        if (ls_state_history_newest_until(history, tick, &found)) {
            cr_assert(was_added[found] && found <= tick, "tick %u", found);
            check_state(history, found);
            cr_assert(found == tick || !ls_state_history_state(history, tick));
        }
    }
}

static bool add_wanted(ls_state_history *history, ls_tick tick, bool is_wanted)
{
    ls_history_state state = {.bytes = states[tick], .is_wanted = is_wanted};
    was_added[tick] = ls_state_history_add(history, tick, state);
    cr_assert(was_added[tick] || !is_wanted, "tick %u", tick);
    return was_added[tick];
}

static bool add(ls_state_history *history, ls_tick tick)
{
    return add_wanted(history, tick, false);
}

TestSuite(state_history, .fini = destroy_kept);

Test(state_history, states_come_back_as_they_were_however_much_changes)
{
    const size_t log_bytes[] = {roomy().log_bytes, 5 * STATE_BYTES / 8 * 8, 600, 64};
    const uint32_t changes[] = {0, 1, 4, BLOCKS};
    ls_rng rng = ls_rng_make(3, 3);
    for (uint32_t c = 0; c < 4 * 5 * 2 * 2; c++) {
        ls_state_history_config config = config_with(log_bytes[c % 4]);
        config.snapshots = c % 40 < 20 ? 2 : 7;
        config.tick_bytes = c < 40 ? 0 : STATE_BYTES / 4;
        ls_state_history *history = open_history(&config);
        ls_tick newest = 0;
        for (ls_tick tick = 1; tick <= TICKS; tick++) {
            make_state(&rng, tick, changes[c / 4 % 5 < 4 ? c / 4 % 5 : tick / 100 % 4]);
            was_added[tick] = false;
            if (ls_rng_below(&rng, 50) == 0) {
                continue; /* a state that is not to be had */
            }
            if (add_wanted(history, tick, ls_rng_below(&rng, 60) == 0)) {
                newest = tick;
                check_state(history, tick);
            }
            check_all(history, &rng, tick);
            ls_tick found = 0;
            ls_tick old = newest > REACH ? newest - REACH : 0;
            cr_assert(ls_state_history_newest_until(history, old, &found), "%u: tick %u", c, tick);
            uint32_t most = REACH + REACH / (config.snapshots - 1) + 16; /* some are left out */
            most = config.tick_bytes == 0 ? most : 5 * REACH / 2;
            cr_assert_leq(newest - found, most, "%u: tick %u of %u", c, found, tick);
        }
    }
}

Test(state_history, all_recent_states_are_there_while_they_fit)
{
    const ls_state_history_config config = roomy();
    ls_state_history *history = open_history(&config);
    ls_rng rng = ls_rng_make(4, 4);
    for (ls_tick tick = 1; tick <= TICKS; tick++) {
        make_state(&rng, tick, tick / 100 % 2 == 0 ? BLOCKS : 2);
        add(history, tick);
        check_state(history, tick > RECENT ? tick - RECENT : 0);
        cr_assert(tick <= RECENT || !ls_state_history_state(history, tick - RECENT - 1));
    }
}

Test(state_history, the_oldest_states_go_first_when_room_is_short)
{
    const ls_state_history_config config = config_with(8 * (STATE_BYTES / 8 * 8));
    ls_state_history *history = open_history(&config);
    ls_rng rng = ls_rng_make(5, 5);
    for (ls_tick tick = 1; tick <= 200; tick++) {
        memset(states[tick], (int)tick, STATE_BYTES);
        add(history, tick);
    }
    for (ls_tick tick = 194; tick <= 200; tick++) {
        check_state(history, tick);
    }
    ls_tick older = 0;
    cr_assert_null(ls_state_history_state(history, 190));
    cr_assert_null(ls_state_history_state(history, 201));
    cr_assert(ls_state_history_newest_until(history, 200 - REACH, &older));
    check_state(history, older);
    check_state(history, ls_state_history_oldest(history));
    ls_tick before = ls_state_history_oldest(history) - 1;
    cr_assert_not(ls_state_history_newest_until(history, before, &older));
    check_all(history, &rng, 200);
}

Test(state_history, what_little_changes_is_reached_without_snapshots)
{
    const ls_state_history_config config = config_with(RECENT * 8 * 4);
    ls_state_history *history = open_history(&config);
    for (ls_tick tick = 1; tick <= 200; tick++) {
        memcpy(states[tick], states[tick - 1], STATE_BYTES);
        if (tick == 80) {
            memset(states[tick], 3, STATE_BYTES); /* once, everything */
        }
        states[tick][tick % STATE_BYTES]++;
        add(history, tick);
        for (ls_tick old = tick > REACH ? tick - REACH : 0; tick < 80 && old <= tick; old++) {
            check_state(history, old);
        }
    }
    for (ls_tick old = 200 - RECENT; old <= 200; old++) {
        check_state(history, old);
    }
    ls_tick older = 0;
    cr_assert_not(ls_state_history_newest_until(history, 200 - RECENT - 1, &older));
}

Test(state_history, a_start_forgets_everything)
{
    const ls_state_history_config config = config_with(600);
    ls_state_history *history = open_history(&config);
    ls_rng rng = ls_rng_make(6, 6);
    for (ls_tick tick = 1; tick <= 50; tick++) {
        make_state(&rng, tick, 3);
        add(history, tick);
    }
    check_state(history, 48);
    ls_state_history_start(history, 20, &(ls_history_state){states[20], NULL, false});
    cr_assert_null(ls_state_history_state(history, 19));
    cr_assert_null(ls_state_history_state(history, 21));
    for (ls_tick tick = 21; tick <= 50; tick++) {
        add(history, tick);
        check_state(history, 20);
        check_state(history, tick - 1);
    }
}

static void check_memory(const ls_state_history_config *config)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(config, &counting.allocator, &history), LS_OK);
    cr_expect_eq(counting.live_bytes, ls_state_history_bytes(config));
    ls_state_history_start(history, 0, &(ls_history_state){states[0], NULL, false});
    ls_rng rng = ls_rng_make(7, 7);
    uint64_t calls = heap_calls();
    for (ls_tick tick = 1; tick <= 100; tick++) {
        make_state(&rng, tick, 4);
        add(history, tick);
        (void)ls_state_history_state(history, tick - 1);
    }
    cr_expect_eq(heap_calls(), calls);
    ls_state_history_destroy(history);
    cr_expect_eq(counting.live_bytes, 0);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_state_history *made = NULL;
        refused.status = ls_state_history_create(config, &refused.counting.allocator, &made);
        ls_state_history_destroy(made);
    }
}

Test(state_history, the_memory_it_says_is_the_memory_it_takes_and_adding_takes_none)
{
    const ls_state_history_config configs[] = {roomy(), config_with(64)};
    check_memory(&configs[0]);
    check_memory(&configs[1]);
}

/* Adds states of which all words change, or one alone, and counts those that were taken. */
static uint32_t add_changing(ls_state_history *history, ls_tick *tick, uint32_t ticks,
                             bool is_dense)
{
    uint32_t taken = 0;
    for (ls_tick end = *tick + ticks; *tick < end;) {
        ++*tick;
        memcpy(states[*tick], states[*tick - 1], STATE_BYTES);
        for (uint32_t i = 0; i < (is_dense ? STATE_BYTES : 1); i++) {
            states[*tick][i]++;
        }
        taken += add(history, *tick);
    }
    return taken;
}

Test(state_history, where_all_changes_a_few_states_are_copied_evenly_apart)
{
    const ls_state_history_config config = config_with(600);
    ls_state_history *history = open_history(&config);
    ls_tick tick = 0;
    cr_expect_eq(add_changing(history, &tick, 240, true), 240 / (REACH / 2));
    uint32_t there = 0;
    for (ls_tick at = 240 - 2 * REACH; at <= 240; at++) {
        there += ls_state_history_state(history, at) != NULL;
        cr_expect(at % (REACH / 2) == 0 || !ls_state_history_state(history, at), "tick %u", at);
    }
    cr_expect_eq(there, 3);
    cr_expect_eq(add_changing(history, &tick, 5, true), 0);
    cr_expect_eq(add_changing(history, &tick, 6, false), 0, "they differ from what was taken last");
    cr_expect_eq(add_changing(history, &tick, 60, false), 60, "now few words change");
    check_state(history, tick - 20);
}

Test(state_history, the_oldest_state_outlives_the_log)
{
    for (size_t log_bytes = 200; log_bytes <= 600; log_bytes += 200) {
        const ls_state_history_config config = config_with(log_bytes);
        ls_state_history *history = open_history(&config);
        ls_tick tick = 0;
        cr_expect_eq(add_changing(history, &tick, 100, false), 100);
        ls_tick oldest = ls_state_history_oldest(history);
        cr_expect_eq(add_changing(history, &tick, 2, true), 1, "the next one is too near");
        check_state(history, oldest);
        check_state(history, 101);
        cr_expect_null(ls_state_history_state(history, 99), "the log has ended");
    }
}

Test(state_history, what_costs_more_than_the_ticks_may_is_left_out_unless_it_is_wanted)
{
    ls_state_history_config config = roomy();
    config.tick_bytes = STATE_BYTES / 8 + 1;
    ls_state_history *history = open_history(&config);
    ls_tick tick = 0;
    cr_expect_eq(add_changing(history, &tick, 80, false), 10, "without hashes all is compared");
    memcpy(states[81], states[80], STATE_BYTES);
    cr_expect(add_wanted(history, 81, true));
    check_state(history, 81);
    check_state(history, 80);
}

static bool has_not_after(const ls_state_history *history, ls_tick tick)
{
    ls_tick found = 0;
    return ls_state_history_newest_until(history, tick, &found);
}

Test(state_history, what_is_held_stays_until_it_is_let_go_or_for_many_times_the_reach)
{
    const size_t log_bytes[] = {64, 200, 600, 2400, roomy().log_bytes};
    for (size_t i = 0; i < sizeof log_bytes / sizeof log_bytes[0]; i++) {
        const ls_state_history_config config = config_with(log_bytes[i]);
        for (uint32_t round = 0; round < 20; round++) {
            ls_state_history *history = open_history(&config);
            ls_tick tick = 0;
            add_changing(history, &tick, 60 + round, round % 3 == 0);
            ls_tick held = tick - 2 - round;
            cr_assert(has_not_after(history, held));
            ls_state_history_hold(history, held);
            while (tick < held + LS_HISTORY_HELD_REACHES_MAX * REACH) {
                add_changing(history, &tick, 1, round % 2 == 0);
                cr_assert(has_not_after(history, held), "%zu, %u: %u", log_bytes[i], round, tick);
            }
            add_changing(history, &tick, 3 * REACH, round % 2 == 0);
            cr_expect_not(has_not_after(history, held), "%zu, %u", log_bytes[i], round);
        }
    }
}

Test(state_history, what_is_let_go_makes_room_like_others)
{
    const ls_state_history_config config = config_with(200);
    ls_state_history *history = open_history(&config);
    ls_tick tick = 0;
    add_changing(history, &tick, 60, false);
    ls_state_history_hold(history, 50);
    add_changing(history, &tick, 2 * REACH, false);
    cr_assert(has_not_after(history, 50));
    ls_state_history_let_go(history);
    add_changing(history, &tick, 2 * REACH, false);
    cr_expect_not(has_not_after(history, 50));
}

/* Somebody who reads until told otherwise. */
typedef struct reader {
    bool is_done;
    uint32_t times_ended;
} reader;

static bool is_over(void *user, uint32_t ticket)
{
    const reader *reading = user;
    return reading->is_done || ticket != 7;
}

static void end(void *user, uint32_t ticket)
{
    reader *reading = user;
    (void)ticket;
    reading->is_done = true;
    reading->times_ended++;
}

Test(state_history, a_state_on_loan_stays_until_it_is_over_or_in_the_way)
{
    const ls_state_history_config config = roomy();
    ls_state_history *history = open_history(&config);
    ls_tick tick = 0;
    add_changing(history, &tick, 20, false);
    reader reading = {false, 0};
    const ls_state_loan loan = {&reading, 7, is_over, end};
    const uint8_t *state = ls_state_history_state(history, 12);
    ls_state_history_lend(history, &loan);
    cr_expect_eq(add_changing(history, &tick, 3, false), 0);
    cr_expect_eq(ls_state_history_state(history, 12), state);
    cr_expect_eq(reading.times_ended, 0);
    cr_expect_arr_eq(state, states[12], STATE_BYTES);
    check_state(history, 14);
    cr_expect_eq(reading.times_ended, 1, "another state is asked for");
    reading.is_done = false;
    ls_state_history_lend(history, &loan);
    cr_expect_eq(add_changing(history, &tick, 1, false), 0);
    reading.is_done = true;
    cr_expect_eq(add_changing(history, &tick, 1, false), 1, "the reader has done with it");
    reading.is_done = false;
    ls_state_history_state(history, 12);
    ls_state_history_lend(history, &loan);
    memcpy(states[tick + 1], states[tick], STATE_BYTES);
    cr_expect(add_wanted(history, tick + 1, true));
    cr_expect_eq(reading.times_ended, 2, "a state that is wanted is taken");
    check_state(history, 12);
}

Test(state_history, states_that_are_left_out_are_so_at_the_same_ticks_wherever_a_history_begins)
{
    ls_state_history_config config = roomy();
    config.tick_bytes = STATE_BYTES / 8 + 1;
    ls_state_history *history = open_history(&config);
    for (ls_tick tick = 1; tick < 60; tick++) {
        memcpy(states[tick], states[tick - 1], STATE_BYTES);
    }
    ls_state_history_start(history, 13, &(ls_history_state){states[13], NULL, false});
    for (ls_tick tick = 14; tick < 60; tick++) {
        cr_expect_eq(add(history, tick), tick % 8 == 0, "tick %u", tick);
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
    const ls_state_history_config config = {BYTES, 300 << 10, 200, 100, 2, 0, NULL};
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(&config, ls_allocator_heap(), &history), LS_OK);
    keep_until_end(history, destroy_history);
    ls_state_history_start(history, 0, &(ls_history_state){made[0], NULL, false});
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
        ls_history_state state = {made[tick], is_hashed ? (const uint8_t *)hashes : NULL, false};
        ls_state_history_add(history, tick, state);
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
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 1, 0, 2, 0, NULL}), LS_OK);
    cr_expect_eq(create_with((ls_state_history_config){0, 64, 1, 0, 2, 0, NULL}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 56, 1, 0, 2, 0, NULL}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 65, 1, 0, 2, 0, NULL}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 1, 1, 2, 0, NULL}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 1, 0, 1, 0, NULL}), LS_BAD_ARGUMENT);
    cr_expect_eq(create_with((ls_state_history_config){1, 64, 1, 0, 17, 0, NULL}), LS_BAD_ARGUMENT);
}

/* ---- memory that the system has handed out ---- */

#if defined(__linux__)

enum {
    LARGE_BYTES = 17 << 20,
    LARGE_CHUNKS = LARGE_BYTES / LS_HASH_CHUNK_BYTES,
    BLOCKS_MAX = 16,
};

static struct {
    void *memory;
    size_t bytes;
} mappings[BLOCKS_MAX];

static void *map_block(void *user, size_t bytes)
{
    (void)user;
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        if (!mappings[i].memory) {
            mappings[i].memory =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            mappings[i].bytes = bytes;
            cr_assert_neq(mappings[i].memory, MAP_FAILED);
            return mappings[i].memory;
        }
    }
    return NULL;
}

static void unmap_block(void *user, void *memory)
{
    (void)user;
    for (uint32_t i = 0; memory && i < BLOCKS_MAX; i++) {
        if (mappings[i].memory == memory) {
            munmap(memory, mappings[i].bytes);
            mappings[i].memory = NULL;
        }
    }
}

/* In tenths of a state. */
static size_t resident_tenths(void)
{
    static unsigned char is_resident[4 * LARGE_CHUNKS];
    size_t pages = 0;
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        size_t count = (mappings[i].bytes + 4095) / 4096;
        if (mappings[i].memory &&
            mincore(mappings[i].memory, mappings[i].bytes, is_resident) == 0) {
            for (size_t page = 0; page < count; page++) {
                pages += is_resident[page] & 1u;
            }
        }
    }
    return pages * 4096 * 10 / LARGE_BYTES;
}

static uint8_t *large; /* of LARGE_BYTES */
static uint8_t large_hashes[LARGE_CHUNKS * 8];

static void change_chunk(uint32_t chunk, ls_tick tick)
{
    uint8_t *bytes = large + (size_t)chunk * LS_HASH_CHUNK_BYTES;
    memset(bytes, (int)tick, LS_HASH_CHUNK_BYTES);
    ls_hash_chunks(bytes, LS_HASH_CHUNK_BYTES, LS_HASH_CHUNK_BYTES, large_hashes + chunk * 8);
}

static ls_state_history *open_large(void)
{
    static const ls_allocator mapped = {map_block, unmap_block, NULL, NULL};
    const ls_state_history_config config = {LARGE_BYTES, LARGE_BYTES / 2, RECENT, REACH, 2, 0,
                                            NULL};
    ls_state_history *history = NULL;
    cr_assert_eq(ls_state_history_create(&config, &mapped, &history), LS_OK);
    large = keep_until_end(calloc(1, LARGE_BYTES), free);
    ls_hash_chunks(large, LARGE_BYTES, LS_HASH_CHUNK_BYTES, large_hashes);
    ls_state_history_start(history, 0, &(ls_history_state){large, large_hashes, false});
    return keep_until_end(history, destroy_history);
}

Test(state_history, a_large_state_of_which_little_changes_takes_little_more_than_itself)
{
    ls_state_history *history = open_large();
    for (ls_tick tick = 1; tick <= 200; tick++) {
        change_chunk(tick * 31 % LARGE_CHUNKS, tick);
        cr_assert(
            ls_state_history_add(history, tick, (ls_history_state){large, large_hashes, false}));
    }
    cr_assert_geq(resident_tenths(), 10);
    cr_assert_leq(resident_tenths(), 12);
}

Test(state_history, memory_for_snapshots_of_a_large_state_is_there_before_the_first_one)
{
    ls_state_history *history = open_large();
    cr_assert_leq(resident_tenths(), 11);
    for (ls_tick tick = 1; tick <= REACH / 2; tick++) {
        for (uint32_t chunk = 0; chunk < LARGE_CHUNKS; chunk++) {
            change_chunk(chunk, tick);
        }
        bool is_first =
            ls_state_history_add(history, tick, (ls_history_state){large, large_hashes, false});
        cr_assert_eq(is_first, tick == REACH / 2, "tick %u", tick);
        size_t least = 10 + 20 * tick / (REACH / 2);
        cr_assert_geq(resident_tenths() + 1, least, "tick %u", tick);
    }
}

#endif

/* ---- word_changes ---- */

enum {
    WORDS = 300,
    ROUNDS = 400,
};

/* Checks that the runs hold all words that differ, begin and end with one, and lie two or more
 * apart; returns how many there are. */
static uint32_t check_runs(const ls_word_blocks *blocks)
{
    ls_word_run run = {0, 0};
    size_t before = 0;
    uint32_t runs = 0;
    while (ls_word_changes_next(blocks, &run)) {
        cr_assert(run.first < run.end && run.end <= blocks->count);
        cr_assert(runs == 0 || run.first >= before + 2);
        cr_assert_arr_eq(blocks->before + before, blocks->now + before,
                         (run.first - before) * sizeof(uint64_t));
        cr_assert_neq(blocks->before[run.first], blocks->now[run.first]);
        cr_assert_neq(blocks->before[run.end - 1], blocks->now[run.end - 1]);
        before = run.end;
        runs++;
    }
    cr_assert_arr_eq(blocks->before + before, blocks->now + before,
                     (blocks->count - before) * sizeof(uint64_t));
    return runs;
}

Test(word_changes, runs_hold_all_that_differs)
{
    ls_rng rng = ls_rng_make(1, 1);
    uint32_t runs = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t before[WORDS] = {0};
        uint64_t now[WORDS] = {0};
        const ls_word_blocks blocks = {before, now, ls_rng_below(&rng, WORDS + 1)};
        for (uint32_t i = ls_rng_below(&rng, 40); i > 0; i--) {
            now[ls_rng_below(&rng, WORDS)]++;
        }
        runs += check_runs(&blocks);
    }
    cr_expect_gt(runs, ROUNDS);
}

Test(word_changes, equal_blocks_and_none_have_no_run)
{
    const uint64_t words[WORDS] = {1, 2, 3};
    ls_word_run run = {0, 0};
    cr_expect_not(ls_word_changes_next(&(ls_word_blocks){words, words, WORDS}, &run));
    cr_expect_not(ls_word_changes_next(&(ls_word_blocks){words, words, 0}, &run));
}

Test(word_changes, a_single_equal_word_does_not_end_a_run)
{
    const uint64_t before[8] = {0};
    const uint64_t now[8] = {1, 0, 1, 0, 0, 1, 1, 0};
    const ls_word_blocks blocks = {before, now, 8};
    ls_word_run run = {0, 0};
    cr_assert(ls_word_changes_next(&blocks, &run));
    cr_expect(run.first == 0 && run.end == 3);
    cr_assert(ls_word_changes_next(&blocks, &run));
    cr_expect(run.first == 5 && run.end == 7);
    cr_expect_not(ls_word_changes_next(&blocks, &run));
    ls_word_figures figures = ls_word_changes_count(&blocks);
    cr_expect(figures.words == 4 && figures.groups == 3);
}

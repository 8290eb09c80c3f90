#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/server/investigation/tick_search.h"
#include "lockstep/server/match/tick_history.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- tick_history ---- */

enum {
    SLOTS = 4,
    BYTES_MAX = 1000,
};

static uint8_t bytes[SLOTS][BYTES_MAX];

/* Every input of a tick is of `size` bytes that no other tick has. */
static ls_tick_inputs make_tick(ls_tick tick, uint32_t size, ls_slot_input slots[SLOTS])
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        for (uint32_t i = 0; i < size; i++) {
            bytes[slot][i] = (uint8_t)(tick * 31 + slot * 7 + i * (tick | 1));
        }
        slots[slot] = (ls_slot_input){bytes[slot], size, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = SLOTS, .slots = slots};
}

static void destroy_history(void *history)
{
    ls_tick_history_destroy(history);
}

static ls_tick_history *create(void)
{
    ls_tick_history *history = NULL;
    cr_assert_eq(ls_tick_history_create(SLOTS, BYTES_MAX, ls_allocator_heap(), &history), LS_OK);
    return keep_until_end(history, destroy_history);
}

static uint64_t add_ticks(ls_tick_history *history, ls_tick first, ls_tick end, uint32_t size,
                          uint64_t chain)
{
    for (ls_tick tick = first; tick < end; tick++) {
        ls_slot_input slots[SLOTS];
        ls_tick_inputs inputs = make_tick(tick, size, slots);
        chain = ls_tick_chain_next(chain, &inputs);
        ls_tick_history_add(history, &inputs, tick + 1, chain);
    }
    return chain;
}

/* Reads the first `size` bytes back: `count` ticks from 0 on, with this chain behind them. */
static void check_start(const ls_tick_history *history, uint32_t size, ls_tick count,
                        uint64_t expected_chain)
{
    uint8_t *all = malloc(size);
    uint64_t chain = LS_TICK_CHAIN_START;
    ls_tick next = 0;
    ls_tick_history_write(history, all, size);
    for (uint32_t at = 0; at < size;) {
        static ls_tick_block_reader reader;
        uint32_t block = ls_load_u32(all + at);
        cr_assert_leq(block, size - at - 4);
        cr_assert_eq(ls_tick_block_open(&reader, all + at + 4, block, SLOTS, BYTES_MAX), LS_OK);
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs;
        uint64_t state_hash = 0;
        while (ls_tick_block_next(&reader, slots, &inputs, &state_hash) == LS_OK) {
            cr_assert_eq(inputs.tick, next);
            cr_assert_eq(state_hash, next + 1);
            chain = ls_tick_chain_next(chain, &inputs);
            next++;
        }
        cr_assert_eq(reader.head.chain, chain);
        at += 4 + block;
    }
    cr_assert_eq(next, count);
    cr_assert_eq(chain, expected_chain);
    free(all);
}

static void check(ls_tick_history *history, ls_tick count, uint64_t expected_chain)
{
    check_start(history, ls_tick_history_flush(history), count, expected_chain);
}

TestSuite(tick_history, .fini = destroy_kept);

Test(tick_history, every_tick_comes_back_in_order)
{
    ls_tick_history *history = create();
    uint64_t chain = add_ticks(history, 0, 5000, 3, LS_TICK_CHAIN_START);
    check(history, 5000, chain);
}

Test(tick_history, a_history_goes_on_after_it_was_read)
{
    ls_tick_history *history = create();
    uint64_t chain = add_ticks(history, 0, 10, 3, LS_TICK_CHAIN_START);
    check(history, 10, chain);
    check(history, 10, chain);
    chain = add_ticks(history, 10, 25, 3, chain);
    check(history, 25, chain);
}

Test(tick_history, large_ticks_fill_many_blocks_and_pieces)
{
    ls_tick_history *history = create();
    uint64_t chain = add_ticks(history, 0, 1000, BYTES_MAX, LS_TICK_CHAIN_START);
    cr_assert_gt(ls_tick_history_flush(history), 2u << 20);
    check(history, 1000, chain);
}

Test(tick_history, without_ticks_it_is_empty)
{
    ls_tick_history *history = create();
    cr_assert_eq(ls_tick_history_flush(history), 0);
    ls_tick_history_destroy(NULL);
}

/* ---- when memory is out ---- */

typedef struct few_pieces {
    uint32_t left;
} few_pieces;

static void *allocate_few(void *user, size_t size)
{
    few_pieces *few = user;
    if (few->left == 0) {
        return NULL;
    }
    few->left--;
    return calloc(1, size);
}

static void release_few(void *user, void *memory)
{
    (void)user;
    free(memory);
}

Test(tick_history, without_memory_for_all_of_it_there_is_none_of_it)
{
    few_pieces few = {.left = 2}; /* itself and one piece */
    ls_allocator allocator = {allocate_few, release_few, &few};
    ls_tick_history *history = NULL;
    cr_assert_eq(ls_tick_history_create(SLOTS, BYTES_MAX, &allocator, &history), LS_OK);
    uint64_t chain = add_ticks(history, 0, 200, BYTES_MAX, LS_TICK_CHAIN_START);
    cr_assert_gt(ls_tick_history_flush(history), 0);
    add_ticks(history, 200, 1000, BYTES_MAX, chain);
    cr_assert_eq(ls_tick_history_flush(history), 0);
    few.left = 100; /* too late */
    add_ticks(history, 1000, 1001, BYTES_MAX, chain);
    cr_assert_eq(ls_tick_history_flush(history), 0);
    ls_tick_history_destroy(history);
}

Test(tick_history, flushed_bytes_stay_what_they_were)
{
    ls_tick_history *history = create();
    uint64_t early = add_ticks(history, 0, 500, 20, LS_TICK_CHAIN_START);
    uint32_t size = ls_tick_history_flush(history);
    uint64_t late = add_ticks(history, 500, 5000, 20, early);
    check(history, 5000, late);
    check_start(history, size, 500, early);
}

/* ---- tick_search ---- */

enum {
    AGREED = 60,
    BAD = 90,
};

/* The sides hold all states from `held` on, and differ from `first` on. */
static uint32_t search_states(ls_tick_search *search, ls_tick first, ls_tick held, bool can_run)
{
    uint32_t asked = 0;
    ls_tick tick = 0;
    *search = (ls_tick_search){0};
    ls_tick_search_begin(search, AGREED, BAD);
    while ((tick = ls_tick_search_state(search)) != 0) {
        ls_tick_search_receive_state(search, tick < held    ? LS_SEARCHED_GONE
                                             : tick < first ? LS_SEARCHED_SAME
                                                            : LS_SEARCHED_DIFFERS);
        asked++;
    }
    if (ls_tick_search_is_held_up(search)) {
        ls_tick_search_go_on(search, can_run);
    }
    return asked;
}

Test(tick_search, the_first_state_is_found_among_those_that_are_held)
{
    ls_tick_search search;
    for (ls_tick first = AGREED + 1; first <= BAD; first++) {
        cr_expect_leq(search_states(&search, first, 0, false), 5);
        cr_expect(ls_tick_search_is_over(&search));
        cr_expect_eq(ls_tick_search_found(&search), first);
    }
}

Test(tick_search, a_state_that_is_gone_ends_it_where_re_runs_do_not_help)
{
    ls_tick_search search;
    search_states(&search, 65, 80, false);
    cr_expect(ls_tick_search_is_over(&search));
    cr_expect_eq(ls_tick_search_found(&search), 0);
    cr_expect_eq(search.same, AGREED);
    cr_expect_eq(search.differs, BAD);
    search_states(&search, 70, 70, false);
    cr_expect_eq(search.same, AGREED);
    cr_expect_eq(search.differs, 75, "what was found out before stays");
}

Test(tick_search, a_state_that_is_gone_is_asked_of_re_runs)
{
    ls_tick_search search;
    ls_rerun_share nowhere = {0};
    ls_tick tick = 0;
    search_states(&search, 70, 70, true);
    cr_expect_not(ls_tick_search_is_over(&search));
    cr_expect_not(ls_tick_search_next(&search, &nowhere, &tick), "there is no host");
    cr_expect(ls_tick_search_is_over(&search));
    cr_expect_eq(search.differs, 75);
}

#include "lockstep/client/session/tick_backlog.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    SLOTS = 4,
    CHUNKS = 4,
};

static ls_tick_backlog *backlog;
static uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];

static void open_for(uint32_t slots, uint32_t input_bytes_max)
{
    ls_tick_backlog_config config = {.slot_count = slots,
                                     .input_bytes_max = input_bytes_max,
                                     .bytes_max = CHUNKS * LS_TICK_BACKLOG_CHUNK_BYTES};
    cr_assert_eq(ls_tick_backlog_create(&config, ls_allocator_heap(), &backlog), LS_OK);
}

static void setup(void)
{
    open_for(SLOTS, LS_INPUT_BYTES_MAX);
}

static void teardown(void)
{
    ls_tick_backlog_destroy(backlog);
}

TestSuite(tick_backlog, .fini = teardown);

/* A tick's inputs, made of its number: noise of different sizes, so that nothing shrinks. */
static ls_tick_inputs make_tick(ls_tick tick, uint32_t slot_count,
                                ls_slot_input slots[LS_PLAYERS_MAX], uint32_t size_max)
{
    ls_rng rng = ls_rng_make(tick, 7);
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        uint32_t size = ls_rng_below(&rng, size_max + 1);
        for (uint32_t i = 0; i < size; i++) {
            bytes[slot][i] = (uint8_t)ls_rng_next(&rng);
        }
        slots[slot] = (ls_slot_input){bytes[slot], size, ls_rng_below(&rng, 3)};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = slot_count, .slots = slots};
}

static ls_status add(ls_tick tick, uint32_t size_max)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs = make_tick(tick, SLOTS, slots, size_max);
    return ls_tick_backlog_add(backlog, &inputs);
}

static void check_pop(ls_tick tick, uint32_t size_max)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input expected[LS_PLAYERS_MAX];
    ls_tick_inputs taken = {0};
    cr_assert_eq(ls_tick_backlog_pop(backlog, slots, &taken), LS_OK);
    cr_assert_eq(taken.tick, tick);
    cr_assert_eq(taken.slot_count, SLOTS);
    make_tick(tick, SLOTS, expected, size_max);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        cr_assert_eq(slots[slot].size, expected[slot].size);
        cr_assert_eq(slots[slot].events, expected[slot].events);
        cr_assert_eq(memcmp(slots[slot].bytes, expected[slot].bytes, expected[slot].size), 0);
    }
}

Test(tick_backlog, gives_nothing_when_it_holds_nothing, .init = setup)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs taken = {.tick = 77};
    cr_assert_eq(ls_tick_backlog_pop(backlog, slots, &taken), LS_NOT_FOUND);
    cr_assert_eq(taken.tick, 77);
    cr_assert_eq(ls_tick_backlog_count(backlog), 0);
    cr_assert_eq(ls_tick_backlog_bytes(backlog), 0);
}

Test(tick_backlog, gives_ticks_in_the_order_they_came, .init = setup)
{
    for (ls_tick tick = 1000; tick < 1400; tick++) {
        cr_assert_eq(add(tick, 40), LS_OK);
    }
    cr_assert_eq(ls_tick_backlog_count(backlog), 400);
    for (ls_tick tick = 1000; tick < 1400; tick++) {
        check_pop(tick, 40);
    }
    cr_assert_eq(ls_tick_backlog_count(backlog), 0);
}

Test(tick_backlog, holds_what_spans_several_chunks, .init = setup)
{
    ls_tick end = 0;
    while (ls_tick_backlog_bytes(backlog) < 3 * LS_TICK_BACKLOG_CHUNK_BYTES) {
        cr_assert_eq(add(end++, 500), LS_OK);
    }
    cr_assert_gt(end, 2 * 65536 / (SLOTS * 500));
    for (ls_tick tick = 0; tick < end; tick++) {
        check_pop(tick, 500);
    }
    cr_assert_eq(ls_tick_backlog_bytes(backlog), 0);
}

Test(tick_backlog, ticks_are_added_while_others_are_taken, .init = setup)
{
    ls_rng rng = ls_rng_make(5, 5);
    ls_tick added = 0;
    ls_tick taken = 0;
    while (taken < 5000) {
        for (uint32_t n = ls_rng_below(&rng, 20); n > 0; n--) {
            cr_assert_eq(add(added++, 100), LS_OK);
        }
        for (uint32_t n = ls_rng_below(&rng, 21); n > 0 && taken < added; n--) {
            check_pop(taken++, 100);
        }
        cr_assert_eq(ls_tick_backlog_count(backlog), added - taken);
    }
}

Test(tick_backlog, quiet_ticks_take_few_bytes, .init = setup)
{
    ls_slot_input slots[SLOTS] = {{0}};
    for (ls_tick tick = 0; tick < 60000; tick++) {
        ls_tick_inputs inputs = {.tick = tick, .slot_count = SLOTS, .slots = slots};
        cr_assert_eq(ls_tick_backlog_add(backlog, &inputs), LS_OK);
    }
    cr_assert_eq(ls_tick_backlog_bytes(backlog), LS_TICK_BACKLOG_CHUNK_BYTES);
}

Test(tick_backlog, beyond_its_limit_nothing_is_added_and_nothing_lost, .init = setup)
{
    ls_tick end = 0;
    while (add(end, LS_INPUT_BYTES_MAX) == LS_OK) {
        end++;
    }
    cr_assert_eq(add(end, LS_INPUT_BYTES_MAX), LS_FULL);
    cr_assert_eq(ls_tick_backlog_count(backlog), end);
    cr_assert_eq(ls_tick_backlog_bytes(backlog), CHUNKS * LS_TICK_BACKLOG_CHUNK_BYTES);

    /* A tick that is taken makes room, and the order is whole. */
    for (ls_tick tick = 0; tick < end; tick++) {
        check_pop(tick, LS_INPUT_BYTES_MAX);
    }
    cr_assert_eq(add(end, LS_INPUT_BYTES_MAX), LS_OK);
    check_pop(end, LS_INPUT_BYTES_MAX);
}

Test(tick_backlog, the_largest_tick_there_is_fits)
{
    enum {
        LARGE_SLOTS = LS_INPUTS_BYTES_MAX / LS_INPUT_BYTES_MAX
    };
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input taken_slots[LS_PLAYERS_MAX];
    ls_tick_inputs taken;
    open_for(LARGE_SLOTS, LS_INPUT_BYTES_MAX);
    for (uint32_t slot = 0; slot < LARGE_SLOTS; slot++) {
        memset(bytes[slot], (int)slot + 1, LS_INPUT_BYTES_MAX);
        slots[slot] = (ls_slot_input){bytes[slot], LS_INPUT_BYTES_MAX, 3};
    }
    ls_tick_inputs inputs = {.tick = 9, .slot_count = LARGE_SLOTS, .slots = slots};
    cr_assert_eq(ls_tick_backlog_add(backlog, &inputs), LS_OK);
    cr_assert_eq(ls_tick_backlog_pop(backlog, taken_slots, &taken), LS_OK);
    cr_assert_eq(memcmp(taken_slots[31].bytes, bytes[31], LS_INPUT_BYTES_MAX), 0);
}

Test(tick_backlog, ticks_taken_one_by_one_take_no_memory_each_time, .init = setup)
{
    cr_assert_eq(add(0, 20), LS_OK);
    check_pop(0, 20);
    uint64_t before = heap_calls();
    for (ls_tick tick = 1; tick < 1000; tick++) {
        cr_assert_eq(add(tick, 20), LS_OK);
        check_pop(tick, 20);
    }
    cr_assert_eq(heap_calls(), before);
}

Test(tick_backlog, is_destroyed_with_ticks_in_it, .init = setup)
{
    for (ls_tick tick = 0; tick < 300; tick++) {
        cr_assert_eq(add(tick, 300), LS_OK);
    }
    check_pop(0, 300);
}

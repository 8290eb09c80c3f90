#include "lockstep/client/session/confirmed_ticks.h"
#include "lockstep/client/session/tick_backlog.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- tick_parts ---- */

enum {
    SLOTS = 8,
    INPUT_BYTES = 1000
};

static counting_allocator counting;
static ls_tick_parts parts;

static void open_parts(void)
{
    counting_allocator_init(&counting);
    memset(&parts, 0, sizeof parts);
    ls_status status = ls_tick_parts_init(&parts, SLOTS, INPUT_BYTES, &counting.allocator);
    cr_assert_eq(status, LS_OK);
}

static void close_parts(void)
{
    ls_tick_parts_deinit(&parts);
    cr_assert_eq(counting.live_blocks, 0);
}

TestSuite(tick_parts, .fini = close_parts);

/* Part `index` of a tick of `total_bytes`, every byte of which tells its place and its tick. */
static ls_tick_part make_part(ls_tick tick, uint32_t total_bytes, uint32_t index)
{
    ls_tick_part part = {.tick = tick, .total_bytes = total_bytes, .index = index};
    part.size = ls_tick_part_size(total_bytes, index);
    for (uint32_t i = 0; i < part.size; i++) {
        part.bytes[i] = (uint8_t)(tick * 31 + (index * LS_TICK_PART_BYTES + i) * 7);
    }
    return part;
}

static ls_status add(ls_tick tick, uint32_t total_bytes, uint32_t index, ls_tick next)
{
    ls_tick_part part = make_part(tick, total_bytes, index);
    return ls_tick_parts_add(&parts, &part, next);
}

static bool is_whole(ls_tick tick, uint32_t total_bytes)
{
    uint32_t size = 0;
    const uint8_t *bytes = ls_tick_parts_pop(&parts, tick, &size);
    if (!bytes) {
        return false;
    }
    cr_assert_eq(size, total_bytes);
    for (uint32_t i = 0; i < size; i++) {
        cr_assert_eq(bytes[i], (uint8_t)(tick * 31 + i * 7));
    }
    return true;
}

/* Of the most players that there may be, with the largest inputs that these may have. */
Test(tick_parts, the_largest_tick_of_a_match_finds_room)
{
    enum {
        MOST_BYTES = 256
    };
    counting_allocator_init(&counting);
    ls_status status = ls_tick_parts_init(&parts, LS_PLAYERS_MAX, MOST_BYTES, &counting.allocator);
    cr_assert_eq(status, LS_OK);
    size_t most = ls_ticks_tick_bytes_max(LS_PLAYERS_MAX, MOST_BYTES);
    ls_tick_part part = make_part(0, (uint32_t)most, 0);
    cr_assert_eq(ls_tick_parts_add(&parts, &part, 0), LS_OK);
}

Test(tick_parts, a_tick_is_whole_with_its_last_part_in_any_order, .init = open_parts)
{
    static const uint32_t sizes[] = {1, 1100, 1101, 5000, 8000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t count = ls_tick_part_count(sizes[i]);
        for (uint32_t index = count; index-- > 0;) {
            cr_assert_not(is_whole(7, sizes[i]));
            cr_assert_eq(add(7, sizes[i], index, 7), LS_OK);
            cr_assert_eq(add(7, sizes[i], index, 7), LS_OK, "twice is no harm");
        }
        cr_assert(is_whole(7, sizes[i]));
        cr_assert_not(is_whole(7, sizes[i]), "it is taken once");
    }
}

Test(tick_parts, several_ticks_come_at_once, .init = open_parts)
{
    for (uint32_t index = 0; index < 3; index++) {
        for (ls_tick tick = 100; tick < 100 + LS_TICK_PARTS_AHEAD; tick++) {
            cr_assert_eq(add(tick, 3000, index, 100), LS_OK);
        }
    }
    for (ls_tick tick = 100; tick < 100 + LS_TICK_PARTS_AHEAD; tick++) {
        cr_assert(is_whole(tick, 3000));
    }
}

Test(tick_parts, ticks_outside_the_window_are_ignored, .init = open_parts)
{
    cr_assert_eq(add(100, 50, 0, 100), LS_OK);
    cr_assert_eq(add(99, 50, 0, 100), LS_OK);
    cr_assert_eq(add(100 + LS_TICK_PARTS_AHEAD, 50, 0, 100), LS_OK);
    cr_assert_eq(add(UINT32_MAX, 50, 0, 100), LS_OK);
    cr_assert_not(is_whole(99, 50));
    cr_assert_not(is_whole(100 + LS_TICK_PARTS_AHEAD, 50));
    cr_assert(is_whole(100, 50), "and displace nothing");
}

Test(tick_parts, another_size_begins_anew, .init = open_parts)
{
    add(5, 2200, 0, 5);
    add(5, 2300, 1, 5);
    cr_assert_not(is_whole(5, 2300));
    add(5, 2300, 0, 5);
    add(5, 2300, 2, 5);
    cr_assert(is_whole(5, 2300));
}

Test(tick_parts, a_tick_larger_than_any_can_be_is_malformed, .init = open_parts)
{
    uint32_t largest = (uint32_t)ls_ticks_tick_bytes_max(SLOTS, INPUT_BYTES);
    cr_assert_eq(add(1, largest, 0, 1), LS_OK);
    cr_assert_eq(add(1, largest + 1, 0, 1), LS_MALFORMED);
    cr_assert_eq(add(1, LS_TICK_BYTES_MAX, 0, 1), LS_MALFORMED);
}

Test(tick_parts, nothing_is_allocated_after_init, .init = open_parts)
{
    uint64_t allocations = counting.allocations;
    for (ls_tick tick = 0; tick < 1000; tick++) {
        add(tick, 2000, 0, tick);
        add(tick, 2000, 1, tick);
        cr_assert(is_whole(tick, 2000));
    }
    cr_assert_eq(counting.allocations, allocations);
}

Test(tick_parts, without_memory_there_is_nothing_to_give_back)
{
    counting_allocator_init(&counting);
    counting.allowed = 0;
    memset(&parts, 0, sizeof parts);
    cr_assert_eq(ls_tick_parts_init(&parts, SLOTS, INPUT_BYTES, &counting.allocator), LS_NO_MEMORY);
    ls_tick_parts_deinit(&parts);
}

/* ---- tick_backlog ---- */

enum {
    TICK_BACKLOG_SLOTS = 4,
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
    open_for(TICK_BACKLOG_SLOTS, LS_INPUT_BYTES_MAX);
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

static ls_status tick_backlog_add(ls_tick tick, uint32_t size_max)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs = make_tick(tick, TICK_BACKLOG_SLOTS, slots, size_max);
    return ls_tick_backlog_add(backlog, &inputs);
}

static void check_pop(ls_tick tick, uint32_t size_max)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input expected[LS_PLAYERS_MAX];
    ls_tick_inputs taken = {0};
    cr_assert_eq(ls_tick_backlog_pop(backlog, slots, &taken), LS_OK);
    cr_assert_eq(taken.tick, tick);
    cr_assert_eq(taken.slot_count, TICK_BACKLOG_SLOTS);
    make_tick(tick, TICK_BACKLOG_SLOTS, expected, size_max);
    for (uint32_t slot = 0; slot < TICK_BACKLOG_SLOTS; slot++) {
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
        cr_assert_eq(tick_backlog_add(tick, 40), LS_OK);
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
        cr_assert_eq(tick_backlog_add(end++, 500), LS_OK);
    }
    cr_assert_gt(end, 2 * 65536 / (TICK_BACKLOG_SLOTS * 500));
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
            cr_assert_eq(tick_backlog_add(added++, 100), LS_OK);
        }
        for (uint32_t n = ls_rng_below(&rng, 21); n > 0 && taken < added; n--) {
            check_pop(taken++, 100);
        }
        cr_assert_eq(ls_tick_backlog_count(backlog), added - taken);
    }
}

Test(tick_backlog, quiet_ticks_take_few_bytes, .init = setup)
{
    ls_slot_input slots[TICK_BACKLOG_SLOTS] = {{0}};
    for (ls_tick tick = 0; tick < 60000; tick++) {
        ls_tick_inputs inputs = {.tick = tick, .slot_count = TICK_BACKLOG_SLOTS, .slots = slots};
        cr_assert_eq(ls_tick_backlog_add(backlog, &inputs), LS_OK);
    }
    cr_assert_eq(ls_tick_backlog_bytes(backlog), LS_TICK_BACKLOG_CHUNK_BYTES);
}

Test(tick_backlog, beyond_its_limit_nothing_is_added_and_nothing_lost, .init = setup)
{
    ls_tick end = 0;
    while (tick_backlog_add(end, LS_INPUT_BYTES_MAX) == LS_OK) {
        end++;
    }
    cr_assert_eq(tick_backlog_add(end, LS_INPUT_BYTES_MAX), LS_FULL);
    cr_assert_eq(ls_tick_backlog_count(backlog), end);
    cr_assert_eq(ls_tick_backlog_bytes(backlog), CHUNKS * LS_TICK_BACKLOG_CHUNK_BYTES);

    /* A tick that is taken makes room, and the order is whole. */
    for (ls_tick tick = 0; tick < end; tick++) {
        check_pop(tick, LS_INPUT_BYTES_MAX);
    }
    cr_assert_eq(tick_backlog_add(end, LS_INPUT_BYTES_MAX), LS_OK);
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
    cr_assert_eq(tick_backlog_add(0, 20), LS_OK);
    check_pop(0, 20);
    uint64_t before = heap_calls();
    for (ls_tick tick = 1; tick < 1000; tick++) {
        cr_assert_eq(tick_backlog_add(tick, 20), LS_OK);
        check_pop(tick, 20);
    }
    cr_assert_eq(heap_calls(), before);
}

Test(tick_backlog, is_destroyed_with_ticks_in_it, .init = setup)
{
    for (ls_tick tick = 0; tick < 300; tick++) {
        cr_assert_eq(tick_backlog_add(tick, 300), LS_OK);
    }
    check_pop(0, 300);
}

#include "lockstep/client/session/confirmed_ticks.h"

#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

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

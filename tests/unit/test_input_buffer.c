#include "lockstep/common/simulation/input_buffer.h"

#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static const ls_input_buffer_config small = {.slots = 2, .input_bytes_max = 4, .window_ticks = 8};

static void destroy_buffer(void *buffer)
{
    ls_input_buffer_destroy(buffer);
}

static ls_input_buffer *make(ls_input_buffer_config config)
{
    ls_input_buffer *buffer = NULL;
    cr_assert_eq(ls_input_buffer_create(&config, ls_allocator_heap(), &buffer), LS_OK);
    return keep_until_end(buffer, destroy_buffer);
}

static ls_status put_text(ls_input_buffer *buffer, ls_tick tick, uint32_t slot, const char *text)
{
    return ls_input_buffer_put(buffer, tick, slot, (const uint8_t *)text, (uint32_t)strlen(text),
                               0);
}

static void expect_text(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot,
                        const char *text)
{
    ls_slot_input input;
    cr_assert_eq(ls_input_buffer_get(buffer, tick, slot, &input), LS_OK);
    cr_assert_eq(input.size, strlen(text));
    cr_assert_eq(memcmp(input.bytes, text, input.size), 0);
}

TestSuite(input_buffer, .fini = destroy_kept);

Test(input_buffer, a_tick_is_put_in_as_a_whole)
{
    ls_input_buffer *buffer = NULL;
    const ls_input_buffer_config config = {.slots = 3, .input_bytes_max = 4, .window_ticks = 8};
    cr_assert_eq(ls_input_buffer_create(&config, ls_allocator_heap(), &buffer), LS_OK);
    const uint8_t bytes[] = {1, 2, 3, 4, 5};
    ls_slot_input slots[LS_PLAYERS_MAX] = {{bytes, 4, 1}, {NULL, 0, 0}, {bytes, 5, 0}};
    ls_tick_inputs inputs = {.tick = 8, .slot_count = 3, .slots = slots};
    cr_assert_eq(ls_input_buffer_put_tick(buffer, &inputs), LS_FUTURE);
    inputs.tick = 7;
    cr_assert_eq(ls_input_buffer_put_tick(buffer, &inputs), LS_BAD_ARGUMENT, "the last is larger");
    cr_assert(ls_input_buffer_has(buffer, 7, 1));
    cr_assert_not(ls_input_buffer_has(buffer, 7, 2));
    inputs.tick = 6;
    slots[2].size = 1;
    cr_assert_eq(ls_input_buffer_put_tick(buffer, &inputs), LS_OK);
    ls_slot_input held[LS_PLAYERS_MAX];
    cr_assert_eq(ls_input_buffer_tick(buffer, 6, held), LS_OK);
    for (uint32_t slot = 0; slot < 3; slot++) {
        cr_assert(ls_slot_input_is_same(&held[slot], &slots[slot]));
        cr_assert_eq(held[slot].events, slots[slot].events);
    }
    cr_assert_eq(ls_input_buffer_put_tick(buffer, &inputs), LS_FULL);
    ls_input_buffer_forget_before(buffer, 7);
    cr_assert_eq(ls_input_buffer_put_tick(buffer, &inputs), LS_STALE);
    ls_input_buffer_destroy(buffer);
}

Test(input_buffer, gives_back_what_was_put)
{
    ls_input_buffer *buffer = make(small);
    const uint8_t bytes[] = {0, 255, 7};
    cr_assert_eq(ls_input_buffer_put(buffer, 3, 1, bytes, 3, LS_EVENT_JOINED), LS_OK);
    ls_slot_input input;
    cr_assert_eq(ls_input_buffer_get(buffer, 3, 1, &input), LS_OK);
    cr_assert_eq(input.size, 3);
    cr_assert_eq(input.events, LS_EVENT_JOINED);
    cr_assert_arr_eq(input.bytes, bytes, 3);
    cr_assert_neq(input.bytes, bytes, "the bytes must be copied");
}

Test(input_buffer, holds_nothing_at_first)
{
    ls_input_buffer *buffer = make(small);
    ls_slot_input untouched = {NULL, 77, 78};
    for (ls_tick tick = 0; tick < 9; tick++) {
        cr_assert_not(ls_input_buffer_has(buffer, tick, 0));
        cr_assert_eq(ls_input_buffer_get(buffer, tick, 0, &untouched), LS_NOT_FOUND);
    }
    cr_assert(untouched.size == 77 && untouched.events == 78);
}

Test(input_buffer, neighbouring_inputs_do_not_touch)
{
    ls_input_buffer *buffer = make(small);
    static const char *const texts[] = {"aaaa", "bbbb", "cccc", "dddd"};
    for (ls_tick tick = 0; tick < 8; tick++) {
        cr_assert_eq(put_text(buffer, tick, 0, texts[tick % 4]), LS_OK);
        cr_assert_eq(put_text(buffer, tick, 1, texts[(tick + 1) % 4]), LS_OK);
    }
    for (ls_tick tick = 0; tick < 8; tick++) {
        expect_text(buffer, tick, 0, texts[tick % 4]);
        expect_text(buffer, tick, 1, texts[(tick + 1) % 4]);
    }
}

Test(input_buffer, the_first_input_counts)
{
    ls_input_buffer *buffer = make(small);
    cr_assert_eq(put_text(buffer, 0, 0, "one"), LS_OK);
    cr_assert_eq(put_text(buffer, 0, 0, "two"), LS_FULL);
    cr_assert_eq(put_text(buffer, 0, 0, "one"), LS_FULL);
    expect_text(buffer, 0, 0, "one");
}

Test(input_buffer, an_empty_input_is_an_input)
{
    ls_input_buffer *buffer = make(small);
    cr_assert_eq(ls_input_buffer_put(buffer, 0, 0, NULL, 0, LS_EVENT_LEFT), LS_OK);
    ls_slot_input input;
    cr_assert_eq(ls_input_buffer_get(buffer, 0, 0, &input), LS_OK);
    cr_assert(input.size == 0 && input.events == LS_EVENT_LEFT && input.bytes);
    cr_assert_eq(put_text(buffer, 0, 0, "late"), LS_FULL);
}

Test(input_buffer, a_simulation_without_input_bytes_has_inputs)
{
    ls_input_buffer *buffer = make((ls_input_buffer_config){1, 0, 2});
    cr_assert_eq(put_text(buffer, 0, 0, "x"), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_input_buffer_put(buffer, 0, 0, NULL, 0, LS_EVENT_JOINED), LS_OK);
    ls_slot_input slots[LS_PLAYERS_MAX];
    cr_assert_eq(ls_input_buffer_tick(buffer, 0, slots), LS_OK);
    cr_assert(slots[0].size == 0 && slots[0].bytes && slots[0].events == LS_EVENT_JOINED);
}

Test(input_buffer, sizes_are_taken_to_the_maximum_and_not_beyond)
{
    ls_input_buffer *buffer = make(small);
    cr_assert_eq(put_text(buffer, 0, 0, "12345"), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_input_buffer_put(buffer, 0, 0, NULL, UINT32_MAX, 0), LS_BAD_ARGUMENT);
    cr_assert_not(ls_input_buffer_has(buffer, 0, 0));
    cr_assert_eq(put_text(buffer, 0, 0, "1234"), LS_OK);
}

Test(input_buffer, the_window_has_two_sharp_ends)
{
    ls_input_buffer *buffer = make(small);
    ls_input_buffer_forget_before(buffer, 100);
    cr_assert_eq(ls_input_buffer_first(buffer), 100);
    cr_assert_eq(put_text(buffer, 99, 0, "a"), LS_STALE);
    cr_assert_eq(put_text(buffer, 100, 0, "b"), LS_OK);
    cr_assert_eq(put_text(buffer, 107, 0, "c"), LS_OK);
    cr_assert_eq(put_text(buffer, 108, 0, "d"), LS_FUTURE);
    cr_assert_eq(put_text(buffer, UINT32_MAX, 0, "e"), LS_FUTURE);
    cr_assert_eq(put_text(buffer, 0, 0, "f"), LS_STALE);
    expect_text(buffer, 100, 0, "b");
    expect_text(buffer, 107, 0, "c");
    /* Ticks that share a row with held ones are not held. */
    cr_assert_not(ls_input_buffer_has(buffer, 92, 0));
    cr_assert_not(ls_input_buffer_has(buffer, 108, 0));
}

Test(input_buffer, forgetting_makes_room_and_keeps_the_rest)
{
    ls_input_buffer *buffer = make(small);
    for (ls_tick tick = 0; tick < 8; tick++) {
        cr_assert_eq(put_text(buffer, tick, 0, "old"), LS_OK);
    }
    ls_input_buffer_forget_before(buffer, 3);
    cr_assert_not(ls_input_buffer_has(buffer, 2, 0));
    cr_assert(ls_input_buffer_has(buffer, 3, 0));
    for (ls_tick tick = 8; tick < 11; tick++) {
        cr_assert_not(ls_input_buffer_has(buffer, tick, 0), "tick %u", tick);
        cr_assert_eq(put_text(buffer, tick, 0, "new"), LS_OK);
    }
    expect_text(buffer, 7, 0, "old");
    expect_text(buffer, 8, 0, "new");
    cr_assert_eq(put_text(buffer, 11, 0, "far"), LS_FUTURE);
}

Test(input_buffer, forgetting_never_goes_back)
{
    ls_input_buffer *buffer = make(small);
    ls_input_buffer_forget_before(buffer, 5);
    cr_assert_eq(put_text(buffer, 5, 0, "a"), LS_OK);
    ls_input_buffer_forget_before(buffer, 5);
    ls_input_buffer_forget_before(buffer, 4);
    ls_input_buffer_forget_before(buffer, 0);
    cr_assert_eq(ls_input_buffer_first(buffer), 5);
    expect_text(buffer, 5, 0, "a");
}

Test(input_buffer, a_restart_forgets_everything_and_may_go_back)
{
    static const ls_tick firsts[] = {0, 3, 20, UINT32_MAX - 3};
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        ls_input_buffer *buffer = make(small);
        ls_input_buffer_forget_before(buffer, 14);
        for (ls_tick tick = 14; tick < 22; tick++) {
            cr_assert_eq(put_text(buffer, tick, 0, "old"), LS_OK);
        }
        ls_input_buffer_restart(buffer, firsts[i]);
        cr_assert_eq(ls_input_buffer_first(buffer), firsts[i]);
        for (ls_tick tick = 14; tick < 22; tick++) {
            cr_assert_not(ls_input_buffer_has(buffer, tick, 0));
        }
        cr_assert_eq(put_text(buffer, firsts[i], 0, "new"), LS_OK);
        expect_text(buffer, firsts[i], 0, "new");
    }
}

Test(input_buffer, what_is_put_out_of_order_is_forgotten_by_a_restart)
{
    ls_input_buffer *buffer = make(small);
    ls_slot_input input;
    put_text(buffer, 7, 0, "last");
    put_text(buffer, 2, 1, "one");
    ls_input_buffer_forget_before(buffer, 2);
    put_text(buffer, 3, 0, "two");
    ls_input_buffer_restart(buffer, 0);
    for (ls_tick tick = 0; tick < small.window_ticks; tick++) {
        cr_assert_eq(ls_input_buffer_get(buffer, tick, 0, &input), LS_NOT_FOUND);
        cr_assert_eq(ls_input_buffer_get(buffer, tick, 1, &input), LS_NOT_FOUND);
    }
}

Test(input_buffer, a_jump_of_more_than_the_window_forgets_everything)
{
    static const ls_tick jumps[] = {8, 9, 1000, UINT32_MAX - 3};
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        ls_input_buffer *buffer = make(small);
        for (ls_tick tick = 0; tick < 8; tick++) {
            cr_assert_eq(put_text(buffer, tick, 1, "old"), LS_OK);
        }
        ls_input_buffer_forget_before(buffer, jumps[i]);
        for (ls_tick tick = 0; tick < 8; tick++) {
            cr_assert_not(ls_input_buffer_has(buffer, jumps[i] + tick, 1));
        }
    }
}

Test(input_buffer, the_last_ticks_of_all_do_not_wrap)
{
    ls_input_buffer *buffer = make(small);
    ls_input_buffer_forget_before(buffer, UINT32_MAX - 3);
    cr_assert_eq(put_text(buffer, UINT32_MAX, 0, "end"), LS_OK);
    cr_assert_eq(put_text(buffer, 0, 0, "wrap"), LS_STALE);
    cr_assert_eq(put_text(buffer, 3, 0, "wrap"), LS_STALE);
    expect_text(buffer, UINT32_MAX, 0, "end");
}

Test(input_buffer, a_tick_is_given_when_every_slot_is_there)
{
    ls_input_buffer *buffer = make((ls_input_buffer_config){LS_PLAYERS_MAX, 1, 4});
    ls_slot_input slots[LS_PLAYERS_MAX];
    memset(slots, 0, sizeof slots);
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        cr_assert_eq(ls_input_buffer_tick(buffer, 2, slots), LS_NOT_FOUND);
        cr_assert_null(slots[0].bytes, "a missing slot must leave the rest untouched");
        uint8_t byte = (uint8_t)slot;
        cr_assert_eq(ls_input_buffer_put(buffer, 2, slot, &byte, 1, slot), LS_OK);
    }
    cr_assert_eq(ls_input_buffer_tick(buffer, 2, slots), LS_OK);
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        cr_assert_eq(slots[slot].bytes[0], slot);
        cr_assert_eq(slots[slot].events, slot);
    }
    cr_assert_eq(ls_input_buffer_tick(buffer, 6, slots), LS_NOT_FOUND);
}

Test(input_buffer, events_are_the_bits_of_a_byte)
{
    ls_input_buffer *buffer = make(small);
    ls_slot_input input = {0};
    cr_assert_eq(ls_input_buffer_put(buffer, 0, 0, NULL, 0, LS_INPUT_EVENTS_MAX + 1),
                 LS_BAD_ARGUMENT);
    cr_assert_not(ls_input_buffer_has(buffer, 0, 0));
    cr_assert_eq(ls_input_buffer_put(buffer, 0, 0, NULL, 0, LS_INPUT_EVENTS_MAX), LS_OK);
    cr_assert_eq(ls_input_buffer_get(buffer, 0, 0, &input), LS_OK);
    cr_assert_eq(input.events, LS_INPUT_EVENTS_MAX);
}

Test(input_buffer, configurations_out_of_range_are_refused)
{
    static const ls_input_buffer_config bad[] = {
        {0, 4, 8}, {LS_PLAYERS_MAX + 1, 4, 8}, {2, LS_INPUT_BYTES_MAX + 1, 8}, {2, 4, 0},
        {2, 4, 7}, {2, 4, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_input_buffer *buffer = NULL;
        cr_assert_eq(ls_input_buffer_create(&bad[i], ls_allocator_heap(), &buffer), LS_BAD_ARGUMENT,
                     "configuration %zu", i);
        cr_assert_null(buffer);
    }
    make((ls_input_buffer_config){LS_PLAYERS_MAX, LS_INPUT_BYTES_MAX, LS_WINDOW_TICKS});
    make((ls_input_buffer_config){1, 0, 1});
    ls_input_buffer_destroy(NULL);
}

Test(input_buffer, every_failed_allocation_is_survived)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_input_buffer *buffer = NULL;
        refused.status = ls_input_buffer_create(&small, &refused.counting.allocator, &buffer);
        cr_assert_eq(buffer != NULL, refused.status == LS_OK);
        ls_input_buffer_destroy(buffer);
    }
}

Test(input_buffer, putting_and_getting_never_allocate)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_input_buffer *buffer = NULL;
    cr_assert_eq(ls_input_buffer_create(&small, &counting.allocator, &buffer), LS_OK);
    uint64_t allocations = counting.allocations;
    uint64_t calls = heap_calls();
    ls_slot_input slots[LS_PLAYERS_MAX];
    uint32_t given = 0;
    for (ls_tick tick = 0; tick < 10000; tick++) {
        put_text(buffer, tick, 0, "abcd");
        put_text(buffer, tick, 1, "");
        given += ls_input_buffer_tick(buffer, tick, slots) == LS_OK;
        ls_input_buffer_forget_before(buffer, tick < 4 ? 0 : tick - 4);
    }
    cr_assert_eq(given, 10000);
    cr_assert_eq(counting.allocations, allocations);
    cr_assert_eq(heap_calls(), calls);
    ls_input_buffer_destroy(buffer);
}

Test(input_buffer, a_slot_that_does_not_exist_is_a_mistake, .signal = SIGABRT)
{
    ls_input_buffer *buffer = make(small);
    put_text(buffer, 0, 2, "a");
}

/* Random operations against a plain model of what must be held. */
Test(input_buffer, random_use_agrees_with_a_model)
{
    enum {
        TICKS = 64,
        WINDOW = 8
    };
    ls_input_buffer *buffer = make(small);
    bool model[TICKS + WINDOW + 4][2] = {{false}};
    uint8_t bytes[TICKS + WINDOW + 4][2] = {{0}};
    ls_tick first = 0;
    ls_rng rng = ls_rng_make(7, 1);
    for (int i = 0; i < 4000 && first < TICKS; i++) {
        ls_tick tick = first + ls_rng_below(&rng, WINDOW + 4);
        uint32_t slot = ls_rng_below(&rng, 2);
        uint8_t byte = (uint8_t)ls_rng_next(&rng);
        ls_status status = ls_input_buffer_put(buffer, tick, slot, &byte, 1, 0);
        ls_status wanted = tick >= first + WINDOW ? LS_FUTURE : model[tick][slot] ? LS_FULL : LS_OK;
        cr_assert_eq(status, wanted);
        if (status == LS_OK) {
            model[tick][slot] = true;
            bytes[tick][slot] = byte;
        }
        if (ls_rng_below(&rng, 30) == 0) {
            first += ls_rng_below(&rng, 4);
            ls_input_buffer_forget_before(buffer, first);
        }
        for (ls_tick t = 0; t < first + WINDOW; t++) {
            ls_slot_input input;
            bool is_held = ls_input_buffer_get(buffer, t, slot, &input) == LS_OK;
            cr_assert_eq(is_held, t >= first && model[t][slot]);
            cr_assert(!is_held || input.bytes[0] == bytes[t][slot]);
        }
    }
    cr_assert_geq(first, TICKS / 2, "the window hardly moved");
}

/* Inputs of ticks: those that are awaited, and blocks of closed ones. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ==== input_buffer ==== */

static const ls_input_buffer_config small_buffer = {
    .slots = 2, .input_bytes_max = 4, .window_ticks = 8};

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
    ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
    ls_slot_input untouched = {NULL, 77, 78};
    for (ls_tick tick = 0; tick < 9; tick++) {
        cr_assert_not(ls_input_buffer_has(buffer, tick, 0));
        cr_assert_eq(ls_input_buffer_get(buffer, tick, 0, &untouched), LS_NOT_FOUND);
    }
    cr_assert(untouched.size == 77 && untouched.events == 78);
}

Test(input_buffer, neighbouring_inputs_do_not_touch)
{
    ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
    cr_assert_eq(put_text(buffer, 0, 0, "one"), LS_OK);
    cr_assert_eq(put_text(buffer, 0, 0, "two"), LS_FULL);
    cr_assert_eq(put_text(buffer, 0, 0, "one"), LS_FULL);
    expect_text(buffer, 0, 0, "one");
}

Test(input_buffer, an_empty_input_is_an_input)
{
    ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
    cr_assert_eq(put_text(buffer, 0, 0, "12345"), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_input_buffer_put(buffer, 0, 0, NULL, UINT32_MAX, 0), LS_BAD_ARGUMENT);
    cr_assert_not(ls_input_buffer_has(buffer, 0, 0));
    cr_assert_eq(put_text(buffer, 0, 0, "1234"), LS_OK);
}

Test(input_buffer, the_window_has_two_sharp_ends)
{
    ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
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
        ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
    ls_slot_input input;
    put_text(buffer, 7, 0, "last");
    put_text(buffer, 2, 1, "one");
    ls_input_buffer_forget_before(buffer, 2);
    put_text(buffer, 3, 0, "two");
    ls_input_buffer_restart(buffer, 0);
    for (ls_tick tick = 0; tick < small_buffer.window_ticks; tick++) {
        cr_assert_eq(ls_input_buffer_get(buffer, tick, 0, &input), LS_NOT_FOUND);
        cr_assert_eq(ls_input_buffer_get(buffer, tick, 1, &input), LS_NOT_FOUND);
    }
}

Test(input_buffer, a_jump_of_more_than_the_window_forgets_everything)
{
    static const ls_tick jumps[] = {8, 9, 1000, UINT32_MAX - 3};
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
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
    ls_input_buffer *buffer = make(small_buffer);
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
        refused.status =
            ls_input_buffer_create(&small_buffer, &refused.counting.allocator, &buffer);
        cr_assert_eq(buffer != NULL, refused.status == LS_OK);
        ls_input_buffer_destroy(buffer);
    }
}

Test(input_buffer, putting_and_getting_never_allocate)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_input_buffer *buffer = NULL;
    cr_assert_eq(ls_input_buffer_create(&small_buffer, &counting.allocator, &buffer), LS_OK);
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
    ls_input_buffer *buffer = make(small_buffer);
    put_text(buffer, 0, 2, "a");
}

/* Random operations against a plain model of what must be held. */
Test(input_buffer, random_use_agrees_with_a_model)
{
    enum {
        TICKS = 64,
        WINDOW = 8
    };
    ls_input_buffer *buffer = make(small_buffer);
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

/* ---- tick_block ---- */

enum {
    SLOTS = 5,
    INPUT_BYTES = 40,
    TICKS = 300,
};

/* Every input of a run of ticks, as it went in. */
typedef struct kept_input {
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size;
    uint32_t events;
} kept_input;

static kept_input kept[TICKS][SLOTS];
static uint64_t state_hashes[TICKS];
static uint8_t memory[1 << 20];

/* Inputs that stay, change in a byte, change altogether, are as long as can be, or are empty. */
static void make_inputs(uint64_t seed)
{
    ls_rng rng = ls_rng_make(seed, 1);
    memset(kept, 0, sizeof kept);
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            kept_input *input = &kept[tick][slot];
            uint32_t dice = ls_rng_below(&rng, 8);
            if (tick > 0) {
                *input = kept[tick - 1][slot];
            }
            input->events = dice == 7 ? ls_rng_below(&rng, 4) : 0;
            if (dice == 1 && input->size > 0) {
                input->bytes[ls_rng_below(&rng, input->size)] ^= 0x10;
            } else if (dice == 2) {
                input->size = ls_rng_below(&rng, INPUT_BYTES + 1);
                for (uint32_t i = 0; i < input->size; i++) {
                    input->bytes[i] = (uint8_t)ls_rng_next(&rng);
                }
            } else if (dice == 3) {
                input->size = 0;
            }
        }
        state_hashes[tick] = tick % 3 == 0 ? ls_rng_next(&rng) | UINT64_C(1) << 40 : 0;
    }
}

static ls_tick_inputs inputs_of(uint32_t index, ls_tick tick, ls_slot_input slots[LS_PLAYERS_MAX])
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const kept_input *input = &kept[index][slot];
        slots[slot] = (ls_slot_input){input->bytes, input->size, input->events};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = SLOTS, .slots = slots};
}

/* Adds ticks from `first` on until the block is full or `count` are in it; how many are. */
static uint32_t fill(ls_tick_block_writer *writer, uint32_t first, uint32_t count)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        ls_tick_inputs inputs = inputs_of(first + i, first + i, slots);
        if (!ls_tick_block_add(writer, &inputs, state_hashes[first + i])) {
            return i;
        }
    }
    return count;
}

static void expect_inputs(const ls_slot_input *slots, uint32_t tick)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const kept_input *input = &kept[tick][slot];
        cr_assert_eq(slots[slot].size, input->size);
        cr_assert_eq(slots[slot].events, input->events);
        cr_assert_arr_eq(slots[slot].bytes, input->bytes, input->size);
    }
}

static void expect_block(const uint8_t *bytes, size_t size, uint32_t first, uint32_t count)
{
    static ls_tick_block_reader reader;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    cr_assert_eq(ls_tick_block_open(&reader, bytes, size, SLOTS, INPUT_BYTES), LS_OK);
    cr_assert_eq(reader.head.first, first);
    cr_assert_eq(reader.head.count, count);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(ls_tick_block_next(&reader, slots, &inputs, &state_hash), LS_OK);
        cr_assert_eq(inputs.tick, first + i);
        cr_assert_eq(state_hash, state_hashes[first + i]);
        expect_inputs(slots, first + i);
    }
    cr_assert_eq(ls_tick_block_next(&reader, slots, &inputs, &state_hash), LS_NOT_FOUND);
}

Test(tick_block, ticks_come_out_as_they_went_in)
{
    static ls_tick_block_writer writer;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_inputs(seed);
        ls_tick_block_start(&writer, memory, sizeof memory, SLOTS);
        cr_assert_eq(fill(&writer, 7, 200), 200u);
        size_t size = ls_tick_block_finish(&writer, 0x1234);
        expect_block(memory, size, 7, 200);
        cr_expect_eq(memory[16] | memory[17] << 8, 0x1234);
    }
}

Test(tick_block, a_full_one_is_as_it_was_and_the_next_begins_with_what_did_not_fit)
{
    static ls_tick_block_writer writer;
    static uint8_t small[700];
    make_inputs(3);
    uint32_t done = 0;
    uint32_t blocks = 0;
    while (done < TICKS) {
        ls_tick_block_start(&writer, small, sizeof small, SLOTS);
        uint32_t count = fill(&writer, done, TICKS - done);
        cr_assert_gt(count, 0u);
        size_t size = ls_tick_block_finish(&writer, 0);
        cr_assert_leq(size, sizeof small);
        expect_block(small, size, done, count);
        done += count;
        blocks++;
    }
    cr_expect_gt(blocks, 3u);
}

Test(tick_block, each_32_slots_have_a_word_of_their_own)
{
    enum {
        FAR = 100
    };
    static ls_tick_block_writer writer;
    static ls_tick_block_reader reader;
    ls_slot_input slots[LS_PLAYERS_MAX] = {{0}};
    slots[FAR] = (ls_slot_input){(const uint8_t *)"x", 1, 2};
    ls_tick_inputs inputs = {.tick = 5, .slot_count = FAR + 1, .slots = slots};
    static const uint8_t tick[] = {2 | 4, 0, 0, 0, 1 << 4, 1 + 1, 'x', 0, 0, 0, 1 << 4, 2};
    ls_tick_block_start(&writer, memory, sizeof memory, FAR + 1);
    cr_assert(ls_tick_block_add(&writer, &inputs, 0));
    size_t size = ls_tick_block_finish(&writer, 0);
    cr_assert_eq(size, LS_TICK_BLOCK_HEAD_BYTES + sizeof tick);
    cr_assert_arr_eq(memory + LS_TICK_BLOCK_HEAD_BYTES, tick, sizeof tick);
    uint64_t state_hash = 0;
    cr_assert_eq(ls_tick_block_open(&reader, memory, size, FAR + 1, 4), LS_OK);
    cr_assert_eq(ls_tick_block_next(&reader, slots, &inputs, &state_hash), LS_OK);
    cr_expect(slots[FAR].size == 1 && slots[FAR].bytes[0] == 'x' && slots[FAR].events == 2);
    cr_expect_eq(slots[FAR - 1].size, 0);
    memory[LS_TICK_BLOCK_HEAD_BYTES + 4] = 1 << 5; /* slot 101 */
    cr_assert_eq(ls_tick_block_open(&reader, memory, size, FAR + 1, 4), LS_OK);
    cr_assert_eq(ls_tick_block_next(&reader, slots, &inputs, &state_hash), LS_MALFORMED);
}

Test(tick_block, memory_for_one_tick_holds_the_largest_tick)
{
    static ls_tick_block_writer writer;
    static uint8_t bytes[LS_INPUT_BYTES_MAX];
    ls_slot_input slots[LS_PLAYERS_MAX];
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        slots[slot] = (ls_slot_input){bytes, LS_INPUT_BYTES_MAX, 0xff};
    }
    memset(bytes, 0xa5, sizeof bytes);
    ls_tick_inputs inputs = {.tick = 9, .slot_count = LS_PLAYERS_MAX, .slots = slots};
    size_t room =
        LS_TICK_BLOCK_HEAD_BYTES + ls_tick_block_tick_bytes(LS_PLAYERS_MAX, LS_INPUT_BYTES_MAX);
    uint8_t *exact = malloc(room);
    ls_tick_block_start(&writer, exact, room, LS_PLAYERS_MAX);
    cr_expect(ls_tick_block_add(&writer, &inputs, 1));
    inputs.tick++;
    bytes[0]++;
    cr_expect(!ls_tick_block_add(&writer, &inputs, 2) || writer.count == 2);
    cr_expect_leq(ls_tick_block_finish(&writer, 0), room);
    free(exact);
}

Test(tick_block, a_tick_like_the_one_before_takes_a_byte_and_its_hash)
{
    static ls_tick_block_writer writer;
    ls_slot_input slots[2] = {{(const uint8_t *)"order", 5, 0}, {NULL, 0, 0}};
    ls_tick_inputs inputs = {.tick = 0, .slot_count = 2, .slots = slots};
    ls_tick_block_start(&writer, memory, sizeof memory, 2);
    cr_assert(ls_tick_block_add(&writer, &inputs, 5));
    size_t before = writer.end;
    for (inputs.tick = 1; inputs.tick <= 100; inputs.tick++) {
        cr_assert(ls_tick_block_add(&writer, &inputs, 5));
    }
    cr_expect_eq(writer.end - before, 100u);
    cr_expect_eq(ls_tick_block_finish(&writer, 0), before + 100 + 101 * 8);
}

/* The format: changing it is a new version of everything that holds blocks. */
Test(tick_block, its_bytes_are_pinned)
{
    static ls_tick_block_writer writer;
    static const uint8_t expected[] = {
        7, 0, 0, 0,  3,  0,  0,  0, 17, 0, 0, 0, 2, 0, 0, 0, /* first, ticks, bytes, slots */
        8, 7, 6, 5,  4,  3,  2,  1,                          /* chain */
        7, 1, 5, 10, 20, 30, 40, 2, 1,                       /* slot 0: 4 bytes; 1 joined */
        2, 3, 0, 4,  1,  2,  99,                             /* a difference; 1 byte */
        1,                                                   /* as before */
        1, 0, 0, 0,  0,  0,  0,  0, 2,  0, 0, 0, 0, 0, 0, 0, /* state hashes */
    };
    static const uint8_t changed[] = {10, 20, 31, 40};
    ls_slot_input slots[2] = {{(const uint8_t[]){10, 20, 30, 40}, 4, 0}, {NULL, 0, 1}};
    ls_tick_inputs inputs = {.tick = 7, .slot_count = 2, .slots = slots};
    ls_tick_block_start(&writer, memory, sizeof memory, 2);
    cr_assert(ls_tick_block_add(&writer, &inputs, 1));
    inputs.tick = 8;
    slots[0].bytes = changed;
    slots[1] = (ls_slot_input){(const uint8_t[]){99}, 1, 0};
    cr_assert(ls_tick_block_add(&writer, &inputs, 0));
    inputs.tick = 9;
    cr_assert(ls_tick_block_add(&writer, &inputs, 2));
    cr_assert_eq(ls_tick_block_finish(&writer, UINT64_C(0x0102030405060708)), sizeof expected);
    cr_expect_arr_eq(memory, expected, sizeof expected);
}

/* ---- hostile ---- */

/* Reads a block to its end: nothing may crash, and no input may be longer than is allowed. */
static void read_all(const uint8_t *bytes, size_t size)
{
    static ls_tick_block_reader reader;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    if (ls_tick_block_open(&reader, bytes, size, SLOTS, INPUT_BYTES) != LS_OK) {
        return;
    }
    ls_tick next = reader.head.first;
    ls_status status = LS_OK;
    while ((status = ls_tick_block_next(&reader, slots, &inputs, &state_hash)) == LS_OK) {
        cr_assert_eq(inputs.tick, next++);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            cr_assert_leq(slots[slot].size, (uint32_t)INPUT_BYTES);
        }
    }
    if (status == LS_MALFORMED) {
        cr_assert_eq(ls_tick_block_next(&reader, slots, &inputs, &state_hash), LS_MALFORMED);
    }
}

Test(tick_block, every_cut_and_every_flipped_bit_is_survived)
{
    static ls_tick_block_writer writer;
    make_inputs(5);
    ls_tick_block_start(&writer, memory, sizeof memory, SLOTS);
    cr_assert_eq(fill(&writer, 0, 60), 60u);
    size_t size = ls_tick_block_finish(&writer, 1);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *exact = malloc(cut > 0 ? cut : 1); /* so that looking too far is noticed */
        memcpy(exact, memory, cut);
        read_all(exact, cut);
        free(exact);
    }
    for (size_t bit = 0; bit < size * 8; bit++) {
        memory[bit / 8] ^= (uint8_t)(1u << bit % 8);
        read_all(memory, size);
        memory[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    expect_block(memory, size, 0, 60);
}

Test(tick_block, heads_that_cannot_be_are_refused)
{
    static ls_tick_block_writer writer;
    static ls_tick_block_reader reader;
    make_inputs(6);
    ls_tick_block_start(&writer, memory, sizeof memory, SLOTS);
    fill(&writer, 0, 10);
    size_t size = ls_tick_block_finish(&writer, 1);
    cr_expect_eq(ls_tick_block_open(&reader, memory, size, SLOTS + 1, INPUT_BYTES), LS_MALFORMED);
    memset(memory + 4, 0, 4); /* no ticks */
    cr_expect_eq(ls_tick_block_open(&reader, memory, size, SLOTS, INPUT_BYTES), LS_MALFORMED);
    memory[4] = 10;
    memset(memory, 0xff, 4); /* ticks beyond the last there can be */
    cr_expect_eq(ls_tick_block_open(&reader, memory, size, SLOTS, INPUT_BYTES), LS_MALFORMED);
    memset(memory, 0, 4);
    cr_expect_eq(ls_tick_block_open(&reader, memory, size, SLOTS, INPUT_BYTES), LS_OK);
}

/* ---- tick_chain ---- */

static uint64_t chain_of(ls_tick tick, const char *first, uint32_t first_size, uint32_t events)
{
    ls_slot_input slots[2] = {
        {.bytes = (const uint8_t *)first, .size = first_size, .events = events},
        {.bytes = (const uint8_t *)"xy", .size = 2},
    };
    ls_tick_inputs inputs = {.tick = tick, .slot_count = 2, .slots = slots};
    return ls_tick_chain_next(LS_TICK_CHAIN_START, &inputs);
}

Test(tick_chain, same_ticks_give_the_same_chain)
{
    cr_assert_eq(chain_of(7, "ab", 2, 0), chain_of(7, "ab", 2, 0));
}

Test(tick_chain, every_part_of_a_tick_is_in_it)
{
    uint64_t plain = chain_of(7, "ab", 2, 0);
    cr_assert_neq(plain, chain_of(8, "ab", 2, 0));
    cr_assert_neq(plain, chain_of(7, "ac", 2, 0));
    cr_assert_neq(plain, chain_of(7, "ab", 1, 0));
    cr_assert_neq(plain, chain_of(7, "ab", 2, LS_EVENT_LEFT));
    cr_assert_neq(chain_of(7, "a", 0, 0), chain_of(7, "\0", 1, 0));
}

Test(tick_chain, a_chain_holds_all_earlier_ticks)
{
    ls_slot_input slot = {0};
    ls_tick_inputs inputs = {.tick = 1, .slot_count = 1, .slots = &slot};
    cr_assert_neq(ls_tick_chain_next(1, &inputs), ls_tick_chain_next(2, &inputs));
}

/* Other implementations compute the same: pinned. */
Test(tick_chain, stays_as_it_is)
{
    cr_assert_eq(chain_of(7, "ab", 2, 0), UINT64_C(0xa2ccf55ebfd89849), "%llx",
                 (unsigned long long)chain_of(7, "ab", 2, 0));
}

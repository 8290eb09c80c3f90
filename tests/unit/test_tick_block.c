#include "lockstep/common/base/hash.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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

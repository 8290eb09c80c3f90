#include "lockstep/protocol/wire/coded_tick.h"

#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    SLOTS = 6,
    BYTES_MAX = 12,
    TICKS = 200,
    PACKET_BYTES = 512,
};

/* One tick's inputs, in memory of their own. */
typedef struct scene {
    uint8_t bytes[SLOTS][BYTES_MAX];
    ls_slot_input inputs[SLOTS];
} scene;

/* As inputs are: mostly as before, some changed, some of another size. */
static void make_scene(ls_rng *rng, const scene *before, scene *made)
{
    memcpy(made->bytes, before->bytes, sizeof made->bytes);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        uint32_t size = before->inputs[slot].size;
        uint32_t kind = ls_rng_below(rng, 8);
        if (kind == 0) {
            size = ls_rng_below(rng, BYTES_MAX + 1);
        }
        if (kind <= 1) {
            made->bytes[slot][ls_rng_below(rng, BYTES_MAX)] ^= 0x10u;
        }
        uint32_t events = ls_rng_below(rng, 30) == 0 ? LS_EVENT_LEFT : 0;
        made->inputs[slot] = (ls_slot_input){made->bytes[slot], size, events};
    }
}

static void empty_scene(scene *made)
{
    memset(made, 0, sizeof *made);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        made->inputs[slot].bytes = made->bytes[slot];
    }
}

/* One slot with one input of `size` equal bytes, against nothing. */
static void code_one_input(ls_coded_tick *coded, uint32_t size, uint8_t value)
{
    static uint8_t bytes[LS_INPUT_BYTES_MAX];
    memset(bytes, value, sizeof bytes);
    const ls_slot_input nothing = {bytes, 0, 0};
    const ls_slot_input input = {bytes, size, 0};
    ls_coded_tick_make(coded, 1, &nothing, &input);
}

static void write_offset(ls_bit_stream *stream, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++) {
        ls_bits_write_bit(stream, i % 3 == 0);
    }
}

Test(coded_tick, is_written_as_the_tick_itself_at_any_offset)
{
    ls_rng rng = ls_rng_make(5, 1);
    scene scenes[2];
    empty_scene(&scenes[0]);
    uint32_t longest = 0;
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        const scene *before = &scenes[tick % 2];
        scene *now = &scenes[(tick + 1) % 2];
        make_scene(&rng, before, now);
        uint8_t expected[PACKET_BYTES] = {0};
        uint8_t written[PACKET_BYTES];
        memset(written, 0xff, sizeof written);
        ls_bit_stream direct = ls_bit_writer(expected, sizeof expected);
        ls_bit_stream copied = ls_bit_writer(written, sizeof written);
        write_offset(&direct, tick % 17);
        write_offset(&copied, tick % 17);
        cr_assert(ls_ticks_write_tick(&direct, SLOTS, before->inputs, now->inputs));
        ls_coded_tick coded;
        ls_coded_tick_make(&coded, SLOTS, before->inputs, now->inputs);
        cr_assert_gt(coded.bits, 0);
        cr_assert(ls_coded_tick_write(&coded, &copied));
        cr_assert_eq(copied.position_bits, direct.position_bits);
        cr_assert_arr_eq(written, expected, ls_bits_size_bytes(&direct), "tick %u", tick);
        longest = coded.bits > longest ? coded.bits : longest;
    }
    cr_assert_gt(longest, 3 * 64, "some ticks took several words");
}

Test(coded_tick, too_large_a_tick_is_not_kept)
{
    ls_coded_tick coded;
    code_one_input(&coded, LS_CODED_TICK_BYTES - 3, 7);
    cr_assert_gt(coded.bits, (LS_CODED_TICK_BYTES - 3) * 8);
    code_one_input(&coded, LS_CODED_TICK_BYTES, 7);
    cr_assert_eq(coded.bits, 0);
}

Test(coded_tick, does_not_fit_without_room_for_the_end_mark)
{
    ls_coded_tick coded;
    code_one_input(&coded, 8, 7);
    uint8_t bytes[PACKET_BYTES];
    size_t tick_bytes = coded.bits / 8 + 1;
    unsigned spare = (unsigned)(tick_bytes * 8 - coded.bits);
    ls_bit_stream stream = ls_bit_writer(bytes, tick_bytes);
    write_offset(&stream, spare);
    cr_assert_not(ls_coded_tick_write(&coded, &stream));
    cr_assert_eq(stream.position_bits, spare);
    cr_assert_not(stream.is_failed);
    stream = ls_bit_writer(bytes, tick_bytes);
    write_offset(&stream, spare - 1);
    cr_assert(ls_coded_tick_write(&coded, &stream));
    ls_tick_packet_write_end(&stream);
    cr_assert_eq(stream.position_bits, tick_bytes * 8);
}

/* A packet of an offset, one tick and an end mark; returns a reader behind the offset. */
static ls_bit_stream packet_of(const ls_coded_tick *coded, uint8_t bytes[PACKET_BYTES])
{
    ls_bit_stream writer = ls_bit_writer(bytes, PACKET_BYTES);
    write_offset(&writer, 5);
    cr_assert(ls_coded_tick_write(coded, &writer));
    ls_tick_packet_write_end(&writer);
    ls_bit_stream reader = ls_bit_reader(bytes, ls_bits_size_bytes(&writer));
    uint32_t offset = 0;
    ls_bits_u32(&reader, &offset, 5);
    return reader;
}

Test(coded_tick, taken_from_a_packet_is_known_in_the_next)
{
    for (uint32_t size = 0; size < 60; size += 7) {
        ls_coded_tick coded;
        ls_coded_tick taken;
        uint8_t bytes[PACKET_BYTES];
        code_one_input(&coded, size, 9);
        ls_bit_stream start = packet_of(&coded, bytes);
        ls_bit_stream end = start;
        end.position_bits += coded.bits;
        memset(&taken, 0xff, sizeof taken);
        ls_coded_tick_capture(&taken, &end, start.position_bits);
        cr_assert_eq(taken.bits, coded.bits);
        cr_assert(ls_coded_tick_skip(&taken, &start));
        cr_assert_eq(start.position_bits, end.position_bits);
        cr_assert_not(ls_bits_read_bit(&start), "the end mark comes next");
        cr_assert_not(start.is_failed);
    }
}

Test(coded_tick, other_bits_are_not_passed_over)
{
    ls_coded_tick coded;
    uint8_t bytes[PACKET_BYTES];
    code_one_input(&coded, 20, 9);
    for (uint32_t bit = 0; bit < coded.bits; bit++) {
        ls_bit_stream reader = packet_of(&coded, bytes);
        size_t at = reader.position_bits + bit;
        bytes[at / 8] ^= (uint8_t)(1u << (at % 8));
        cr_assert_not(ls_coded_tick_skip(&coded, &reader), "bit %u", bit);
        cr_assert_eq(reader.position_bits, 5);
        cr_assert_not(reader.is_failed);
    }
}

Test(coded_tick, a_packet_that_ends_within_it_is_left_as_it_is)
{
    ls_coded_tick coded;
    uint8_t bytes[PACKET_BYTES];
    code_one_input(&coded, 20, 9);
    ls_bit_stream whole = packet_of(&coded, bytes);
    for (size_t size = 1; size * 8 < 5 + coded.bits; size++) {
        ls_bit_stream reader = whole;
        reader.capacity_bits = size * 8;
        cr_assert_not(ls_coded_tick_skip(&coded, &reader), "%zu bytes", size);
        cr_assert_eq(reader.position_bits, 5);
        cr_assert_not(reader.is_failed);
    }
}

Test(coded_tick, one_that_is_not_kept_is_known_nowhere)
{
    ls_coded_tick coded;
    uint8_t bytes[PACKET_BYTES];
    code_one_input(&coded, 20, 9);
    ls_bit_stream start = packet_of(&coded, bytes);
    ls_bit_stream end = start;
    end.position_bits += LS_CODED_TICK_BYTES * 8 + 1;
    ls_coded_tick taken;
    ls_coded_tick_capture(&taken, &end, start.position_bits);
    cr_assert_eq(taken.bits, 0);
    cr_assert_not(ls_coded_tick_skip(&taken, &start));
    cr_assert_eq(start.position_bits, 5);
}

Test(coded_tick, as_many_bits_as_are_kept_can_be_taken)
{
    uint8_t bytes[LS_CODED_TICK_BYTES + 1];
    memset(bytes, 0xa5, sizeof bytes);
    ls_bit_stream start = ls_bit_reader(bytes, sizeof bytes);
    ls_bit_stream end = start;
    end.position_bits = LS_CODED_TICK_BYTES * 8;
    ls_coded_tick taken;
    ls_coded_tick_capture(&taken, &end, start.position_bits);
    cr_assert_eq(taken.bits, LS_CODED_TICK_BYTES * 8);
    cr_assert(ls_coded_tick_skip(&taken, &start));
    cr_assert_eq(start.position_bits, LS_CODED_TICK_BYTES * 8);
}

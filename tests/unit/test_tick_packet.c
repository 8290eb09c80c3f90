#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- coded_tick ---- */

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

/* ---- tick_packet ---- */

enum {
    TICK_PACKET_TICKS = 40,
    TICK_PACKET_SLOTS = 5,
    TICK_PACKET_BYTES_MAX = 24,
};

/* A series of ticks, random but as inputs are: mostly repeated, sometimes of another size. */
typedef struct history {
    uint8_t bytes[TICK_PACKET_TICKS][TICK_PACKET_SLOTS][TICK_PACKET_BYTES_MAX];
    ls_slot_input inputs[TICK_PACKET_TICKS][TICK_PACKET_SLOTS];
} history;

static void fill_input(ls_rng *rng, history *made, uint32_t tick, uint32_t slot)
{
    uint8_t *bytes = made->bytes[tick][slot];
    ls_slot_input before = tick > 0 ? made->inputs[tick - 1][slot] : (ls_slot_input){NULL, 0, 0};
    uint32_t size = before.size;
    uint32_t changes = 0;
    switch (ls_rng_below(rng, 4)) {
    case 0:
        size = ls_rng_below(rng, TICK_PACKET_BYTES_MAX + 1);
        break;
    case 1:
        changes = 1 + ls_rng_below(rng, TICK_PACKET_BYTES_MAX);
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = i < before.size ? before.bytes[i] : (uint8_t)ls_rng_next(rng);
    }
    for (; changes > 0 && size > 0; changes--) {
        uint32_t at = ls_rng_below(rng, size);
        bytes[at] = (uint8_t)ls_rng_next(rng);
    }
    uint32_t events = ls_rng_below(rng, 10) == 0 ? ls_rng_below(rng, 4) : 0;
    made->inputs[tick][slot] = (ls_slot_input){bytes, size, events};
}

static void fill_history(uint64_t seed, history *made)
{
    ls_rng rng = ls_rng_make(seed, 3);
    memset(made, 0, sizeof *made);
    for (uint32_t tick = 0; tick < TICK_PACKET_TICKS; tick++) {
        for (uint32_t slot = 0; slot < TICK_PACKET_SLOTS; slot++) {
            fill_input(&rng, made, tick, slot);
        }
    }
}

static void expect_inputs(const ls_tick_cursor *cursor, const ls_slot_input *expected,
                          uint32_t slots, bool has_events)
{
    ls_slot_input read[LS_PLAYERS_MAX];
    ls_tick_cursor_inputs(cursor, read);
    for (uint32_t slot = 0; slot < slots; slot++) {
        cr_assert_eq(read[slot].size, expected[slot].size);
        cr_assert_eq(memcmp(read[slot].bytes, expected[slot].bytes, read[slot].size), 0);
        cr_assert_eq(read[slot].events, has_events ? expected[slot].events : 0);
    }
}

/* Writes ticks from `first` on until the packet is full; returns the tick behind the last. */
static uint32_t write_ticks(const history *made, uint32_t first, ls_bit_stream *stream)
{
    static const ls_slot_input nothing[TICK_PACKET_SLOTS];
    uint32_t tick = first;
    while (tick < TICK_PACKET_TICKS &&
           ls_ticks_write_tick(stream, TICK_PACKET_SLOTS,
                               tick > 0 ? made->inputs[tick - 1] : nothing, made->inputs[tick])) {
        tick++;
    }
    ls_tick_packet_write_end(stream);
    return tick;
}

/* ---- round trips ---- */

Test(tick_packet, closed_ticks_read_back_as_they_were_written)
{
    static history made;
    static ls_tick_cursor cursor;
    for (uint64_t seed = 0; seed < 50; seed++) {
        fill_history(seed, &made);
        uint8_t bytes[LS_PACKET_BYTES_MAX];
        uint32_t first = (uint32_t)seed % 7;
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        uint32_t end = write_ticks(&made, first, &stream);
        cr_assert_gt(end, first);
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        ls_tick_cursor_start(&cursor, TICK_PACKET_SLOTS, TICK_PACKET_BYTES_MAX,
                             first > 0 ? made.inputs[first - 1] : NULL);
        for (uint32_t tick = first; tick < end; tick++) {
            cr_assert(ls_ticks_read_tick(&stream, &cursor));
            expect_inputs(&cursor, made.inputs[tick], TICK_PACKET_SLOTS, true);
        }
        cr_assert_not(ls_ticks_read_tick(&stream, &cursor));
        cr_assert(ls_bits_is_complete(&stream));
    }
}

Test(tick_packet, inputs_read_back_as_they_were_written)
{
    static history made;
    static ls_tick_cursor cursor;
    for (uint64_t seed = 100; seed < 150; seed++) {
        fill_history(seed, &made);
        uint8_t bytes[LS_PACKET_BYTES_MAX];
        ls_slot_input nothing = {NULL, 0, 0};
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        for (uint32_t tick = 0; tick < TICK_PACKET_TICKS; tick++) {
            cr_assert(ls_inputs_write_tick(&stream, tick > 0 ? &made.inputs[tick - 1][0] : &nothing,
                                           &made.inputs[tick][0]));
        }
        ls_tick_packet_write_end(&stream);
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        ls_tick_cursor_start(&cursor, 1, TICK_PACKET_BYTES_MAX, NULL);
        for (uint32_t tick = 0; tick < TICK_PACKET_TICKS; tick++) {
            cr_assert(ls_inputs_read_tick(&stream, &cursor));
            expect_inputs(&cursor, made.inputs[tick], 1, false);
        }
        cr_assert_not(ls_inputs_read_tick(&stream, &cursor));
        cr_assert(ls_bits_is_complete(&stream));
    }
}

Test(tick_packet, another_base_gives_other_inputs)
{
    const uint8_t base_bytes[] = {1, 2, 3};
    const uint8_t other_bytes[] = {9, 2, 3};
    const uint8_t new_bytes[] = {1, 2, 4};
    ls_slot_input base = {base_bytes, 3, 0};
    ls_slot_input other = {other_bytes, 3, 0};
    ls_slot_input input = {new_bytes, 3, 0};
    static ls_tick_cursor cursor;
    uint8_t bytes[16];
    ls_bit_stream writer = ls_bit_writer(bytes, sizeof bytes);
    cr_assert(ls_inputs_write_tick(&writer, &base, &input));
    ls_bit_stream reader = ls_bit_reader(bytes, sizeof bytes);
    ls_tick_cursor_start(&cursor, 1, 4, &base);
    cr_assert(ls_inputs_read_tick(&reader, &cursor));
    expect_inputs(&cursor, &input, 1, false);
    reader = ls_bit_reader(bytes, sizeof bytes);
    ls_tick_cursor_start(&cursor, 1, 4, &other);
    cr_assert(ls_inputs_read_tick(&reader, &cursor));
    const uint8_t mixed[] = {9, 2, 4};
    cr_assert_arr_eq(cursor.bytes[0], mixed, 3);
}

/* ---- the shortest change ---- */

static size_t uvar_bits(uint32_t value)
{
    wire_bits wire = WIRE(UVAR(value));
    return wire.count;
}

/* That the highest place of a bit in so many bytes needs. */
static size_t place_bits(uint32_t size)
{
    size_t bits = 0;
    for (uint32_t place = size * 8 - 1; place > 0; place >>= 1) {
        bits++;
    }
    return bits;
}

static uint32_t count_ones(uint32_t value)
{
    uint32_t ones = 0;
    for (; value > 0; value >>= 1) {
        ones += value & 1u;
    }
    return ones;
}

/* Bits of the shortest way to say it, found by trying all five. */
static size_t least_bits(const ls_slot_input *before, const ls_slot_input *input)
{
    bool has_same_size = before->size == input->size;
    size_t least = 4 + uvar_bits(input->size) + (size_t)input->size * 8;
    size_t differing = 0;
    uint32_t flipped = 0;
    for (uint32_t i = 0; has_same_size && i < input->size; i++) {
        differing += before->bytes[i] != input->bytes[i];
        flipped += count_ones(before->bytes[i] ^ input->bytes[i]);
    }
    size_t same_size_bits = 3 + input->size + differing * 8;
    if (has_same_size && same_size_bits < least) {
        least = same_size_bits;
    }
    if (has_same_size && flipped == 1) {
        least = 2 + place_bits(input->size);
    }
    if (input->size == 0 && least > 4) {
        least = 4;
    }
    return has_same_size && differing == 0 ? 1 : least;
}

Test(tick_packet, the_shortest_change_is_chosen)
{
    ls_rng rng = ls_rng_make(5, 9);
    uint32_t raw_of_same_size = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t before_bytes[TICK_PACKET_BYTES_MAX];
        uint8_t input_bytes[TICK_PACKET_BYTES_MAX];
        uint32_t size = ls_rng_below(&rng, TICK_PACKET_BYTES_MAX + 1);
        ls_slot_input input = {input_bytes, size, 0};
        ls_slot_input before = {before_bytes, ls_rng_below(&rng, 3) ? size : size / 2, 0};
        uint32_t alike = ls_rng_below(&rng, 9);
        for (uint32_t i = 0; i < TICK_PACKET_BYTES_MAX; i++) {
            before_bytes[i] = (uint8_t)ls_rng_next(&rng);
            bool is_alike = ls_rng_below(&rng, 8) < alike;
            input_bytes[i] = is_alike ? before_bytes[i] : (uint8_t)ls_rng_next(&rng);
        }
        if (round % 4 == 0 && size > 0) {
            memcpy(input_bytes, before_bytes, size);
            input_bytes[ls_rng_below(&rng, size)] ^= (uint8_t)(1u << ls_rng_below(&rng, 8));
        }
        uint8_t bytes[64];
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        cr_assert(ls_inputs_write_tick(&stream, &before, &input));
        cr_assert_eq(stream.position_bits, 1 + least_bits(&before, &input));
        raw_of_same_size += before.size == size && (bytes[0] & 0x1f) == 0x1f;
    }
    cr_assert_gt(raw_of_same_size, 100, "the closest choice was never made");
}

Test(tick_packet, any_change_that_says_the_same_is_read)
{
    const uint8_t base_bytes[] = {7, 8};
    ls_slot_input base = {base_bytes, 2, 0};
    static ls_tick_cursor cursor;
    /* with nothing that differs: 0 would do */
    wire_bits same_size = WIRE(U(1, 1), U(3, 3), U(0, 2));
    /* of the same bytes */
    wire_bits raw = WIRE(U(1, 1), U(15, 4), UVAR(2), U(0x0807, 16));
    wire_bits exclusive_or_of_nothing = WIRE(U(1, 1), U(3, 3), U(1, 1), U(0, 8), U(0, 1));
    const wire_bits *const ways[] = {&same_size, &raw, &exclusive_or_of_nothing};
    for (size_t i = 0; i < 3; i++) {
        ls_tick_cursor_start(&cursor, 1, 4, &base);
        ls_bit_stream stream = ls_bit_reader(ways[i]->bytes, wire_size(ways[i]));
        cr_assert(ls_inputs_read_tick(&stream, &cursor));
        expect_inputs(&cursor, &base, 1, false);
    }
    wire_bits raw_of_nothing = WIRE(U(1, 1), U(15, 4), UVAR(0));
    ls_bit_stream stream = ls_bit_reader(raw_of_nothing.bytes, wire_size(&raw_of_nothing));
    cr_assert(ls_inputs_read_tick(&stream, &cursor));
    cr_assert_eq(cursor.sizes[0], 0);
}

Test(tick_packet, a_flipped_bit_lies_within_the_input)
{
    const uint8_t base_bytes[] = {7, 8, 9};
    static ls_tick_cursor cursor;
    for (uint32_t place = 0; place < 32; place++) {
        for (uint32_t size = 0; size <= 3; size += 3) {
            const ls_slot_input base = {base_bytes, size, 0};
            wire_bits wire = WIRE(U(1, 1), U(1, 2), U(place, 5));
            ls_bit_stream stream = ls_bit_reader(wire.bytes, wire_size(&wire));
            ls_tick_cursor_start(&cursor, 1, 4, &base);
            cr_assert_eq(ls_inputs_read_tick(&stream, &cursor), place < size * 8, "%u of %u", place,
                         size);
            cr_assert_eq(stream.is_failed, place >= size * 8);
        }
    }
}

/* ---- bad packets ---- */

static bool is_whole_inputs_packet(const uint8_t *bytes, size_t size, ls_tick_cursor *cursor)
{
    ls_inputs_header header;
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &header, 5);
    ls_tick_cursor_start(cursor, 1, TICK_PACKET_BYTES_MAX, NULL);
    while (ls_inputs_read_tick(&stream, cursor)) {
    }
    return ls_bits_is_complete(&stream);
}

static bool is_whole_ticks_packet(const uint8_t *bytes, size_t size, ls_tick_cursor *cursor)
{
    ls_ticks_header header;
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_ticks_header_bits(&stream, &header, 0);
    ls_tick_cursor_start(cursor, TICK_PACKET_SLOTS, TICK_PACKET_BYTES_MAX, NULL);
    while (ls_ticks_read_tick(&stream, cursor)) {
    }
    return ls_bits_is_complete(&stream);
}

Test(tick_packet, every_truncation_is_malformed)
{
    static history made;
    static ls_tick_cursor cursor;
    for (uint64_t seed = 200; seed < 210; seed++) {
        fill_history(seed, &made);
        uint8_t bytes[LS_PACKET_BYTES_MAX];
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        ls_ticks_header ticks = {.wanted = 3, .slack = LS_SLACK_NONE};
        ls_ticks_header_bits(&stream, &ticks, 0);
        write_ticks(&made, 0, &stream);
        size_t size = ls_bits_size_bytes(&stream);
        cr_assert(is_whole_ticks_packet(bytes, size, &cursor));
        for (size_t cut = 0; cut < size; cut++) {
            cr_assert_not(is_whole_ticks_packet(bytes, cut, &cursor), "cut to %zu", cut);
        }

        ls_inputs_header inputs = {.next = 5, .first = 8, .chain_tick = 4};
        ls_slot_input before = {NULL, 0, 0};
        stream = ls_bit_writer(bytes, sizeof bytes);
        ls_inputs_header_bits(&stream, &inputs, 0);
        for (uint32_t tick = 0; tick < TICK_PACKET_TICKS; tick++) {
            cr_assert(ls_inputs_write_tick(&stream, &before, &made.inputs[tick][1]));
            before = made.inputs[tick][1];
        }
        ls_tick_packet_write_end(&stream);
        size = ls_bits_size_bytes(&stream);
        cr_assert(is_whole_inputs_packet(bytes, size, &cursor));
        for (size_t cut = 0; cut < size; cut++) {
            cr_assert_not(is_whole_inputs_packet(bytes, cut, &cursor), "cut to %zu", cut);
        }
    }
}

Test(tick_packet, an_input_above_the_simulations_size_is_malformed)
{
    static ls_tick_cursor cursor;
    for (uint32_t size = 23; size <= 26; size++) {
        wire_bits wire = WIRE(U(1, 1), U(15, 4), UVAR(size));
        wire.count += (size_t)size * 8;
        ls_bit_stream stream = ls_bit_reader(wire.bytes, wire_size(&wire));
        ls_tick_cursor_start(&cursor, 1, TICK_PACKET_BYTES_MAX, NULL);
        cr_assert_eq(ls_inputs_read_tick(&stream, &cursor), size <= TICK_PACKET_BYTES_MAX);
        cr_assert_eq(stream.is_failed, size > TICK_PACKET_BYTES_MAX);
    }
}

Test(tick_packet, a_packet_of_another_kind_is_malformed)
{
    static const uint32_t kinds[] = {0, 1, 32, 33, 34, 63};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        wire_bits wire = WIRE(U(kinds[i], 6));
        wire.count = 1600; /* zeros, but for a part's size */
        ls_inputs_header inputs;
        ls_bit_stream stream = ls_bit_reader(wire.bytes, wire_size(&wire));
        ls_inputs_header_bits(&stream, &inputs, 0);
        cr_assert_eq(stream.is_failed, kinds[i] != LS_MESSAGE_INPUTS);
        ls_ticks_header ticks;
        stream = ls_bit_reader(wire.bytes, wire_size(&wire));
        ls_ticks_header_bits(&stream, &ticks, 0);
        cr_assert_eq(stream.is_failed, kinds[i] != LS_MESSAGE_TICKS);
    }
}

/* ---- headers ---- */

static bool read_inputs_header(uint16_t next, int64_t behind, int64_t first, ls_tick near,
                               ls_inputs_header *header)
{
    wire_bits wire = WIRE(U(LS_MESSAGE_INPUTS, 6), U(0, LS_SEQUENCE_BITS), U(next, 16), U(255, 8));
    wire_svar(&wire, behind);
    wire_u(&wire, 0, 32);
    wire_svar(&wire, first);
    wire_u(&wire, 0, 1);
    wire_u(&wire, 0, 1);
    ls_bit_stream stream = ls_bit_reader(wire.bytes, wire_size(&wire));
    ls_inputs_header_bits(&stream, header, near);
    return ls_bits_is_complete(&stream);
}

Test(tick_packet, ticks_in_headers_wrap_at_16_bits_only)
{
    static const ls_tick ticks[] = {0, 1, 65535, 65536, 65537, 131071, 10000000, UINT32_MAX - 300};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        ls_tick near = ticks[i] > 500 ? ticks[i] - 500 : 0;
        ls_inputs_header inputs = {.next = ticks[i],
                                   .chain_tick = near,
                                   .chain = 7,
                                   .first = ticks[i] + 255,
                                   .has_base = true};
        ls_inputs_header read = {0};
        uint8_t bytes[32];
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        ls_inputs_header_bits(&stream, &inputs, 0);
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        ls_inputs_header_bits(&stream, &read, near);
        cr_assert(ls_bits_is_complete(&stream));
        cr_assert(read.next == ticks[i] && read.chain_tick == near && read.first == inputs.first);
        cr_assert(read.hold == 0 && read.chain == 7 && read.has_base);
    }
}

Test(tick_packet, a_chain_covers_no_state_before_0_and_none_after_next)
{
    ls_inputs_header header;
    cr_assert(read_inputs_header(100, 0, 0, 100, &header));
    cr_assert_eq(header.chain_tick, 100);
    cr_assert(read_inputs_header(100, 100, 0, 100, &header));
    cr_assert_eq(header.chain_tick, 0);
    cr_assert_not(read_inputs_header(100, 101, 0, 100, &header));
    cr_assert_not(read_inputs_header(100, -1, 0, 100, &header));
    cr_assert_not(read_inputs_header(100, INT32_MIN, 0, 100, &header));
}

Test(tick_packet, a_distance_that_leads_out_of_all_ticks_is_malformed)
{
    ls_inputs_header header = {0};
    cr_assert(read_inputs_header(100, 0, -100, 100, &header));
    cr_assert_eq(header.first, 0);
    cr_assert_not(read_inputs_header(100, 0, -101, 100, &header));
    cr_assert_not(read_inputs_header(0xffff, 0, 1, UINT32_MAX, &header));
    cr_assert(read_inputs_header(0xffff, 0, 0, UINT32_MAX, &header));
    cr_assert_eq(header.first, UINT32_MAX);
}

Test(tick_packet, a_base_lies_before_the_first_input_and_not_before_tick_0)
{
    for (uint32_t gap = 0; gap <= 9; gap++) {
        ls_inputs_header inputs = {.first = 8, .has_base = true, .base_gap = LS_MIN(gap, 8)};
        ls_inputs_header read = {0};
        uint8_t bytes[32];
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        ls_inputs_header_bits(&stream, &inputs, 0);
        if (gap == 9) {
            size_t gap_bit = 6 + 6 + 16 + 8 + 5 + 32 + 10 + 1;
            bytes[gap_bit / 8] |= (uint8_t)(1u << gap_bit % 8); /* 8 becomes 9 */
        }
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        ls_inputs_header_bits(&stream, &read, 0);
        cr_assert_eq(ls_bits_is_complete(&stream), gap < 9, "gap %u", gap);
        cr_assert(gap == 9 || read.base_gap == gap);
    }
}

Test(tick_packet, slack_keeps_its_sign)
{
    static const int32_t slacks[] = {LS_SLACK_NONE, -2047, -1, 0, 1, LS_SLACK_MAX};
    for (size_t i = 0; i < sizeof slacks / sizeof slacks[0]; i++) {
        ls_ticks_header ticks = {.first = 9, .hold = 3, .wanted = 2, .slack = slacks[i]};
        ls_ticks_header read = {0};
        uint8_t bytes[32];
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        ls_ticks_header_bits(&stream, &ticks, 0);
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        ls_ticks_header_bits(&stream, &read, 9);
        cr_assert_eq(read.slack, slacks[i]);
        cr_assert(read.first == 9 && read.hold == 3 && read.wanted == 2 && !read.has_base);
    }
}

Test(tick_packet, hold_counts_quarters_of_a_millisecond_up_to_its_limit)
{
    cr_assert_eq(ls_hold_from_ns(0), 0);
    cr_assert_eq(ls_hold_from_ns(249999), 0);
    cr_assert_eq(ls_hold_from_ns(250000), 1);
    cr_assert_eq(ls_hold_from_ns(254 * UINT64_C(250000) + 249999), 254);
    cr_assert_eq(ls_hold_from_ns(255 * UINT64_C(250000)), LS_HOLD_NONE);
    cr_assert_eq(ls_hold_from_ns(UINT64_MAX), LS_HOLD_NONE);
}

Test(tick_packet, slack_counts_quarters_of_a_millisecond_between_its_limits)
{
    cr_assert_eq(ls_slack_from_ns(0), 0);
    cr_assert_eq(ls_slack_from_ns(500000), 2);
    cr_assert_eq(ls_slack_from_ns(-500000), -2);
    cr_assert_eq(ls_slack_from_ns(2047 * INT64_C(250000)), 2047);
    cr_assert_eq(ls_slack_from_ns(2048 * INT64_C(250000)), LS_SLACK_MAX);
    cr_assert_eq(ls_slack_from_ns(INT64_MAX), LS_SLACK_MAX);
    cr_assert_eq(ls_slack_from_ns(-2047 * INT64_C(250000)), -2047);
    cr_assert_eq(ls_slack_from_ns(-2048 * INT64_C(250000)), -2047, "-2048 says that none came");
    cr_assert_eq(ls_slack_from_ns(INT64_MIN), -2047);
}

/* ---- full packets and large ticks ---- */

Test(tick_packet, a_tick_that_does_not_fit_leaves_the_packet_as_it_was)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX] = {0};
    uint8_t large[200];
    memset(large, 0x5a, sizeof large);
    ls_slot_input before = {NULL, 0, 0};
    ls_slot_input input = {large, 200, 0};
    /* 1 + 4 + 10 + 1,600 bits and the end mark. */
    for (size_t room = 1613; room <= 1617; room++) {
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        stream.capacity_bits = room;
        bool fits = ls_inputs_write_tick(&stream, &before, &input);
        cr_assert_eq(fits, room >= 1616, "%zu bits", room);
        cr_assert_eq(stream.position_bits, fits ? 1615u : 0u);
        cr_assert_not(stream.is_failed);
        ls_tick_packet_write_end(&stream);
    }
}

/* Every slot at its largest, none like the tick before. */
enum {
    LARGE_SLOTS = LS_INPUTS_BYTES_MAX / LS_INPUT_BYTES_MAX
};

static void fill_large_tick(uint8_t bytes[LARGE_SLOTS][LS_INPUT_BYTES_MAX],
                            ls_slot_input inputs[LARGE_SLOTS])
{
    ls_rng rng = ls_rng_make(3, 3);
    for (uint32_t slot = 0; slot < LARGE_SLOTS; slot++) {
        for (uint32_t i = 0; i < LS_INPUT_BYTES_MAX; i++) {
            bytes[slot][i] = (uint8_t)ls_rng_next(&rng);
        }
        inputs[slot] = (ls_slot_input){bytes[slot], LS_INPUT_BYTES_MAX, 3};
    }
}

Test(tick_packet, every_tick_of_a_match_fits_into_the_bytes_that_are_told)
{
    static const uint32_t sizes[] = {0, 1, 4, 15, 16, 17, 255, 256, LS_INPUT_BYTES_MAX};
    static uint8_t raw[LS_INPUT_BYTES_MAX];
    static uint8_t bytes[LS_TICK_BYTES_MAX];
    const ls_slot_input before[LS_PLAYERS_MAX] = {{0}};
    ls_slot_input inputs[LS_PLAYERS_MAX];
    for (uint32_t slots = 1; slots <= LS_PLAYERS_MAX; slots++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            if (slots * sizes[i] > LS_INPUTS_BYTES_MAX) {
                continue;
            }
            for (uint32_t slot = 0; slot < slots; slot++) {
                inputs[slot] = (ls_slot_input){raw, sizes[i], LS_EVENT_JOINED | LS_EVENT_LEFT};
            }
            size_t bytes_max = ls_ticks_tick_bytes_max(slots, sizes[i]);
            cr_assert_leq(bytes_max, LS_TICK_BYTES_MAX);
            ls_bit_stream stream = ls_bit_writer(bytes, bytes_max);
            cr_assert(ls_ticks_write_tick(&stream, slots, before, inputs), "%u slots, %u bytes",
                      slots, sizes[i]);
        }
    }
}

Test(tick_packet, the_largest_tick_of_all_travels_in_parts)
{
    static uint8_t input_bytes[LARGE_SLOTS][LS_INPUT_BYTES_MAX];
    static uint8_t whole[LS_TICK_BYTES_MAX];
    static uint8_t received[LS_TICK_BYTES_MAX];
    static ls_tick_part part;
    static ls_tick_part read;
    static ls_tick_cursor cursor;
    static const ls_slot_input nothing[LS_PLAYERS_MAX];
    ls_slot_input inputs[LS_PLAYERS_MAX];
    fill_large_tick(input_bytes, inputs);

    uint8_t packet[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(packet, sizeof packet);
    cr_assert_not(ls_ticks_write_tick(&stream, LARGE_SLOTS, nothing, inputs));
    stream = ls_bit_writer(whole, sizeof whole);
    cr_assert(ls_ticks_write_tick(&stream, LARGE_SLOTS, nothing, inputs));
    uint32_t total = (uint32_t)ls_bits_size_bytes(&stream);
    cr_assert_gt(total, LS_INPUTS_BYTES_MAX);

    uint32_t count = ls_tick_part_count(total);
    cr_assert_leq(count, LS_TICK_PARTS_MAX);
    for (uint32_t i = count; i-- > 0;) {
        part = (ls_tick_part){.tick = 900, .total_bytes = total, .index = i};
        memcpy(part.bytes, whole + i * LS_TICK_PART_BYTES, ls_tick_part_size(total, i));
        stream = ls_bit_writer(packet, sizeof packet);
        ls_tick_part_bits(&stream, &part);
        cr_assert_not(stream.is_failed);
        stream = ls_bit_reader(packet, ls_bits_size_bytes(&stream));
        ls_tick_part_bits(&stream, &read);
        cr_assert(ls_bits_is_complete(&stream));
        cr_assert(read.tick == 900 && read.total_bytes == total && read.index == i);
        memcpy(received + i * LS_TICK_PART_BYTES, read.bytes, read.size);
    }
    stream = ls_bit_reader(received, total);
    ls_tick_cursor_start(&cursor, LARGE_SLOTS, LS_INPUT_BYTES_MAX, NULL);
    cr_assert(ls_ticks_read_tick(&stream, &cursor));
    cr_assert(ls_bits_is_complete(&stream));
    expect_inputs(&cursor, inputs, LARGE_SLOTS, true);
}

/* All slots have a byte, and one of them changes. */
static size_t bits_of_one_change(uint32_t slots, uint32_t changed)
{
    static ls_tick_cursor cursor;
    static const uint8_t still = 1;
    static const uint8_t moved = 3;
    ls_slot_input before[LS_PLAYERS_MAX];
    ls_slot_input inputs[LS_PLAYERS_MAX];
    uint8_t packet[LS_PACKET_BYTES_MAX];
    for (uint32_t slot = 0; slot < slots; slot++) {
        before[slot] = (ls_slot_input){&still, 1, 0};
        inputs[slot] = (ls_slot_input){slot == changed ? &moved : &still, 1, 0};
    }
    ls_bit_stream stream = ls_bit_writer(packet, sizeof packet);
    cr_assert(ls_ticks_write_tick(&stream, slots, before, inputs));
    size_t bits = stream.position_bits;
    ls_tick_packet_write_end(&stream);
    stream = ls_bit_reader(packet, ls_bits_size_bytes(&stream));
    ls_tick_cursor_start(&cursor, slots, 1, before);
    cr_assert(ls_ticks_read_tick(&stream, &cursor));
    expect_inputs(&cursor, inputs, slots, true);
    return bits;
}

Test(tick_packet, four_slots_that_hold_still_take_a_bit)
{
    enum {
        HEAD = 3,  /* a tick, without events, with changes */
        CHANGE = 5 /* of a bit of a byte */
    };
    cr_expect_eq(bits_of_one_change(4, 3), HEAD + 3 + CHANGE);
    cr_expect_eq(bits_of_one_change(5, 3), HEAD + 2 + 3 + CHANGE);
    cr_expect_eq(bits_of_one_change(5, 4), HEAD + 2 + CHANGE, "the last group has one slot");
    cr_expect_eq(bits_of_one_change(LS_PLAYERS_MAX, 100), HEAD + LS_PLAYERS_MAX / 4 + 3 + CHANGE);
}

Test(tick_packet, parts_share_out_the_bytes)
{
    static const struct {
        uint32_t total, count, last_size;
    } ticks[] = {{1, 1, 1},       {1099, 1, 1099}, {1100, 1, 1100},   {1101, 2, 1},
                 {2200, 2, 1100}, {2201, 3, 1},    {35199, 32, 1099}, {35200, 32, 1100}};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        cr_assert_eq(ls_tick_part_count(ticks[i].total), ticks[i].count);
        cr_assert_eq(ls_tick_part_size(ticks[i].total, ticks[i].count - 1), ticks[i].last_size);
        if (ticks[i].count > 1) {
            cr_assert_eq(ls_tick_part_size(ticks[i].total, 0), LS_TICK_PART_BYTES);
        }
    }
}

static bool is_whole_part(uint64_t total, uint32_t index, size_t bytes)
{
    static ls_tick_part part;
    wire_bits wire = WIRE(U(LS_MESSAGE_TICK_PART, 6), U(5, 32), UVAR(total), U(index, 5));
    wire.count += bytes * 8;
    ls_bit_stream stream = ls_bit_reader(wire.bytes, wire_size(&wire));
    ls_tick_part_bits(&stream, &part);
    return ls_bits_is_complete(&stream);
}

Test(tick_packet, a_part_that_is_none_of_its_tick_is_malformed)
{
    cr_assert(is_whole_part(1, 0, 1));
    cr_assert(is_whole_part(1101, 0, 1100));
    cr_assert(is_whole_part(1101, 1, 1));
    cr_assert(is_whole_part(35200, 31, 1100));
    cr_assert_not(is_whole_part(0, 0, 0), "a tick of no bytes");
    cr_assert_not(is_whole_part(35201, 31, 1100), "more than fits into 32 parts");
    cr_assert_not(is_whole_part(UINT64_C(0x100000001), 0, 1), "a size beyond 32 bits");
    cr_assert_not(is_whole_part(1, 1, 1), "a part behind the last");
    cr_assert_not(is_whole_part(1100, 1, 0), "an empty part behind the last");
    cr_assert_not(is_whole_part(1101, 1, 0), "a part cut short");
    cr_assert_not(is_whole_part(1101, 1, 2), "a part with a byte too many");
    cr_assert_not(is_whole_part(35200, 31, 1099), "a last part cut short");
}

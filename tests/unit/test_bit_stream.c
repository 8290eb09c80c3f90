#include "lockstep/protocol/wire/bit_stream.h"

#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static void write_u64(ls_bit_stream *stream, uint64_t value, unsigned bits)
{
    ls_bits_u64(stream, &value, bits);
}

static uint64_t read_u64(ls_bit_stream *stream, unsigned bits)
{
    uint64_t value = 99;
    ls_bits_u64(stream, &value, bits);
    return value;
}

static uint32_t read_uvar(ls_bit_stream *stream, uint32_t min, uint32_t max)
{
    uint32_t value = 99;
    ls_bits_uvar(stream, &value, min, max);
    return value;
}

static ls_bit_stream reader_of(const wire_bits *wire)
{
    return ls_bit_reader(wire->bytes, wire_size(wire));
}

static uint64_t low_bits(uint64_t value, unsigned bits)
{
    return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

Test(bit_stream, packs_from_the_least_significant_bit)
{
    uint8_t bytes[4];
    memset(bytes, 0xff, sizeof bytes);
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    write_u64(&stream, 5, 3);      /* 101 */
    write_u64(&stream, 0xabc, 12); /* 1010 1011 1100 */
    write_u64(&stream, 1, 1);
    write_u64(&stream, 0x42, 7);
    const uint8_t expected[] = {0xe5, 0xd5, 0x42, 0xff};
    cr_assert_arr_eq(bytes, expected, sizeof expected);
    cr_assert_eq(stream.position_bits, 23);
    cr_assert_eq(ls_bits_size_bytes(&stream), 3);
    cr_assert_not(stream.is_failed);
}

Test(bit_stream, writes_as_the_second_encoder_and_reads_it_back)
{
    ls_rng rng = ls_rng_make(7, 1);
    for (int round = 0; round < 200; round++) {
        uint64_t values[64];
        unsigned widths[64];
        wire_bits wire = {{0}, 0};
        uint8_t bytes[64 * 8];
        memset(bytes, 0xa5, sizeof bytes);
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        for (int i = 0; i < 64; i++) {
            uint64_t high = ls_rng_next(&rng);
            uint64_t low = ls_rng_next(&rng);
            widths[i] = 1 + ls_rng_below(&rng, 64);
            values[i] = low_bits(high << 32 | low, widths[i]);
            wire_u(&wire, values[i], widths[i]);
            write_u64(&stream, values[i], widths[i]);
        }
        cr_assert_eq(stream.position_bits, wire.count);
        cr_assert_arr_eq(bytes, wire.bytes, wire_size(&wire));
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        for (int i = 0; i < 64; i++) {
            cr_assert_eq(read_u64(&stream, widths[i]), values[i]);
        }
        cr_assert(ls_bits_is_complete(&stream));
    }
}

Test(bit_stream, a_read_past_the_end_fails_for_good_and_gives_zero)
{
    const uint8_t bytes[] = {0xff, 0xff};
    ls_bit_stream stream = ls_bit_reader(bytes, sizeof bytes);
    cr_assert_eq(read_u64(&stream, 16), 0xffff);
    cr_assert_not(stream.is_failed);
    stream = ls_bit_reader(bytes, sizeof bytes);
    cr_assert_eq(read_u64(&stream, 17), 0);
    cr_assert(stream.is_failed);
    cr_assert_eq(read_u64(&stream, 1), 0, "bits are left, but the stream has failed");
    bool is_set = true;
    ls_bits_bool(&stream, &is_set);
    uint32_t tick = 5;
    ls_bits_u32(&stream, &tick, 3);
    int32_t number = 5;
    ls_bits_svar(&stream, &number);
    char text[4] = "abc";
    ls_bits_text(&stream, text, sizeof text);
    cr_assert(!is_set && tick == 0 && number == 0 && text[0] == '\0');
    cr_assert_eq(read_uvar(&stream, 3, 9), 3, "a failed number is its least value");
}

Test(bit_stream, an_empty_packet_has_no_bits)
{
    ls_bit_stream stream = ls_bit_reader(NULL, 0);
    cr_assert(ls_bits_is_complete(&stream));
    cr_assert_eq(read_u64(&stream, 1), 0);
    cr_assert(stream.is_failed);
}

Test(bit_stream, a_write_that_does_not_fit_fails_and_touches_nothing_behind)
{
    uint8_t bytes[3] = {0, 0, 0x77};
    ls_bit_stream stream = ls_bit_writer(bytes, 2);
    write_u64(&stream, 0x1fff, 13);
    cr_assert_not(stream.is_failed);
    write_u64(&stream, 0xf, 4);
    cr_assert(stream.is_failed);
    cr_assert_eq(stream.position_bits, 13);
    const uint8_t expected[] = {0xff, 0x1f, 0x77};
    cr_assert_arr_eq(bytes, expected, sizeof expected);
}

Test(bit_stream, a_value_wider_than_its_bits_is_a_mistake, .signal = SIGABRT)
{
    uint8_t bytes[4];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    write_u64(&stream, 8, 3);
}

Test(bit_stream, is_complete_when_only_zero_padding_is_left)
{
    const uint8_t bytes[] = {0x1f, 0x20};
    ls_bit_stream stream = ls_bit_reader(bytes, 1);
    read_u64(&stream, 4);
    cr_assert_not(ls_bits_is_complete(&stream), "a padding bit is set");
    read_u64(&stream, 1);
    cr_assert(ls_bits_is_complete(&stream));
    read_u64(&stream, 3);
    cr_assert(ls_bits_is_complete(&stream));

    stream = ls_bit_reader(bytes, 2);
    read_u64(&stream, 8);
    cr_assert_not(ls_bits_is_complete(&stream), "a whole byte is left");
    const uint8_t zeros[2] = {0};
    stream = ls_bit_reader(zeros, 2);
    read_u64(&stream, 8);
    cr_assert_not(ls_bits_is_complete(&stream), "zero bytes are no padding");
    read_u64(&stream, 1);
    cr_assert(ls_bits_is_complete(&stream));
    ls_bits_fail(&stream);
    cr_assert_not(ls_bits_is_complete(&stream));
}

Test(bit_stream, uvar_takes_five_bits_for_each_started_hex_digit)
{
    static const struct {
        uint32_t value;
        size_t bits;
    } numbers[] = {{0, 5},          {1, 5},           {15, 5},         {16, 10},
                   {255, 10},       {256, 15},        {4095, 15},      {4096, 20},
                   {0xfffffff, 35}, {0x10000000, 40}, {UINT32_MAX, 40}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint8_t bytes[8] = {0};
        uint32_t value = numbers[i].value;
        wire_bits wire = WIRE(UVAR(value));
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        ls_bits_uvar(&stream, &value, 0, UINT32_MAX);
        cr_assert_eq(stream.position_bits, numbers[i].bits);
        cr_assert_eq(wire.count, numbers[i].bits);
        cr_assert_arr_eq(bytes, wire.bytes, sizeof bytes);
        stream = ls_bit_reader(bytes, ls_bits_size_bytes(&stream));
        cr_assert_eq(read_uvar(&stream, 0, UINT32_MAX), numbers[i].value);
        cr_assert(ls_bits_is_complete(&stream));
    }
}

Test(bit_stream, uvar_outside_its_range_fails)
{
    for (uint32_t value = 0; value < 40; value++) {
        wire_bits wire = WIRE(UVAR(value));
        ls_bit_stream stream = reader_of(&wire);
        uint32_t read = read_uvar(&stream, 7, 23);
        bool is_allowed = value >= 7 && value <= 23;
        cr_assert_eq(stream.is_failed, !is_allowed, "%u", value);
        cr_assert_eq(read, is_allowed ? value : 7);
    }
}

Test(bit_stream, uvar_above_32_bits_fails)
{
    wire_bits wire = WIRE(UVAR(UINT64_C(0x100000000)));
    ls_bit_stream stream = reader_of(&wire);
    read_uvar(&stream, 0, UINT32_MAX);
    cr_assert(stream.is_failed, "2^32 must not wrap to 0");
}

Test(bit_stream, uvar_with_a_needless_group_is_malformed)
{
    /* 3 as two groups: the second adds nothing. */
    wire_bits wire = WIRE(U(3, 4), U(1, 1), U(0, 5));
    ls_bit_stream stream = reader_of(&wire);
    read_uvar(&stream, 0, UINT32_MAX);
    cr_assert(stream.is_failed);
}

Test(bit_stream, uvar_that_never_ends_is_malformed)
{
    uint8_t ones[64];
    memset(ones, 0xff, sizeof ones);
    ls_bit_stream stream = ls_bit_reader(ones, sizeof ones);
    read_uvar(&stream, 0, UINT32_MAX);
    cr_assert(stream.is_failed);
    cr_assert_leq(stream.position_bits, 16 * 5, "16 groups at most are looked at");
}

Test(bit_stream, a_uvar_out_of_range_is_a_mistake_when_written, .signal = SIGABRT)
{
    uint8_t bytes[4];
    uint32_t value = 24;
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_bits_uvar(&stream, &value, 7, 23);
}

Test(bit_stream, svar_folds_the_sign_into_the_lowest_bit)
{
    static const struct {
        int32_t value;
        uint64_t folded;
    } numbers[] = {{0, 0},   {-1, 1}, {1, 2},
                   {-2, 3},  {2, 4},  {INT32_MAX, UINT64_C(0xfffffffe)},
                   {-8, 15}, {8, 16}, {INT32_MIN, UINT64_C(0xffffffff)}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        wire_bits wire = WIRE(UVAR(numbers[i].folded));
        uint8_t bytes[8] = {0};
        int32_t value = numbers[i].value;
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        ls_bits_svar(&stream, &value);
        cr_assert_eq(stream.position_bits, wire.count);
        cr_assert_arr_eq(bytes, wire.bytes, sizeof bytes);
        stream = reader_of(&wire);
        value = 99;
        ls_bits_svar(&stream, &value);
        cr_assert_eq(value, numbers[i].value);
        cr_assert_not(stream.is_failed);
    }
}

Test(bit_stream, svar_beyond_32_bits_fails)
{
    wire_bits wire = WIRE(UVAR(UINT64_C(0x100000000)));
    ls_bit_stream stream = reader_of(&wire);
    int32_t value = 99;
    ls_bits_svar(&stream, &value);
    cr_assert(stream.is_failed);
    cr_assert_eq(value, 0);
}

Test(bit_stream, tick16_finds_the_nearest_tick)
{
    static const uint32_t nears[] = {0x8000, 0xffff, 0x10000, 0x18000, 0x7fffffff, 0xffff7fff};
    static const int64_t distances[] = {0, 1, -1, 1024, -1024, 32767, -32768};
    for (size_t i = 0; i < sizeof nears / sizeof nears[0]; i++) {
        for (size_t j = 0; j < sizeof distances / sizeof distances[0]; j++) {
            uint32_t tick = (uint32_t)(nears[i] + distances[j]);
            uint32_t read = tick;
            uint8_t bytes[2];
            ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
            ls_bits_tick16(&stream, &read, 0);
            cr_assert_eq(bytes[0], (uint8_t)tick);
            cr_assert_eq(bytes[1], (uint8_t)(tick >> 8));
            stream = ls_bit_reader(bytes, sizeof bytes);
            read = 99;
            ls_bits_tick16(&stream, &read, nears[i]);
            cr_assert_eq(read, tick, "%u near %u", read, nears[i]);
        }
    }
}

Test(bit_stream, tick16_farther_away_is_taken_for_a_nearer_tick)
{
    uint8_t bytes[2];
    uint32_t tick = 100000 + 0x8000;
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_bits_tick16(&stream, &tick, 0);
    stream = ls_bit_reader(bytes, sizeof bytes);
    ls_bits_tick16(&stream, &tick, 100000);
    cr_assert_eq(tick, 100000 - 0x8000);
}

Test(bit_stream, runs_of_bytes_are_so_many_times_eight_bits)
{
    for (size_t size = 0; size <= 33; size++) {
        for (unsigned shift = 0; shift < 8; shift++) {
            uint8_t in[33];
            uint8_t out[33] = {0};
            uint8_t runs[40] = {0};
            uint8_t singles[40] = {0};
            ls_bit_stream run = ls_bit_writer(runs, sizeof runs);
            ls_bit_stream single = ls_bit_writer(singles, sizeof singles);
            for (unsigned i = 0; i < shift; i++) {
                ls_bits_write_bit(&run, true);
                ls_bits_write_bit(&single, true);
            }
            for (size_t i = 0; i < size; i++) {
                in[i] = (uint8_t)(0x91 * (i + 1));
                uint32_t byte = in[i];
                ls_bits_u32(&single, &byte, 8);
            }
            ls_bits_write_bytes(&run, in, size);
            cr_assert_eq(run.position_bits, single.position_bits);
            cr_assert_eq(memcmp(runs, singles, sizeof runs), 0);
            ls_bit_stream reader = ls_bit_reader(runs, sizeof runs);
            reader.position_bits = shift;
            ls_bits_read_bytes(&reader, out, size);
            cr_assert_not(reader.is_failed);
            cr_assert_eq(memcmp(in, out, size), 0);
        }
    }
}

Test(bit_stream, a_run_of_bytes_that_is_cut_short_fails)
{
    uint8_t bytes[9] = {0};
    uint8_t out[16];
    ls_bit_stream reader = ls_bit_reader(bytes, sizeof bytes);
    ls_bits_read_bytes(&reader, out, 10);
    cr_assert(reader.is_failed);
}

Test(bit_stream, text_is_its_length_and_its_bytes)
{
    wire_bits wire = WIRE(TEXT("Ada 3~"));
    uint8_t bytes[8] = {0};
    char text[16] = "Ada 3~";
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert_eq(stream.position_bits, wire.count);
    cr_assert_arr_eq(bytes, wire.bytes, wire_size(&wire));
    stream = reader_of(&wire);
    memset(text, 'x', sizeof text);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert_str_eq(text, "Ada 3~");
    cr_assert(ls_bits_is_complete(&stream));
}

Test(bit_stream, text_may_fill_its_field_but_for_the_nul)
{
    char text[7];
    wire_bits wire = WIRE(TEXT("sixsix"));
    ls_bit_stream stream = reader_of(&wire);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert_str_eq(text, "sixsix");

    wire_bits longer = WIRE(TEXT("sevens7"));
    stream = reader_of(&longer);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert(stream.is_failed);
    cr_assert_str_eq(text, "");
}

Test(bit_stream, text_that_is_cut_short_is_empty)
{
    char text[16] = "before";
    wire_bits wire = WIRE(TEXT("sixsix"));
    ls_bit_stream stream = ls_bit_reader(wire.bytes, wire_size(&wire) - 1);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert(stream.is_failed);
    cr_assert_str_eq(text, "");
}

Test(bit_stream, text_from_outside_is_made_printable)
{
    char text[16];
    wire_bits wire = WIRE(TEXT("a\x1b[2J\x7f\xc3\xa9 ~"));
    ls_bit_stream stream = reader_of(&wire);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert_not(stream.is_failed);
    cr_assert_str_eq(text, "a?[2J?\xc3\xa9 ~");

    /* A NUL inside must not hide what comes after it. */
    wire_bits hiding = WIRE(UVAR(3), U(0x620061, 24));
    stream = reader_of(&hiding);
    ls_bits_text(&stream, text, sizeof text);
    cr_assert_str_eq(text, "a?b");
}

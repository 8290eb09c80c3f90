/* Bits of messages, and the handshake. */
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/protocol/wire/bit_stream.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ==== bit_stream ==== */

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

/* ==== handshake ==== */

static void expect_words(const ls_text *why, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert_not_null(strstr(why->bytes, words[i]), "'%s' lacks '%s'", why->bytes, words[i]);
    }
}

/* ---- HELLO ---- */

Test(handshake, a_hello_of_this_build_is_good)
{
    ls_text why = {"untouched"};
    ls_hello hello = ls_hello_make("Ada");
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_OK);
    cr_assert_str_eq(why.bytes, "untouched");
    cr_assert_str_eq(hello.name, "Ada");
    cr_assert_str_eq(hello.token, "");
    cr_assert_eq(hello.magic, 0x5453434c);
    cr_assert_eq(hello.protocol_version, LS_PROTOCOL_VERSION);
    cr_assert_eq(hello.arithmetic, ls_arithmetic_check());
}

Test(handshake, a_name_is_cut_and_made_printable)
{
    ls_hello hello = ls_hello_make("0123456789012345678901234567890123456789");
    cr_assert_str_eq(hello.name, "0123456789012345678901234567890");
    hello = ls_hello_make("a\nb");
    cr_assert_str_eq(hello.name, "a?b");
}

Test(handshake, a_hello_is_refused_for_the_first_item_that_differs_with_both_values)
{
    ls_text why;
    ls_hello hello = ls_hello_make("Ada");
    char expected[17];
    char altered[17];
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)hello.arithmetic);
    snprintf(altered, sizeof altered, "%016llx", (unsigned long long)hello.arithmetic + 1);

    hello.arithmetic++;
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_ARITHMETIC_MISMATCH);
    expect_words(&why, (const char *const[]){"arithmetic", expected, altered}, 3);

    hello.protocol_version = 77;
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_PROTOCOL_MISMATCH);
    expect_words(&why, (const char *const[]){"protocol version", "client 77", "server 8"}, 3);

    hello.magic = 0x474f4c44;
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_MALFORMED);
    expect_words(&why, (const char *const[]){"474f4c44", "5453434c"}, 2);
}

Test(handshake, results_of_the_maths_library_are_compared_where_they_are_used)
{
    ls_text why = {""};
    ls_hello hello = ls_hello_make("Ada");
    uint64_t plain = hello.arithmetic;
    ls_hello_cover_maths(&hello, 0);
    cr_assert_eq(hello.arithmetic, plain);

    cr_assert_eq(ls_hello_check(&hello, 7, &why), LS_OK, "OFFER tells what the client lacks");
    ls_hello_cover_maths(&hello, 7);
    cr_assert_eq(ls_hello_check(&hello, 7, &why), LS_OK);
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_ARITHMETIC_MISMATCH);
    cr_assert_null(strstr(why.bytes, "maths"));
    cr_assert_eq(ls_hello_check(&hello, 8, &why), LS_ARITHMETIC_MISMATCH);
    expect_words(&why, (const char *const[]){"maths functions, some of which the simulation"}, 1);
}

/* ---- READY ---- */

static const ls_ready server_ready = {3, 0x1111, 0x2222, 0x3333, 0x4444};

Test(handshake, equal_readies_are_good)
{
    ls_text why = {"untouched"};
    ls_ready client = server_ready;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why), LS_OK);
    cr_assert_str_eq(why.bytes, "untouched");
}

Test(handshake, a_ready_is_refused_for_the_first_item_that_differs_with_both_values)
{
    ls_text why;
    ls_ready client = server_ready;
    client.initial_hash = 0xaaaa;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_INITIAL_STATE_MISMATCH);
    expect_words(&why,
                 (const char *const[]){"initial state", "000000000000aaaa", "0000000000004444"}, 3);
    client.content_digest = 0xbbbb;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_CONTENT_MISMATCH);
    expect_words(&why, (const char *const[]){"content", "000000000000bbbb", "0000000000003333"}, 3);
    client.schema_digest = 0xcccc;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_SCHEMA_MISMATCH);
    expect_words(&why, (const char *const[]){"schema", "000000000000cccc", "0000000000002222"}, 3);
    client.parameter_digest = 0xdddd;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_PARAMETER_MISMATCH);
    expect_words(&why, (const char *const[]){"parameter", "000000000000dddd", "0000000000001111"},
                 3);
    client.simulation_version = 9;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_SIMULATION_VERSION_MISMATCH);
    expect_words(&why, (const char *const[]){"simulation version", "client 9", "server 3"}, 3);
}

static ls_ready ready_of(ls_sim_config config, uint64_t *state_hash)
{
    ls_text why = {{0}};
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(counter_simulation(), &config, ls_allocator_heap(), &instance, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    ls_ready ready = ls_ready_make(instance);
    *state_hash = ls_sim_instance_hash(instance);
    ls_sim_instance_destroy(instance);
    return ready;
}

Test(handshake, readies_of_instances_differ_where_their_configs_do)
{
    ls_text why;
    uint64_t state_hash = 0;
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    ls_ready server = ready_of(config, &state_hash);
    cr_assert_eq(server.simulation_version, counter_simulation()->version);
    cr_assert_eq(server.initial_hash, state_hash);
    cr_assert_neq(server.schema_digest, 0);

    ls_ready client = ready_of(config, &state_hash);
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server, &why), LS_OK);
    config.seed++;
    client = ready_of(config, &state_hash);
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server, &why),
                 LS_PARAMETER_MISMATCH);
    config.seed--;
    config.params[COUNTER_PARAM_CELLS]++;
    client = ready_of(config, &state_hash);
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server, &why),
                 LS_PARAMETER_MISMATCH);
    cr_assert_neq(client.schema_digest, server.schema_digest);
}

/* ---- which field it is ---- */

typedef struct wide_state {
    uint32_t cells[100];
} wide_state;

static uint32_t wide_field_count, wide_cell;
static uint32_t wide_unit = UINT32_MAX; /* the field of this number has another one */

static size_t wide_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(wide_state);
}

/* The last field takes the rest. */
static uint32_t wide_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    static char names[100][16];
    (void)config;
    for (uint32_t i = 0; i < wide_field_count && i < capacity; i++) {
        snprintf(names[i], sizeof names[i], "cell%u", i);
        out[i] = (ls_field){names[i], i == wide_unit ? "m" : "", LS_FIELD_U32, 1, 1, 4 * i, 4};
    }
    out[wide_field_count - 1].count = 100 - (wide_field_count - 1);
    return wide_field_count;
}

static ls_status wide_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    ((wide_state *)state)->cells[wide_cell] = 7;
    return LS_OK;
}

static void wide_step(const ls_step *step)
{
    (void)step;
}

static ls_sim_instance *wide_open(uint32_t field_count, uint32_t cell, uint32_t unit)
{
    static const ls_pass passes[] = {{"step", wide_step}};
    static const ls_simulation wide = {.abi = LS_SIMULATION_ABI,
                                       .size = sizeof wide,
                                       .version = 1,
                                       .name = "wide",
                                       .summary = "many fields",
                                       .default_tick_rate_hz = 60,
                                       .default_players = 1,
                                       .players_max = 1,
                                       .passes = passes,
                                       .pass_count = 1,
                                       .state_bytes = wide_bytes,
                                       .fields = wide_fields,
                                       .init = wide_init};
    ls_sim_config config = ls_sim_config_default(&wide);
    ls_sim_instance *instance = NULL;
    ls_text why = {{0}};
    wide_field_count = field_count;
    wide_cell = cell;
    wide_unit = unit;
    cr_assert_eq(ls_sim_instance_create(&wide, &config, ls_allocator_heap(), &instance, &why),
                 LS_OK, "%s", why.bytes);
    return instance;
}

/* The text that a client reads, which has another instance than the server. */
static ls_text named(ls_sim_instance *server, ls_sim_instance *client, ls_status status)
{
    const ls_ready_parts parts = ls_ready_parts_make(server);
    ls_text text = ls_ready_parts_with(&parts, status, "it differs");
    ls_ready_parts_name(client, status, &text);
    ls_sim_instance_destroy(client);
    ls_sim_instance_destroy(server);
    return text;
}

Test(handshake, refusal_names_the_first_field_that_differs)
{
    for (uint32_t cell = 0; cell < 20; cell++) {
        ls_text expected, text;
        ls_text_set(&expected, "it differs; the first field that differs is cell%u here", cell);
        text = named(wide_open(20, cell, UINT32_MAX), wide_open(20, 99, UINT32_MAX),
                     LS_INITIAL_STATE_MISMATCH);
        cr_expect_str_eq(text.bytes, expected.bytes);
        text = named(wide_open(20, 0, UINT32_MAX), wide_open(20, 0, cell), LS_SCHEMA_MISMATCH);
        cr_expect_str_eq(text.bytes, expected.bytes);
    }
}

Test(handshake, refusal_names_a_few_of_many_fields)
{
    ls_text text = named(wide_open(100, 71, UINT32_MAX), wide_open(100, 99, UINT32_MAX),
                         LS_INITIAL_STATE_MISMATCH);
    cr_expect_str_eq(text.bytes, "it differs; the first field that differs is cell69, or one of "
                                 "those behind it, here");
    text = named(wide_open(100, 0, UINT32_MAX), wide_open(40, 0, UINT32_MAX), LS_SCHEMA_MISMATCH);
    cr_expect_str_eq(text.bytes, "it differs; the server has 100 fields, and 40 are here");
}

Test(handshake, refusal_of_another_status_or_with_odd_hashes_is_left_as_it_is)
{
    static const char *const odd[] = {
        "it differs fields ",      "it differs fields 20",
        "it differs fields 20:",   "it differs fields 20:zzzz",
        "it differs fields 20:12", "it differs fields 99999999999:1234"};
    ls_sim_instance *client = wide_open(20, 3, UINT32_MAX);
    const ls_ready_parts parts = ls_ready_parts_make(client);
    ls_text text = ls_ready_parts_with(&parts, LS_CONTENT_MISMATCH, "it differs");
    ls_ready_parts_name(client, LS_CONTENT_MISMATCH, &text);
    cr_expect_str_eq(text.bytes, "it differs");
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        ls_text_set(&text, "%s", odd[i]);
        ls_ready_parts_name(client, LS_INITIAL_STATE_MISMATCH, &text);
        cr_expect_eq(strncmp(text.bytes, "it differs", 10), 0);
        cr_expect_null(strstr(text.bytes, "first field"), "%s", text.bytes);
    }
    ls_sim_instance_destroy(client);
}

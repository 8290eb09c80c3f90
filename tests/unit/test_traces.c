/* Traces of passes and writes, and the bytes that they are made of. */
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/diagnosis/pass_trace.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/tests/support/arena_fixture.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tools/desync/write_trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- byte_stream ---- */

typedef struct sample {
    uint8_t small;
    uint32_t ranged;
    uint64_t large;
    char text[8];
    uint8_t bytes[3];
} sample;

static void sample_stream(ls_byte_stream *stream, sample *value)
{
    ls_byte_stream_u8(stream, &value->small);
    ls_byte_stream_ranged(stream, &value->ranged, 5, 9);
    ls_byte_stream_u64(stream, &value->large);
    ls_byte_stream_text(stream, value->text, sizeof value->text);
    ls_byte_stream_bytes(stream, value->bytes, sizeof value->bytes);
}

static const sample one = {7, 9, UINT64_C(0x0102030405060708), "seven77", {1, 2, 3}};

enum {
    SAMPLE_BYTES = 1 + 4 + 8 + 4 + 7 + 3
};

Test(byte_stream, measured_fields_are_written_and_read_back)
{
    sample value = one;
    ls_byte_stream measured = ls_byte_stream_measure();
    sample_stream(&measured, &value);
    cr_expect_eq(measured.at, SAMPLE_BYTES);
    uint8_t bytes[SAMPLE_BYTES];
    ls_byte_stream written = ls_byte_stream_write(bytes, sizeof bytes);
    sample_stream(&written, &value);
    cr_assert_not(written.has_failed);
    cr_expect_eq(written.at, SAMPLE_BYTES);
    cr_expect_eq(bytes[5], 8, "little-endian");
    sample read;
    memset(&read, 0, sizeof read);
    ls_byte_stream reader = ls_byte_stream_read(bytes, sizeof bytes);
    sample_stream(&reader, &read);
    cr_assert_not(reader.has_failed);
    cr_expect_eq(reader.at, SAMPLE_BYTES);
    cr_expect_eq(read.small, 7);
    cr_expect_eq(read.ranged, 9);
    cr_expect_eq(read.large, one.large);
    cr_expect_str_eq(read.text, "seven77");
    cr_expect_eq(memcmp(read.bytes, one.bytes, 3), 0);
}

Test(byte_stream, a_byte_too_few_fails_wherever_it_is_missing)
{
    uint8_t bytes[SAMPLE_BYTES];
    for (size_t size = 0; size < SAMPLE_BYTES; size++) {
        sample value = one;
        ls_byte_stream stream = ls_byte_stream_write(bytes, size);
        sample_stream(&stream, &value);
        cr_assert(stream.has_failed);
        stream = ls_byte_stream_read(bytes, size);
        sample_stream(&stream, &value);
        cr_assert(stream.has_failed);
        cr_assert_leq(stream.at, size);
    }
}

Test(byte_stream, values_out_of_range_fail_and_are_brought_into_it)
{
    uint8_t bytes[4] = {10, 0, 0, 0};
    uint32_t value = 0;
    ls_byte_stream stream = ls_byte_stream_read(bytes, sizeof bytes);
    ls_byte_stream_ranged(&stream, &value, 5, 9);
    cr_expect(stream.has_failed);
    cr_expect_eq(value, 5);
}

Test(byte_stream, texts_that_are_too_long_or_unprintable_do_no_harm)
{
    uint8_t bytes[] = {8, 0, 0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    char text[8];
    ls_byte_stream stream = ls_byte_stream_read(bytes, sizeof bytes);
    ls_byte_stream_text(&stream, text, sizeof text);
    cr_expect(stream.has_failed);
    cr_expect_str_eq(text, "");
    bytes[0] = 7;
    bytes[5] = '\n';
    stream = ls_byte_stream_read(bytes, sizeof bytes);
    ls_byte_stream_text(&stream, text, sizeof text);
    cr_expect_not(stream.has_failed);
    cr_expect_str_eq(text, "a?cdefg");
}

/* ---- compress ---- */

enum {
    BYTES = 100000
};

static uint8_t input[BYTES], packed[2 * BYTES], output[BYTES + 1];

static size_t pack(void)
{
    for (size_t i = 0; i < BYTES; i++) {
        input[i] = (uint8_t)(i * i / 1000);
    }
    cr_assert_leq(ls_compress_bound(BYTES), sizeof packed);
    return ls_compress(input, BYTES, packed, sizeof packed);
}

Test(compress, gives_back_what_it_took)
{
    size_t size = pack();
    cr_assert(size > 0 && size < BYTES);
    cr_assert_eq(ls_decompress(packed, size, output, BYTES), LS_OK);
    cr_expect_eq(memcmp(input, output, BYTES), 0);
}

Test(compress, only_the_stated_size_comes_out)
{
    size_t size = pack();
    cr_expect_eq(ls_decompress(packed, size, output, BYTES - 1), LS_MALFORMED);
    cr_expect_eq(ls_decompress(packed, size, output, BYTES + 1), LS_MALFORMED);
    cr_expect_eq(ls_decompress(packed, size - 1, output, BYTES), LS_MALFORMED);
    cr_expect_eq(ls_decompress(packed, 0, output, BYTES), LS_MALFORMED);
    cr_expect_eq(ls_decompress(input, BYTES, output, BYTES), LS_MALFORMED);
}

Test(compress, bytes_that_do_not_fit_are_not_written)
{
    size_t size = pack();
    cr_expect_eq(ls_compress(input, BYTES, packed, size / 2), 0);
}

Test(compress, contexts_take_their_memory_once)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_compressor *compressor = ls_compressor_create(&counting.allocator);
    ls_decompressor *decompressor = ls_decompressor_create(&counting.allocator);
    cr_assert(compressor && decompressor);
    uint64_t bytes = counting.live_bytes;
    cr_expect_leq(bytes, 720u << 10);
    size_t size = pack();
    for (size_t part = BYTES; part > 0; part /= 3) {
        size = ls_compressor_run(compressor, input, part, packed, sizeof packed);
        cr_assert_gt(size, 0);
        cr_assert_eq(ls_decompressor_run(decompressor, packed, size, output, part), LS_OK);
        cr_assert_eq(memcmp(input, output, part), 0);
        cr_assert_eq(ls_decompressor_run(decompressor, packed, size, output, part + 1),
                     LS_MALFORMED);
        cr_assert_eq(ls_decompressor_run(decompressor, packed, size - 1, output, part),
                     LS_MALFORMED);
    }
    cr_expect_eq(counting.live_bytes, bytes);
    ls_compressor_destroy(compressor);
    ls_decompressor_destroy(decompressor);
    cr_expect_eq(counting.live_blocks, 0);
    counting.allowed = 0;
    cr_expect_null(ls_compressor_create(&counting.allocator));
    cr_expect_null(ls_decompressor_create(&counting.allocator));
}

/* ---- pass_trace ---- */

static ls_pass_trace trace_one(arena_fixture *arena)
{
    ls_pass_trace trace;
    arena_ask_bots(arena);
    const ls_tick_inputs inputs = {ls_sim_instance_tick(arena->instance), arena->config.players,
                                   arena->slots};
    ls_step_noise noise = {.seed = 1};
    ls_pass_trace_step(arena->instance, &inputs, &noise, NULL, &trace);
    return trace;
}

TestSuite(pass_trace, .fini = destroy_kept);

Test(pass_trace, a_traced_step_is_a_step)
{
    arena_fixture traced = arena_open(arena_config());
    arena_fixture plain = arena_open(arena_config());
    for (uint32_t i = 0; i < 30; i++) {
        uint64_t before = ls_sim_instance_hash(traced.instance);
        ls_pass_trace trace = trace_one(&traced);
        arena_run_bots(&plain, 1);
        cr_assert_eq(trace.tick, i);
        cr_assert_eq(trace.before, before);
        cr_assert_eq(trace.pass_count, traced.simulation->pass_count);
        cr_assert_eq(trace.state_hashes[trace.pass_count - 1],
                     ls_sim_instance_hash(plain.instance));
        cr_assert_eq(ls_sim_instance_tick(traced.instance), i + 1);
    }
}

static ls_pass_trace sample_trace(void)
{
    return (ls_pass_trace){.tick = 7, .pass_count = 3, .before = 1, .state_hashes = {2, 3, 4}};
}

Test(pass_trace, comparing_names_the_first_pass_that_differs)
{
    uint32_t pass = 99;
    ls_pass_trace a = sample_trace();
    ls_pass_trace b = sample_trace();
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_NONE);
    cr_expect_eq(pass, 99);
    b.state_hashes[2] = 9;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_AT);
    cr_expect_eq(pass, 2);
    b.state_hashes[1] = 9;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_AT);
    cr_expect_eq(pass, 1);
    b.before = 9;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_BEFORE);
}

Test(pass_trace, traces_that_cannot_be_compared_are_not)
{
    uint32_t pass = 99;
    ls_pass_trace a = sample_trace();
    ls_pass_trace b = sample_trace();
    b.tick++;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_UNKNOWN);
    b = sample_trace();
    b.pass_count--;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_UNKNOWN);
    const ls_pass_trace none = {0};
    cr_expect_eq(ls_pass_trace_compare(&none, &none, &pass), LS_PASS_UNKNOWN);
    cr_expect_eq(pass, 99);
}

/* ---- writers ---- */

typedef struct written_state {
    uint8_t by_first, by_all, by_last, by_none;
} written_state;

static size_t written_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(written_state);
}

static uint32_t written_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_OF(written_state, by_first, LS_FIELD_U8, ""),
                             LS_FIELD_OF(written_state, by_all, LS_FIELD_U8, ""),
                             LS_FIELD_OF(written_state, by_last, LS_FIELD_U8, ""),
                             LS_FIELD_OF(written_state, by_none, LS_FIELD_U8, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status written_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((written_state *)state)->by_none = (uint8_t)config->players;
    return LS_OK;
}

/* In tick 1 alone "first" does not write by_all. */
static void write_first(const ls_step *step)
{
    written_state *state = step->state;
    state->by_first++;
    state->by_all += step->inputs->tick != 1;
}

static void write_last(const ls_step *step)
{
    written_state *state = step->state;
    state->by_all++;
    state->by_last += step->inputs->tick == 0;
}

static const ls_pass written_passes[] = {{"first", write_first}, {"last", write_last}};

static const ls_simulation written = {.abi = LS_SIMULATION_ABI,
                                      .size = sizeof(ls_simulation),
                                      .version = 1,
                                      .name = "written",
                                      .summary = "some bytes have several writers",
                                      .default_tick_rate_hz = 60,
                                      .default_players = 1,
                                      .players_max = 1,
                                      .passes = written_passes,
                                      .pass_count = 2,
                                      .state_bytes = written_bytes,
                                      .fields = written_fields,
                                      .init = written_init};

static void step_with_writers(ls_sim_instance *instance, uint8_t writers[sizeof(written_state)])
{
    uint8_t before[sizeof(written_state)], after[sizeof(written_state)];
    const ls_slot_input slots[1] = {{0}};
    const ls_tick_inputs inputs = {ls_sim_instance_tick(instance), 1, slots};
    ls_pass_state kept = {
        .pass = LS_PASS_OF_WRITERS, .bytes = writers, .before = before, .after = after};
    ls_step_noise noise = {.seed = 1};
    ls_pass_trace trace;
    ls_pass_trace_step(instance, &inputs, &noise, &kept, &trace);
    cr_assert(kept.is_kept);
}

static void expect_writers(uint8_t writers, uint32_t first, bool has_later)
{
    cr_expect_eq(ls_pass_first_writer(writers), first, "%u", writers);
    cr_expect_eq(ls_pass_has_later_writers(writers), has_later, "%u", writers);
}

Test(pass_trace, writers_are_those_of_the_newest_step_that_wrote)
{
    ls_sim_config config = ls_sim_config_default(&written);
    ls_sim_instance *instance = NULL;
    uint8_t writers[sizeof(written_state)] = {0};
    ls_text why = {{0}};
    cr_assert_eq(ls_sim_instance_create(&written, &config, ls_allocator_heap(), &instance, &why),
                 LS_OK, "%s", why.bytes);
    step_with_writers(instance, writers);
    expect_writers(writers[offsetof(written_state, by_first)], 0, false);
    expect_writers(writers[offsetof(written_state, by_all)], 0, true);
    expect_writers(writers[offsetof(written_state, by_last)], 1, false);
    expect_writers(writers[offsetof(written_state, by_none)], LS_NO_PASS, false);
    step_with_writers(instance, writers);
    expect_writers(writers[offsetof(written_state, by_first)], 0, false);
    expect_writers(writers[offsetof(written_state, by_all)], 1, false);
    expect_writers(writers[offsetof(written_state, by_last)], 1, false);
    step_with_writers(instance, writers);
    expect_writers(writers[offsetof(written_state, by_all)], 0, true);
    ls_sim_instance_destroy(instance);
}

/* ---- noise in registers ---- */

#if defined(__x86_64__) && defined(__ELF__)
static uint64_t found[4];

static void look_into_registers(const ls_step *step)
{
    uint64_t in_argument, in_result, in_saved;
    double in_float;
    __asm__ volatile("" : "=d"(in_argument), "=a"(in_result), "=b"(in_saved), "=x"(in_float));
    found[0] = in_argument;
    found[1] = in_result;
    found[2] = in_saved;
    memcpy(&found[3], &in_float, sizeof in_float);
    cr_assert_eq(step->inputs->tick, 7);
}

Test(pass_trace, variable_that_is_not_set_is_noise_in_any_register)
{
    const ls_tick_inputs inputs = {.tick = 7};
    const ls_step step = {.inputs = &inputs};
    const ls_pass pass = {"look", look_into_registers};
    for (uint64_t noise = 1; noise < UINT64_MAX / 5; noise *= 5) {
        ls_step_noise_call(noise, &step, &pass);
        for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
            cr_expect_eq(found[i], noise, "register %zu", i);
        }
    }
}
#endif

/* ---- write_trace ---- */

enum {
    TICKS = 150,
};

/* A step of a match, traced. */
typedef struct traced {
    diagnosed_match match;
    ls_replay_stretch stretch;
    const ls_schema *schema;
    explain_write_trace trace;
} traced;

static void open_traced(traced *made, const ls_simulation *simulation)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    diagnosed_match_open(&made->match, simulation, &config);
    diagnosed_match_run(&made->match, TICKS);
    cr_assert_eq(
        ls_replay_window_stretch(made->match.server.window, TICKS - 1, TICKS, &made->stretch),
        LS_OK);
    made->schema = ls_sim_instance_schema(made->match.server.instance);
}

static void close_traced(traced *made)
{
    diagnosed_match_close(&made->match);
}

static void trace_field(traced *made, const char *name, bool wants_watch)
{
    const ls_sim_instance *instance = made->match.server.instance;
    explain_field_choice choice;
    ls_text why = {{0}};
    cr_assert_eq(explain_field_choice_parse(made->schema, name, &choice, &why), LS_OK, "%s",
                 why.bytes);
    const explain_write_request request = {
        .choices = &choice, .choice_count = 1, .wants_watch = wants_watch};
    cr_assert_eq(explain_write_trace_run(ls_sim_instance_simulation(instance),
                                         ls_sim_instance_config(instance), &made->stretch, &request,
                                         &made->trace, &why),
                 LS_OK, "%s", why.bytes);
}

Test(write_trace, every_write_is_told_with_its_pass_and_instruction)
{
    traced made;
    if (!ls_ability_is_there(LS_ABILITY_WRITE_TRACES, NULL)) {
        cr_skip_test("writes cannot be watched on this platform");
    }
    open_traced(&made, fault_simulation());
    trace_field(&made, "sum", true);
    /* gather: once for each slot's size, and once for each of its two bytes */
    cr_expect(made.trace.is_watched);
    cr_assert_geq(made.trace.count, 1, "the compiler may keep the sum in a register");
    for (uint32_t i = 0; i < made.trace.list_count; i++) {
        const explain_field_write *write = &made.trace.writes[i];
        cr_expect_eq(write->pass, 0);
        cr_expect_str_eq(write->place.field->path, "sum");
        cr_expect_neq(write->instruction, 0);
        cr_expect(i == 0 || memcmp(write->before, write[-1].after, 8) == 0,
                  "each write begins with what the last one left");
    }
    explain_write_trace_release(&made.trace);
    trace_field(&made, "ticks", true);
    cr_assert_eq(made.trace.count, 1);
    cr_expect_eq(made.trace.writes[0].pass, 2);
    char text[64];
    explain_field_write_value(&made.trace.writes[0], false, text, sizeof text);
    cr_expect_str_eq(text, "149 ticks");
    explain_field_write_value(&made.trace.writes[0], true, text, sizeof text);
    cr_expect_str_eq(text, "150 ticks");
    explain_write_trace_release(&made.trace);
    close_traced(&made);
}

Test(write_trace, a_write_of_the_old_value_is_told_too)
{
    traced made;
    if (!ls_ability_is_there(LS_ABILITY_WRITE_TRACES, NULL)) {
        cr_skip_test("writes cannot be watched on this platform");
    }
    open_traced(&made, fault_simulation());
    trace_field(&made, "wrong", true); /* stays 0 */
    cr_assert_eq(made.trace.count, 1);
    cr_expect_eq(made.trace.writes[0].pass, FAULT_PASS);
    cr_expect_eq(memcmp(made.trace.writes[0].before, made.trace.writes[0].after, 4), 0);
    explain_write_trace_release(&made.trace);
    trace_field(&made, "wrong", false);
    cr_expect_eq(made.trace.count, 0, "a pass that changes nothing cannot be seen from outside");
    explain_write_trace_release(&made.trace);
    close_traced(&made);
}

/* Replays the list on the field's bytes and compares with the state after the step. */
static void expect_leads_to_the_end(traced *made, const char *name)
{
    const ls_sim_instance *instance = made->match.server.instance;
    size_t bytes = ls_sim_instance_state_bytes(instance);
    explain_field_choice choice;
    cr_assert_eq(explain_field_choice_parse(made->schema, name, &choice, NULL), LS_OK);
    static uint8_t state[1 << 17];
    cr_assert_leq(bytes, sizeof state);
    ls_sim_instance *before = made->match.client.instance;
    cr_assert_eq(ls_replay_stretch_load(&made->stretch, before), LS_OK);
    cr_assert_eq(ls_replay_stretch_run(&made->stretch, before, TICKS - 1), LS_OK);
    memcpy(state, ls_sim_instance_view(before), bytes);
    for (uint32_t i = 0; i < made->trace.list_count; i++) {
        const explain_field_write *write = &made->trace.writes[i];
        size_t size = ls_field_type_bytes(write->place.field->type);
        cr_assert_eq(memcmp(state + write->place.offset, write->before, size), 0);
        memcpy(state + write->place.offset, write->after, size);
    }
    const uint8_t *after = ls_sim_instance_view(instance);
    for (size_t offset = 0; offset < bytes; offset++) {
        ls_schema_place place = ls_schema_at(made->schema, offset);
        if (explain_field_choice_has(&choice, &place)) {
            cr_assert_eq(state[offset], after[offset], "%s, byte %zu", name, offset);
        }
    }
}

Test(write_trace, the_writes_lead_from_the_old_state_to_the_new_one)
{
    static const char *const names[] = {"bodies.position.x", "bodies.angle", "ships.buttons",
                                        "shots.ticks_left", "match.pairs"};
    uint64_t writes = 0;
    traced made;
    open_traced(&made, ls_arena_simulation());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (uint32_t way = 0; way < 2; way++) {
            trace_field(&made, names[i], way == 1);
            expect_leads_to_the_end(&made, names[i]);
            writes += made.trace.count;
            explain_write_trace_release(&made.trace);
        }
    }
    cr_expect_gt(writes, 100, "something moved");
    close_traced(&made);
}

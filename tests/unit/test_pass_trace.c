#include "lockstep/common/diagnosis/pass_trace.h"

#include "lockstep/tests/support/arena_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

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

static ls_pass_trace sample(void)
{
    return (ls_pass_trace){.tick = 7, .pass_count = 3, .before = 1, .state_hashes = {2, 3, 4}};
}

Test(pass_trace, comparing_names_the_first_pass_that_differs)
{
    uint32_t pass = 99;
    ls_pass_trace a = sample();
    ls_pass_trace b = sample();
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
    ls_pass_trace a = sample();
    ls_pass_trace b = sample();
    b.tick++;
    cr_expect_eq(ls_pass_trace_compare(&a, &b, &pass), LS_PASS_UNKNOWN);
    b = sample();
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

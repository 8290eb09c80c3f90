#include "lockstep/common/diagnosis/step_noise.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/tools/synctest/diagnosis.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/player.h"
#include "lockstep/tools/synctest/tape.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <signal.h>
#include <string.h>

/* ==== memory ==== */

static synctest_page_memory memory;

/* Hardly two of its bytes are the same, as they are when one byte fills all. */
static void expect_noise(const uint8_t *bytes, size_t byte_count)
{
    uint32_t repeated = 0;
    for (size_t i = 1; i < byte_count; i++) {
        repeated += bytes[i] == bytes[i - 1];
    }
    cr_expect_lt(repeated, byte_count / 8);
}

Test(synctest_memory, blocks_come_zeroed_and_can_be_given_back)
{
    for (uint32_t layout = 0; layout < 4; layout++) {
        synctest_page_memory_init(&memory, layout);
        uint8_t *blocks[SYNCTEST_PAGE_BLOCKS_MAX];
        for (uint32_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
            blocks[i] = ls_allocate(&memory.allocator, 100 + 50 * i);
            cr_assert_not_null(blocks[i]);
            cr_assert_eq((uintptr_t)blocks[i] % 64, 0);
            cr_assert_eq(blocks[i][99 + 50 * i], 0);
            memset(blocks[i], 1, 100 + 50 * i);
        }
        cr_assert_null(ls_allocate(&memory.allocator, 1), "there is no place for one more");
        for (uint32_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
            ls_release(&memory.allocator, blocks[i]);
        }
        ls_release(&memory.allocator, NULL);
        cr_assert_null(ls_allocate(&memory.allocator, SIZE_MAX / 2 + 1));
        cr_assert_not_null(ls_allocate(&memory.allocator, 1));
    }
}

Test(synctest_memory, layouts_lie_at_other_addresses_and_places_in_a_page)
{
    static synctest_page_memory memories[4];
    uintptr_t places[4];
    for (uint32_t layout = 0; layout < 4; layout++) {
        synctest_page_memory_init(&memories[layout], layout);
        places[layout] = (uintptr_t)ls_allocate(&memories[layout].allocator, 5000);
        for (uint32_t other = 0; other < layout; other++) {
            cr_assert_neq(places[layout] % 4096, places[other] % 4096);
        }
    }
}

Test(synctest_memory, a_block_can_be_written_again_after_it_was_forbidden)
{
    synctest_page_memory_init(&memory, 0);
    uint8_t *block = ls_allocate(&memory.allocator, 10000);
    synctest_page_memory_set_writable(&memory, block + 9999, false);
    cr_assert_eq(block[5000], 0);
    synctest_page_memory_set_writable(&memory, block, true);
    block[5000] = 1;
}

Test(synctest_memory, noise_is_around_a_block_that_touches_a_forbidden_page)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_END);
    uint8_t *block = ls_allocate(&memory.allocator, 5003);
    cr_assert_eq((uintptr_t)(block + 5003 + 5) % 4096, 0, "the rest is for the alignment");
    cr_assert(block[0] == 0 && block[5002] == 0);
    expect_noise(block - 100, 100);
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_BEGINNING);
    block = ls_allocate(&memory.allocator, 5003);
    cr_assert_eq((uintptr_t)block % 4096, 0);
    cr_assert(block[0] == 0 && block[5002] == 0);
    expect_noise(block + 5003, 100);
}

Test(synctest_memory, a_block_that_is_not_used_whole_has_noise_around_what_is_used)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_END);
    uint8_t *block = ls_allocate(&memory.allocator, 1000);
    synctest_page_memory_surround(&memory, block + 100, 800);
    cr_assert(block[100] == 0 && block[899] == 0);
    expect_noise(block, 100);
    expect_noise(block + 900, 100);
    synctest_page_memory_init(&memory, 0);
    block = ls_allocate(&memory.allocator, 1000);
    synctest_page_memory_surround(&memory, block + 100, 800);
    cr_assert(block[99] == 0 && block[900] == 0, "not in the reference");
}

Test(synctest_memory, the_byte_behind_a_block_at_the_end_is_forbidden, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_END);
    uint8_t *block = ls_allocate(&memory.allocator, 5008);
    *(volatile uint8_t *)(block + 5008) = 1;
}

Test(synctest_memory, the_byte_before_a_block_at_the_beginning_is_forbidden, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_BEGINNING);
    uint8_t *block = ls_allocate(&memory.allocator, 5008);
    *(volatile uint8_t *)(block - 1) = 1;
}

Test(synctest_memory, a_forbidden_block_cannot_be_written, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, 0);
    uint8_t *block = ls_allocate(&memory.allocator, 10000);
    synctest_page_memory_set_writable(&memory, block, false);
    *(volatile uint8_t *)&block[9999] = 1;
}

Test(synctest_memory, the_page_behind_a_block_is_forbidden, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, 0);
    uint8_t *block = ls_allocate(&memory.allocator, 4096);
    *(volatile uint8_t *)(block + 4096) = 1;
}

/* ---- inputs ---- */

static const uint8_t some_bytes[] = {7, 8, 9};

/* Two slots, the first with three bytes. */
static ls_tick_inputs lay_inputs(synctest_inputs_layout layout)
{
    static synctest_laid_inputs laid;
    const ls_slot_input slots[] = {{some_bytes, 3, LS_EVENT_JOINED}, {NULL, 0, 0}};
    cr_assert_eq(synctest_laid_inputs_init(&laid, layout), LS_OK);
    return synctest_laid_inputs_set(&laid, &(ls_tick_inputs){5, 2, slots});
}

Test(synctest_memory, laid_inputs_are_the_same_in_every_layout)
{
    for (uint32_t i = SYNCTEST_INPUTS_BEFORE_ZEROES; i <= SYNCTEST_INPUTS_BEFORE_NOISE; i++) {
        ls_tick_inputs inputs = lay_inputs((synctest_inputs_layout)i);
        cr_assert(inputs.tick == 5 && inputs.slot_count == 2);
        cr_assert(inputs.slots[0].size == 3 && inputs.slots[0].events == LS_EVENT_JOINED);
        cr_assert_arr_eq(inputs.slots[0].bytes, some_bytes, 3);
        cr_assert_eq(inputs.slots[1].size, 0);
    }
}

Test(synctest_memory, zeroes_follow_an_input_in_the_reference_and_noise_elsewhere)
{
    ls_tick_inputs inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_ZEROES);
    cr_expect(inputs.slots[0].bytes[3] == 0 && inputs.slots[0].bytes[500] == 0);
    cr_expect(inputs.slots[2].size == 0 && inputs.slots[2].bytes == NULL);
    inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_NOISE);
    expect_noise(inputs.slots[0].bytes + 3, 500);
    expect_noise((const uint8_t *)&inputs.slots[2], sizeof inputs.slots[2]);
}

Test(synctest_memory, the_byte_behind_an_input_at_a_fence_is_forbidden, .signal = SIGSEGV)
{
    ls_tick_inputs inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_FENCE);
    (void)*(const volatile uint8_t *)&inputs.slots[0].bytes[3];
}

Test(synctest_memory, the_slot_behind_the_last_is_forbidden_at_a_fence, .signal = SIGSEGV)
{
    ls_tick_inputs inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_FENCE);
    (void)*(const volatile uint32_t *)&inputs.slots[2].events;
}

/* ---- the stack ---- */

typedef struct stack_seen {
    uint8_t bytes[64];
} stack_seen;

/* Looks at a local that it never wrote. */
__attribute__((noinline)) static void look(void *user)
{
    stack_seen *seen = user;
    uint8_t unwritten[sizeof seen->bytes];
    __asm__ volatile("" : "=m"(unwritten)); /* for all the compiler knows it was written here */
    memcpy(seen->bytes, unwritten, sizeof unwritten);
}

Test(synctest_memory, a_step_on_a_filled_stack_finds_the_filling)
{
    static const stack_seen zeroes;
    stack_seen seen[3];
    ls_step_noise noise = {.kind = LS_NOISE_ZERO};
    ls_step_noise_run(&noise, look, &seen[0]);
    cr_expect_eq(memcmp(&seen[0], &zeroes, sizeof zeroes), 0);
    for (uint32_t i = 0; i < 3; i++) {
        noise = (ls_step_noise){.seed = 1 + i, .kind = LS_NOISE_RANDOM, .is_deep = i == 2};
        ls_step_noise_run(&noise, look, &seen[i]);
        expect_noise(seen[i].bytes, sizeof seen[i].bytes);
        for (uint32_t other = 0; other < i; other++) {
            cr_expect_neq(memcmp(&seen[i], &seen[other], sizeof seen[i]), 0);
        }
    }
}

Test(synctest_memory, the_reference_is_filled_with_zero_and_nothing_else_is)
{
    for (uint32_t tick = 0; tick < 20; tick++) {
        uint64_t noise = synctest_noise(true, 0, tick, 1);
        cr_assert_eq(synctest_noise(false, 0, tick, 1), 0);
        cr_assert_neq(noise, 0);
        cr_assert_neq(noise, synctest_noise(true, 1, tick, 1), "other in each run");
        cr_assert_neq(noise, synctest_noise(true, 0, tick + 1, 1));
        cr_assert_neq(noise, synctest_noise(true, 0, tick, 2));
    }
}

Test(synctest_memory, a_fill_of_any_size_stays_in_its_bytes)
{
    for (size_t size = 0; size < 40; size++) {
        uint8_t bytes[64] = {0};
        synctest_noise_fill(bytes, size, 7);
        for (size_t i = size; i < sizeof bytes; i++) {
            cr_assert_eq(bytes[i], 0);
        }
        synctest_noise_fill(bytes, size, 0);
        cr_assert_eq(size == 0 ? 0 : bytes[size - 1], 0);
    }
}

static double third(void)
{
    volatile double one = 1, three = 3;
    return one / three;
}

Test(synctest_memory, moved_rounding_gives_other_results_and_can_be_set_back)
{
    ls_float_mode kept = ls_float_mode_now();
    double usual = third();
    uint32_t differences = 0;
    for (uint32_t tick = 0; tick < 3; tick++) {
        ls_float_mode moved = ls_float_mode_moved(tick);
        ls_float_mode_set(moved);
        cr_expect_not(ls_float_mode_equal(kept, ls_float_mode_now()), "tick %u", tick);
        differences += third() != usual;
        ls_float_mode_set(kept);
        cr_assert(ls_float_mode_equal(kept, ls_float_mode_now()));
        cr_assert_eq(third(), usual);
    }
    cr_assert_eq(fegetround(), FE_TONEAREST);
    cr_assert_gt(differences, 0);
}

Test(synctest_memory, flushed_denormals_are_zero)
{
    if (!ls_float_mode_can_flush()) {
        cr_skip_test("how this processor flushes denormals is not known");
    }
    ls_float_mode kept = ls_float_mode_now();
    volatile double small = DBL_MIN;
    cr_expect_gt(small / 4, 0);
    ls_float_mode_flush();
    volatile double flushed = small / 4;
    ls_float_mode_set(kept);
    cr_expect_eq(flushed, 0);
    cr_expect_gt(small / 4, 0);
}

/* ==== diagnosis ==== */

static uint32_t bit(synctest_perturbation_id perturbation)
{
    return UINT32_C(1) << perturbation;
}

static const synctest_outcome differs = {.kind = SYNCTEST_OUTCOME_DIFFERS};

static void expect_class(synctest_perturbation_id perturbation, const synctest_evidence *evidence,
                         const char *class)
{
    cr_expect_str_eq(synctest_diagnosis_class(perturbation, &differs, evidence), class);
}

static void expect_words(synctest_perturbation_id perturbation, const synctest_outcome *outcome,
                         const synctest_evidence *evidence, const char *words)
{
    ls_text cause = {""};
    synctest_diagnosis_cause(perturbation, outcome, evidence, &cause);
    cr_expect(strstr(cause.bytes, words), "no \"%s\" in: %s", words, cause.bytes);
}

Test(synctest_diagnosis, every_perturbation_has_a_class_and_words)
{
    const synctest_evidence evidence = {0};
    for (uint32_t perturbation = 0; perturbation < SYNCTEST_PERTURBATION_COUNT; perturbation++) {
        for (uint32_t kind = SYNCTEST_OUTCOME_DIFFERS; kind < SYNCTEST_OUTCOME_SKIPPED; kind++) {
            synctest_outcome outcome = {.kind = kind};
            ls_text cause = {""};
            synctest_diagnosis_cause((synctest_perturbation_id)perturbation, &outcome, &evidence,
                                     &cause);
            cr_expect_gt(strlen(cause.bytes), 10);
            cr_expect_lt(strlen(cause.bytes), sizeof cause.bytes - 1, "it was cut");
            cr_expect_not_null(synctest_diagnosis_class((synctest_perturbation_id)perturbation,
                                                        &outcome, &evidence));
        }
    }
    for (uint32_t fault = 0; fault <= SYNCTEST_FAULT_COUNT; fault++) {
        synctest_outcome outcome = {.kind = SYNCTEST_OUTCOME_FAULT, .fault = fault};
        cr_expect_not_null(
            synctest_diagnosis_class(SYNCTEST_PERTURBATION_STILL, &outcome, &evidence));
    }
}

Test(synctest_diagnosis, the_find_of_one_perturbation_explains_those_of_others)
{
    synctest_evidence evidence = {.failed = bit(SYNCTEST_PERTURBATION_AGAIN)};
    expect_class(SYNCTEST_PERTURBATION_AGAIN, &evidence, "left from the last match");
    evidence.failed |= bit(SYNCTEST_PERTURBATION_ROLLBACK);
    expect_class(SYNCTEST_PERTURBATION_AGAIN, &evidence, "outside the saved state");
    evidence.failed |= bit(SYNCTEST_PERTURBATION_ADDRESSES);
    expect_class(SYNCTEST_PERTURBATION_AGAIN, &evidence, "order of addresses");
    expect_class(SYNCTEST_PERTURBATION_SAVE, &evidence, "order of addresses");
    expect_class(SYNCTEST_PERTURBATION_STACK, &evidence, "uninitialised memory");
    evidence.failed |= bit(SYNCTEST_PERTURBATION_FRESH);
    expect_class(SYNCTEST_PERTURBATION_ROLLBACK, &evidence, "random stream");
    evidence.failed |= bit(SYNCTEST_PERTURBATION_STILL);
    expect_class(SYNCTEST_PERTURBATION_STACK, &evidence, "run to run");
    expect_words(SYNCTEST_PERTURBATION_STACK, &differs, &evidence, "see still");
    expect_words(SYNCTEST_PERTURBATION_STILL, &differs, &evidence, "in the same way each time");
}

static synctest_outcome repeated(synctest_repeats repeats)
{
    return (synctest_outcome){.kind = SYNCTEST_OUTCOME_DIFFERS, .repeats = repeats};
}

/* Where `still` was not asked for. */
Test(synctest_diagnosis, a_recording_that_no_replay_repeats_explains_what_any_perturbation_finds)
{
    const synctest_evidence evidence = {0};
    const synctest_outcome recorded = repeated((synctest_repeats){.played = 4,
                                                                  .differing = 4,
                                                                  .alike = 4,
                                                                  .controls = 3,
                                                                  .recordings = 3,
                                                                  .recorded_alike = 3});
    cr_expect_not(synctest_diagnosis_is_race(&recorded));
    expect_words(SYNCTEST_PERTURBATION_DRAW, &recorded, &evidence, "--only still");
    cr_expect_str_eq(synctest_diagnosis_class(SYNCTEST_PERTURBATION_DRAW, &recorded, &evidence),
                     "run to run");
    expect_words(SYNCTEST_PERTURBATION_STILL, &recorded, &evidence, "bot()");
}

Test(synctest_diagnosis, a_run_that_comes_out_in_several_ways_is_a_race_and_says_how_often)
{
    const struct {
        synctest_repeats
            repeats; /* played, differing, alike, controls, steady, recordings, alike */
        const char *words;
    } races[] = {
        {{4, 1, 1, 3, 3, 0, 0}, "rare: seen 1 of 4 times"},
        {{4, 4, 1, 3, 3, 0, 0}, "seen 4 of 4 times, and not the same each time"},
        {{4, 4, 4, 3, 2, 0, 0}, "rare: seen 3 of 4, in the reference"},
        {{4, 4, 4, 3, 0, 3, 0}, "rare: seen 1 of 7, in the reference"},
        {{4, 4, 4, 3, 0, 3, 2}, "rare: seen 3 of 7, in the reference"},
    };
    const synctest_evidence evidence = {0};
    for (size_t i = 0; i < sizeof races / sizeof races[0]; i++) {
        const synctest_outcome outcome = repeated(races[i].repeats);
        cr_expect(synctest_diagnosis_is_race(&outcome), "%zu", i);
        for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
            cr_expect_str_eq(synctest_diagnosis_class(id, &outcome, &evidence), "race");
            expect_words((synctest_perturbation_id)id, &outcome, &evidence, races[i].words);
        }
    }
    const synctest_outcome steady = repeated((synctest_repeats){4, 4, 4, 3, 3, 0, 0});
    cr_expect_not(synctest_diagnosis_is_race(&steady));
    cr_expect_not(synctest_diagnosis_is_race(&differs), "one that was not repeated");
}

Test(synctest_diagnosis, a_variable_that_was_written_is_named_where_it_explains_something)
{
    synctest_evidence evidence = {.failed = bit(SYNCTEST_PERTURBATION_SAVE),
                                  .written_variable = "momentum",
                                  .writing_pass = "drift"};
    ls_text cause = {""};
    expect_words(SYNCTEST_PERTURBATION_SAVE, &differs, &evidence,
                 "pass drift writes to the variable momentum");
    synctest_diagnosis_cause(SYNCTEST_PERTURBATION_STACK, &differs, &evidence, &cause);
    cr_assert_null(strstr(cause.bytes, "momentum"));
    evidence.is_written_thread_local = true;
    expect_words(SYNCTEST_PERTURBATION_SAVE, &differs, &evidence,
                 "writes to the thread-local variable momentum");
    evidence.failed |= bit(SYNCTEST_PERTURBATION_FRESH);
    synctest_diagnosis_cause(SYNCTEST_PERTURBATION_SAVE, &differs, &evidence, &cause);
    cr_assert_null(strstr(cause.bytes, "momentum"));
}

Test(synctest_diagnosis, the_words_for_an_engine_name_its_save_and_not_the_state_block)
{
    const synctest_evidence game = {0};
    const synctest_evidence engine = {.is_engine = true};
    expect_words(SYNCTEST_PERTURBATION_SAVE, &differs, &game, "not in the state block");
    expect_words(SYNCTEST_PERTURBATION_SAVE, &differs, &engine, "not in what `save` returns");
    expect_words(SYNCTEST_PERTURBATION_ROLLBACK, &differs, &engine, "`load` does not take back");
    expect_words(SYNCTEST_PERTURBATION_STACK, &differs, &engine, "before it is written");
    expect_class(SYNCTEST_PERTURBATION_SAVE, &engine, "outside the saved state");
}

Test(synctest_diagnosis, machine_code_and_values_add_to_the_words)
{
    synctest_evidence evidence = {.failed = bit(SYNCTEST_PERTURBATION_AGAINST)};
    expect_words(SYNCTEST_PERTURBATION_AGAINST, &differs, &evidence, "order of evaluation");
    evidence.has_fused_multiply = true;
    expect_words(SYNCTEST_PERTURBATION_AGAINST, &differs, &evidence, "-ffp-contract=off");
    synctest_outcome zero = {.kind = SYNCTEST_OUTCOME_DIFFERS,
                             .oddity = SYNCTEST_ODDITY_NEGATIVE_ZERO};
    expect_words(SYNCTEST_PERTURBATION_ROUNDING, &zero, &evidence, "sign of zero");
    synctest_outcome crash = {.kind = SYNCTEST_OUTCOME_CRASHED};
    cr_assert_str_eq(synctest_diagnosis_class(SYNCTEST_PERTURBATION_STILL, &crash, &evidence),
                     "crash");
    cr_assert_str_eq(synctest_diagnosis_class(SYNCTEST_PERTURBATION_BOUNDS, &crash, &evidence),
                     "out of bounds");
    evidence.failed |= bit(SYNCTEST_PERTURBATION_BOUNDS);
    cr_assert_str_eq(synctest_diagnosis_class(SYNCTEST_PERTURBATION_ADDRESSES, &crash, &evidence),
                     "out of bounds");
    evidence.has_sanitizer_words = true;
    cr_assert_str_eq(synctest_diagnosis_class(SYNCTEST_PERTURBATION_STILL, &crash, &evidence),
                     "undefined behaviour");
}

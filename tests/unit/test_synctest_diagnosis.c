#include "lockstep/tools/synctest/diagnosis.h"

#include "lockstep/tools/synctest/compare.h"

#include <criterion/criterion.h>
#include <string.h>

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

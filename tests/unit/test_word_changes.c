#include "lockstep/common/diagnosis/state_history.h"

#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    WORDS = 300,
    ROUNDS = 400,
};

/* Checks that the runs hold all words that differ, begin and end with one, and lie two or more
 * apart; returns how many there are. */
static uint32_t check_runs(const ls_word_blocks *blocks)
{
    ls_word_run run = {0, 0};
    size_t before = 0;
    uint32_t runs = 0;
    while (ls_word_changes_next(blocks, &run)) {
        cr_assert(run.first < run.end && run.end <= blocks->count);
        cr_assert(runs == 0 || run.first >= before + 2);
        cr_assert_arr_eq(blocks->before + before, blocks->now + before,
                         (run.first - before) * sizeof(uint64_t));
        cr_assert_neq(blocks->before[run.first], blocks->now[run.first]);
        cr_assert_neq(blocks->before[run.end - 1], blocks->now[run.end - 1]);
        before = run.end;
        runs++;
    }
    cr_assert_arr_eq(blocks->before + before, blocks->now + before,
                     (blocks->count - before) * sizeof(uint64_t));
    return runs;
}

Test(word_changes, runs_hold_all_that_differs)
{
    ls_rng rng = ls_rng_make(1, 1);
    uint32_t runs = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t before[WORDS] = {0};
        uint64_t now[WORDS] = {0};
        const ls_word_blocks blocks = {before, now, ls_rng_below(&rng, WORDS + 1)};
        for (uint32_t i = ls_rng_below(&rng, 40); i > 0; i--) {
            now[ls_rng_below(&rng, WORDS)]++;
        }
        runs += check_runs(&blocks);
    }
    cr_expect_gt(runs, ROUNDS);
}

Test(word_changes, equal_blocks_and_none_have_no_run)
{
    const uint64_t words[WORDS] = {1, 2, 3};
    ls_word_run run = {0, 0};
    cr_expect_not(ls_word_changes_next(&(ls_word_blocks){words, words, WORDS}, &run));
    cr_expect_not(ls_word_changes_next(&(ls_word_blocks){words, words, 0}, &run));
}

Test(word_changes, a_single_equal_word_does_not_end_a_run)
{
    const uint64_t before[8] = {0};
    const uint64_t now[8] = {1, 0, 1, 0, 0, 1, 1, 0};
    const ls_word_blocks blocks = {before, now, 8};
    ls_word_run run = {0, 0};
    cr_assert(ls_word_changes_next(&blocks, &run));
    cr_expect(run.first == 0 && run.end == 3);
    cr_assert(ls_word_changes_next(&blocks, &run));
    cr_expect(run.first == 5 && run.end == 7);
    cr_expect_not(ls_word_changes_next(&blocks, &run));
    ls_word_figures figures = ls_word_changes_count(&blocks);
    cr_expect(figures.words == 4 && figures.groups == 3);
}

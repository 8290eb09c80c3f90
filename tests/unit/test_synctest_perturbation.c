#include "lockstep/tools/synctest/perturbation.h"

#include <criterion/criterion.h>
#include <string.h>

Test(synctest_perturbation, every_perturbation_has_a_name_of_its_own)
{
    for (uint32_t a = 0; a < SYNCTEST_PERTURBATION_COUNT; a++) {
        const synctest_perturbation *perturbation =
            synctest_perturbation_of((synctest_perturbation_id)a);
        cr_assert_gt(strlen(perturbation->name), 0);
        cr_assert_gt(strlen(perturbation->what), 0);
        cr_assert_geq(perturbation->variants, 1);
        for (uint32_t b = 0; b < a; b++) {
            cr_assert_str_neq(perturbation->name,
                              synctest_perturbation_of((synctest_perturbation_id)b)->name);
        }
    }
}

Test(synctest_perturbation, every_perturbation_has_a_rank_of_its_own_and_still_has_the_first)
{
    cr_assert_eq(synctest_perturbation_rank(SYNCTEST_PERTURBATION_STILL), 0);
    for (uint32_t a = 0; a < SYNCTEST_PERTURBATION_COUNT; a++) {
        uint32_t rank = synctest_perturbation_rank((synctest_perturbation_id)a);
        cr_assert_lt(rank, SYNCTEST_PERTURBATION_COUNT);
        for (uint32_t b = 0; b < a; b++) {
            cr_assert_neq(rank, synctest_perturbation_rank((synctest_perturbation_id)b));
        }
    }
}

Test(synctest_perturbation, a_list_adds_what_it_names)
{
    uint32_t set = UINT32_C(1) << SYNCTEST_PERTURBATION_DRAW;
    bool has_lint = false;
    cr_assert_eq(synctest_perturbation_parse_list("only", "save,stack", &set, &has_lint, NULL),
                 LS_OK);
    cr_assert_eq(set, UINT32_C(1) << SYNCTEST_PERTURBATION_DRAW |
                          UINT32_C(1) << SYNCTEST_PERTURBATION_SAVE |
                          UINT32_C(1) << SYNCTEST_PERTURBATION_STACK);
    cr_assert_not(has_lint);
    cr_assert_eq(synctest_perturbation_parse_list("only", "lint", &set, &has_lint, NULL), LS_OK);
    cr_assert(has_lint);
}

Test(synctest_perturbation, every_name_can_be_listed)
{
    for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
        uint32_t set = 0;
        bool has_lint = false;
        const char *name = synctest_perturbation_of((synctest_perturbation_id)id)->name;
        cr_assert_eq(synctest_perturbation_parse_list("only", name, &set, &has_lint, NULL), LS_OK);
        cr_assert_eq(set, UINT32_C(1) << id);
    }
}

Test(synctest_perturbation, a_list_with_an_unknown_name_adds_nothing_and_says_what_there_is)
{
    const char *bad[] = {"",    "save,", ",save",        "Save",
                         "sav", "saves", "save,nothing", "save stack"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t set = 0;
        bool has_lint = false;
        ls_text why = {""};
        cr_expect_eq(synctest_perturbation_parse_list("only", bad[i], &set, &has_lint, &why),
                     LS_BAD_ARGUMENT);
        cr_expect_eq(set, 0);
        cr_expect(strstr(why.bytes, "rollback"), "%s", why.bytes);
    }
}

Test(synctest_perturbation, joins_are_spread_over_the_match)
{
    cr_assert_eq(synctest_perturbation_join_tick(600, 0), 150);
    cr_assert_eq(synctest_perturbation_join_tick(600, 2), 450);
    cr_assert_eq(synctest_perturbation_join_tick(1, 2), 0);
    cr_assert_eq(synctest_perturbation_join_tick(4000000000u, 2), 3000000000u);
}

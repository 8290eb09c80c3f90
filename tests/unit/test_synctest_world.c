#include "lockstep/tools/synctest/world.h"

#include <criterion/criterion.h>
#include <string.h>

Test(synctest_world, every_world_has_a_name_of_its_own)
{
    for (uint32_t a = 0; a < SYNCTEST_WORLD_COUNT; a++) {
        const synctest_world *world = synctest_world_of((synctest_world_id)a);
        cr_assert_gt(strlen(world->name), 0);
        cr_assert_gt(strlen(world->what), 0);
        cr_assert_geq(world->variants, 1);
        for (uint32_t b = 0; b < a; b++) {
            cr_assert_str_neq(world->name, synctest_world_of((synctest_world_id)b)->name);
        }
    }
}

Test(synctest_world, a_list_adds_what_it_names)
{
    uint32_t set = UINT32_C(1) << SYNCTEST_WORLD_DRAW;
    bool has_lint = false;
    cr_assert_eq(synctest_world_parse_list("save,stack", &set, &has_lint, NULL), LS_OK);
    cr_assert_eq(set, UINT32_C(1) << SYNCTEST_WORLD_DRAW | UINT32_C(1) << SYNCTEST_WORLD_SAVE |
                          UINT32_C(1) << SYNCTEST_WORLD_STACK);
    cr_assert_not(has_lint);
    cr_assert_eq(synctest_world_parse_list("lint", &set, &has_lint, NULL), LS_OK);
    cr_assert(has_lint);
}

Test(synctest_world, every_name_can_be_listed)
{
    for (uint32_t id = 0; id < SYNCTEST_WORLD_COUNT; id++) {
        uint32_t set = 0;
        bool has_lint = false;
        const char *name = synctest_world_of((synctest_world_id)id)->name;
        cr_assert_eq(synctest_world_parse_list(name, &set, &has_lint, NULL), LS_OK);
        cr_assert_eq(set, UINT32_C(1) << id);
    }
}

Test(synctest_world, a_list_with_an_unknown_name_adds_nothing_and_says_what_there_is)
{
    const char *bad[] = {"",    "save,", ",save",        "Save",
                         "sav", "saves", "save,nothing", "save stack"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t set = 0;
        bool has_lint = false;
        ls_text why = {""};
        cr_expect_eq(synctest_world_parse_list(bad[i], &set, &has_lint, &why), LS_BAD_ARGUMENT);
        cr_expect_eq(set, 0);
        cr_expect(strstr(why.bytes, "rollback"), "%s", why.bytes);
    }
}

Test(synctest_world, joins_are_spread_over_the_match)
{
    cr_assert_eq(synctest_world_join_tick(600, 0), 150);
    cr_assert_eq(synctest_world_join_tick(600, 2), 450);
    cr_assert_eq(synctest_world_join_tick(1, 2), 0);
    cr_assert_eq(synctest_world_join_tick(4000000000u, 2), 3000000000u);
}

#include "lockstep/server/match/spectator_table.h"

#include "lockstep/server/match/state_handover.h"

#include <criterion/criterion.h>

#define SECOND LS_NS_PER_SECOND

static ls_origin_budget budget;

static uint32_t spend(uint64_t origin, uint32_t times, uint64_t now_ns)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < times; i++) {
        if (!ls_origin_budget_is_spent(&budget, origin, now_ns)) {
            ls_origin_budget_spend(&budget, origin, now_ns);
            taken++;
        }
    }
    return taken;
}

Test(origin_budget, an_origin_gets_eight_at_once_and_one_every_two_seconds)
{
    cr_expect_eq(spend(5, 20, SECOND), LS_STATES_AT_ONCE);
    cr_expect_eq(spend(5, 20, 3 * SECOND - 1), 0);
    cr_expect_eq(spend(5, 20, 3 * SECOND), 1);
    cr_expect_eq(spend(5, 20, 13 * SECOND), 5);
}

Test(origin_budget, origins_do_not_share_and_the_unknown_one_is_not_limited)
{
    spend(5, 20, SECOND);
    cr_expect_eq(spend(6, 20, SECOND), LS_STATES_AT_ONCE);
    cr_expect_eq(spend(0, 1000, SECOND), 1000);
}

Test(origin_budget, nobody_waits_for_longer_than_sixteen_shares)
{
    for (uint32_t i = 0; i < 1000; i++) { /* all leave at once */
        ls_origin_budget_spend(&budget, 5, SECOND);
    }
    cr_expect(ls_origin_budget_is_spent(&budget, 5, 18 * SECOND));
    cr_expect_not(ls_origin_budget_is_spent(&budget, 5, 19 * SECOND));
}

Test(origin_budget, the_one_that_owes_least_is_forgotten)
{
    spend(1000, 8, SECOND);
    for (uint64_t origin = 1; origin < LS_ORIGIN_BUDGET_ROWS; origin++) {
        spend(origin, 7, SECOND);
    }
    spend(1001, 1, SECOND);
    cr_expect_eq(spend(1, 8, SECOND), 8, "it was forgotten");
    cr_expect_eq(spend(1000, 8, SECOND), 0, "it was not");
}

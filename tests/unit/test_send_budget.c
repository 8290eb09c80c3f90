#include "lockstep/server/match/state_handover.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

Test(send_budget, holds_half_a_second_at_first_and_at_most)
{
    ls_send_budget budget = ls_send_budget_make(1000, LS_NS_PER_SECOND);
    cr_assert_eq(budget.left, 500);
    ls_send_budget_fill(&budget, 100 * LS_NS_PER_SECOND);
    cr_assert_eq(budget.left, 500);
    cr_assert_not(ls_send_budget_is_spent(&budget));
}

Test(send_budget, is_spent_when_nothing_is_left_and_fills_again)
{
    ls_send_budget budget = ls_send_budget_make(1000, 0);
    ls_send_budget_spend(&budget, 499);
    cr_assert_not(ls_send_budget_is_spent(&budget));
    ls_send_budget_spend(&budget, 1);
    cr_assert(ls_send_budget_is_spent(&budget));
    ls_send_budget_spend(&budget, 50); /* overdrawn by what was sent last */
    ls_send_budget_fill(&budget, 50 * LS_NS_PER_MS);
    cr_assert(ls_send_budget_is_spent(&budget));
    ls_send_budget_fill(&budget, 51 * LS_NS_PER_MS);
    cr_assert_not(ls_send_budget_is_spent(&budget));
}

Test(send_budget, keeps_its_rate_however_often_it_is_filled)
{
    ls_send_budget budget = ls_send_budget_make(UINT64_C(1) << 30, 0);
    uint64_t sent = 0;
    for (uint64_t now_ns = 0; now_ns <= LS_NS_PER_SECOND; now_ns += 12345) {
        ls_send_budget_fill(&budget, now_ns);
        while (!ls_send_budget_is_spent(&budget)) {
            ls_send_budget_spend(&budget, 1200);
            sent += 1200;
        }
    }
    uint64_t allowed = (UINT64_C(1) << 30) * 3 / 2; /* a second, and what it held at first */
    cr_assert_leq(sent, allowed + 1200);
    cr_assert_geq(sent, allowed - allowed / 1000);
}

Test(send_budget, the_largest_rate_does_not_overflow)
{
    ls_send_budget budget = ls_send_budget_make(UINT64_C(1) << 40, 0);
    ls_send_budget_spend(&budget, UINT64_C(1) << 41);
    ls_send_budget_fill(&budget, UINT64_MAX);
    cr_assert_eq(budget.left, -(INT64_C(1) << 39), "a second's worth at most");
}

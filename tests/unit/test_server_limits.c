#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/pending_connections.h"
#include "lockstep/server/match/spectator_table.h"
#include "lockstep/server/match/state_handover.h"

#include <criterion/criterion.h>

/* ---- send_budget ---- */

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

/* ---- lapsed_offers ---- */

#define NOW_NS (100 * LS_NS_PER_SECOND)

Test(lapsed_offers, an_origin_is_remembered_for_a_minute_after_its_newest_lapse)
{
    ls_lapsed_offers lapsed = {0};
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 7, NOW_NS));
    ls_lapsed_offers_note(&lapsed, 7, NOW_NS);
    cr_assert(ls_lapsed_offers_has(&lapsed, 7, NOW_NS));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 8, NOW_NS));
    uint64_t again_ns = NOW_NS + LS_LAPSED_OFFERS_NS - 1;
    cr_assert(ls_lapsed_offers_has(&lapsed, 7, again_ns));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 7, again_ns + 1));
    ls_lapsed_offers_note(&lapsed, 7, again_ns);
    cr_assert(ls_lapsed_offers_has(&lapsed, 7, again_ns + LS_LAPSED_OFFERS_NS - 1));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 7, again_ns + LS_LAPSED_OFFERS_NS));
}

Test(lapsed_offers, an_origin_that_is_not_known_is_never_remembered)
{
    ls_lapsed_offers lapsed = {0};
    ls_lapsed_offers_note(&lapsed, 0, 1);
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 0, 1));
}

Test(lapsed_offers, the_origin_whose_newest_lapse_is_oldest_makes_room)
{
    ls_lapsed_offers lapsed = {0};
    for (uint64_t origin = 1; origin <= LS_LAPSED_OFFERS_MAX; origin++) {
        ls_lapsed_offers_note(&lapsed, origin, NOW_NS + origin);
    }
    ls_lapsed_offers_note(&lapsed, 1, NOW_NS + 100);
    for (uint64_t origin = 1; origin <= LS_LAPSED_OFFERS_MAX; origin++) {
        cr_assert(ls_lapsed_offers_has(&lapsed, origin, NOW_NS + 100));
    }
    ls_lapsed_offers_note(&lapsed, 1000, NOW_NS + 101);
    cr_assert(ls_lapsed_offers_has(&lapsed, 1000, NOW_NS + 101));
    cr_assert(ls_lapsed_offers_has(&lapsed, 1, NOW_NS + 101));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 2, NOW_NS + 101));
    cr_assert(ls_lapsed_offers_has(&lapsed, 3, NOW_NS + 101));
}

/* ---- origin_budget ---- */

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

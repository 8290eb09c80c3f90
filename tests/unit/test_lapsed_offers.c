#include "lockstep/server/match/pending_connections.h"

#include <criterion/criterion.h>

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

#include "lockstep/common/base/slot_set.h"

#include <criterion/criterion.h>

enum {
    LAST = LS_PLAYERS_MAX - 1
};

static ls_slot_set set_of(uint32_t a, uint32_t b)
{
    ls_slot_set set = ls_slot_set_of(a);
    ls_slot_set_add(&set, b);
    return set;
}

Test(slot_set, every_slot_is_added_and_removed_alone)
{
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        ls_slot_set set = {{0}};
        ls_slot_set_add(&set, slot);
        for (uint32_t other = 0; other < LS_PLAYERS_MAX; other++) {
            cr_assert_eq(ls_slot_set_has(&set, other), other == slot, "%u of {%u}", other, slot);
        }
        cr_assert_eq(ls_slot_set_next(set, 0), slot);
        cr_assert_eq(ls_slot_set_next(set, slot), slot);
        cr_assert_eq(ls_slot_set_next(set, slot + 1), LS_PLAYERS_MAX);
        ls_slot_set_remove(&set, slot);
        cr_assert(ls_slot_set_is_empty(set));
    }
}

Test(slot_set, a_loop_meets_the_slots_of_a_set_upwards)
{
    ls_slot_set set = {{0}};
    uint32_t met = 0;
    uint32_t from = 0;
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot += 3) {
        ls_slot_set_add(&set, slot);
    }
    LS_EACH_SLOT (slot, set) {
        cr_assert_eq(slot, 3 * met);
        cr_assert_geq(slot, from);
        from = slot + 1;
        met++;
    }
    cr_assert_eq(met, (LS_PLAYERS_MAX + 2) / 3);
    cr_assert_eq(met, ls_slot_set_count(set));
    LS_EACH_SLOT (slot, ((ls_slot_set){{0}})) {
        cr_assert_fail("slot %u of none", slot);
    }
}

Test(slot_set, sets_are_joined_cut_and_compared)
{
    ls_slot_set both = set_of(0, LAST);
    cr_assert(
        ls_slot_set_is_same(ls_slot_set_minus(both, ls_slot_set_of(0)), ls_slot_set_of(LAST)));
    cr_assert(ls_slot_set_is_same(ls_slot_set_common(both, set_of(1, LAST)), ls_slot_set_of(LAST)));
    cr_assert_not(ls_slot_set_is_same(both, ls_slot_set_of(LAST)));
    cr_assert_not(ls_slot_set_is_same(ls_slot_set_of(LAST), both));
    ls_slot_set all = ls_slot_set_of(1);
    ls_slot_set_add_all(&all, &both);
    cr_assert_eq(ls_slot_set_count(all), 3);
    ls_slot_set_put(&all, LAST, false);
    ls_slot_set_put(&all, 2, true);
    cr_assert(ls_slot_set_is_same(all, ls_slot_set_first(3)));
    cr_assert(ls_slot_set_is_empty(ls_slot_set_first(0)));
    cr_assert_eq(ls_slot_set_count(ls_slot_set_first(LS_PLAYERS_MAX)), LS_PLAYERS_MAX);
}

Test(slot_set, a_match_has_a_word_for_each_32_players)
{
    cr_assert_eq(ls_slot_words(1), 1);
    cr_assert_eq(ls_slot_words(32), 1);
    cr_assert_eq(ls_slot_words(33), 2);
    cr_assert_eq(ls_slot_words(LS_PLAYERS_MAX), LS_SLOT_WORDS);
}

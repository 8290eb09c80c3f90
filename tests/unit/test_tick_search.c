#include "lockstep/server/investigation/tick_search.h"

#include <criterion/criterion.h>

enum {
    AGREED = 60,
    BAD = 90,
};

/* The sides hold all states from `held` on, and differ from `first` on. */
static uint32_t search_states(ls_tick_search *search, ls_tick first, ls_tick held, bool can_run)
{
    uint32_t asked = 0;
    ls_tick tick = 0;
    *search = (ls_tick_search){0};
    ls_tick_search_begin(search, AGREED, BAD);
    while ((tick = ls_tick_search_state(search)) != 0) {
        ls_tick_search_receive_state(search, tick < held    ? LS_SEARCHED_GONE
                                             : tick < first ? LS_SEARCHED_SAME
                                                            : LS_SEARCHED_DIFFERS);
        asked++;
    }
    if (ls_tick_search_is_held_up(search)) {
        ls_tick_search_go_on(search, can_run);
    }
    return asked;
}

Test(tick_search, the_first_state_is_found_among_those_that_are_held)
{
    ls_tick_search search;
    for (ls_tick first = AGREED + 1; first <= BAD; first++) {
        cr_expect_leq(search_states(&search, first, 0, false), 5);
        cr_expect(ls_tick_search_is_over(&search));
        cr_expect_eq(ls_tick_search_found(&search), first);
    }
}

Test(tick_search, a_state_that_is_gone_ends_it_where_re_runs_do_not_help)
{
    ls_tick_search search;
    search_states(&search, 65, 80, false);
    cr_expect(ls_tick_search_is_over(&search));
    cr_expect_eq(ls_tick_search_found(&search), 0);
    cr_expect_eq(search.same, AGREED);
    cr_expect_eq(search.differs, BAD);
    search_states(&search, 70, 70, false);
    cr_expect_eq(search.same, AGREED);
    cr_expect_eq(search.differs, 75, "what was found out before stays");
}

Test(tick_search, a_state_that_is_gone_is_asked_of_re_runs)
{
    ls_tick_search search;
    ls_rerun_share nowhere = {0};
    ls_tick tick = 0;
    search_states(&search, 70, 70, true);
    cr_expect_not(ls_tick_search_is_over(&search));
    cr_expect_not(ls_tick_search_next(&search, &nowhere, &tick), "there is no host");
    cr_expect(ls_tick_search_is_over(&search));
    cr_expect_eq(search.differs, 75);
}

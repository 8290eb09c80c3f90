#include "lockstep/common/lag/wait_notes.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define SECOND LS_NS_PER_SECOND

static ls_wait_notes notes;

static void open_notes(void)
{
    notes = (ls_wait_notes){0};
}

static bool add(uint32_t slots, ls_tick tick, uint32_t waited_ms, uint64_t now_ns)
{
    return ls_wait_notes_add(&notes, (ls_slot_set){{slots}}, tick, waited_ms, now_ns);
}

Test(wait_notes, a_wait_is_said_once_and_again_for_somebody_else, .init = open_notes)
{
    cr_assert(add(2, 100, 100, SECOND));
    cr_assert_not(add(2, 100, 600, SECOND));
    cr_assert_not(add(2, 140, 100, 2 * SECOND), "another wait");
    cr_assert(add(6, 140, 600, 2 * SECOND));
    cr_assert_not(add(4, 150, 100, 3 * SECOND));
}

Test(wait_notes, the_end_tells_how_often_and_how_long, .init = open_notes)
{
    ls_text text = {{0}};
    cr_assert_not(ls_wait_notes_is_over(&notes, 99 * SECOND), "nobody was waited for");
    add(1, 0, 100, SECOND);
    add(1, 0, 1100, 2 * SECOND);
    ls_wait_notes_text(&notes, &text);
    cr_assert_str_eq(text.bytes, "1 wait of 1.1 s in all");
    add(1, 60, 100, 3 * SECOND);
    add(3, 60, 1600, 4 * SECOND);
    ls_wait_notes_text(&notes, &text);
    cr_assert_str_eq(text.bytes, "2 waits of 2.7 s in all");
    cr_assert_not(ls_wait_notes_is_over(&notes, 14 * SECOND - 1));
    cr_assert(ls_wait_notes_is_over(&notes, 14 * SECOND));
}

#include "lockstep/client/view/frame_pace.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define MS LS_NS_PER_MS

Test(frame_pace, an_even_rate_has_no_drift)
{
    ls_frame_pace pace = ls_frame_pace_make(100, false, 1000 * MS);
    uint64_t due_ns = 1000 * MS;
    for (uint32_t i = 1; i <= 1000; i++) {
        due_ns = ls_frame_pace_next(&pace, 2 * MS, due_ns + 3 * MS);
        cr_assert_eq(due_ns, (1000 + 10 * (uint64_t)i) * MS);
    }
}

Test(frame_pace, frames_that_were_missed_are_not_made_up_for)
{
    ls_frame_pace pace = ls_frame_pace_make(100, false, 0);
    uint64_t due_ns = ls_frame_pace_next(&pace, 35 * MS, 35 * MS);
    cr_expect_eq(due_ns, 30 * MS, "one at once");
    cr_expect_eq(ls_frame_pace_next(&pace, 2 * MS, 37 * MS), 40 * MS, "and then on the beat");
}

Test(frame_pace, on_a_display_a_picture_is_begun_just_before_it_is_due)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    uint64_t shown_ns = 50 * MS;
    uint64_t due_ns = ls_frame_pace_next(&pace, 3 * MS, shown_ns);
    cr_expect_gt(due_ns, shown_ns, "there is time for other things");
    cr_expect_leq(due_ns + 3 * MS, shown_ns + 10 * MS, "and enough for the picture");
}

Test(frame_pace, one_slow_picture_makes_the_next_ones_begin_earlier_for_a_while)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    ls_frame_pace_next(&pace, 7 * MS, 10 * MS);
    uint64_t wary_ns = ls_frame_pace_next(&pace, 1 * MS, 20 * MS) - 20 * MS;
    cr_expect_lt(wary_ns, 2 * MS);
    uint64_t later_ns = 0;
    for (uint64_t i = 3; i < 400; i++) {
        later_ns = ls_frame_pace_next(&pace, 1 * MS, 10 * i * MS) - 10 * i * MS;
    }
    cr_expect_gt(later_ns, 6 * MS);
}

Test(frame_pace, pictures_slower_than_the_display_follow_each_other)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    cr_expect_eq(ls_frame_pace_next(&pace, 30 * MS, 40 * MS), 40 * MS);
}

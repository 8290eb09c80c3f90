#include "lockstep/client/view/frame_pace.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define MS LS_NS_PER_MS

Test(frame_pace, an_even_rate_has_no_drift)
{
    ls_frame_pace pace = ls_frame_pace_make(100, false, 1000 * MS);
    uint64_t due_ns = 1000 * MS;
    for (uint32_t i = 1; i <= 1000; i++) {
        due_ns = ls_frame_pace_next(&pace, 2 * MS, 0, due_ns + 3 * MS);
        cr_assert_eq(due_ns, (1000 + 10 * (uint64_t)i) * MS);
    }
}

Test(frame_pace, frames_that_were_missed_are_not_made_up_for)
{
    ls_frame_pace pace = ls_frame_pace_make(100, false, 0);
    uint64_t due_ns = ls_frame_pace_next(&pace, 35 * MS, 0, 35 * MS);
    cr_expect_eq(due_ns, 30 * MS, "one at once");
    cr_expect_eq(ls_frame_pace_next(&pace, 2 * MS, 0, 37 * MS), 40 * MS, "and then on the beat");
}

Test(frame_pace, on_a_display_a_picture_is_begun_just_before_it_is_due)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    uint64_t shown_ns = 50 * MS;
    uint64_t now_ns = 56 * MS; /* begun for the display's moment of 60 ms, and not yet shown */
    uint64_t due_ns = ls_frame_pace_next(&pace, 3 * MS, shown_ns, now_ns);
    cr_expect_gt(due_ns, 60 * MS, "there is time for other things");
    cr_expect_leq(due_ns + 3 * MS, 70 * MS, "and enough for the picture");
}

Test(frame_pace, one_slow_picture_makes_the_next_ones_begin_earlier_for_a_while)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    ls_frame_pace_next(&pace, 7 * MS, 10 * MS, 10 * MS);
    uint64_t wary_ns = ls_frame_pace_next(&pace, 1 * MS, 20 * MS, 15 * MS) - 20 * MS;
    cr_expect_lt(wary_ns, 2 * MS);
    uint64_t later_ns = 0;
    for (uint64_t i = 3; i < 400; i++) {
        later_ns = ls_frame_pace_next(&pace, 1 * MS, 10 * i * MS, 10 * i * MS) - 10 * i * MS;
    }
    cr_expect_gt(later_ns, 6 * MS);
}

Test(frame_pace, pictures_keep_the_displays_rate_however_slow_they_are_or_how_long_none_is_shown)
{
    for (uint64_t work_ns = MS; work_ns < 40 * MS; work_ns += MS) {
        ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
        uint64_t due_ns = ls_frame_pace_next(&pace, work_ns, 5 * MS, 1000 * MS);
        for (uint32_t i = 0; i < 20; i++) {
            uint64_t next_ns = ls_frame_pace_next(&pace, work_ns, 5 * MS, due_ns + MS / 4);
            cr_assert_eq(next_ns - due_ns, 10 * MS, "%u ms of work", (unsigned)(work_ns / MS));
            due_ns = next_ns;
        }
    }
}

/* ---- frames that nobody sees ---- */

typedef struct beat {
    uint32_t frames;
    uint32_t shared; /* of them, with an input */
} beat;

/* A minute of inputs whose first is due at `phase_ns`, each of them late or early by a bit. */
static beat play_minute(uint32_t frames_hz, uint32_t inputs_hz, uint64_t phase_ns)
{
    beat seen = {0};
    uint64_t input_period_ns = LS_NS_PER_SECOND / inputs_hz;
    ls_frame_pace pace = ls_frame_pace_make(frames_hz, false, 1000 * MS);
    uint64_t inputs = 0;
    uint64_t input_ns = 0;
    uint64_t now_ns = 0;
    while (now_ns < 61000 * MS) {
        input_ns = 1000 * MS + phase_ns + inputs * input_period_ns + inputs % 3 * MS / 4;
        uint64_t frame_ns = ls_frame_pace_beside_input(&pace, input_ns, input_period_ns);
        now_ns = frame_ns < input_ns ? frame_ns : input_ns;
        if (now_ns == frame_ns) {
            seen.frames++;
            seen.shared += now_ns == input_ns ? 1 : 0;
            (void)ls_frame_pace_next(&pace, 0, now_ns, now_ns);
        }
        inputs += now_ns == input_ns ? 1 : 0;
    }
    return seen;
}

Test(frame_pace, unseen_frames_keep_their_rate_beside_inputs_of_any_other)
{
    static const uint32_t rates_hz[] = {5, 10, 20, 24, 30, 40, 50, 59, 60, 61, 144, 1000};
    static const uint32_t inputs_hz[] = {1, 20, 30, 60, 128};
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        for (size_t j = 0; j < sizeof inputs_hz / sizeof inputs_hz[0]; j++) {
            uint32_t frames = play_minute(rates_hz[i], inputs_hz[j], 3 * MS).frames;
            cr_expect_geq(frames + 2, 60 * rates_hz[i], "%u Hz", rates_hz[i]);
            cr_expect_leq(frames, 60 * rates_hz[i] + 2, "%u Hz", rates_hz[i]);
        }
    }
}

Test(frame_pace, unseen_frames_come_with_inputs_of_the_same_rate)
{
    for (uint64_t phase_ns = 0; phase_ns < 17 * MS; phase_ns += MS / 2) {
        beat seen = play_minute(60, 60, phase_ns);
        cr_expect_geq(seen.shared + 3, seen.frames, "phase %u us", (unsigned)(phase_ns / 1000));
    }
}

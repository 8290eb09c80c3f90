#include "lockstep/client/view/frame_pace.h"

#include "lockstep/common/base/clock.h"

#define SPARE_NS (2 * LS_NS_PER_MS)
#define FORGET_ONE_IN 64u

ls_frame_pace ls_frame_pace_make(uint32_t hz, bool follows_display, uint64_t now_ns)
{
    return (ls_frame_pace){
        .period_ns = LS_NS_PER_SECOND / hz, .follows_display = follows_display, .due_ns = now_ns};
}

/* The display takes pictures a period apart, and the newest was not shown by now: the next one is
 * for the first moment behind that which leaves room for the work. */
static uint64_t next_of_display(ls_frame_pace *pace, uint64_t work_ns, uint64_t shown_ns,
                                uint64_t now_ns)
{
    pace->work_ns -= pace->work_ns / FORGET_ONE_IN;
    pace->work_ns = LS_MAX(work_ns, pace->work_ns);
    uint64_t ahead_ns = (pace->work_ns + SPARE_NS) % pace->period_ns;
    uint64_t due_ns = shown_ns + pace->period_ns - ahead_ns;
    uint64_t earliest_ns = now_ns + pace->period_ns / 2;
    if (due_ns < earliest_ns) {
        uint64_t periods = (earliest_ns - due_ns + pace->period_ns - 1) / pace->period_ns;
        due_ns += periods * pace->period_ns;
    }
    return due_ns;
}

uint64_t ls_frame_pace_next(ls_frame_pace *pace, uint64_t work_ns, uint64_t shown_ns,
                            uint64_t now_ns)
{
    if (pace->follows_display) {
        pace->due_ns = next_of_display(pace, work_ns, shown_ns, now_ns);
        return pace->due_ns;
    }
    pace->due_ns += pace->period_ns;
    if (pace->due_ns < now_ns) { /* pictures that were missed are not made up for */
        pace->due_ns += (now_ns - pace->due_ns) / pace->period_ns * pace->period_ns;
    }
    return pace->due_ns;
}

/* Of two inputs that are equally close it stays with the one that it has followed: the reach is
 * more than half of what lies between them. */
uint64_t ls_frame_pace_beside_input(const ls_frame_pace *pace, uint64_t input_ns,
                                    uint64_t input_period_ns)
{
    uint64_t reach_ns = LS_MIN(pace->period_ns, input_period_ns) / 4 * 3;
    bool is_close = input_ns + reach_ns >= pace->due_ns && input_ns <= pace->due_ns + reach_ns;
    return is_close ? input_ns : pace->due_ns;
}

#include "lockstep/client/session/jitter_buffer.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"

#include <string.h>

enum {
    LATE_ONE_IN = 100,       /* of so many ticks one may come too late */
    SPEED_MAX_PPM = 50000,   /* nobody sees 5 % */
    PPM_PER_NS = 1000,       /* a part of the error is mended that would take a second in all */
    CATCH_UP_STEPS_MAX = 64, /* a frame */
};

static const int64_t MARGIN_NS = (int64_t)LS_NS_PER_MS;

/* To mend more than this by speed would take longer than five seconds. */
static const int64_t CATCH_UP_NS = 250 * (int64_t)LS_NS_PER_MS;

void ls_playout_init(ls_playout *playout, uint64_t dt_ns)
{
    memset(playout, 0, sizeof *playout);
    playout->dt_ns = dt_ns;
    ls_tail_window_init(&playout->offsets, LATE_ONE_IN);
}

void ls_playout_add_arrival(ls_playout *playout, ls_tick tick, uint64_t now_ns)
{
    int64_t offset_ns = (int64_t)(now_ns - tick * playout->dt_ns);
    ls_tail_window_add(&playout->offsets, offset_ns, now_ns);
    playout->offset_ns = ls_tail_window_value(&playout->offsets);
}

/* How far the position is behind where it should be; negative: ahead. A tick is stepped when the
 * position reaches the next one's. */
static int64_t error_ns(const ls_playout *playout, const ls_playout_frame *frame)
{
    int64_t due_ns = playout->offset_ns - (int64_t)playout->dt_ns + MARGIN_NS;
    return (int64_t)(frame->now_ns - frame->position_ns) - due_ns;
}

/* A stall is one tick late, and another for each dt that it lasts. */
static uint32_t count_stalled(ls_playout *playout, uint64_t lost_ns)
{
    uint32_t ticks = playout->is_stalled ? 0 : 1;
    playout->stalled_ns = (playout->is_stalled ? playout->stalled_ns : 0) + lost_ns;
    ticks += (uint32_t)(playout->stalled_ns / playout->dt_ns);
    playout->stalled_ns %= playout->dt_ns;
    return ticks;
}

/* How much the clock has moved on in this frame, at a speed that mends the error. */
static uint64_t play(ls_playout *playout, const ls_playout_frame *frame)
{
    int64_t behind_ns = error_ns(playout, frame);
    if (!playout->is_playing) {
        return behind_ns > 0 ? (uint64_t)behind_ns : 0; /* nothing has been shown yet */
    }
    int64_t speed_ppm = (behind_ns - (int64_t)frame->elapsed_ns) / PPM_PER_NS;
    speed_ppm = speed_ppm > SPEED_MAX_PPM ? SPEED_MAX_PPM : speed_ppm;
    speed_ppm = speed_ppm < -SPEED_MAX_PPM ? -SPEED_MAX_PPM : speed_ppm;
    playout->speed_ppm = (int32_t)speed_ppm;
    return (uint64_t)((int64_t)frame->elapsed_ns +
                      (int64_t)frame->elapsed_ns * speed_ppm / 1000000);
}

ls_playout_plan ls_playout_plan_frame(ls_playout *playout, const ls_playout_frame *frame)
{
    uint64_t banked_ns = frame->position_ns % playout->dt_ns;
    uint64_t room_ns = (frame->backlog + 1) * playout->dt_ns - 1 - banked_ns;
    ls_playout_plan plan = {.play_ns = play(playout, frame)};
    plan.is_stalled = playout->is_playing && plan.play_ns > room_ns;
    if (plan.is_stalled) {
        plan.stalled_ticks = count_stalled(playout, plan.play_ns - room_ns);
    }
    plan.play_ns = plan.play_ns < room_ns ? plan.play_ns : room_ns;
    playout->is_playing = true;
    playout->is_stalled = plan.is_stalled;
    playout->lag_ns = (int64_t)(frame->now_ns - frame->position_ns - plan.play_ns);
    return plan;
}

uint32_t ls_playout_catch_up(const ls_playout *playout, const ls_playout_frame *frame)
{
    int64_t behind_ns = error_ns(playout, frame);
    if (behind_ns <= CATCH_UP_NS || LS_FAULT(NEVER_CATCHES_UP)) {
        return 0;
    }
    uint64_t ticks = (uint64_t)behind_ns / playout->dt_ns;
    ticks = ticks < frame->backlog ? ticks : frame->backlog;
    return ticks < CATCH_UP_STEPS_MAX ? (uint32_t)ticks : CATCH_UP_STEPS_MAX;
}

uint64_t ls_playout_delay_ns(const ls_playout *playout)
{
    if (!playout->is_playing) {
        return 0;
    }
    int64_t delay_ns =
        playout->lag_ns + (int64_t)playout->dt_ns - ls_tail_window_least(&playout->offsets);
    return delay_ns > 0 ? (uint64_t)delay_ns : 0;
}

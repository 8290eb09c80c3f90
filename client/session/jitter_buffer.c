#include "lockstep/client/session/jitter_buffer.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"

#include <string.h>

enum {
    LATE_ONE_IN = 100,     /* of so many ticks one may come too late */
    SPEED_MAX_PPM = 50000, /* a player does not see 5 % */
    PPM_PER_NS = 1000, /* each frame corrects a part of the error, all of it in about a second */
    CATCH_UP_STEPS_MAX = 64, /* a frame */
};

static const int64_t MARGIN_NS = (int64_t)LS_NS_PER_MS;

/* To mend more than this by speed would take longer than five seconds. */
static const int64_t CATCH_UP_NS = 250 * (int64_t)LS_NS_PER_MS;

void ls_jitter_buffer_init(ls_jitter_buffer *jitter_buffer, uint64_t dt_ns)
{
    memset(jitter_buffer, 0, sizeof *jitter_buffer);
    jitter_buffer->dt_ns = dt_ns;
    ls_quantile_window_init(&jitter_buffer->offsets, LATE_ONE_IN);
}

void ls_jitter_buffer_add_arrival(ls_jitter_buffer *jitter_buffer, ls_tick tick, uint64_t now_ns)
{
    int64_t offset_ns = (int64_t)(now_ns - tick * jitter_buffer->dt_ns);
    ls_quantile_window_add(&jitter_buffer->offsets, offset_ns, now_ns);
    jitter_buffer->offset_ns = ls_quantile_window_value(&jitter_buffer->offsets);
}

/* How far the position is behind where it should be; negative: ahead. A tick is stepped when the
 * position reaches the next one's. */
static int64_t error_ns(const ls_jitter_buffer *jitter_buffer, const ls_jitter_buffer_frame *frame)
{
    int64_t due_ns = jitter_buffer->offset_ns - (int64_t)jitter_buffer->dt_ns + MARGIN_NS;
    return (int64_t)(frame->now_ns - frame->position_ns) - due_ns;
}

/* A stall is one tick late, and another for each dt that it lasts. */
static uint32_t count_stalled(ls_jitter_buffer *jitter_buffer, uint64_t lost_ns)
{
    uint32_t ticks = jitter_buffer->is_stalled ? 0 : 1;
    jitter_buffer->stalled_ns =
        (jitter_buffer->is_stalled ? jitter_buffer->stalled_ns : 0) + lost_ns;
    ticks += (uint32_t)(jitter_buffer->stalled_ns / jitter_buffer->dt_ns);
    jitter_buffer->stalled_ns %= jitter_buffer->dt_ns;
    return ticks;
}

/* How much the clock has moved on in this frame, at a speed that mends the error. */
static uint64_t play(ls_jitter_buffer *jitter_buffer, const ls_jitter_buffer_frame *frame)
{
    int64_t behind_ns = error_ns(jitter_buffer, frame);
    if (!jitter_buffer->is_playing) {
        return behind_ns > 0 ? (uint64_t)behind_ns : 0; /* nothing has been shown yet */
    }
    int64_t speed_ppm = (behind_ns - (int64_t)frame->elapsed_ns) / PPM_PER_NS;
    speed_ppm = LS_MAX(LS_MIN(speed_ppm, SPEED_MAX_PPM), -SPEED_MAX_PPM);
    jitter_buffer->speed_ppm = (int32_t)speed_ppm;
    return (uint64_t)((int64_t)frame->elapsed_ns +
                      (int64_t)frame->elapsed_ns * speed_ppm / 1000000);
}

ls_jitter_buffer_plan ls_jitter_buffer_plan_frame(ls_jitter_buffer *jitter_buffer,
                                                  const ls_jitter_buffer_frame *frame)
{
    uint64_t banked_ns = frame->position_ns % jitter_buffer->dt_ns;
    uint64_t room_ns = (frame->backlog + 1) * jitter_buffer->dt_ns - 1 - banked_ns;
    ls_jitter_buffer_plan plan = {.play_ns = play(jitter_buffer, frame)};
    plan.is_stalled = jitter_buffer->is_playing && plan.play_ns > room_ns;
    if (plan.is_stalled) {
        plan.stalled_ticks = count_stalled(jitter_buffer, plan.play_ns - room_ns);
    }
    plan.play_ns = plan.play_ns < room_ns ? plan.play_ns : room_ns;
    jitter_buffer->is_playing = true;
    jitter_buffer->is_stalled = plan.is_stalled;
    jitter_buffer->lag_ns = (int64_t)(frame->now_ns - frame->position_ns - plan.play_ns);
    return plan;
}

uint32_t ls_jitter_buffer_behind(const ls_jitter_buffer *jitter_buffer,
                                 const ls_jitter_buffer_frame *frame)
{
    int64_t behind_ns = error_ns(jitter_buffer, frame);
    if (behind_ns <= CATCH_UP_NS || LS_FAULT(NEVER_CATCHES_UP)) {
        return 0;
    }
    return (uint32_t)LS_MIN((uint64_t)behind_ns / jitter_buffer->dt_ns, frame->backlog);
}

uint32_t ls_jitter_buffer_catch_up(const ls_jitter_buffer *jitter_buffer,
                                   const ls_jitter_buffer_frame *frame)
{
    return LS_MIN(ls_jitter_buffer_behind(jitter_buffer, frame), CATCH_UP_STEPS_MAX);
}

uint64_t ls_jitter_buffer_delay_ns(const ls_jitter_buffer *jitter_buffer)
{
    if (!jitter_buffer->is_playing) {
        return 0;
    }
    int64_t delay_ns = jitter_buffer->lag_ns + (int64_t)jitter_buffer->dt_ns -
                       ls_quantile_window_least(&jitter_buffer->offsets);
    return delay_ns > 0 ? (uint64_t)delay_ns : 0;
}

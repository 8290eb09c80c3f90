#include "lockstep/client/view/view_time.h"

#include "lockstep/common/base/clock.h"

void ls_playhead_init(ls_playhead *playhead)
{
    *playhead = (ls_playhead){.dt_ns = LS_NS_PER_SECOND};
}

static uint64_t length_ns(const ls_playhead *playhead)
{
    return (uint64_t)(playhead->last_tick - playhead->first_tick) * playhead->dt_ns;
}

void ls_playhead_set_range(ls_playhead *playhead, ls_tick first_tick, ls_tick last_tick,
                           uint32_t tick_rate_hz)
{
    playhead->first_tick = first_tick;
    playhead->last_tick = LS_MAX(last_tick, first_tick);
    playhead->dt_ns = LS_NS_PER_SECOND / tick_rate_hz;
    playhead->place_ns = LS_MIN(playhead->place_ns, length_ns(playhead));
}

bool ls_playhead_advance(ls_playhead *playhead, uint64_t elapsed_ns)
{
    bool has_jumped = playhead->has_jumped;
    playhead->has_jumped = false;
    if (playhead->is_paused) {
        return false;
    }
    uint64_t played_ns =
        playhead->speed >= 0 ? elapsed_ns << playhead->speed : elapsed_ns >> -playhead->speed;
    uint64_t rest_ns = length_ns(playhead) - playhead->place_ns;
    if (played_ns >= rest_ns) {
        played_ns = rest_ns;
        playhead->is_paused = !playhead->is_growing;
    }
    playhead->place_ns += played_ns;
    return !has_jumped;
}

void ls_playhead_toggle(ls_playhead *playhead)
{
    if (playhead->is_paused && ls_playhead_is_at_end(playhead)) {
        playhead->place_ns = 0;
        playhead->has_jumped = true;
    }
    playhead->is_paused = !playhead->is_paused;
}

/* From between two ticks a step back goes to the earlier one, a step on to the later one. */
void ls_playhead_step(ls_playhead *playhead, int32_t ticks)
{
    uint64_t dt_ns = playhead->dt_ns;
    int64_t whole = (int64_t)(playhead->place_ns / dt_ns);
    if (ticks < 0 && playhead->place_ns % dt_ns != 0) {
        whole++;
    }
    int64_t last = (int64_t)(playhead->last_tick - playhead->first_tick);
    int64_t wanted = whole + ticks;
    playhead->place_ns = (uint64_t)LS_MIN(LS_MAX(wanted, 0), last) * dt_ns;
    playhead->is_paused = true;
    playhead->has_jumped = true;
}

void ls_playhead_change_speed(ls_playhead *playhead, int32_t powers)
{
    int32_t speed = LS_MAX(playhead->speed + powers, LS_PLAYHEAD_SLOWEST);
    playhead->speed = LS_MIN(speed, LS_PLAYHEAD_FASTEST);
}

void ls_playhead_seek(ls_playhead *playhead, double share)
{
    double inside = share > 0.0 ? share < 1.0 ? share : 1.0 : 0.0;
    double ticks = inside * (double)(playhead->last_tick - playhead->first_tick) + 0.5;
    playhead->place_ns = (uint64_t)ticks * playhead->dt_ns;
    playhead->has_jumped = true;
}

void ls_playhead_go_to(ls_playhead *playhead, ls_tick tick)
{
    ls_tick inside = LS_MIN(LS_MAX(tick, playhead->first_tick), playhead->last_tick);
    playhead->place_ns = (uint64_t)(inside - playhead->first_tick) * playhead->dt_ns;
    playhead->has_jumped = true;
}

bool ls_playhead_is_at_end(const ls_playhead *playhead)
{
    return playhead->place_ns == length_ns(playhead);
}

ls_tick ls_playhead_tick(const ls_playhead *playhead)
{
    uint64_t dt_ns = playhead->dt_ns;
    return playhead->first_tick + (ls_tick)((playhead->place_ns + dt_ns - 1) / dt_ns);
}

ls_fixed ls_playhead_alpha(const ls_playhead *playhead)
{
    uint64_t into_ns = playhead->place_ns % playhead->dt_ns;
    return into_ns == 0 ? LS_FIXED_ONE : ls_fixed_div((ls_fixed)into_ns, (ls_fixed)playhead->dt_ns);
}

double ls_playhead_share(const ls_playhead *playhead)
{
    uint64_t length = length_ns(playhead);
    return length == 0 ? 1.0 : (double)playhead->place_ns / (double)length;
}

/* ---- frame pace ---- */

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

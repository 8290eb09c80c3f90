#include "lockstep/client/view/playback.h"

#include "lockstep/common/base/clock.h"

void ls_playback_init(ls_playback *playback)
{
    *playback = (ls_playback){.dt_ns = LS_NS_PER_SECOND};
}

static uint64_t length_ns(const ls_playback *playback)
{
    return (uint64_t)(playback->last_tick - playback->first_tick) * playback->dt_ns;
}

void ls_playback_set_range(ls_playback *playback, ls_tick first_tick, ls_tick last_tick,
                           uint32_t tick_rate_hz)
{
    playback->first_tick = first_tick;
    playback->last_tick = last_tick > first_tick ? last_tick : first_tick;
    playback->dt_ns = LS_NS_PER_SECOND / tick_rate_hz;
    if (playback->place_ns > length_ns(playback)) {
        playback->place_ns = length_ns(playback);
    }
}

void ls_playback_advance(ls_playback *playback, uint64_t elapsed_ns)
{
    if (playback->is_paused) {
        return;
    }
    uint64_t played_ns =
        playback->speed >= 0 ? elapsed_ns << playback->speed : elapsed_ns >> -playback->speed;
    uint64_t rest_ns = length_ns(playback) - playback->place_ns;
    if (played_ns >= rest_ns) {
        played_ns = rest_ns;
        playback->is_paused = true;
    }
    playback->place_ns += played_ns;
}

void ls_playback_toggle(ls_playback *playback)
{
    if (playback->is_paused && playback->place_ns == length_ns(playback)) {
        playback->place_ns = 0;
    }
    playback->is_paused = !playback->is_paused;
}

/* From between two ticks a step back goes to the earlier one, a step on to the later one. */
void ls_playback_step(ls_playback *playback, int32_t ticks)
{
    uint64_t dt_ns = playback->dt_ns;
    int64_t whole = (int64_t)(playback->place_ns / dt_ns);
    if (ticks < 0 && playback->place_ns % dt_ns != 0) {
        whole++;
    }
    int64_t last = (int64_t)(playback->last_tick - playback->first_tick);
    int64_t wanted = whole + ticks;
    wanted = wanted < 0 ? 0 : wanted > last ? last : wanted;
    playback->place_ns = (uint64_t)wanted * dt_ns;
    playback->is_paused = true;
}

void ls_playback_change_speed(ls_playback *playback, int32_t powers)
{
    int32_t speed = playback->speed + powers;
    playback->speed = speed < LS_PLAYBACK_SLOWEST   ? LS_PLAYBACK_SLOWEST
                      : speed > LS_PLAYBACK_FASTEST ? LS_PLAYBACK_FASTEST
                                                    : speed;
}

void ls_playback_seek(ls_playback *playback, double share)
{
    double inside = share > 0.0 ? share < 1.0 ? share : 1.0 : 0.0;
    double ticks = inside * (double)(playback->last_tick - playback->first_tick) + 0.5;
    playback->place_ns = (uint64_t)ticks * playback->dt_ns;
}

ls_tick ls_playback_tick(const ls_playback *playback)
{
    uint64_t dt_ns = playback->dt_ns;
    return playback->first_tick + (ls_tick)((playback->place_ns + dt_ns - 1) / dt_ns);
}

ls_fixed ls_playback_alpha(const ls_playback *playback)
{
    uint64_t into_ns = playback->place_ns % playback->dt_ns;
    return into_ns == 0 ? LS_FIXED_ONE : ls_fixed_div((ls_fixed)into_ns, (ls_fixed)playback->dt_ns);
}

double ls_playback_share(const ls_playback *playback)
{
    uint64_t length = length_ns(playback);
    return length == 0 ? 1.0 : (double)playback->place_ns / (double)length;
}

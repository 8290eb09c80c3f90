#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/match_state.h"

#include <inttypes.h>

/* Between two events of one player. */
static const uint64_t EVENT_NS = 5 * LS_NS_PER_SECOND;

void ls_match_lag_begin(ls_match *match, uint32_t slot)
{
    ls_seat *seat = &match->seats[slot];
    /* Ticks that come from clients after a restart may tell of one who played on a seat that
     * somebody else has taken since: that one has no meter yet. */
    if (seat->report.has_played && seat->lag.dt_ns > 0) {
        ls_lag_meter_forget_recent(&seat->lag);
    } else {
        ls_lag_meter_init(&seat->lag, match->timestep.config.dt_ns);
    }
    ls_delay_control_init(&seat->delay, match->config.input_delay_ticks);
    seat->report.input_delay_ticks = match->config.input_delay_ticks;
}

static void tell_lag(ls_match *match, uint32_t slot)
{
    ls_seat *seat = &match->seats[slot];
    bool is_event = seat->report.lag.cause != seat->told_cause;
    if (!is_event || match->now_ns - seat->lag_told_ns < EVENT_NS) {
        return;
    }
    seat->told_cause = seat->report.lag.cause;
    seat->lag_told_ns = match->now_ns;
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_LAG);
    event->slot = slot;
    ls_lag_text(&seat->report.lag, &event->text);
}

void ls_match_set_input_delay(ls_match *match, uint32_t slot, uint32_t ticks)
{
    LS_ASSERT(slot < match->config.sim.players && ticks <= LS_INPUT_DELAY_TICKS_MAX);
    ls_seat *seat = &match->seats[slot];
    if (seat->state != LS_SEAT_PLAYING) {
        return;
    }
    seat->delay.ticks = ticks;
    seat->report.input_delay_ticks = ticks;
    ls_lag_meter_forget_recent(&seat->lag);
    match->message.kind = LS_MESSAGE_INPUT_DELAY;
    match->message.body.input_delay_ticks = ticks;
    ls_match_send(match, seat->report.peer);
}

static void adapt_delay(ls_match *match, uint32_t slot, const ls_lag_figures *recent)
{
    ls_seat *seat = &match->seats[slot];
    uint32_t before = seat->delay.ticks;
    if (!match->config.adapts_input_delay ||
        !ls_delay_control_update(&seat->delay, recent, &seat->report.lag)) {
        return;
    }
    ls_match_set_input_delay(match, slot, seat->delay.ticks);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_DELAYED);
    event->slot = slot;
    ls_text_set(&event->text, "input delay %" PRIu32 " ticks instead of %" PRIu32,
                seat->delay.ticks, before);
}

static uint32_t backlog_of(const ls_match *match, const ls_seat *seat)
{
    uint32_t unhashed = match->config.hash_interval_ticks - 1; /* stepped, but not in the chain */
    return seat->unstepped_ticks > unhashed ? seat->unstepped_ticks - unhashed : 0;
}

void ls_match_lag_count(ls_match *match, uint32_t slot, bool is_on_time)
{
    ls_seat *seat = &match->seats[slot];
    bool was_waited_for = (match->waited_mask >> slot & 1u) != 0;
    ls_lag_tick tick = {.is_late = !is_on_time || was_waited_for,
                        .backlog = backlog_of(match, seat),
                        .excused = was_waited_for ? 0 : match->excused_ticks,
                        .quiet_ns = match->now_ns - seat->heard_ns,
                        .input_delay_ticks = seat->delay.ticks,
                        .uplink = &seat->downlink.uplink};
    ls_lag_figures recent;
    if (!ls_lag_meter_add_tick(&seat->lag, &tick, &recent)) {
        return;
    }
    seat->report.lag = ls_lag_judge(&recent);
    tell_lag(match, slot);
    adapt_delay(match, slot, &recent);
}

ls_lag ls_match_lag_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < match->config.sim.players);
    ls_lag_figures total = ls_lag_meter_total(&match->seats[slot].lag);
    return ls_lag_judge(&total);
}

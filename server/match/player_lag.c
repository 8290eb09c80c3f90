#include "lockstep/server/match/player_lag.h"

#include "lockstep/common/base/prefetch.h"

#include <inttypes.h>
#include <string.h>

/* Between two events about one player. */
static const uint64_t EVENT_NS = 5 * LS_NS_PER_SECOND;

enum {
    PATIENCE_MIN = 4,
    PATIENCE_MAX = 64,
    /* More than a buffer for jitter holds, less than what is caught up at once. */
    BACKLOG_TICKS = 20,
    HEALTH_MAX = 60000, /* milliseconds, or ticks, in one report; more is no honest answer */
};

static const uint64_t WARM_UP_NS = 2 * LS_NS_PER_SECOND;
static const uint64_t SILENCE_NS = LS_NS_PER_SECOND;
static const uint64_t FRAME_MAX_NS = 50 * LS_NS_PER_MS; /* shorter ones disturb nobody */

/* ---- the figures of one slot ---- */

static void reset(const ls_lag_meter *meter, ls_lag_figures *figures)
{
    memset(figures, 0, sizeof *figures);
    figures->dt_ns = meter->dt_ns;
}

void ls_lag_meter_init(ls_lag_meter *meter, uint64_t dt_ns)
{
    memset(meter, 0, sizeof *meter);
    meter->dt_ns = dt_ns;
    meter->warm_up_ticks = (uint32_t)(WARM_UP_NS / dt_ns);
    reset(meter, &meter->recent[0]);
    reset(meter, &meter->recent[1]);
    reset(meter, &meter->total);
}

void ls_lag_meter_add_arrival(ls_lag_meter *meter, int64_t slack_ns)
{
    if (meter->warm_up_ticks == 0) {
        meter->recent[0].arrivals[ls_lag_bin(slack_ns, meter->dt_ns)]++;
    }
}

void ls_lag_meter_prefetch(const ls_lag_meter *meter, int64_t slack_ns)
{
    if (meter->dt_ns > 0) {
        const uint32_t *arrivals = meter->recent[0].arrivals;
        ls_prefetch(&arrivals[ls_lag_bin(slack_ns, meter->dt_ns)], sizeof *arrivals);
    }
}

void ls_lag_meter_add_health(ls_lag_meter *meter, const ls_client_health *health)
{
    ls_lag_figures *now = &meter->recent[0];
    if (meter->warm_up_ticks > 0) {
        return;
    }
    uint64_t allowed_ns = LS_MAX(2 * meter->dt_ns, FRAME_MAX_NS);
    uint32_t frame_ms = LS_MIN(health->longest_frame_ms, HEALTH_MAX);
    uint64_t frame_ns = frame_ms * LS_NS_PER_MS;
    if (frame_ns > allowed_ns) {
        now->hitch += (uint32_t)(frame_ns / meter->dt_ns);
    }
    now->longest_frame_ms = LS_MAX(frame_ms, now->longest_frame_ms);
    now->stalled += LS_MIN(health->stalled_ticks, HEALTH_MAX);
    now->reports++;
    now->downlink_loss += health->downlink.loss;
    now->downlink_jitter += health->downlink.jitter;
}

static void count_tick(ls_lag_meter *meter, const ls_lag_tick *tick)
{
    ls_lag_figures *now = &meter->recent[0];
    now->ticks++;
    now->late += tick->is_late ? 1 : 0;
    now->silent += tick->quiet_ns >= SILENCE_NS ? 1 : 0;
    now->backlog += tick->backlog >= BACKLOG_TICKS ? 1 : 0;
    now->excused += tick->excused;
    now->overdue += tick->overdue;
    now->input_delay_ticks = tick->input_delay_ticks;
    now->uplink_jitter_ns += tick->uplink->jitter_ns;
    now->uplink_sent += (int64_t)(tick->uplink->sent - meter->uplink_sent);
    now->uplink_lost += (int64_t)(tick->uplink->lost - meter->uplink_lost);
}

bool ls_lag_meter_add_tick(ls_lag_meter *meter, const ls_lag_tick *tick, ls_lag_figures *recent)
{
    if (meter->warm_up_ticks > 0) {
        meter->warm_up_ticks--;
    } else {
        count_tick(meter, tick);
    }
    meter->uplink_sent = tick->uplink->sent;
    meter->uplink_lost = tick->uplink->lost;
    if (meter->recent[0].ticks * meter->dt_ns < LS_LAG_STRETCH_NS) {
        return false;
    }
    ls_lag_figures_add(&meter->total, &meter->recent[0]);
    *recent = meter->recent[1];
    ls_lag_figures_add(recent, &meter->recent[0]);
    meter->recent[1] = meter->recent[0];
    reset(meter, &meter->recent[0]);
    return true;
}

void ls_lag_meter_forget_recent(ls_lag_meter *meter)
{
    ls_lag_figures_add(&meter->total, &meter->recent[0]);
    reset(meter, &meter->recent[0]);
    reset(meter, &meter->recent[1]);
}

ls_lag_figures ls_lag_meter_total(const ls_lag_meter *meter)
{
    ls_lag_figures sum = meter->total;
    ls_lag_figures_add(&sum, &meter->recent[0]);
    return sum;
}

/* ---- the delay that a link needs ---- */

void ls_delay_control_init(ls_delay_control *control, uint32_t ticks)
{
    *control = (ls_delay_control){.ticks = ticks, .patience = PATIENCE_MIN};
}

static bool raise(ls_delay_control *control, uint32_t wanted)
{
    control->spare_stretches = 0;
    if (control->has_taken_off && control->patience < PATIENCE_MAX) {
        control->patience *= 2;
    }
    control->has_taken_off = false;
    if (control->ticks >= LS_INPUT_DELAY_TICKS_MAX) {
        return false;
    }
    control->ticks = wanted > control->ticks ? wanted : control->ticks + 1;
    return true;
}

bool ls_delay_control_update(ls_delay_control *control, const ls_lag_figures *recent,
                             const ls_lag *lag)
{
    if (lag->cause == LS_LAG_SILENT || lag->cause == LS_LAG_COMPUTER ||
        lag->cause == LS_LAG_SERVER) {
        control->spare_stretches = 0; /* no delay mends that, and it says nothing about the link */
        return false;
    }
    if (lag->late_ppm >= LS_LAG_LATE_PPM) {
        return raise(control, lag->suggested_input_delay_ticks);
    }
    bool is_spare = lag->late_ppm < LS_LAG_MENDED_PPM && ls_lag_spare_ticks(recent) >= 1;
    control->spare_stretches = is_spare ? control->spare_stretches + 1 : 0;
    if (control->spare_stretches < control->patience || control->ticks == 0) {
        return false;
    }
    control->spare_stretches = 0;
    control->ticks--;
    control->has_taken_off = true;
    return true;
}

/* ---- what a player suffers from ---- */

void ls_player_lag_begin(ls_player_lag *lag, const ls_match *match, bool has_played)
{
    uint32_t input_delay_ticks = match->config.input_delay_ticks;
    /* Ticks that come from clients after a restart may tell of a player whose seat somebody else
     * has taken since: that one has no meter yet. */
    if (has_played && lag->meter.dt_ns > 0) {
        ls_lag_meter_forget_recent(&lag->meter);
    } else {
        ls_lag_meter_init(&lag->meter, match->dt_ns);
    }
    ls_delay_control_init(&lag->delay, input_delay_ticks);
    lag->input_delay_ticks = input_delay_ticks;
}

static void push_lag(ls_player_lag *lag, const ls_match *match, uint32_t slot)
{
    if (lag->lag.cause == lag->told_cause || match->now_ns - lag->told_ns < EVENT_NS) {
        return;
    }
    lag->told_cause = lag->lag.cause;
    lag->told_ns = match->now_ns;
    ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_LAG, slot, 0);
    ls_lag_text(&lag->lag, &event->text);
}

void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match *match, ls_peer_id peer,
                             uint32_t ticks)
{
    lag->delay.ticks = ticks;
    lag->input_delay_ticks = ticks;
    ls_lag_meter_forget_recent(&lag->meter);
    ls_outbox_message(match->outbox, LS_MESSAGE_INPUT_DELAY)->body.input_delay_ticks = ticks;
    ls_outbox_send(match->outbox, peer);
}

static void adapt_delay(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                        const ls_lag_figures *recent)
{
    uint32_t before = lag->delay.ticks;
    if (!ls_delay_control_update(&lag->delay, recent, &lag->lag)) {
        return;
    }
    ls_player_lag_set_delay(lag, match, who.peer, lag->delay.ticks);
    ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_DELAYED, who.slot, 0);
    ls_text_set(&event->text, "input delay %" PRIu32 " ticks instead of %" PRIu32, lag->delay.ticks,
                before);
}

void ls_player_lag_count(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                         ls_lag_tick *tick)
{
    ls_lag_figures recent;
    tick->input_delay_ticks = lag->delay.ticks;
    if (!ls_lag_meter_add_tick(&lag->meter, tick, &recent)) {
        return;
    }
    lag->lag = ls_lag_judge(&recent);
    push_lag(lag, match, who.slot);
    if (match->config.adapts_input_delay) {
        adapt_delay(lag, match, who, &recent);
    }
}

void ls_player_lag_forget_connection(ls_player_lag *lag)
{
    lag->delay = (ls_delay_control){0};
    lag->told_cause = LS_LAG_FINE;
    lag->told_ns = 0;
}

#include "lockstep/server/match/lag_meter.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/prefetch.h"

#include <string.h>

enum {
    BACKLOG_TICKS =
        20, /* more than a buffer for jitter holds, less than what is caught up at once */
    HEALTH_MAX = 60000, /* milliseconds, or ticks, in one report; more is no honest answer */
};

static const uint64_t WARM_UP_NS = 2 * LS_NS_PER_SECOND;
static const uint64_t SILENCE_NS = LS_NS_PER_SECOND;
static const uint64_t FRAME_MAX_NS = 50 * LS_NS_PER_MS; /* shorter ones disturb nobody */

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

#include "lockstep/common/lag/lag_meter.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/prefetch.h"

#include <string.h>

enum {
    REFILL_TICKS = 16, /* stalled until a jitter buffer is full again ... */
    EXCUSE_TIMES = 3,  /* ... and until it has found its pace, for each tick of standing still */
    WAY_SHARE = 8,     /* a way adds so small a share of what a computer was late by, unnoticed */
};

static const uint64_t WARM_UP_NS = 2 * LS_NS_PER_SECOND;
static const uint64_t SILENCE_NS = 2 * LS_NS_PER_SECOND;
static const uint64_t REPORTS_NS = 750 * LS_NS_PER_MS;
static const uint64_t FRESH_NS =
    100 * LS_NS_PER_MS;                             /* what a client said of itself holds so long */
static const uint64_t REFILL_NS = LS_NS_PER_SECOND; /* a buffer is not filled more often */
static const uint64_t SLOW_NS = LS_NS_PER_SECOND / 2;  /* a backlog that lasts is no burst */
static const uint64_t OUTAGE_NS = LS_NS_PER_SECOND;    /* a link may be lost by it */
static const uint64_t BACKLOG_NS = 400 * LS_NS_PER_MS; /* ... whatever the tick rate is */

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

void ls_lag_meter_forget_connection(ls_lag_meter *meter)
{
    ls_lag_account *account = &meter->account;
    ls_lag_account fresh = {.excuse = account->excuse};
    memcpy(fresh.fresh_excuse, account->fresh_excuse, sizeof fresh.fresh_excuse);
    *account = fresh;
    meter->uplink_sent = 0;
    meter->uplink_lost = 0;
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

/* ---- causes ---- */

static uint32_t take(uint32_t *from, uint32_t most)
{
    uint32_t taken = LS_MIN(*from, most);
    *from -= taken;
    return taken;
}

/* The match, or this client, stood still for so many ticks, or for a moment: what the client lacks
 * then, and until its jitter buffer has found its pace again, is no fault of the way. */
static void add_excuse(ls_lag_meter *meter, uint32_t ticks)
{
    ls_lag_account *account = &meter->account;
    uint32_t more = EXCUSE_TIMES * ticks + (account->refill_pause == 0 ? REFILL_TICKS : 0);
    account->refill_pause =
        account->refill_pause == 0 ? (uint32_t)(REFILL_NS / meter->dt_ns) : account->refill_pause;
    account->excuse += more;
    account->fresh_excuse[0] += more;
}

/* How much a sum has grown; a report that is older than the one before has nothing to say. */
static uint32_t growth(uint32_t now, uint32_t before)
{
    uint32_t ticks = (now - before) & LS_LAG_REPORT_MAX;
    return ticks > LS_LAG_REPORT_MAX / 2 ? 0 : ticks;
}

/* The late inputs are among those that the client held back, since closed ticks did not come. */
static bool was_held(const ls_lag_account *account)
{
    uint32_t tick = account->first & LS_LAG_REPORT_MAX;
    bool is_behind = growth(tick, account->heard.held_tick) > 0 || tick == account->heard.held_tick;
    return account->held > 0 && is_behind;
}

/* Late inputs with a tick before `end` have come, or never will: what the client does not explain
 * is the way's. */
static void settle(ls_lag_meter *meter, ls_tick end)
{
    ls_lag_account *account = &meter->account;
    if (account->open == 0 || end <= account->first) {
        return;
    }
    ls_lag_figures *now = &meter->recent[0];
    uint32_t late =
        end > account->newest ? account->open : LS_MIN(account->open, end - account->first);
    uint32_t ticks = (uint32_t)((uint64_t)account->open_ticks * late / account->open);
    uint32_t made = take(&account->made, late);
    uint32_t made_ticks = (uint32_t)((uint64_t)ticks * made / late);
    if (was_held(account)) {
        (void)take(&account->held, late);
        now->late_held += ticks - made_ticks;
    } else {
        now->late_way += ticks - made_ticks;
    }
    now->late_made += made_ticks;
    account->open -= late;
    account->open_ticks -= ticks;
    account->first = end;
}

void ls_lag_meter_forgive_late(ls_lag_meter *meter, ls_tick tick)
{
    ls_lag_account *account = &meter->account;
    if (account->open == 0 || tick < account->first || tick > account->newest) {
        return;
    }
    account->open_ticks -= account->open_ticks / account->open;
    account->open--;
    if (take(&meter->recent[0].late, 1) == 0 && take(&meter->recent[1].late, 1) == 1) {
        (void)take(&meter->total.late, 1);
    }
}

static void add_report(ls_lag_meter *meter, const ls_lag_packet *packet, ls_lag_account *fresh)
{
    ls_lag_account *account = &meter->account;
    ls_lag_figures *now = &meter->recent[0];
    const ls_lag_report *report = packet->report;
    const ls_lag_report before = account->heard;
    uint32_t frames_ms = growth(report->frames_late_ms, before.frames_late_ms);
    uint32_t frames = (uint32_t)(frames_ms * LS_NS_PER_MS / meter->dt_ns);
    uint32_t stalled = growth(report->stalled_ticks, before.stalled_ticks);
    account->heard = *report;
    if (meter->warm_up_ticks > 0) {
        return;
    }
    /* A packet with them was lost, or they came later than by what the computer is the cause of. */
    uint64_t way_ns = LS_MAX(packet->late_ns, packet->lost_before * meter->dt_ns);
    bool is_way = way_ns > report->latest_ms * LS_NS_PER_MS * (WAY_SHARE + 1) / WAY_SHARE;
    fresh->made = is_way ? 0 : growth(report->late_inputs, before.late_inputs);
    fresh->held = growth(report->held_ticks, before.held_ticks);
    account->made += fresh->made;
    account->held += fresh->held;
    now->frames_late += frames;
    if (frames_ms > 0) {
        now->longest_frame_ms = LS_MAX(report->longest_frame_ms, now->longest_frame_ms);
        add_excuse(meter, frames);
    }
    now->stalled += stalled;
    uint32_t excused = take(&account->excuse, stalled);
    now->stalled_way += packet->is_match_behind ? 0 : stalled - excused;
}

uint32_t ls_lag_meter_add_uplink(ls_lag_meter *meter, uint64_t sent, uint64_t lost)
{
    int64_t more = (int64_t)(lost - meter->uplink_lost);
    if (meter->warm_up_ticks == 0) {
        meter->recent[0].uplink_sent += (int64_t)(sent - meter->uplink_sent);
        meter->recent[0].uplink_lost += more;
    }
    meter->uplink_sent = sent;
    meter->uplink_lost = lost;
    return more > 0 ? (uint32_t)more : 0;
}

void ls_lag_meter_add_packet(ls_lag_meter *meter, const ls_lag_packet *packet)
{
    ls_lag_account fresh = {0};
    if (packet->report) {
        add_report(meter, packet, &fresh);
    }
    if (packet->has_downlink && meter->warm_up_ticks == 0 && meter->account.pause == 0) {
        meter->account.pause = (uint32_t)(REPORTS_NS / meter->dt_ns);
        ls_lag_figures *now = &meter->recent[0];
        now->reports++;
        now->downlink_loss += packet->downlink_loss;
        now->downlink_jitter_ns += packet->downlink_jitter_ns;
    }
    settle(meter, packet->end);
    /* An input is seen to be late when the packet comes that says so, or just before the next; one
     * that the match waits for, when it waits no longer. */
    if (!packet->is_match_behind && meter->account.open == 0) {
        meter->account.made = LS_MIN(meter->account.made, fresh.made);
        meter->account.held = LS_MIN(meter->account.held, fresh.held);
    }
}

/* ---- ticks ---- */

static void open_late(ls_lag_meter *meter, const ls_lag_tick *tick)
{
    ls_lag_account *account = &meter->account;
    uint32_t ticks = LS_MAX(tick->held_up, 1);
    account->first = account->open == 0 ? tick->tick : account->first;
    account->newest = tick->tick;
    account->open++;
    account->open_ticks += ticks;
    meter->recent[0].late++;
    meter->recent[0].silent += tick->quiet_ns >= SILENCE_NS ? ticks : 0;
}

static void count_tick(ls_lag_meter *meter, const ls_lag_tick *tick)
{
    ls_lag_figures *now = &meter->recent[0];
    uint32_t backlog_max = LS_MAX(LS_LAG_BACKLOG_TICKS, (uint32_t)(BACKLOG_NS / meter->dt_ns));
    now->ticks++;
    bool is_behind = tick->quiet_ns < FRESH_NS && tick->backlog >= backlog_max;
    meter->account.slow_ticks = is_behind ? meter->account.slow_ticks + 1 : 0;
    now->frames_late += meter->account.slow_ticks * meter->dt_ns > SLOW_NS ? 1 : 0;
    now->overdue += tick->overdue;
    now->closing_jitter_ns += tick->uneven_ns;
    (void)take(&meter->account.pause, 1);
    now->waited += tick->waited;
    if (tick->waited > now->longest_wait) {
        now->longest_wait = tick->waited;
        now->longest_wait_slot = tick->waited_slot;
    }
    now->held_up += tick->held_up;
    now->input_delay_ticks = tick->input_delay_ticks;
    if (tick->is_late) {
        open_late(meter, tick);
    }
    if (tick->was_behind) {
        add_excuse(meter, tick->overdue + tick->waited + tick->held_up);
    }
    (void)take(&meter->account.refill_pause, 1);
}

static void begin_stretch(ls_lag_meter *meter)
{
    ls_lag_account *account = &meter->account;
    meter->recent[1] = meter->recent[0];
    reset(meter, &meter->recent[0]);
    uint32_t recent_excuse = 0;
    for (uint32_t i = LS_LAG_EXCUSE_STRETCHES - 1; i > 0; i--) {
        recent_excuse += account->fresh_excuse[i - 1];
        account->fresh_excuse[i] = account->fresh_excuse[i - 1];
    }
    account->fresh_excuse[0] = 0;
    account->excuse = LS_MIN(account->excuse, recent_excuse);
}

bool ls_lag_meter_add_quiet_tick(ls_lag_meter *meter, bool was_behind, uint64_t uneven_ns)
{
    ls_lag_figures *now = &meter->recent[0];
    bool has_excuse = was_behind && meter->account.refill_pause == 0;
    if (has_excuse || meter->warm_up_ticks > 0 ||
        (now->ticks + 1) * meter->dt_ns >= LS_LAG_STRETCH_NS) {
        return false;
    }
    now->ticks++;
    now->closing_jitter_ns += uneven_ns;
    meter->account.slow_ticks = 0;
    (void)take(&meter->account.pause, 1);
    (void)take(&meter->account.refill_pause, 1);
    return true;
}

bool ls_lag_meter_add_tick(ls_lag_meter *meter, const ls_lag_tick *tick, ls_lag_figures *recent)
{
    if (meter->warm_up_ticks > 0) {
        meter->warm_up_ticks--;
    } else {
        count_tick(meter, tick);
    }
    if (meter->recent[0].ticks * meter->dt_ns < LS_LAG_STRETCH_NS) {
        return false;
    }
    ls_lag_figures_end_stretch(&meter->recent[0]);
    ls_lag_figures_add(&meter->total, &meter->recent[0]);
    *recent = meter->recent[1];
    ls_lag_figures_add(recent, &meter->recent[0]);
    begin_stretch(meter);
    return true;
}

void ls_lag_meter_add_outage(ls_lag_meter *meter, uint32_t overdue)
{
    if (overdue * meter->dt_ns >= OUTAGE_NS) {
        meter->recent[0].overdue = overdue;
    }
}

void ls_lag_meter_note_verdict(ls_lag_meter *meter, ls_lag_cause cause)
{
    uint32_t harm = ls_lag_harm(&meter->recent[1], cause);
    meter->judged[cause] += LS_MAX(harm, 1);
}

/* Lateness of the server says nothing of the player: it stays. */
void ls_lag_meter_forget_recent(ls_lag_meter *meter)
{
    uint32_t overdue = meter->recent[0].overdue;
    ls_lag_figures_add(&meter->total, &meter->recent[0]);
    meter->total.overdue -= overdue;
    reset(meter, &meter->recent[0]);
    reset(meter, &meter->recent[1]);
    meter->recent[0].overdue = overdue;
}

ls_lag_figures ls_lag_meter_total(const ls_lag_meter *meter)
{
    ls_lag_figures sum = meter->total;
    ls_lag_figures_add(&sum, &meter->recent[0]);
    return sum;
}

ls_lag ls_lag_meter_verdict(const ls_lag_meter *meter)
{
    ls_lag_cause worst = LS_LAG_FINE;
    for (uint32_t cause = LS_LAG_FINE + 1; cause < LS_LAG_CAUSE_COUNT; cause++) {
        bool is_worse = worst == LS_LAG_FINE || meter->judged[cause] > meter->judged[worst];
        worst = meter->judged[cause] > 0 && is_worse ? (ls_lag_cause)cause : worst;
    }
    ls_lag_figures total = ls_lag_meter_total(meter);
    return ls_lag_of_cause(&total, worst);
}

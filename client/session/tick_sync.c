#include "lockstep/client/session/tick_sync.h"

#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    LOSS_ONE = 256,       /* loss counts packets of so many */
    LATE_ONE_IN = 200,    /* on a way that loses nothing, of so many inputs one may be late */
    LATE_LOSS_SHARE = 16, /* and a sixteenth of those whose packet is lost */
    LATE_REPORTS_MAX = 3, /* that many in a row are no chance: the network has changed */
    MOVE_SHARE = 20,      /* of the time between two inputs: at most 5 % faster or slower */
};

static const int64_t MARGIN_NS = 2 * (int64_t)LS_NS_PER_MS;
static const uint64_t FRAME_MAX_NS = LS_NS_PER_SECOND / 4;
static const int64_t NOT_MADE = INT64_MIN;

/* More than this too early is no jitter to keep clear of: the server stood still, or waited. */
static const int64_t JUMP_LATER_NS = 100 * (int64_t)LS_NS_PER_MS;

void ls_tick_sync_init(ls_tick_sync *sync, const ls_tick_sync_config *config)
{
    memset(sync, 0, sizeof *sync);
    sync->config = *config;
    sync->delay_ns = config->input_delay_ticks * config->dt_ns;
    ls_quantile_window_init(&sync->needs, LATE_ONE_IN);
    for (uint32_t i = 0; i < LS_LEAD_TICKS_MAX; i++) {
        sync->phase_ns[i] = NOT_MADE;
    }
}

void ls_tick_sync_set_input_delay(ls_tick_sync *sync, uint32_t ticks)
{
    sync->config.input_delay_ticks = ticks;
}

/* An eighth of the way, as TCP smooths its round trips (RFC 6298, section 2). */
static uint64_t smoothed(uint64_t old_ns, uint64_t sample_ns)
{
    return (uint64_t)((int64_t)old_ns + ((int64_t)sample_ns - (int64_t)old_ns) / 8);
}

/* How long after it is due an input may be made. */
static uint64_t grain_ns(const ls_tick_sync *sync)
{
    return sync->config.is_exact ? 0 : sync->frame_ns;
}

/* When an input is made whose tick is closed at `close_ns` by this machine's clock, as far as it is
 * known without samples. */
static uint64_t due_ns_for(const ls_tick_sync *sync, uint64_t close_ns, uint64_t spare_ns)
{
    uint64_t early_ns =
        sync->rtt_ns + (uint64_t)MARGIN_NS + sync->delay_ns + grain_ns(sync) + spare_ns;
    return close_ns > early_ns ? close_ns - early_ns : 0;
}

void ls_tick_sync_start(ls_tick_sync *sync, uint64_t close_ns)
{
    /* START took half a round trip, and an input takes the other half. A tick more costs a little
     * latency for a few seconds; too late would cost the first inputs. */
    sync->start_ns = close_ns;
    sync->next_due_ns = due_ns_for(sync, close_ns, sync->config.dt_ns);
}

static void forget_all(ls_tick_sync *sync)
{
    ls_tick_sync_forget(sync);
    sync->has_latest = false;
    sync->has_settled = false;
    sync->late_reports = 0;
    for (uint32_t i = 0; i < LS_LEAD_TICKS_MAX; i++) {
        sync->phase_ns[i] = NOT_MADE;
    }
}

void ls_tick_sync_enter(ls_tick_sync *sync, const ls_tick_sync_entry *entry, uint64_t now_ns)
{
    int64_t dt_ns = (int64_t)sync->config.dt_ns;
    int64_t due_ns = (int64_t)due_ns_for(sync, entry->close_ns, sync->config.dt_ns);
    due_ns += ((int64_t)entry->first - (int64_t)entry->tick) * dt_ns;
    int64_t behind_ns = (int64_t)now_ns - due_ns;
    int64_t missed = behind_ns > 0 ? (behind_ns + dt_ns - 1) / dt_ns : 0;
    missed = missed > entry->overdue_max ? missed : 0;
    if (missed >= LS_LEAD_TICKS_MAX) {
        /* The server would ignore whatever came of inputs further ahead, acknowledgements too. */
        missed = LS_LEAD_TICKS_MAX - 1;
        due_ns = (int64_t)now_ns - missed * dt_ns;
    }
    forget_all(sync);
    sync->moved_ns = now_ns;
    sync->next_input = entry->first + (ls_tick)missed;
    sync->reported = sync->next_input > 0 ? sync->next_input - 1 : 0;
    sync->next_due_ns = (uint64_t)(due_ns + missed * dt_ns);
}

bool ls_tick_sync_is_hitch(const ls_tick_sync *sync, uint64_t since_frame_ns)
{
    return sync->frame_ns != 0 && since_frame_ns > 2 * sync->frame_ns;
}

void ls_tick_sync_add_frame(ls_tick_sync *sync, uint64_t frame_ns)
{
    frame_ns = LS_MIN(frame_ns, FRAME_MAX_NS);
    sync->frame_ns = sync->frame_ns == 0 ? frame_ns : smoothed(sync->frame_ns, frame_ns);
    if (sync->next_input == 0 && sync->start_ns != 0) {
        ls_tick_sync_start(sync, sync->start_ns); /* frames may first be known after START */
    }
}

/* ---- making inputs ---- */

static int64_t phase_of(const ls_tick_sync *sync, uint64_t made_ns, ls_tick tick)
{
    return (int64_t)(made_ns - tick * sync->config.dt_ns);
}

/* The phase at which inputs are due now. */
static int64_t present_phase(const ls_tick_sync *sync)
{
    return phase_of(sync, sync->next_due_ns, sync->next_input);
}

/* The phase at which inputs should be due, without the delay that was asked for. */
static int64_t wanted_phase(const ls_tick_sync *sync)
{
    return sync->latest_ns - (int64_t)grain_ns(sync) - MARGIN_NS;
}

static int64_t clamped(int64_t value, int64_t limit)
{
    return value > limit ? limit : value < -limit ? -limit : value;
}

/* How much later than dt after the last input the next one is made. */
static int64_t choose_step(ls_tick_sync *sync)
{
    int64_t step_max_ns = (int64_t)(sync->config.dt_ns / MOVE_SHARE);
    int64_t delay_wanted_ns = (int64_t)(sync->config.input_delay_ticks * sync->config.dt_ns);
    int64_t more_ns = clamped(delay_wanted_ns - (int64_t)sync->delay_ns, step_max_ns);
    sync->delay_ns = (uint64_t)((int64_t)sync->delay_ns + more_ns);
    if (!sync->has_latest) {
        return -more_ns;
    }
    int64_t error_ns = wanted_phase(sync) - (int64_t)sync->delay_ns - present_phase(sync);
    if (error_ns > 0 && !ls_quantile_window_is_settled(&sync->needs)) {
        error_ns = error_ns < -more_ns ? error_ns : -more_ns;
    }
    return clamped(error_ns, step_max_ns);
}

/* The phase of the next input on a machine that is never late. The delay of a busy one is part of
 * the way that inputs have to go; not so that of an input which was overdue when it became due. */
static int64_t punctual_phase(const ls_tick_sync *sync, uint64_t now_ns)
{
    uint64_t due_ns = LS_MAX(sync->next_due_ns + grain_ns(sync), sync->moved_ns);
    return phase_of(sync, LS_MIN(now_ns, due_ns), sync->next_input);
}

bool ls_tick_sync_claim_due(ls_tick_sync *sync, uint64_t now_ns)
{
    if (now_ns < sync->next_due_ns) {
        return false;
    }
    sync->phase_ns[sync->next_input % LS_LEAD_TICKS_MAX] = punctual_phase(sync, now_ns);
    sync->next_due_ns += (uint64_t)((int64_t)sync->config.dt_ns + choose_step(sync));
    sync->next_input++;
    sync->is_held = false;
    return true;
}

uint64_t ls_tick_sync_lateness_ns(const ls_tick_sync *sync, uint64_t now_ns)
{
    uint64_t due_ns = LS_MAX(sync->next_due_ns, sync->moved_ns);
    return now_ns > due_ns ? now_ns - due_ns : 0;
}

bool ls_tick_sync_is_too_late(const ls_tick_sync *sync, uint64_t now_ns)
{
    int64_t phase_ns = phase_of(sync, now_ns, sync->next_input);
    int64_t late_ns = (int64_t)ls_tick_sync_lateness_ns(sync, now_ns);
    return sync->has_latest && phase_ns > sync->latest_ns && phase_ns - late_ns <= sync->latest_ns;
}

bool ls_tick_sync_is_uneven(const ls_tick_sync *sync, uint64_t now_ns)
{
    uint64_t usual_ns = (uint64_t)MARGIN_NS + grain_ns(sync);
    return !sync->is_held && ls_tick_sync_lateness_ns(sync, now_ns) > usual_ns;
}

void ls_tick_sync_hold(ls_tick_sync *sync, uint64_t now_ns)
{
    sync->next_due_ns = LS_MAX(sync->next_due_ns, now_ns);
    sync->is_held = true;
}

void ls_tick_sync_go_on(ls_tick_sync *sync, uint64_t now_ns)
{
    forget_all(sync);
    sync->reported = sync->next_input > 0 ? sync->next_input - 1 : 0;
    sync->next_due_ns = now_ns;
}

void ls_tick_sync_skip_to(ls_tick_sync *sync, ls_tick tick, uint64_t now_ns)
{
    /* Overdue inputs are skipped with their time, or all of them would be made now, for ticks far
     * ahead. But if time is not what was lost, then this machine was late all along. */
    uint64_t due_ns = sync->next_due_ns + (tick - sync->next_input) * sync->config.dt_ns;
    uint64_t latest_ns = due_ns_for(sync, now_ns + sync->config.dt_ns, 0);
    sync->next_due_ns = LS_MIN(due_ns, latest_ns);
    sync->moved_ns = now_ns;
    ls_tick oldest =
        tick - sync->next_input > LS_LEAD_TICKS_MAX ? tick - LS_LEAD_TICKS_MAX : sync->next_input;
    for (; oldest < tick; oldest++) {
        sync->phase_ns[oldest % LS_LEAD_TICKS_MAX] = NOT_MADE;
    }
    sync->next_input = tick;
}

/* ---- what the server reports ---- */

void ls_tick_sync_add_rtt(ls_tick_sync *sync, uint64_t rtt_ns)
{
    sync->rtt_ns = sync->rtt_ns == 0 ? rtt_ns : smoothed(sync->rtt_ns, rtt_ns);
}

void ls_tick_sync_limit_rtt(ls_tick_sync *sync, uint64_t rtt_ns)
{
    sync->rtt_ns = LS_MIN(rtt_ns, sync->rtt_ns);
}

/* Where many packets are lost, a lead that hardly any input is late with would cost all of them
 * latency; and one that is late there is no sign of more. */
void ls_tick_sync_set_loss(ls_tick_sync *sync, uint32_t loss)
{
    sync->needs.one_in =
        LATE_LOSS_SHARE * LOSS_ONE / (LATE_LOSS_SHARE * LOSS_ONE / LATE_ONE_IN + loss);
    sync->needs.spared = loss > 0 ? 1 : 0;
}

void ls_tick_sync_forget(ls_tick_sync *sync)
{
    ls_quantile_window_forget(&sync->needs);
}

/* The latest phase of the inputs that a report may be about: those after the report before it, up
 * to `tick`; and of late ones, whose ticks were closed before they came, that many before it. */
static int64_t reported_phase(const ls_tick_sync *sync, int64_t slack_ns, ls_tick tick)
{
    ls_tick first = sync->reported < tick ? sync->reported + 1 : tick;
    if (slack_ns < 0) {
        uint64_t late_ticks = (uint64_t)-slack_ns / sync->config.dt_ns + 1;
        ls_tick late = tick > late_ticks ? tick - (ls_tick)late_ticks : 0;
        first = late < first ? late : first;
    }
    ls_tick end = tick < sync->next_input ? tick + 1 : sync->next_input;
    ls_tick held = end > LS_LEAD_TICKS_MAX ? end - LS_LEAD_TICKS_MAX : 0;
    int64_t phase_ns = NOT_MADE;
    for (first = first < held ? held : first; first < end; first++) {
        int64_t one_ns = sync->phase_ns[first % LS_LEAD_TICKS_MAX];
        phase_ns = one_ns > phase_ns ? one_ns : phase_ns;
    }
    return phase_ns;
}

/* At once, if inputs come late or nearly so; or if they come much too early; or to mend what was
 * guessed at the start, from a round trip or two. */
static void jump(ls_tick_sync *sync, uint64_t now_ns)
{
    int64_t early_ns = wanted_phase(sync) - present_phase(sync);
    if (early_ns < -MARGIN_NS / 2) {
        uint64_t by_ns = (uint64_t)-early_ns;
        sync->next_due_ns = sync->next_due_ns > by_ns ? sync->next_due_ns - by_ns : 0;
        sync->moved_ns = now_ns;
        return;
    }
    if (!ls_quantile_window_is_settled(&sync->needs)) {
        return;
    }
    int64_t excess_ns = early_ns - (int64_t)sync->delay_ns;
    int64_t most_ns = sync->has_settled ? JUMP_LATER_NS : 0;
    sync->next_due_ns += excess_ns > most_ns ? (uint64_t)excess_ns : 0;
    sync->has_settled = true;
}

bool ls_tick_sync_is_settled(const ls_tick_sync *sync)
{
    return ls_quantile_window_is_settled(&sync->needs);
}

void ls_tick_sync_pass_slack(ls_tick_sync *sync, ls_tick tick)
{
    sync->reported = LS_MAX(tick, sync->reported);
    sync->late_reports = 0;
}

LS_TICK_CODE void ls_tick_sync_add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick,
                                         uint64_t now_ns)
{
    int64_t phase_ns = reported_phase(sync, slack_ns, tick);
    if (phase_ns == NOT_MADE) {
        return;
    }
    sync->reported = LS_MAX(tick, sync->reported);
    sync->late_reports = slack_ns < 0 ? sync->late_reports + 1 : 0;
    if (sync->late_reports == LATE_REPORTS_MAX) {
        ls_tick_sync_forget(sync);
    }
    ls_quantile_window_add(&sync->needs, -(phase_ns + slack_ns), now_ns);
    sync->latest_ns = -ls_quantile_window_value(&sync->needs);
    sync->has_latest = true;
    jump(sync, now_ns);
}

#include "lockstep/server/match/lag_attribution.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <inttypes.h>

enum {
    PPM = 1000000,
    HARM_PPM = 5000,        /* of the ticks: below it nobody notices */
    HARM_TICKS = 4,         /* nor a few */
    LOSS_PPM = 20000,       /* a direction that loses so many is named even if nothing comes late */
    JITTER_PER_MILLE = 500, /* of a tick: likewise; drawing in frames explains less than that */
    JITTER_TAIL = 3,      /* the rare delay beyond the usual one, in units of the smoothed jitter */
    LOSS_TAIL_TICKS = 16, /* more packets in a row than this are not lost by chance */
};

/* At most all of it: what a client says that it missed may lie before the stretch that it is
 * counted in. */
static uint32_t share_ppm(uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        return 0;
    }
    return part >= whole ? PPM : (uint32_t)(part * PPM / whole);
}

static uint32_t less(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* ---- figures ---- */

void ls_lag_figures_add(ls_lag_figures *sum, const ls_lag_figures *other)
{
    sum->dt_ns = other->dt_ns;
    sum->input_delay_ticks = other->input_delay_ticks;
    sum->ticks += other->ticks;
    sum->late += other->late;
    sum->silent += other->silent;
    sum->hitch += other->hitch;
    sum->stalled += other->stalled;
    sum->excused += other->excused;
    sum->overdue += other->overdue;
    sum->longest_frame_ms = LS_MAX(sum->longest_frame_ms, other->longest_frame_ms);
    sum->backlog += other->backlog;
    sum->uplink_sent += other->uplink_sent;
    sum->uplink_lost += other->uplink_lost;
    sum->uplink_jitter_ns += other->uplink_jitter_ns;
    sum->reports += other->reports;
    sum->downlink_loss += other->downlink_loss;
    sum->downlink_jitter += other->downlink_jitter;
    for (uint32_t i = 0; i < LS_LAG_BINS; i++) {
        sum->arrivals[i] += other->arrivals[i];
    }
}

uint32_t ls_lag_bin(int64_t slack_ns, uint64_t dt_ns)
{
    int64_t half_ns = (int64_t)(dt_ns / 2);
    /* Toward the earlier edge: an input late by anything lies in a bin below 0. */
    int64_t bin = slack_ns / half_ns - (slack_ns % half_ns < 0 ? 1 : 0) - LS_LAG_BIN_FIRST;
    return bin < 0 ? 0 : bin < LS_LAG_BINS ? (uint32_t)bin : LS_LAG_BINS - 1;
}

int32_t ls_lag_spare_ticks(const ls_lag_figures *figures)
{
    uint64_t count = 0;
    uint64_t below = 0;
    for (uint32_t i = 0; i < LS_LAG_BINS; i++) {
        count += figures->arrivals[i];
    }
    if (count == 0) {
        return 0;
    }
    uint32_t bin = 0;
    while (bin + 1 < LS_LAG_BINS) {
        below += figures->arrivals[bin];
        if (below * PPM > count * LS_LAG_MENDED_PPM) {
            break;
        }
        bin++;
    }
    int32_t halves = LS_LAG_BIN_FIRST + (int32_t)bin;
    return halves >= 0 ? halves / 2 : -((1 - halves) / 2);
}

/* ---- judging ---- */

/* Ticks until a packet comes through for all but a thousandth of them. */
static uint32_t loss_tail_ticks(uint32_t loss_ppm)
{
    uint64_t left_ppm = PPM;
    uint32_t ticks = 0;
    while (left_ppm > LS_LAG_MENDED_PPM && ticks < LOSS_TAIL_TICKS) {
        left_ppm = left_ppm * loss_ppm / PPM;
        ticks++;
    }
    return ticks;
}

static bool is_harm(uint32_t ticks, uint32_t of)
{
    return ticks >= HARM_TICKS && share_ppm(ticks, of) >= HARM_PPM;
}

/* The worst fault of the network, by what each fault costs: the lead that an input needs because of
 * it. LS_LAG_FINE when it has none that shows. */
static ls_lag_cause judge_network(const ls_lag_figures *figures, const ls_lag *lag, uint32_t late,
                                  uint32_t stalled)
{
    uint64_t jitter_ns = LS_MAX(lag->uplink_jitter_ns, lag->downlink_jitter_ns);
    uint32_t loss_ppm = LS_MAX(lag->uplink_loss_ppm, lag->downlink_loss_ppm);
    bool is_uneven = jitter_ns * 1000 >= figures->dt_ns * JITTER_PER_MILLE;
    bool is_losing = loss_ppm >= LOSS_PPM;
    uint64_t loss_ns = is_losing ? loss_tail_ticks(loss_ppm) * figures->dt_ns : 0;
    if (is_uneven && jitter_ns * JITTER_TAIL > loss_ns) {
        return LS_LAG_JITTER;
    }
    if (is_losing) {
        return lag->uplink_loss_ppm == loss_ppm ? LS_LAG_UPLINK : LS_LAG_DOWNLINK;
    }
    bool is_late = is_harm(late, figures->ticks);
    if (is_late || is_harm(stalled, figures->ticks)) {
        return is_late && late >= stalled ? LS_LAG_UPLINK : LS_LAG_DOWNLINK;
    }
    return LS_LAG_FINE;
}

static ls_lag_cause judge_cause(const ls_lag_figures *figures, const ls_lag *lag)
{
    uint32_t own = LS_MAX(figures->hitch, figures->backlog);
    if (figures->silent > own && is_harm(figures->silent, figures->ticks)) {
        return LS_LAG_SILENT;
    }
    uint32_t explained = LS_MAX(own, figures->silent) + figures->excused;
    uint32_t late = less(figures->late, explained);
    uint32_t stalled = less(figures->stalled, explained);
    uint32_t worst = LS_MAX(own, LS_MAX(late, stalled));
    if (is_harm(figures->overdue, figures->ticks) && figures->overdue >= worst) {
        return LS_LAG_SERVER;
    }
    if (is_harm(own, figures->ticks) && own >= LS_MAX(late, stalled)) {
        return LS_LAG_COMPUTER;
    }
    return judge_network(figures, lag, late, stalled);
}

static uint32_t suggested_input_delay(const ls_lag_figures *figures)
{
    int32_t spare = ls_lag_spare_ticks(figures);
    if (spare >= 0 || share_ppm(figures->late, figures->ticks) < LS_LAG_LATE_PPM) {
        return 0;
    }
    uint32_t delay = figures->input_delay_ticks + (uint32_t)-spare;
    return LS_MIN(delay, LS_INPUT_DELAY_TICKS_MAX);
}

ls_lag ls_lag_judge(const ls_lag_figures *figures)
{
    int64_t lost = figures->uplink_lost > 0 ? figures->uplink_lost : 0;
    uint64_t reports = figures->reports > 0 ? figures->reports : 1;
    uint64_t ticks = figures->ticks > 0 ? figures->ticks : 1;
    ls_lag lag = {
        .late_ppm = share_ppm(figures->late, figures->ticks),
        .stalled_ppm = share_ppm(less(figures->stalled, figures->excused), figures->ticks),
        .uplink_loss_ppm = share_ppm((uint64_t)lost, (uint64_t)figures->uplink_sent),
        .uplink_jitter_ns = figures->uplink_jitter_ns / ticks,
        .downlink_loss_ppm = share_ppm(figures->downlink_loss, reports * (LS_LOSS_MAX + 1)),
        .downlink_jitter_ns = figures->downlink_jitter * LS_HOLD_UNIT_NS / reports,
        .longest_frame_ms = figures->longest_frame_ms,
        .overdue_ppm = share_ppm(figures->overdue, figures->ticks)};
    lag.cause = judge_cause(figures, &lag);
    bool is_way = lag.cause == LS_LAG_UPLINK || lag.cause == LS_LAG_JITTER;
    lag.suggested_input_delay_ticks = is_way ? suggested_input_delay(figures) : 0;
    return lag;
}

/* ---- words ---- */

const char *ls_lag_cause_name(ls_lag_cause cause)
{
    static const char *const names[LS_LAG_CAUSE_COUNT] = {
        "fine", "computer", "uplink", "downlink", "jitter", "silent", "server"};
    LS_ASSERT(cause < LS_LAG_CAUSE_COUNT);
    return names[cause];
}

static double percent(uint32_t ppm)
{
    return ppm / 1e4;
}

static void set_way(ls_text *text, const char *way, uint32_t loss_ppm)
{
    if (loss_ppm >= LOSS_PPM) {
        ls_text_set(text, "%.1f %% of %s packets lost", percent(loss_ppm), way);
    } else {
        ls_text_set(text, "the %s is slower at times", way);
    }
}

static void add_harm(const ls_lag *lag, ls_text *text)
{
    if (lag->late_ppm > 0) {
        ls_text_add(text, ", %.1f %% of inputs late", percent(lag->late_ppm));
    }
    if (lag->stalled_ppm > 0) {
        ls_text_add(text, ", %.1f %% of ticks stalled", percent(lag->stalled_ppm));
    }
    if (lag->suggested_input_delay_ticks > 0) {
        ls_text_add(text, "; try --input-delay %" PRIu32, lag->suggested_input_delay_ticks);
    }
}

void ls_lag_text(const ls_lag *lag, ls_text *text)
{
    switch (lag->cause) {
    case LS_LAG_COMPUTER:
        ls_text_set(text, "the computer is too slow (frames of up to %" PRIu32 " ms)",
                    lag->longest_frame_ms);
        break;
    case LS_LAG_UPLINK:
        set_way(text, "uplink", lag->uplink_loss_ppm);
        break;
    case LS_LAG_DOWNLINK:
        set_way(text, "downlink", lag->downlink_loss_ppm);
        break;
    case LS_LAG_JITTER:
        ls_text_set(text, "delay varies by %.1f ms up and %.1f ms down",
                    (double)lag->uplink_jitter_ns / 1e6, (double)lag->downlink_jitter_ns / 1e6);
        break;
    case LS_LAG_SILENT:
        ls_text_set(text, "nothing is received");
        return;
    case LS_LAG_SERVER:
        ls_text_set(
            text,
            "the server closed %.1f %% of the ticks too late: its machine is too slow or too "
            "busy",
            percent(lag->overdue_ppm));
        return;
    case LS_LAG_FINE:
    case LS_LAG_CAUSE_COUNT:
        ls_text_set(text, "fine");
        return;
    }
    add_harm(lag, text);
}

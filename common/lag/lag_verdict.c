#include "lockstep/common/lag/lag_verdict.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <inttypes.h>

enum {
    PPM = LS_LAG_ALL_PPM,
    HARM_PPM = 12500,     /* of the ticks: pace and jitter buffer let one in a hundred come late */
    HARM_TICKS = 2,       /* one alone is not noticed */
    LOSS_PPM = 20000,     /* a direction that loses so many is named even if nothing comes late */
    JITTER_TAIL = 3,      /* the rare delay beyond the usual one, in units of the smoothed jitter */
    LOSS_TAIL_TICKS = 16, /* more packets in a row than this are not lost by chance */
    OTHER_TIMES = 2, /* a player that is waited for half as long as another has its own cause */
    UNHEARD_PPM = 400000, /* lost on a way that is all but cut */
    LOSS_ONE = 256,
    LATE_STRETCHES = 2, /* before a delay is suggested */
    VARIES_US = 4000,   /* from here on the words say by how much the delay varies */
};

/* Jitter of half a tick is named even if nothing comes late: that inputs are made in frames
 * explains less, up to 8 ms. Nor is more than 15 ms usual on any link. */
static const uint64_t JITTER_MIN_NS = 8 * LS_NS_PER_MS;
static const uint64_t JITTER_MAX_NS = 15 * LS_NS_PER_MS;

static const uint64_t FINE_NS = 10 * LS_NS_PER_SECOND; /* until it is said that all is fine again */
static const uint64_t SAID_NS =
    5 * LS_NS_PER_SECOND; /* between two, but of the cause of a silence */

/* At most all of it: what a client says that it missed may lie before the stretch that it is
 * counted in. */
static uint32_t share_ppm(uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        return 0;
    }
    return part >= whole ? PPM : (uint32_t)(part * PPM / whole);
}

/* ---- figures ---- */

void ls_lag_figures_add(ls_lag_figures *sum, const ls_lag_figures *other)
{
    sum->dt_ns = other->dt_ns;
    sum->input_delay_ticks = other->input_delay_ticks;
    sum->ticks += other->ticks;
    sum->late += other->late;
    sum->late_made += other->late_made;
    sum->late_held += other->late_held;
    sum->late_way += other->late_way;
    sum->late_stretches += other->late_stretches;
    sum->silent += other->silent;
    sum->frames_late += other->frames_late;
    sum->longest_frame_ms = LS_MAX(sum->longest_frame_ms, other->longest_frame_ms);
    sum->stalled += other->stalled;
    sum->stalled_way += other->stalled_way;
    sum->overdue += other->overdue;
    sum->waited += other->waited;
    if (other->longest_wait > sum->longest_wait) {
        sum->longest_wait = other->longest_wait;
        sum->longest_wait_slot = other->longest_wait_slot;
    }
    sum->held_up += other->held_up;
    sum->uplink_sent += other->uplink_sent;
    sum->uplink_lost += other->uplink_lost;
    sum->uplink_samples += other->uplink_samples;
    sum->uplink_jitter_ns += other->uplink_jitter_ns;
    sum->reports += other->reports;
    sum->downlink_loss += other->downlink_loss;
    sum->downlink_jitter_ns += other->downlink_jitter_ns;
    sum->closing_jitter_ns += other->closing_jitter_ns;
    for (uint32_t i = 0; i < LS_LAG_BINS; i++) {
        sum->arrivals[i] += other->arrivals[i];
    }
}

void ls_lag_figures_end_stretch(ls_lag_figures *figures)
{
    figures->late_stretches = share_ppm(figures->late_way, figures->ticks) >= LS_LAG_LATE_PPM;
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

uint32_t ls_lag_harm(const ls_lag_figures *figures, ls_lag_cause cause)
{
    switch (cause) {
    case LS_LAG_COMPUTER:
        return LS_MAX(figures->late_made, figures->frames_late);
    case LS_LAG_UPLINK:
        return figures->late_way;
    case LS_LAG_DOWNLINK:
        return LS_MAX(figures->late_held, figures->stalled_way);
    case LS_LAG_SILENT:
        return figures->silent;
    case LS_LAG_SERVER:
        return figures->overdue;
    case LS_LAG_PLAYER:
        return figures->waited;
    case LS_LAG_FINE:
    case LS_LAG_CAUSE_COUNT:
        break;
    }
    return 0;
}

/* The cost of one direction of a link, in ticks: the lead that its loss and its jitter take; 0
 * where neither shows. */
static uint32_t cost_ticks(const ls_lag_figures *figures, uint32_t loss_ppm, uint32_t jitter_us)
{
    uint64_t jitter_ns = jitter_us * LS_NS_PER_US;
    uint64_t uneven_ns = LS_MAX(LS_MIN(figures->dt_ns / 2, JITTER_MAX_NS), JITTER_MIN_NS);
    uint64_t tail_ns = jitter_ns > 0 && jitter_ns >= uneven_ns ? jitter_ns * JITTER_TAIL : 0;
    uint32_t lossy = loss_ppm >= LOSS_PPM ? loss_tail_ticks(loss_ppm) : 0;
    uint32_t uneven = (uint32_t)((tail_ns + figures->dt_ns - 1) / LS_MAX(figures->dt_ns, 1));
    return LS_MAX(lossy, uneven);
}

/* Loss and jitter count where nothing else does harm. */
static ls_lag_cause judge_network(const ls_lag_figures *figures, const ls_lag *lag)
{
    uint32_t up = cost_ticks(figures, lag->uplink_loss_ppm, lag->uplink_jitter_us);
    uint32_t down = cost_ticks(figures, lag->downlink_loss_ppm, lag->downlink_jitter_us);
    uint32_t up_harm = ls_lag_harm(figures, LS_LAG_UPLINK);
    uint32_t down_harm = ls_lag_harm(figures, LS_LAG_DOWNLINK);
    /* Where one way is all but cut, what is late on the other is so because of that: the server
     * repeats ticks that are not acknowledged, and the client does not hear of its lead. */
    if (LS_MAX(lag->uplink_loss_ppm, lag->downlink_loss_ppm) >= UNHEARD_PPM) {
        return lag->uplink_loss_ppm > lag->downlink_loss_ppm ? LS_LAG_UPLINK : LS_LAG_DOWNLINK;
    }
    if (up == 0 && down == 0 && !is_harm(LS_MAX(up_harm, down_harm), figures->ticks)) {
        return LS_LAG_FINE;
    }
    return up + up_harm >= down + down_harm ? LS_LAG_UPLINK : LS_LAG_DOWNLINK;
}

static ls_lag_cause judge_cause(const ls_lag_figures *figures, const ls_lag *lag, uint32_t others)
{
    static const ls_lag_cause causes[] = {LS_LAG_SERVER, LS_LAG_COMPUTER, LS_LAG_SILENT,
                                          LS_LAG_PLAYER};
    ls_lag_cause worst = LS_LAG_FINE;
    uint32_t harm = 0;
    for (uint32_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        uint32_t ticks = ls_lag_harm(figures, causes[i]);
        bool is_own = causes[i] == LS_LAG_PLAYER &&
                      (uint64_t)figures->held_up * OTHER_TIMES * others >= figures->waited;
        if (!is_own && is_harm(ticks, figures->ticks) && ticks > harm) {
            worst = causes[i];
            harm = ticks;
        }
    }
    uint32_t network =
        LS_MAX(ls_lag_harm(figures, LS_LAG_UPLINK), ls_lag_harm(figures, LS_LAG_DOWNLINK));
    return worst != LS_LAG_FINE && harm >= network ? worst : judge_network(figures, lag);
}

/* None for a way that became longer once, nor where inputs are later than the first bin tells. */
static uint32_t suggested_input_delay(const ls_lag_figures *figures)
{
    int32_t spare = ls_lag_spare_ticks(figures);
    if (spare >= 0 || spare <= LS_LAG_BIN_FIRST / 2 || figures->late_stretches < LATE_STRETCHES ||
        share_ppm(figures->late_way, figures->ticks) < LS_LAG_LATE_PPM) {
        return 0;
    }
    uint32_t delay = figures->input_delay_ticks + (uint32_t)-spare;
    return delay <= LS_INPUT_DELAY_TICKS_MAX ? delay : 0;
}

static uint32_t microseconds(uint64_t ns)
{
    return (uint32_t)LS_MIN(ns / LS_NS_PER_US, UINT32_MAX);
}

/* Of the way alone. Both are sampled, and at other times. */
static uint64_t downlink_jitter_ns(const ls_lag_figures *figures)
{
    uint64_t all_ns = figures->downlink_jitter_ns / LS_MAX(figures->reports, 1);
    uint64_t closing_ns = figures->closing_jitter_ns / LS_MAX(figures->ticks, 1);
    return all_ns > 2 * closing_ns ? all_ns - closing_ns : 0;
}

static uint32_t lost_ms(const ls_lag_figures *figures, ls_lag_cause cause)
{
    uint64_t ms = ls_lag_harm(figures, cause) * figures->dt_ns / LS_NS_PER_MS;
    return (uint32_t)LS_MIN(ms, UINT32_MAX);
}

ls_lag ls_lag_of_cause(const ls_lag_figures *figures, ls_lag_cause cause)
{
    int64_t lost = figures->uplink_lost > 0 ? figures->uplink_lost : 0;
    uint64_t reports = figures->reports > 0 ? figures->reports : 1;
    uint64_t samples = figures->uplink_samples > 0 ? figures->uplink_samples : 1;
    ls_lag lag = {.cause = cause,
                  .whom = cause == LS_LAG_PLAYER ? figures->longest_wait_slot : 0,
                  .lost_ms = lost_ms(figures, cause),
                  .late_ppm = share_ppm(figures->late, figures->ticks),
                  .stalled_ppm = share_ppm(figures->stalled, figures->ticks),
                  .uplink_loss_ppm = share_ppm((uint64_t)lost, (uint64_t)figures->uplink_sent),
                  .uplink_jitter_us = microseconds(figures->uplink_jitter_ns / samples),
                  .downlink_loss_ppm = share_ppm(figures->downlink_loss, reports * LOSS_ONE),
                  .downlink_jitter_us = microseconds(downlink_jitter_ns(figures)),
                  .longest_frame_ms = figures->longest_frame_ms};
    if (cause == LS_LAG_UPLINK) {
        lag.suggested_input_delay_ticks = suggested_input_delay(figures);
    }
    return lag;
}

ls_lag ls_lag_judge(const ls_lag_figures *figures, uint32_t others)
{
    ls_lag lag = ls_lag_of_cause(figures, LS_LAG_FINE);
    return ls_lag_of_cause(figures, judge_cause(figures, &lag, others));
}

/* ---- words ---- */

const char *ls_lag_cause_name(ls_lag_cause cause)
{
    static const char *const names[LS_LAG_CAUSE_COUNT] = {
        "fine", "computer", "uplink", "downlink", "silent", "server", "player"};
    LS_ASSERT(cause < LS_LAG_CAUSE_COUNT);
    return names[cause];
}

static void set_way(ls_text *text, const char *way, uint32_t loss_ppm, uint32_t jitter_us)
{
    if (loss_ppm >= LOSS_PPM) {
        ls_text_set(text, "%.1f %% of %s packets lost", loss_ppm / 1e4, way);
    } else if (jitter_us >= VARIES_US) {
        ls_text_set(text, "the delay of the %s varies by %.1f ms", way, jitter_us / 1e3);
    } else {
        ls_text_set(text, "the %s is slower at times", way);
    }
}

static void set_computer(const ls_lag *lag, ls_lag_view view, ls_text *text)
{
    ls_text_set(text, "%s computer is too slow or too busy",
                view == LS_LAG_TO_PLAYER ? "this" : "its");
    if (lag->longest_frame_ms > 0) {
        ls_text_add(text, " (a frame took %" PRIu32 " ms)", lag->longest_frame_ms);
    }
}

static void add_harm(const ls_lag *lag, ls_lag_view view, ls_text *text)
{
    if (lag->late_ppm > 0) {
        ls_text_add(text, ", %.1f %% of inputs late", lag->late_ppm / 1e4);
    }
    if (lag->stalled_ppm > 0) {
        ls_text_add(text, ", %.1f %% of ticks stalled", lag->stalled_ppm / 1e4);
    }
    if (lag->suggested_input_delay_ticks > 0 && view == LS_LAG_TO_HOST) {
        ls_text_add(text, "; try --input-delay %" PRIu32, lag->suggested_input_delay_ticks);
    }
}

void ls_lag_text(const ls_lag *lag, ls_lag_view view, const char *whom, ls_text *text)
{
    switch (lag->cause) {
    case LS_LAG_COMPUTER:
        set_computer(lag, view, text);
        break;
    case LS_LAG_UPLINK:
        set_way(text, "uplink", lag->uplink_loss_ppm, lag->uplink_jitter_us);
        break;
    case LS_LAG_DOWNLINK:
        set_way(text, "downlink", lag->downlink_loss_ppm, lag->downlink_jitter_us);
        break;
    case LS_LAG_SILENT:
        ls_text_set(text, "nothing is received");
        return;
    case LS_LAG_SERVER:
        ls_text_set(text,
                    "the server closed ticks too late, %.1f s in all: its machine is too slow or "
                    "too busy",
                    lag->lost_ms / 1e3);
        return;
    case LS_LAG_PLAYER:
        ls_text_set(text, "the match waited %.1f s for %s", lag->lost_ms / 1e3, whom);
        return;
    case LS_LAG_FINE:
    case LS_LAG_CAUSE_COUNT:
        ls_text_set(text, view == LS_LAG_TO_PLAYER ? "fine" : "no lag");
        return;
    }
    add_harm(lag, view, text);
}

/* ---- said once ---- */

bool ls_lag_has_changed(ls_lag_said *said, const ls_lag *lag, uint64_t now_ns)
{
    bool is_same = lag->cause == said->cause && lag->whom == said->whom;
    if (is_same) {
        said->harmed_ns = now_ns;
        return false;
    }
    bool is_better = lag->cause == LS_LAG_FINE;
    bool is_soon = now_ns - said->said_ns < SAID_NS && said->cause != LS_LAG_SILENT;
    if (is_soon || (is_better && now_ns - said->harmed_ns < FINE_NS)) {
        return false;
    }
    *said = (ls_lag_said){
        .cause = lag->cause, .whom = lag->whom, .said_ns = now_ns, .harmed_ns = now_ns};
    return true;
}

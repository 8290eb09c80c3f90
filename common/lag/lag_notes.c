#include "lockstep/common/lag/lag_notes.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <inttypes.h>
#include <string.h>

enum {
    /* A report goes with at least so many packets: an input that the server does not want any more
     * need not have come. */
    REPORT_PACKETS_MIN = 4,

    /* From one report of stalled ticks alone to the next: nothing waits for it. */
    STALLED_PAUSE_TICKS = 16,
};

static const uint64_t STEADY_FRAME_NS = 50 * LS_NS_PER_MS;  /* shorter ones disturb nobody */
static const uint64_t HITCH_NS = 20 * LS_NS_PER_MS;         /* beyond what frames usually take */
static const uint64_t FRAME_MAX_NS = 30 * LS_NS_PER_SECOND; /* sums must not wrap at once */

void ls_lag_notes_init(ls_lag_notes *notes, uint64_t dt_ns)
{
    memset(notes, 0, sizeof *notes);
    notes->dt_ns = dt_ns;
}

void ls_lag_notes_connect(ls_lag_notes *notes)
{
    uint64_t frames_late_ns = notes->frames_late_ns - notes->known_frames_late_ns;
    uint64_t longest_frame_ns = frames_late_ns > 0 ? notes->longest_frame_ns : 0;
    ls_lag_notes_init(notes, notes->dt_ns);
    notes->frames_late_ns = frames_late_ns;
    notes->longest_frame_ns = longest_frame_ns;
    notes->is_changed = frames_late_ns > 0;
    notes->is_urgent = notes->is_changed;
}

static void note_urgent(ls_lag_notes *notes)
{
    notes->is_changed = true;
    notes->is_urgent = true;
}

void ls_lag_notes_add_late(ls_lag_notes *notes, uint64_t inputs, uint64_t late_ns)
{
    notes->late_inputs += inputs;
    notes->latest_ns = LS_MAX(late_ns, notes->latest_ns);
    note_urgent(notes);
}

void ls_lag_notes_add_stalled(ls_lag_notes *notes, uint64_t ticks)
{
    notes->stalled_ticks += ticks;
    notes->is_changed = true;
}

/* A frame that takes more than two ticks leaves out states; one that takes a tick longer than usual
 * is a hitch, unless it is too short to be seen. */
void ls_lag_notes_add_frame(ls_lag_notes *notes, uint64_t frame_ns, uint64_t usual_ns)
{
    uint64_t steady_ns = LS_MAX(2 * notes->dt_ns, STEADY_FRAME_NS);
    uint64_t hitch_ns = usual_ns + LS_MAX(notes->dt_ns, HITCH_NS);
    uint64_t allowed_ns = usual_ns > 0 ? LS_MIN(steady_ns, hitch_ns) : steady_ns;
    if (frame_ns <= allowed_ns) {
        return;
    }
    frame_ns = LS_MIN(frame_ns, FRAME_MAX_NS);
    notes->frames_late_ns += frame_ns - LS_MIN(usual_ns, allowed_ns);
    notes->longest_frame_ns = LS_MAX(frame_ns, notes->longest_frame_ns);
    note_urgent(notes);
}

/* It is another time of holding back when the tick that was held the last time has been closed. */
void ls_lag_notes_add_held(ls_lag_notes *notes, ls_tick tick, uint32_t ahead, uint64_t late_ns)
{
    bool is_first = notes->held_ns == 0 || tick > notes->held_newest + ahead;
    notes->held_tick = is_first ? tick : notes->held_tick;
    notes->held_newest = tick;
    notes->held_ns += late_ns;
    note_urgent(notes);
}

static uint32_t low_bits(uint64_t sum)
{
    return (uint32_t)(sum & LS_LAG_REPORT_MAX);
}

static ls_lag_report report_of(const ls_lag_notes *notes)
{
    uint64_t longest_ms = notes->longest_frame_ns / LS_NS_PER_MS;
    uint64_t latest_ms = (notes->latest_ns + LS_NS_PER_MS - 1) / LS_NS_PER_MS;
    return (ls_lag_report){.late_inputs = low_bits(notes->late_inputs),
                           .latest_ms = (uint32_t)LS_MIN(latest_ms, LS_LAG_REPORT_MAX),
                           .held_ticks = low_bits(notes->held_ns / LS_MAX(notes->dt_ns, 1)),
                           .frames_late_ms = low_bits(notes->frames_late_ns / LS_NS_PER_MS),
                           .stalled_ticks = low_bits(notes->stalled_ticks),
                           .held_tick = low_bits(notes->held_tick),
                           .longest_frame_ms = (uint32_t)LS_MIN(longest_ms, LS_LAG_REPORT_MAX)};
}

static void write_report(ls_lag_notes *notes, ls_tick next_input, ls_tick pause_ticks)
{
    notes->sent = report_of(notes);
    notes->sent_frames_late_ns = notes->frames_late_ns;
    notes->sent_end = next_input + REPORT_PACKETS_MIN * pause_ticks;
    notes->urgent_end = notes->is_urgent ? notes->sent_end : notes->urgent_end;
    notes->is_changed = false;
    notes->is_urgent = false;
}

bool ls_lag_notes_take_report(ls_lag_notes *notes, ls_tick next_input, ls_lag_report *report)
{
    bool is_open = notes->is_changed || notes->sent_end > 0;
    bool is_urgent = notes->is_urgent || notes->urgent_end > 0;
    ls_tick pause_ticks = is_urgent ? 1 : STALLED_PAUSE_TICKS;
    bool is_due = is_open && (is_urgent || next_input - notes->sent_tick >= pause_ticks);
    if (!is_due && !notes->is_uneven) {
        return false;
    }
    notes->is_uneven = false;
    notes->sent_tick = next_input;
    if (notes->is_changed) {
        write_report(notes, next_input, pause_ticks);
    }
    *report = notes->sent;
    return true;
}

void ls_lag_notes_acknowledge(ls_lag_notes *notes, ls_tick wanted)
{
    if (wanted >= notes->urgent_end) {
        notes->urgent_end = 0;
        notes->latest_ns = notes->is_urgent ? notes->latest_ns : 0;
    }
    if (notes->sent_end > 0 && wanted >= notes->sent_end) {
        notes->sent_end = 0;
        notes->known_frames_late_ns = notes->sent_frames_late_ns;
        bool is_newest = notes->frames_late_ns == notes->known_frames_late_ns;
        notes->longest_frame_ns = is_newest ? 0 : notes->longest_frame_ns;
        notes->sent.longest_frame_ms = is_newest ? 0 : notes->sent.longest_frame_ms;
    }
}

/* ---- wait notes ---- */

static const uint64_t OVER_NS = 10 * LS_NS_PER_SECOND; /* as of lag that all is fine again */

bool ls_wait_notes_add(ls_wait_notes *notes, ls_slot_set slots, ls_tick tick, uint32_t waited_ms,
                       uint64_t now_ns)
{
    bool is_new = !ls_slot_set_is_empty(ls_slot_set_minus(slots, notes->slots));
    if (notes->waits == 0 || tick != notes->tick) {
        notes->waited_ms += notes->newest_ms;
        notes->waits++;
        notes->tick = tick;
    }
    ls_slot_set_add_all(&notes->slots, &slots);
    notes->newest_ms = waited_ms;
    notes->newest_ns = now_ns;
    return is_new;
}

bool ls_wait_notes_is_over(const ls_wait_notes *notes, uint64_t now_ns)
{
    return notes->waits > 0 && now_ns >= notes->newest_ns + OVER_NS;
}

void ls_wait_notes_text(const ls_wait_notes *notes, ls_text *text)
{
    uint32_t ms = (uint32_t)(notes->waited_ms + notes->newest_ms);
    ls_text_set(text, "%" PRIu32 " wait%s of %.1f s in all", notes->waits,
                notes->waits == 1 ? "" : "s", ms / 1e3);
}

/* ---- delay control ---- */

enum {
    PPM = LS_LAG_ALL_PPM,
    PATIENCE_MIN = 4,
    PATIENCE_MAX = 64,
};

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
    bool is_link =
        lag->cause == LS_LAG_FINE || lag->cause == LS_LAG_UPLINK || lag->cause == LS_LAG_DOWNLINK;
    if (!is_link) {
        control->spare_stretches = 0; /* no delay mends that, and it says nothing about the link */
        return false;
    }
    uint64_t late = (uint64_t)recent->late_way * PPM;
    if (recent->late_way > 0 && late >= (uint64_t)recent->ticks * LS_LAG_LATE_PPM) {
        return raise(control, lag->suggested_input_delay_ticks);
    }
    bool is_spare =
        late < (uint64_t)recent->ticks * LS_LAG_MENDED_PPM && ls_lag_spare_ticks(recent) >= 1;
    control->spare_stretches = is_spare ? control->spare_stretches + 1 : 0;
    if (control->spare_stretches < control->patience || control->ticks == 0) {
        return false;
    }
    control->spare_stretches = 0;
    control->ticks--;
    control->has_taken_off = true;
    return true;
}

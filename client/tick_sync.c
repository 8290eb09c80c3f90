#include "lockstep/client/tick_sync.h"

#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    ROUND_SAMPLES_MIN = 8,
    LATER_SHARE = 32, /* of the time that passes: at most 3 % slower */
};

static const int64_t MARGIN_NS = 2 * (int64_t)LS_NS_PER_MS;
static const int64_t NO_SAMPLE = INT64_MAX;
static const uint64_t FRAME_MAX_NS = LS_NS_PER_SECOND / 4;
static const uint64_t ROUND_NS =
    LS_NS_PER_SECOND / 2; /* two rounds find what comes once a second */

/* More than this too early is no jitter to keep clear of: the server stood still, or waited. */
static const int64_t JUMP_LATER_NS = 100 * (int64_t)LS_NS_PER_MS;

void ls_tick_sync_init(ls_tick_sync *sync, uint64_t dt_ns, uint32_t input_delay_ticks)
{
    memset(sync, 0, sizeof *sync);
    sync->dt_ns = dt_ns;
    sync->margin_ns = MARGIN_NS + (int64_t)(input_delay_ticks * dt_ns);
    sync->low_ns[0] = NO_SAMPLE;
    sync->low_ns[1] = NO_SAMPLE;
}

/* An eighth of the way, as TCP smooths its round trips (RFC 6298, section 2). */
static uint64_t smoothed(uint64_t old_ns, uint64_t sample_ns)
{
    return (uint64_t)((int64_t)old_ns + ((int64_t)sample_ns - (int64_t)old_ns) / 8);
}

/* How many more inputs than one may be made in the next frame when `late_ns` have to be made up
 * for: they go out in one packet, and the latest of them sets its slack. */
static ls_tick batch_of(const ls_tick_sync *sync, uint64_t late_ns)
{
    return (ls_tick)((late_ns + sync->frame_ns) / sync->dt_ns) + 2;
}

/* What inputs before `tick` have to say is not heard. */
static void ignore_before(ls_tick_sync *sync, ls_tick tick)
{
    sync->moved_tick = tick > sync->moved_tick ? tick : sync->moved_tick;
}

/* When an input is made whose tick is closed at `close_ns` by this machine's clock, as far as it is
 * known without samples. */
static uint64_t due_ns_for(const ls_tick_sync *sync, uint64_t close_ns, uint64_t spare_ns)
{
    uint64_t early_ns = sync->rtt_ns + (uint64_t)sync->margin_ns + sync->frame_ns + spare_ns;
    return close_ns > early_ns ? close_ns - early_ns : 0;
}

void ls_tick_sync_start(ls_tick_sync *sync, uint64_t close_ns)
{
    /* START took half a round trip, and an input takes the other half. A tick more costs a little
     * latency for a few seconds; too late would cost the first inputs. */
    sync->start_ns = close_ns;
    sync->next_due_ns = due_ns_for(sync, close_ns, sync->dt_ns);
}

bool ls_tick_sync_is_hitch(const ls_tick_sync *sync, uint64_t since_frame_ns)
{
    return sync->frame_ns != 0 && since_frame_ns > 2 * sync->frame_ns;
}

void ls_tick_sync_add_frame(ls_tick_sync *sync, uint64_t frame_ns)
{
    if (ls_tick_sync_is_hitch(sync, frame_ns)) {
        /* Its inputs are late for once. */
        ignore_before(sync, sync->next_input + batch_of(sync, frame_ns));
    }
    frame_ns = frame_ns < FRAME_MAX_NS ? frame_ns : FRAME_MAX_NS;
    sync->frame_ns = sync->frame_ns == 0 ? frame_ns : smoothed(sync->frame_ns, frame_ns);
    if (sync->next_input == 0 && sync->start_ns != 0) {
        ls_tick_sync_start(sync, sync->start_ns); /* frames may first be known after START */
    }
}

/* An input is made in the first frame after it is due, so slack changes in steps of a frame, or of
 * a tick when several are made in one frame. */
static int64_t grain_ns(const ls_tick_sync *sync)
{
    return (int64_t)(sync->frame_ns < sync->dt_ns ? sync->frame_ns : sync->dt_ns);
}

bool ls_tick_sync_take_due(ls_tick_sync *sync, uint64_t now_ns)
{
    if (now_ns < sync->next_due_ns) {
        return false;
    }
    sync->next_due_ns += sync->dt_ns;
    sync->next_input++;
    return true;
}

void ls_tick_sync_hold(ls_tick_sync *sync, uint64_t now_ns)
{
    if (sync->next_due_ns < now_ns) {
        sync->next_due_ns = now_ns;
    }
}

void ls_tick_sync_add_rtt(ls_tick_sync *sync, uint64_t rtt_ns)
{
    if (sync->rtt_ns == 0) {
        sync->rtt_ns = rtt_ns;
        sync->rtt_deviation_ns = rtt_ns / 2;
        return;
    }
    int64_t error = (int64_t)rtt_ns - (int64_t)sync->rtt_ns;
    int64_t distance = error < 0 ? -error : error;
    int64_t deviation = (int64_t)sync->rtt_deviation_ns;
    sync->rtt_deviation_ns = (uint64_t)(deviation + (distance - deviation) / 4);
    sync->rtt_ns = smoothed(sync->rtt_ns, rtt_ns);
}

/* Starts the samples anew: what was measured before a jump says nothing about after it. */
static void forget_samples(ls_tick_sync *sync)
{
    sync->low_ns[0] = NO_SAMPLE;
    sync->low_ns[1] = NO_SAMPLE;
    sync->samples = 0;
    sync->rounds = 0;
}

/* The inputs that become due by the jump itself are made late. */
static void jump_earlier(ls_tick_sync *sync, uint64_t by_ns)
{
    sync->next_due_ns = sync->next_due_ns > by_ns ? sync->next_due_ns - by_ns : 0;
    ignore_before(sync, sync->next_input + batch_of(sync, by_ns));
    forget_samples(sync);
}

static void jump_later(ls_tick_sync *sync, uint64_t by_ns)
{
    sync->next_due_ns += by_ns;
    ignore_before(sync, sync->next_input);
    forget_samples(sync);
}

static void move_later(ls_tick_sync *sync, uint64_t elapsed_ns)
{
    int64_t low_ns = sync->low_ns[0] < sync->low_ns[1] ? sync->low_ns[0] : sync->low_ns[1];
    int64_t excess_ns = low_ns - sync->margin_ns - grain_ns(sync) - MARGIN_NS;
    if (sync->rounds < 2 || excess_ns <= 0) {
        return;
    }
    if (excess_ns > JUMP_LATER_NS) {
        jump_later(sync, (uint64_t)excess_ns);
        return;
    }
    int64_t step_ns = (int64_t)(elapsed_ns / LATER_SHARE);
    step_ns = excess_ns < step_ns ? excess_ns : step_ns;
    sync->next_due_ns += (uint64_t)step_ns;
    sync->low_ns[0] -= sync->low_ns[0] == NO_SAMPLE ? 0 : step_ns;
    sync->low_ns[1] -= step_ns;
}

static void add_to_round(ls_tick_sync *sync, int64_t slack_ns, uint64_t now_ns)
{
    if (sync->samples++ == 0) {
        sync->round_ns = now_ns;
    }
    sync->low_ns[0] = slack_ns < sync->low_ns[0] ? slack_ns : sync->low_ns[0];
    if (sync->samples >= ROUND_SAMPLES_MIN && now_ns - sync->round_ns >= ROUND_NS) {
        sync->samples = 0;
        sync->rounds = sync->rounds < 2 ? sync->rounds + 1 : 2;
        sync->low_ns[1] = sync->low_ns[0];
        sync->low_ns[0] = NO_SAMPLE;
    }
}

void ls_tick_sync_add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick, uint64_t now_ns)
{
    if (tick < sync->moved_tick) {
        return;
    }
    if (slack_ns < sync->margin_ns / 2) {
        jump_earlier(sync, (uint64_t)(sync->margin_ns + grain_ns(sync) - slack_ns));
        return;
    }
    add_to_round(sync, slack_ns, now_ns);
    move_later(sync, now_ns - sync->heard_ns);
    sync->heard_ns = now_ns;
}

void ls_tick_sync_skip_to(ls_tick_sync *sync, ls_tick tick, uint64_t now_ns)
{
    /* Overdue inputs are skipped with their time, or all of them would be made now, for ticks far
     * ahead. But if time is not what was lost, then this machine was late all along. */
    uint64_t due_ns = sync->next_due_ns + (tick - sync->next_input) * sync->dt_ns;
    uint64_t latest_ns = due_ns_for(sync, now_ns + sync->dt_ns, 0);
    sync->next_due_ns = due_ns < latest_ns ? due_ns : latest_ns;
    sync->next_input = tick;
    ignore_before(sync, tick + batch_of(sync, now_ns - sync->next_due_ns));
    forget_samples(sync);
}

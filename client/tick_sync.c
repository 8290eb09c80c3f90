#include "lockstep/client/tick_sync.h"

#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    ROUND_SAMPLES = 32,    /* the low of two rounds covers about a second at 60 Hz */
    LATER_PER_SAMPLE = 32, /* at most dt/32 a sample: 3 % slower */
};

static const int64_t MARGIN_NS = 2 * (int64_t)LS_NS_PER_MS;
static const int64_t NO_SAMPLE = INT64_MAX;

void ls_tick_sync_init(ls_tick_sync *sync, uint64_t dt_ns, uint32_t input_delay_ticks)
{
    memset(sync, 0, sizeof *sync);
    sync->dt_ns = dt_ns;
    sync->margin_ns = MARGIN_NS + (int64_t)(input_delay_ticks * dt_ns);
    sync->low_ns[0] = NO_SAMPLE;
    sync->low_ns[1] = NO_SAMPLE;
}

void ls_tick_sync_start(ls_tick_sync *sync, uint64_t first_due_ns)
{
    sync->next_due_ns = first_due_ns;
}

void ls_tick_sync_set_frame_gap(ls_tick_sync *sync, uint64_t gap_ns)
{
    sync->frame_gap_ns = gap_ns;
}

bool ls_tick_sync_take_due(ls_tick_sync *sync, uint64_t now_ns)
{
    if (now_ns < sync->next_due_ns) {
        return false;
    }
    sync->next_due_ns += sync->dt_ns;
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
    /* RFC 6298, section 2: gains of an eighth and a quarter. */
    if (sync->rtt_ns == 0) {
        sync->rtt_ns = rtt_ns;
        sync->rtt_deviation_ns = rtt_ns / 2;
        return;
    }
    int64_t error = (int64_t)rtt_ns - (int64_t)sync->rtt_ns;
    int64_t distance = error < 0 ? -error : error;
    int64_t deviation = (int64_t)sync->rtt_deviation_ns;
    sync->rtt_deviation_ns = (uint64_t)(deviation + (distance - deviation) / 4);
    sync->rtt_ns = (uint64_t)((int64_t)sync->rtt_ns + error / 8);
}

/* Starts the samples anew: what was measured before a jump says nothing about after it. */
static void jump(ls_tick_sync *sync, uint64_t earlier_ns, ls_tick next_input)
{
    sync->next_due_ns = sync->next_due_ns > earlier_ns ? sync->next_due_ns - earlier_ns : 0;
    sync->moved_tick = next_input;
    sync->low_ns[0] = NO_SAMPLE;
    sync->low_ns[1] = NO_SAMPLE;
    sync->samples = 0;
    sync->rounds = 0;
}

static int64_t low_of_rounds(const ls_tick_sync *sync)
{
    return sync->low_ns[0] < sync->low_ns[1] ? sync->low_ns[0] : sync->low_ns[1];
}

/* Inputs are made in frames only: moving later changes nothing until it passes a frame, and then
 * the input comes a whole frame later. So that much has to be to spare. */
static void move_later(ls_tick_sync *sync)
{
    int64_t spare_ns = (int64_t)(sync->dt_ns / 8 + sync->frame_gap_ns);
    int64_t excess = low_of_rounds(sync) - sync->margin_ns - spare_ns;
    if (sync->rounds < 2 || excess <= 0) {
        return;
    }
    int64_t step = (int64_t)(sync->dt_ns / LATER_PER_SAMPLE);
    step = excess < step ? excess : step;
    sync->next_due_ns += (uint64_t)step;
    sync->low_ns[0] -= step;
    sync->low_ns[1] -= step;
}

void ls_tick_sync_add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick, ls_tick next_input)
{
    if (tick < sync->moved_tick) {
        return; /* made before the last jump */
    }
    if (slack_ns < sync->margin_ns / 2) {
        jump(sync, (uint64_t)(sync->margin_ns + (int64_t)(sync->dt_ns / 8) - slack_ns), next_input);
        return;
    }
    sync->low_ns[0] = slack_ns < sync->low_ns[0] ? slack_ns : sync->low_ns[0];
    if (++sync->samples == ROUND_SAMPLES) {
        sync->samples = 0;
        sync->rounds = sync->rounds < 2 ? sync->rounds + 1 : 2;
        sync->low_ns[1] = sync->low_ns[0];
        sync->low_ns[0] = NO_SAMPLE;
    }
    move_later(sync);
}

void ls_tick_sync_skip(ls_tick_sync *sync, ls_tick next_input)
{
    jump(sync, 0, next_input);
}

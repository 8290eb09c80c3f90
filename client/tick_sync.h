/* Tick sync: when a client makes its next input, so that it reaches the server just before its tick
 * is closed. Follows the slack that the server reports: fast towards earlier, slowly towards later.
 * Compares no clocks of two machines, reads none. Called by session. */
#ifndef LOCKSTEP_CLIENT_TICK_SYNC_H
#define LOCKSTEP_CLIENT_TICK_SYNC_H

#include "lockstep/common/simulation.h"

typedef struct ls_tick_sync {
    uint64_t dt_ns;
    int64_t margin_ns;     /* wanted slack of the least punctual input */
    uint64_t frame_gap_ns; /* between frames: an input that is due waits up to so long */
    uint64_t next_due_ns;  /* local time at which the next input is made */
    ls_tick moved_tick;    /* first input tick made after the last jump */
    int64_t low_ns[2];     /* least slack of this and of the last round of samples */
    uint32_t samples;      /* in this round */
    uint32_t rounds;       /* complete ones since the last jump, at most 2 */
    uint64_t rtt_ns;       /* smoothed; 0 until measured */
    uint64_t rtt_deviation_ns;
} ls_tick_sync;

void ls_tick_sync_init(ls_tick_sync *sync, uint64_t dt_ns, uint32_t input_delay_ticks);

/* The first input is due at `first_due_ns`. */
void ls_tick_sync_start(ls_tick_sync *sync, uint64_t first_due_ns);

/* How long after the last one this frame comes. */
void ls_tick_sync_set_frame_gap(ls_tick_sync *sync, uint64_t gap_ns);

/* True as often as an input is due by now; each true moves on by one tick. */
bool ls_tick_sync_take_due(ls_tick_sync *sync, uint64_t now_ns);

/* Inputs are not to be made now: the next one is due later, not all of them at once. */
void ls_tick_sync_hold(ls_tick_sync *sync, uint64_t now_ns);

void ls_tick_sync_add_rtt(ls_tick_sync *sync, uint64_t rtt_ns);

/* The least slack among the inputs that arrived last; `tick` is the newest of them, `next_input`
 * the next one to be made. */
void ls_tick_sync_add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick, ls_tick next_input);

/* Inputs were skipped because the server had closed their ticks: what was measured is void. */
void ls_tick_sync_skip(ls_tick_sync *sync, ls_tick next_input);

#endif

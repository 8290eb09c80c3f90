/* Tick sync: when a client makes its next input, so that it reaches the server just before its tick
 * is closed. Follows the slack that the server reports: at once towards earlier, slowly towards
 * later, at once when it is much too early.
 * Compares no clocks of two machines, reads none. Called by session. */
#ifndef LOCKSTEP_CLIENT_TICK_SYNC_H
#define LOCKSTEP_CLIENT_TICK_SYNC_H

#include "lockstep/common/simulation.h"

typedef struct ls_tick_sync {
    uint64_t dt_ns;
    int64_t margin_ns;    /* wanted slack of the least punctual input */
    ls_tick next_input;   /* the next one to be made */
    uint64_t next_due_ns; /* local time at which it is due */
    uint64_t start_ns;    /* when tick 0 is closed, as START said */
    uint64_t frame_ns;    /* smoothed: inputs are made in frames, so up to one late */
    ls_tick moved_tick;   /* first input since the last jump or hitch that was made on time */
    int64_t low_ns[2];    /* least slack of this and of the last round of samples */
    uint64_t round_ns;    /* when this round began */
    uint64_t heard_ns;    /* when the last sample came */
    uint32_t samples;     /* in this round */
    uint32_t rounds;      /* complete ones since the last jump, at most 2 */
    uint64_t rtt_ns;      /* smoothed; 0 until measured */
    uint64_t rtt_deviation_ns;
} ls_tick_sync;

void ls_tick_sync_init(ls_tick_sync *sync, uint64_t dt_ns, uint32_t input_delay_ticks);

/* A frame came `frame_ns` after the one before it. */
void ls_tick_sync_add_frame(ls_tick_sync *sync, uint64_t frame_ns);

/* Whether this machine stands still for longer than a frame takes: what it measures now says more
 * about itself than about the network. */
bool ls_tick_sync_is_hitch(const ls_tick_sync *sync, uint64_t since_frame_ns);

/* Tick 0 is closed when this machine's clock shows `close_ns`, and START was as long on its way as
 * an input will be. */
void ls_tick_sync_start(ls_tick_sync *sync, uint64_t close_ns);

/* True as often as an input is due by now; each true moves on by one tick: the input to make is
 * that of next_input - 1. */
bool ls_tick_sync_take_due(ls_tick_sync *sync, uint64_t now_ns);

/* No input is to be made now: the next one is due later, not all of them at once. */
void ls_tick_sync_hold(ls_tick_sync *sync, uint64_t now_ns);

void ls_tick_sync_add_rtt(ls_tick_sync *sync, uint64_t rtt_ns);

/* The least slack among the inputs that arrived last; `tick` is the newest of them. */
void ls_tick_sync_add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick, uint64_t now_ns);

/* The server has closed every tick before `tick`, which lies ahead of next_input: goes on there. */
void ls_tick_sync_skip_to(ls_tick_sync *sync, ls_tick tick, uint64_t now_ns);

#endif

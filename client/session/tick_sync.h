/* Tick sync: when a client makes its next input, so that it reaches the server just before its tick
 * is closed. From the slack that the server reports it knows for each input until when it could
 * have been due, and holds to what all but a few of the recent ones needed, on the network and on
 * this machine: at once towards earlier when inputs come late, otherwise slowly. Compares no clocks
 * of two machines, reads none. */
#ifndef LOCKSTEP_CLIENT_SESSION_TICK_SYNC_H
#define LOCKSTEP_CLIENT_SESSION_TICK_SYNC_H

#include "lockstep/client/session/quantile_window.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulation/simulation.h"

typedef struct ls_tick_sync_config {
    uint64_t dt_ns;
    uint32_t input_delay_ticks;
    bool is_exact; /* inputs are made when they are due, not in the first frame after */
} ls_tick_sync_config;

/* The *phase* of an input is when it was to be made, less its tick times dt: inputs made at an even
 * pace all have the same. */
typedef struct ls_tick_sync {
    ls_tick_sync_config config;
    ls_tick next_input;   /* the next one to be made */
    uint64_t next_due_ns; /* local time at which it is due */
    uint64_t start_ns;    /* when tick 0 is closed, as START said */
    uint64_t frame_ns;    /* smoothed */
    uint64_t delay_ns;    /* of inputs beyond what the network needs; on its way to config's */
    int64_t latest_ns;    /* the latest phase at which the recent inputs would have been on time */
    bool has_latest;
    bool has_settled;         /* the lead that was guessed at the start has been mended */
    ls_quantile_window needs; /* of recent reports: the latest phase, negated */
    uint32_t late_reports;    /* in a row */
    ls_tick reported;         /* newest input that a report was about */
    bool is_held;             /* it could not be made when it was due: ls_tick_sync_hold */
    uint64_t moved_ns;        /* when inputs last became due earlier than they had been */
    int64_t phase_ns[LS_LEAD_TICKS_MAX]; /* by tick */
    uint64_t rtt_ns;                     /* smoothed; 0 until measured */
} ls_tick_sync;

void ls_tick_sync_init(ls_tick_sync *sync, const ls_tick_sync_config *config);

/* Inputs are made that much earlier than the network needs, from now on; the change takes place at
 * 5 % of the time that passes. */
void ls_tick_sync_set_input_delay(ls_tick_sync *sync, uint32_t ticks);

/* A frame came `frame_ns` after the one before it. */
void ls_tick_sync_add_frame(ls_tick_sync *sync, uint64_t frame_ns);

/* Whether this machine stands still for longer than a frame takes: what it measures now says more
 * about itself than about the network. */
bool ls_tick_sync_is_hitch(const ls_tick_sync *sync, uint64_t since_frame_ns);

/* Tick 0 is closed when this machine's clock shows `close_ns`, and START was as long on its way as
 * an input will be. */
void ls_tick_sync_start(ls_tick_sync *sync, uint64_t close_ns);

/* How inputs begin in a running match. */
typedef struct ls_tick_sync_entry {
    ls_tick tick;         /* is closed ... */
    uint64_t close_ns;    /* ... when this machine's clock shows this */
    ls_tick first;        /* the first input to be made, unless that is due before now: */
    uint32_t overdue_max; /* so many that are may be made at once; if there are more, all of those
                           * are left out, but never as many as LS_LEAD_TICKS_MAX */
} ls_tick_sync_entry;

/* Forgets measurements of earlier inputs, which say nothing any more. */
void ls_tick_sync_enter(ls_tick_sync *sync, const ls_tick_sync_entry *entry, uint64_t now_ns);

/* True as often as an input is due by now; each true moves on by one tick: the input to make is
 * that of next_input - 1. */
bool ls_tick_sync_claim_due(ls_tick_sync *sync, uint64_t now_ns);

/* How long after it was due the next input is made, if that is now; 0: it is not due yet. */
uint64_t ls_tick_sync_lateness_ns(const ls_tick_sync *sync, uint64_t now_ns);

/* Whether it comes too late for that reason alone, as far as is known: it would have come in time
 * if it had been made when it was due. */
bool ls_tick_sync_is_too_late(const ls_tick_sync *sync, uint64_t now_ns);

/* Whether this machine is late itself by more than its frames explain. */
bool ls_tick_sync_is_uneven(const ls_tick_sync *sync, uint64_t now_ns);

/* No input is to be made now: the next one is due later, not all of them at once. */
void ls_tick_sync_hold(ls_tick_sync *sync, uint64_t now_ns);

/* The server has stood still, and goes on now: the next input is due now, and what was measured
 * before says nothing any more. */
void ls_tick_sync_go_on(ls_tick_sync *sync, uint64_t now_ns);

/* The server says how many packets of 256 are lost on their way to it. */
void ls_tick_sync_set_loss(ls_tick_sync *sync, uint32_t loss);

/* From now on inputs are sent more often, or less: what was measured says little about it. */
void ls_tick_sync_forget(ls_tick_sync *sync);

void ls_tick_sync_add_rtt(ls_tick_sync *sync, uint64_t rtt_ns);

/* The way there and back has taken no longer than this, with whatever else the time was spent on:
 * what was measured before and is more was a lost packet that was sent again, or a clock that
 * jumped. */
void ls_tick_sync_limit_rtt(ls_tick_sync *sync, uint64_t rtt_ns);

/* The least slack among the inputs that arrived last; `tick` is the newest of them. */
void ls_tick_sync_add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick, uint64_t now_ns);

/* A report up to `tick` that says nothing about the lead: its inputs came in time, and need not. */
void ls_tick_sync_pass_slack(ls_tick_sync *sync, ls_tick tick);

/* Enough has been reported to know the lead. */
bool ls_tick_sync_is_settled(const ls_tick_sync *sync);

/* The server has closed every tick before `tick`, which lies ahead of next_input: goes on there. */
void ls_tick_sync_skip_to(ls_tick_sync *sync, ls_tick tick, uint64_t now_ns);

#endif

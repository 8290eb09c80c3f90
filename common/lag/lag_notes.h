/* Lag notes: what a client notes of its own part in lag: inputs that it made too late or could not
 * make, frames that came late, ticks that it lacked; and the report of that which its packets carry
 * until the server must have it. All of it is 0 while nothing is late. Reads no clock. */
#ifndef LOCKSTEP_COMMON_LAG_LAG_NOTES_H
#define LOCKSTEP_COMMON_LAG_LAG_NOTES_H

#include "lockstep/common/base/slot_set.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/lag/lag_verdict.h"
#include "lockstep/common/simulation/simulation.h"

#define LS_LAG_REPORT_MAX 0xffffu

/* The first four are sums since the connection began, modulo 2^16. */
typedef struct ls_lag_report {
    uint32_t late_inputs;      /* made too late by this machine to come in time, or not at all */
    uint32_t latest_ms;        /* by how much the latest of them was, since the report before */
    uint32_t held_ticks;       /* no input could be made for so long: closed ticks did not come */
    uint32_t frames_late_ms;   /* by which frames came later than they should */
    uint32_t stalled_ticks;    /* were due, but not there */
    uint32_t held_tick;        /* modulo 2^16: the first input that was held back last */
    uint32_t longest_frame_ms; /* of the late ones, since the report before */
} ls_lag_report;

typedef struct ls_lag_notes {
    uint64_t dt_ns;
    uint64_t late_inputs;
    uint64_t latest_ns; /* of them, since a report was last acknowledged */
    uint64_t held_ns;
    uint64_t frames_late_ns;
    uint64_t stalled_ticks;
    uint64_t longest_frame_ns;
    bool is_changed;     /* since the newest report */
    bool is_urgent;      /* ... and explains inputs, which the server sees to be late at once */
    ls_tick held_tick;   /* the first that was held back, of those that follow closely on it, ... */
    ls_tick held_newest; /* ... and the newest */
    bool is_uneven;      /* an input of the next packet was not made when it was due */
    ls_lag_report sent;  /* the newest report ... */
    ls_tick sent_tick;   /* ... and the next input when it last went out */
    uint64_t sent_frames_late_ns; /* as of then, and of the newest that was acknowledged */
    uint64_t known_frames_late_ns;
    ls_tick sent_end;   /* acknowledged with an input behind this one; 0: it is */
    ls_tick urgent_end; /* the same of what is urgent in it */
} ls_lag_notes;

void ls_lag_notes_init(ls_lag_notes *notes, uint64_t dt_ns);

/* A new connection. Of the time before only late frames still matter: they may be why it is new. */
void ls_lag_notes_connect(ls_lag_notes *notes);

/* So many inputs were made too late, or not at all; the first of them by `late_ns`. */
void ls_lag_notes_add_late(ls_lag_notes *notes, uint64_t inputs, uint64_t late_ns);

/* So many ticks were due and not there. */
void ls_lag_notes_add_stalled(ls_lag_notes *notes, uint64_t ticks);

/* A frame came `frame_ns` after the one before; they usually take `usual_ns`, 0: not known. */
void ls_lag_notes_add_frame(ls_lag_notes *notes, uint64_t frame_ns, uint64_t usual_ns);

/* Input `tick` was due `late_ns` before now and cannot be made: it is `ahead` ticks ahead of the
 * closed ones. */
void ls_lag_notes_add_held(ls_lag_notes *notes, ls_tick tick, uint32_t ahead, uint64_t late_ns);

/* Whether the next packet, the last input of which is the one before `next_input`, carries a
 * report: each does while inputs have to be explained, of stalled ticks alone one in a while. */
bool ls_lag_notes_take_report(ls_lag_notes *notes, ls_tick next_input, ls_lag_report *report);

/* The server has the inputs before `wanted`. */
void ls_lag_notes_acknowledge(ls_lag_notes *notes, ls_tick wanted);

/* ---- Wait notes: the players that a match has waited for, how often and for how long. A wait is
 * said once, again when somebody else is waited for as well, and when it is over. Reads no clock.
 * Called by the programs of the server and of the client, for their logs. */

/* One of zeros has noted nothing. */
typedef struct ls_wait_notes {
    ls_slot_set slots; /* that were waited for, since it was last over */
    uint32_t waits;
    uint64_t waited_ms; /* in all, but for the newest wait: */
    ls_tick tick;
    uint32_t newest_ms;
    uint64_t newest_ns; /* when that was last noted */
} ls_wait_notes;

/* The match waits for these slots with this tick. True when that is to be said. */
bool ls_wait_notes_add(ls_wait_notes *notes, ls_slot_set slots, ls_tick tick, uint32_t waited_ms,
                       uint64_t now_ns);

/* Whether nobody has been waited for any more for a while: to be said, and to be forgotten. */
bool ls_wait_notes_is_over(const ls_wait_notes *notes, uint64_t now_ns);

/* How often, and for how long. */
void ls_wait_notes_text(const ls_wait_notes *notes, ls_text *text);

/* ---- Delay control: the input delay that a link needs: more as soon as its inputs come late, less
 * when it has not been needed for a while, and more patiently after each time that was wrong. */

typedef struct ls_delay_control {
    uint32_t ticks;           /* the delay that is wanted */
    uint32_t spare_stretches; /* stretches in which a tick less would have done */
    uint32_t patience;        /* as many take a tick off */
    bool has_taken_off;       /* since it was last raised */
} ls_delay_control;

void ls_delay_control_init(ls_delay_control *control, uint32_t ticks);

/* A stretch is over; `recent` is judged as `lag`. True when `ticks` has changed. */
bool ls_delay_control_update(ls_delay_control *control, const ls_lag_figures *recent,
                             const ls_lag *lag);

#endif

/* Lag notes: what a client notes of its own part in lag: inputs that it made too late or could not
 * make, frames that came late, ticks that it lacked; and the report of that which its packets carry
 * until the server must have it. All of it is 0 while nothing is late. Reads no clock. */
#ifndef LOCKSTEP_COMMON_LAG_LAG_NOTES_H
#define LOCKSTEP_COMMON_LAG_LAG_NOTES_H

#include "lockstep/common/simulation/simulation.h"

#define LS_LAG_REPORT_MAX 0xffffu

/* The first four are sums since the connection began, modulo 2^16. */
typedef struct ls_lag_report {
    uint32_t late_inputs;      /* made too late by this machine to come in time, or not at all */
    uint32_t held_ticks;       /* no input could be made for so long: closed ticks did not come */
    uint32_t frames_late_ms;   /* by which frames came later than they should */
    uint32_t stalled_ticks;    /* were due, but not there */
    uint32_t held_tick;        /* modulo 2^16: the first input that was held back last */
    uint32_t longest_frame_ms; /* of the late ones, since the report before */
} ls_lag_report;

typedef struct ls_lag_notes {
    uint64_t dt_ns;
    uint64_t late_inputs;
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

/* So many inputs were made too late, or not at all. */
void ls_lag_notes_add_late(ls_lag_notes *notes, uint64_t inputs);

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

#endif

/* Jitter buffer: when a client steps the ticks that have come, so that nearly each is there when it
 * is due and none waits longer than that takes. It measures how late ticks come against an even
 * pace, and steers the speed of the local clock, by 5 % at most; it never jumps back. Steps nothing
 * itself, reads no clock: times are arguments. */
#ifndef LOCKSTEP_CLIENT_SESSION_JITTER_BUFFER_H
#define LOCKSTEP_CLIENT_SESSION_JITTER_BUFFER_H

#include "lockstep/client/session/quantile_window.h"
#include "lockstep/common/simulation/simulation.h"

typedef struct ls_jitter_buffer {
    uint64_t dt_ns;
    ls_quantile_window offsets; /* of arrivals: the time less the tick times dt */
    int64_t offset_ns;          /* that nearly all ticks keep */
    bool is_playing;            /* the first frame with a tick to step has come */
    bool is_stalled;
    uint64_t stalled_ns; /* not yet counted as a tick */
    int32_t speed_ppm;   /* of the last frame: more than real time */
    int64_t lag_ns;      /* of the last frame: the time less the position */
} ls_jitter_buffer;

/* A frame, before anything is stepped in it. */
typedef struct ls_jitter_buffer_frame {
    uint64_t now_ns;
    uint64_t elapsed_ns;  /* since the frame before, as far as it is to be played */
    uint64_t position_ns; /* ticks stepped times dt, and what is banked for the next one */
    uint32_t backlog;     /* ticks that have come and are not stepped */
} ls_jitter_buffer_frame;

typedef struct ls_jitter_buffer_plan {
    uint64_t play_ns;       /* what to add to the bank: never more than the backlog has steps for */
    uint32_t stalled_ticks; /* that fell due in this frame and have not come */
    bool is_stalled;
} ls_jitter_buffer_plan;

void ls_jitter_buffer_init(ls_jitter_buffer *jitter_buffer, uint64_t dt_ns);

/* A closed tick has come. */
void ls_jitter_buffer_add_arrival(ls_jitter_buffer *jitter_buffer, ls_tick tick, uint64_t now_ns);

ls_jitter_buffer_plan ls_jitter_buffer_plan_frame(ls_jitter_buffer *jitter_buffer,
                                                  const ls_jitter_buffer_frame *frame);

/* How many ticks wait beyond the plan, if they are far too many; else 0. The frame as it is after
 * the plan's steps. */
uint32_t ls_jitter_buffer_behind(const ls_jitter_buffer *jitter_buffer,
                                 const ls_jitter_buffer_frame *frame);

/* How many of them to step at once. */
uint32_t ls_jitter_buffer_catch_up(const ls_jitter_buffer *jitter_buffer,
                                   const ls_jitter_buffer_frame *frame);

/* How long a tick that comes as early as any does waits until it is due. 0 before the first. */
uint64_t ls_jitter_buffer_delay_ns(const ls_jitter_buffer *jitter_buffer);

#endif

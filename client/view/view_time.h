/* View time: when the next picture is begun, and which tick of a record it shows. Time is an
 * argument. Knows no source and no picture. */
#ifndef LOCKSTEP_CLIENT_VIEW_VIEW_TIME_H
#define LOCKSTEP_CLIENT_VIEW_VIEW_TIME_H

#include "lockstep/common/simulation/simulation.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- frame pace: when the next picture is to be begun: just in time for the display where one is
 * followed, so that it shows what is newest; otherwise at an even rate ---- */

typedef struct ls_frame_pace {
    uint64_t period_ns;
    bool follows_display;
    uint64_t due_ns;  /* of the next picture */
    uint64_t work_ns; /* what one takes before it is shown: the most of late */
} ls_frame_pace;

/* hz > 0. */
ls_frame_pace ls_frame_pace_make(uint32_t hz, bool follows_display, uint64_t now_ns);

/* A picture was begun by `now_ns`; the newest that was shown took `work_ns`, and was on the display
 * at `shown_ns`. When to begin the next one. */
uint64_t ls_frame_pace_next(ls_frame_pace *pace, uint64_t work_ns, uint64_t shown_ns,
                            uint64_t now_ns);

/* When to begin the next one where nobody looks: together with the input that is due at `input_ns`
 * if that is close, so that the machine wakes once for both. Inputs are `input_period_ns` apart.
 * The rate stays what it is. */
uint64_t ls_frame_pace_beside_input(const ls_frame_pace *pace, uint64_t input_ns,
                                    uint64_t input_period_ns);

/* ---- playhead: where a record is being watched. It plays at a chosen speed, pauses, steps by
 * single ticks in both directions and jumps ---- */

/* Speeds are powers of two of real time: 1/16 .. 64. */
#define LS_PLAYHEAD_SLOWEST (-4)
#define LS_PLAYHEAD_FASTEST 6

typedef struct ls_playhead {
    ls_tick first_tick;
    ls_tick last_tick;
    uint64_t dt_ns;
    uint64_t place_ns; /* behind first_tick; 0 .. ticks of the record * dt */
    int32_t speed;     /* as a power of two */
    bool is_paused;
    bool is_growing; /* the record is still written: playing waits for more at its end */
    bool has_jumped; /* since the last frame */
} ls_playhead;

/* Before the first frame; at the start of the record, playing in real time. */
void ls_playhead_init(ls_playhead *playhead);

/* The range of ticks and the rate that the source states; a record that is still written grows.
 * tick_rate_hz > 0. */
void ls_playhead_set_range(ls_playhead *playhead, ls_tick first_tick, ls_tick last_tick,
                           uint32_t tick_rate_hz);

/* A frame: plays on, up to the end, where it pauses, or waits. True when it has played from where
 * the frame before left it: it neither pauses nor has jumped. */
bool ls_playhead_advance(ls_playhead *playhead, uint64_t elapsed_ns);

void ls_playhead_toggle(ls_playhead *playhead);              /* from the end: starts over */
void ls_playhead_step(ls_playhead *playhead, int32_t ticks); /* and pauses */
void ls_playhead_change_speed(ls_playhead *playhead, int32_t powers);

/* `share` of the record, 0 .. 1; goes on playing if it does. */
void ls_playhead_seek(ls_playhead *playhead, double share);

/* Likewise to a tick, or to the end that is nearer to it. */
void ls_playhead_go_to(ls_playhead *playhead, ls_tick tick);

bool ls_playhead_is_at_end(const ls_playhead *playhead);

/* The newer state to be blended, the share of it, and how much of the record lies behind. */
ls_tick ls_playhead_tick(const ls_playhead *playhead);
ls_fixed ls_playhead_alpha(const ls_playhead *playhead);
double ls_playhead_share(const ls_playhead *playhead);

#endif

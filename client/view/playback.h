/* Playback: where a record is being watched: plays at a chosen speed, pauses, steps by single ticks
 * in both directions and jumps. Time is an argument. Knows no source and no picture. Called by
 * view. */
#ifndef LOCKSTEP_CLIENT_VIEW_PLAYBACK_H
#define LOCKSTEP_CLIENT_VIEW_PLAYBACK_H

#include "lockstep/common/simulation.h"

#include <stdbool.h>

/* Speeds are powers of two of real time: 1/16 .. 64. */
#define LS_PLAYBACK_SLOWEST (-4)
#define LS_PLAYBACK_FASTEST 6

typedef struct ls_playback {
    ls_tick first_tick;
    ls_tick last_tick;
    uint64_t dt_ns;
    uint64_t place_ns; /* behind first_tick; 0 .. ticks of the record * dt */
    int32_t speed;     /* as a power of two */
    bool is_paused;
} ls_playback;

/* Before the first frame; at the start of the record, playing in real time. */
void ls_playback_init(ls_playback *playback);

/* What the source says of itself; a record that is still written grows. tick_rate_hz > 0. */
void ls_playback_set_range(ls_playback *playback, ls_tick first_tick, ls_tick last_tick,
                           uint32_t tick_rate_hz);

/* A frame: plays on, up to the end, where it pauses. */
void ls_playback_advance(ls_playback *playback, uint64_t elapsed_ns);

void ls_playback_toggle(ls_playback *playback);              /* from the end: starts over */
void ls_playback_step(ls_playback *playback, int32_t ticks); /* and pauses */
void ls_playback_change_speed(ls_playback *playback, int32_t powers);

/* `share` of the record, 0 .. 1; goes on playing if it does. */
void ls_playback_seek(ls_playback *playback, double share);

/* The newer state to be blended, the share of it, and how much of the record lies behind. */
ls_tick ls_playback_tick(const ls_playback *playback);
ls_fixed ls_playback_alpha(const ls_playback *playback);
double ls_playback_share(const ls_playback *playback);

#endif

/* Sample queue: the sound that a game itself makes, tick by tick, on its way to a loudspeaker that
 * runs at a rate and on a clock of its own. Holds a few hundredths of a second, so that ticks which
 * come unevenly are heard evenly; plays up to half a percent faster or slower to keep it at that;
 * is silent until it has that much again when nothing has come. Called by sound_mixer. */
#ifndef LOCKSTEP_CLIENT_VIEW_SAMPLE_QUEUE_H
#define LOCKSTEP_CLIENT_VIEW_SAMPLE_QUEUE_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulation/simulation.h"

/* Of pairs; a power of two, beyond two ticks of the most samples. */
#define LS_SAMPLE_QUEUE_FRAMES 524288u

typedef struct ls_sample_queue {
    int16_t *pairs;   /* LS_SAMPLE_QUEUE_FRAMES, the caller's memory */
    uint32_t rate_hz; /* of what is in it; 0: nothing has ever come */
    uint32_t target;  /* frames to hold */
    uint64_t first;   /* the oldest frame; frame f lies at f % LS_SAMPLE_QUEUE_FRAMES */
    uint64_t end;
    double place; /* between the oldest frame and the next one, 0 .. 1 */
    bool is_playing;
} ls_sample_queue;

/* `samples` are such that can be. Where far too many wait, the oldest are dropped. */
void ls_sample_queue_put(ls_sample_queue *queue, const ls_sound *samples);

/* The next pair for a loudspeaker of rate_hz; false: there is silence. */
bool ls_sample_queue_next(ls_sample_queue *queue, uint32_t rate_hz, float *left, float *right);

#endif

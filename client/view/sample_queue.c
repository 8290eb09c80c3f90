#include "lockstep/client/view/sample_queue.h"

#include <string.h>

enum {
    TARGET_MS = 60,
    MOST_MS = 250, /* that wait */
    BEND_ONE_IN = 200,
};

static uint32_t frames_in(const ls_sample_queue *queue)
{
    return (uint32_t)(queue->end - queue->first);
}

static void start_over(ls_sample_queue *queue, uint32_t rate_hz)
{
    queue->rate_hz = rate_hz;
    queue->first = queue->end;
    queue->place = 0.0;
    queue->is_playing = false;
}

static void drop_to(ls_sample_queue *queue, uint32_t frames)
{
    if (frames_in(queue) > frames) {
        queue->first = queue->end - frames;
    }
}

void ls_sample_queue_put(ls_sample_queue *queue, const ls_sound *samples)
{
    if (samples->rate_hz != queue->rate_hz) {
        start_over(queue, samples->rate_hz);
    }
    for (uint32_t i = 0; i < samples->frames; i++) {
        size_t at = (size_t)(queue->end++ % LS_SAMPLE_QUEUE_FRAMES);
        memcpy(queue->pairs + 2 * at, samples->samples + 2 * (size_t)i, 2 * sizeof *queue->pairs);
    }
    /* Of ticks that are long, one has to be there while the other plays. */
    queue->target =
        LS_MAX(queue->rate_hz * TARGET_MS / 1000, samples->frames + samples->frames / 2);
    uint32_t most = LS_MAX(queue->rate_hz * MOST_MS / 1000, 2 * samples->frames);
    if (frames_in(queue) > most) {
        drop_to(queue, queue->target);
    }
}

/* Source frames for one of the loudspeaker's: a little more while too many wait, and less while too
 * few do. */
static double step_of(const ls_sample_queue *queue, uint32_t rate_hz)
{
    double error = ((double)frames_in(queue) - queue->target) / queue->target;
    double bend = error > 1.0 ? 1.0 : error < -1.0 ? -1.0 : error;
    return (double)queue->rate_hz / rate_hz * (1.0 + bend / BEND_ONE_IN);
}

static float blend(const ls_sample_queue *queue, uint32_t side)
{
    size_t at = (size_t)(queue->first % LS_SAMPLE_QUEUE_FRAMES);
    size_t next = (size_t)((queue->first + 1) % LS_SAMPLE_QUEUE_FRAMES);
    float from = queue->pairs[2 * at + side];
    float to = queue->pairs[2 * next + side];
    return from + (to - from) * (float)queue->place;
}

bool ls_sample_queue_next(ls_sample_queue *queue, uint32_t rate_hz, float *left, float *right)
{
    uint32_t frames = frames_in(queue);
    queue->is_playing = frames >= 2 && (queue->is_playing || frames >= queue->target);
    if (!queue->is_playing) {
        return false;
    }
    *left = blend(queue, 0);
    *right = blend(queue, 1);
    queue->place += step_of(queue, rate_hz);
    uint64_t whole = (uint64_t)queue->place;
    queue->place -= (double)whole;
    queue->first += LS_MIN(whole, frames - 1u);
    return true;
}

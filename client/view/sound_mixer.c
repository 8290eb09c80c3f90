#include "lockstep/client/view/sound_mixer.h"

#include "lockstep/common/maths/fixed_trig.h"

#include <math.h>
#include <string.h>

/* ---- a game's own samples: made tick by tick, on their way to a loudspeaker that runs at a rate
 * and on a clock of its own. A few hundredths of a second are held, so that ticks which come
 * unevenly are heard evenly; they play up to half a percent faster or slower to keep it at that
 * ---- */

/* Of pairs; a power of two, beyond two ticks of the most samples. */
#define SAMPLE_QUEUE_FRAMES 524288u

typedef struct sample_queue {
    int16_t *pairs;   /* SAMPLE_QUEUE_FRAMES, the caller's memory */
    uint32_t rate_hz; /* of what is in it; 0: nothing has ever come */
    uint32_t target;  /* frames to hold */
    uint64_t first;   /* the oldest frame; frame f lies at f % SAMPLE_QUEUE_FRAMES */
    uint64_t end;
    double place; /* between the oldest frame and the next one, 0 .. 1 */
    bool is_playing;
} sample_queue;

enum {
    TARGET_MS = 60,
    MOST_MS = 250, /* that wait */
    BEND_ONE_IN = 200,
};

static uint32_t frames_in(const sample_queue *queue)
{
    return (uint32_t)(queue->end - queue->first);
}

static void start_over(sample_queue *queue, uint32_t rate_hz)
{
    queue->rate_hz = rate_hz;
    queue->first = queue->end;
    queue->place = 0.0;
    queue->is_playing = false;
}

static void drop_to(sample_queue *queue, uint32_t frames)
{
    if (frames_in(queue) > frames) {
        queue->first = queue->end - frames;
    }
}

/* `samples` are such that can be. Where far too many wait, the oldest are dropped. */
static void sample_queue_put(sample_queue *queue, const ls_sound *samples)
{
    if (samples->rate_hz != queue->rate_hz) {
        start_over(queue, samples->rate_hz);
    }
    for (uint32_t i = 0; i < samples->frames; i++) {
        size_t at = (size_t)(queue->end++ % SAMPLE_QUEUE_FRAMES);
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
static double step_of(const sample_queue *queue, uint32_t rate_hz)
{
    double error = ((double)frames_in(queue) - queue->target) / queue->target;
    double bend = error > 1.0 ? 1.0 : error < -1.0 ? -1.0 : error;
    return (double)queue->rate_hz / rate_hz * (1.0 + bend / BEND_ONE_IN);
}

static float blend(const sample_queue *queue, uint32_t side)
{
    size_t at = (size_t)(queue->first % SAMPLE_QUEUE_FRAMES);
    size_t next = (size_t)((queue->first + 1) % SAMPLE_QUEUE_FRAMES);
    float from = queue->pairs[2 * at + side];
    float to = queue->pairs[2 * next + side];
    return from + (to - from) * (float)queue->place;
}

/* The next pair for a loudspeaker of rate_hz; false: there is silence. */
static bool sample_queue_next(sample_queue *queue, uint32_t rate_hz, float *left, float *right)
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

/* ---- cues ---- */

#define SOFTEST 0.05 /* a cue that would be softer is not played */
#define TONE_S 0.16
#define TONE_LEVEL 9000.0 /* of 32,767 */
#define TURN 4294967296.0 /* an ls_angle */
#define SAMPLE_MAX 32767.0f

enum {
    TONES = 15,
};

typedef struct sound_wave {
    uint32_t id;
    uint32_t frames;
    int16_t *pairs;
} sound_wave;

/* A cue that is being played. */
typedef struct sound_voice {
    bool is_playing;
    const sound_wave *wave; /* NULL: a tone */
    double tone_hz;
    uint32_t frame; /* the next one */
    uint64_t number;
    ls_sound_gain gain;
} sound_voice;

struct ls_sound_mixer {
    const ls_allocator *allocator;
    uint32_t rate_hz;
    float volume;
    uint32_t wave_count;
    sound_wave waves[LS_SOUND_WAVES_MAX];
    uint64_t played; /* cues so far */
    sound_voice voices[LS_SOUND_VOICES_MAX];
    sample_queue samples; /* its memory comes with the first of them */
};

/* ---- where it is heard from ---- */

ls_sound_gain ls_sound_gain_of(const ls_sound *sound, const ls_camera *camera)
{
    if (sound->kind != LS_SOUND_CUE) {
        return (ls_sound_gain){1.0f, 1.0f};
    }
    double level = ls_fixed_to_double(ls_fixed_clamp(sound->volume, 0, LS_FIXED_ONE));
    if (!sound->has_place) {
        return (ls_sound_gain){(float)level, (float)level};
    }
    double x = (ls_fixed_to_double(sound->x) - camera->x) * camera->pixels_per_m * 2.0;
    double y = (ls_fixed_to_double(sound->y) - camera->y) * camera->pixels_per_m * 2.0;
    double right = x / LS_MAX(camera->width, 1.0); /* -1 .. 1 within the picture */
    double far = LS_MAX(fabs(right), fabs(y) / LS_MAX(camera->height, 1.0));
    level = far > 1.0 ? level / (far * far) : level;
    level = level < SOFTEST ? 0.0 : level;
    right = LS_MAX(-1.0, LS_MIN(right, 1.0));
    return (ls_sound_gain){(float)(level * LS_MIN(1.0, 1.0 - right)),
                           (float)(level * LS_MIN(1.0, 1.0 + right))};
}

/* ---- life ---- */

ls_status ls_sound_mixer_create(uint32_t rate_hz, float volume, const ls_allocator *allocator,
                                ls_sound_mixer **out)
{
    ls_sound_mixer *mixer = ls_allocate(allocator, sizeof *mixer);
    if (!mixer) {
        return LS_NO_MEMORY;
    }
    mixer->allocator = allocator;
    mixer->rate_hz = rate_hz;
    mixer->volume = volume;
    *out = mixer;
    return LS_OK;
}

void ls_sound_mixer_destroy(ls_sound_mixer *mixer)
{
    if (!mixer) {
        return;
    }
    for (uint32_t i = 0; i < mixer->wave_count; i++) {
        ls_release(mixer->allocator, mixer->waves[i].pairs);
    }
    ls_release(mixer->allocator, mixer->samples.pairs);
    ls_release(mixer->allocator, mixer);
}

ls_status ls_sound_mixer_add_wave(ls_sound_mixer *mixer, uint32_t id, const int16_t *pairs,
                                  uint32_t frames)
{
    if (mixer->wave_count == LS_SOUND_WAVES_MAX) {
        return LS_FULL;
    }
    size_t size = 2 * (size_t)frames;
    int16_t *copy = ls_allocate_array(mixer->allocator, size + 1, sizeof *copy);
    if (!copy) {
        return LS_NO_MEMORY;
    }
    memcpy(copy, pairs, size * sizeof *copy);
    mixer->waves[mixer->wave_count++] = (sound_wave){id, frames, copy};
    return LS_OK;
}

/* ---- playing ---- */

static const sound_wave *wave_of(const ls_sound_mixer *mixer, uint32_t id)
{
    for (uint32_t i = mixer->wave_count; i > 0; i--) {
        if (mixer->waves[i - 1].id == id) {
            return &mixer->waves[i - 1];
        }
    }
    return NULL;
}

/* One that is silent, or else the one that has been playing for longest. */
static sound_voice *free_voice(ls_sound_mixer *mixer)
{
    sound_voice *oldest = &mixer->voices[0];
    for (uint32_t i = 0; i < LS_SOUND_VOICES_MAX; i++) {
        sound_voice *voice = &mixer->voices[i];
        if (!voice->is_playing) {
            return voice;
        }
        oldest = voice->number < oldest->number ? voice : oldest;
    }
    return oldest;
}

static void put_samples(ls_sound_mixer *mixer, const ls_sound *sound)
{
    sample_queue *queue = &mixer->samples;
    if (!queue->pairs) {
        queue->pairs = ls_allocate_array(mixer->allocator, 2 * (size_t)SAMPLE_QUEUE_FRAMES,
                                         sizeof *queue->pairs);
    }
    if (queue->pairs) { /* else there is no memory for them now */
        sample_queue_put(queue, sound);
    }
}

/* Of a pentatonic scale: any of them go together. */
static double tone_of(uint32_t id)
{
    static const double lowest_hz[] = {196.0, 233.08, 261.63, 293.66, 349.23};
    uint32_t tone = id % TONES;
    return lowest_hz[tone % 5] * (double)(1u << tone / 5);
}

void ls_sound_mixer_play(ls_sound_mixer *mixer, const ls_sound *sound, ls_sound_gain gain)
{
    if (ls_sound_is_samples(sound)) {
        put_samples(mixer, sound);
    } else if (sound->kind == LS_SOUND_CUE && (gain.left > 0.0f || gain.right > 0.0f)) {
        *free_voice(mixer) = (sound_voice){.is_playing = true,
                                           .wave = wave_of(mixer, sound->id),
                                           .tone_hz = tone_of(sound->id),
                                           .number = mixer->played++,
                                           .gain = gain};
    }
}

/* It dies away. False: it is over. */
static bool tone_at(double tone_hz, double s, float *value)
{
    double left = 1.0 - s / TONE_S;
    if (left <= 0.0) {
        return false;
    }
    ls_angle angle = (ls_angle)(uint64_t)(TURN * tone_hz * s);
    *value = (float)(TONE_LEVEL * left * left * ls_fixed_to_double(ls_fixed_sin(angle)));
    return true;
}

/* The next pair of a voice, added to what is there. */
static void add_voice(const ls_sound_mixer *mixer, sound_voice *voice, float *left, float *right)
{
    float values[2] = {0.0f, 0.0f};
    const sound_wave *wave = voice->wave;
    if (wave) {
        voice->is_playing = voice->frame < wave->frames;
    } else {
        voice->is_playing =
            tone_at(voice->tone_hz, (double)voice->frame / mixer->rate_hz, &values[0]);
        values[1] = values[0];
    }
    if (wave && voice->is_playing) {
        values[0] = wave->pairs[2 * (size_t)voice->frame];
        values[1] = wave->pairs[2 * (size_t)voice->frame + 1];
    }
    voice->frame++;
    *left += values[0] * voice->gain.left;
    *right += values[1] * voice->gain.right;
}

static int16_t sample_of(float value)
{
    return (int16_t)LS_MAX(-SAMPLE_MAX, LS_MIN(value, SAMPLE_MAX));
}

void ls_sound_mixer_mix(ls_sound_mixer *mixer, int16_t *pairs, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++) {
        float left = 0.0f;
        float right = 0.0f;
        sample_queue_next(&mixer->samples, mixer->rate_hz, &left, &right);
        for (uint32_t k = 0; k < LS_SOUND_VOICES_MAX; k++) {
            if (mixer->voices[k].is_playing) {
                add_voice(mixer, &mixer->voices[k], &left, &right);
            }
        }
        pairs[2 * (size_t)i] = sample_of(left * mixer->volume);
        pairs[2 * (size_t)i + 1] = sample_of(right * mixer->volume);
    }
}

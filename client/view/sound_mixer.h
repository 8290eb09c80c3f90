/* Sound mixer: cues and samples, added up to what a loudspeaker plays. A cue has the wave that was
 * given for its id, or else a short tone that follows from the id; a game's own samples wait for a
 * moment, so that ticks which come unevenly are heard evenly. Knows no device, no file and no
 * clock. Called by loudspeaker, by one thread at a time. */
#ifndef LOCKSTEP_CLIENT_VIEW_SOUND_MIXER_H
#define LOCKSTEP_CLIENT_VIEW_SOUND_MIXER_H

#include "lockstep/client/view/camera.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

#define LS_SOUND_VOICES_MAX 32u /* cues at once; one more ends the oldest */
#define LS_SOUND_WAVES_MAX 256u

/* How loud on each side: 0 .. 1. */
typedef struct ls_sound_gain {
    float left;
    float right;
} ls_sound_gain;

/* As loud as a cue is for a person who sees what the camera shows: from its side of the picture,
 * and the softer the further it is beyond its edge. Samples and cues without a place are as loud on
 * both sides. */
ls_sound_gain ls_sound_gain_of(const ls_sound *sound, const ls_camera *camera);

typedef struct ls_sound_mixer ls_sound_mixer;

/* Plays pairs of left and right at rate_hz, at `volume` (0 .. 1). NO_MEMORY. */
ls_status ls_sound_mixer_create(uint32_t rate_hz, float volume, const ls_allocator *allocator,
                                ls_sound_mixer **out);
void ls_sound_mixer_destroy(ls_sound_mixer *mixer);

/* The wave of an id from now on: `frames` pairs at the mixer's rate, which are copied. FULL: there
 * is no room for one more; NO_MEMORY. */
ls_status ls_sound_mixer_add_wave(ls_sound_mixer *mixer, uint32_t id, const int16_t *pairs,
                                  uint32_t frames);

/* Begins to play a sound. Anything but a cue and samples that can be is ignored. */
void ls_sound_mixer_play(ls_sound_mixer *mixer, const ls_sound *sound, ls_sound_gain gain);

/* The next `frames` pairs. */
void ls_sound_mixer_mix(ls_sound_mixer *mixer, int16_t *pairs, uint32_t frames);

#endif

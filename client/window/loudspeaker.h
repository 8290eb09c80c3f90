/* Loudspeaker: a sound mixer behind the machine's audio device, and the files with its waves. With
 * window.c the only module that knows SDL2. Decides nothing. Built as loudspeaker_none.c where SDL2
 * is missing. */
#ifndef LOCKSTEP_CLIENT_WINDOW_LOUDSPEAKER_H
#define LOCKSTEP_CLIENT_WINDOW_LOUDSPEAKER_H

#include "lockstep/client/view/sound_mixer.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"

#define LS_LOUDSPEAKER_VOLUME_MAX 100u

typedef struct ls_loudspeaker ls_loudspeaker;

typedef struct ls_loudspeaker_config {
    const char *folder; /* ID.wav in it is the wave of cue ID; NULL: cues are tones */
    uint32_t volume;    /* 1 .. LS_LOUDSPEAKER_VOLUME_MAX */
} ls_loudspeaker_config;

/* Files that cannot be used are told to the log, and a tone is played in their place. IO when there
 * is no device, UNSUPPORTED when this build has no sound, NO_MEMORY; `why` explains. */
ls_status ls_loudspeaker_open(const ls_loudspeaker_config *config, const ls_log *log,
                              const ls_allocator *allocator, ls_loudspeaker **out, ls_text *why);
void ls_loudspeaker_close(ls_loudspeaker *loudspeaker);

/* Begins to play; samples are copied. */
void ls_loudspeaker_play(ls_loudspeaker *loudspeaker, const ls_sound *sound, ls_sound_gain gain);

#endif

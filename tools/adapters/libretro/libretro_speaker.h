/* Libretro speaker: what a core has sounded in the newest tick. Never saved and never hashed.
 * Called by libretro_console. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_SPEAKER_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_SPEAKER_H

#include "lockstep/common/simulation/simulation.h"

typedef struct libretro_speaker {
    uint32_t rate_hz;
    uint32_t frames; /* pairs of left and right */
    uint32_t capacity;
    int16_t *samples;
} libretro_speaker;

/* The rate of a core, with room for as many ticks as there are in a fifth of a second. Silent for a
 * rate that cannot be played. */
ls_status libretro_speaker_init(libretro_speaker *speaker, double rate_hz);
void libretro_speaker_deinit(libretro_speaker *speaker);

void libretro_speaker_begin_tick(libretro_speaker *speaker);

/* Samples that there is no room for are left out. */
void libretro_speaker_play(libretro_speaker *speaker, const int16_t *samples, size_t frames);

void libretro_speaker_sound(const libretro_speaker *speaker, ls_sound_list *list);

#endif

/* Libretro output: the newest frame that a core has shown, as a viewer wants it. Never saved and
 * never hashed. Called by libretro_console. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_OUTPUT_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_OUTPUT_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"

typedef struct libretro_picture {
    libretro_pixel_format format;
    uint32_t *pixels; /* 0xRRGGBBAA */
    size_t capacity;  /* pixels */
    uint32_t columns; /* 0: there was no frame yet */
    uint32_t rows;
    double aspect; /* width by height; 0: that of columns and rows */
} libretro_picture;

/* Makes room for the largest frame that the core will show. */
ls_status libretro_picture_resize(libretro_picture *picture, const libretro_geometry *geometry);
void libretro_picture_deinit(libretro_picture *picture);

/* A frame that there is no room for is left out. */
void libretro_picture_show(libretro_picture *picture, const void *frame, unsigned columns,
                           unsigned rows, size_t pitch);

void libretro_picture_draw(const libretro_picture *picture, ls_draw_list *list);

/* ---- Libretro speaker: what a core has sounded in the newest tick. Never saved and never
 * hashed ---- */

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

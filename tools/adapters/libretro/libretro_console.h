/* Libretro console: one running core with its content, pads, picture and save. Answers what the
 * core asks the same on every machine: no clock, no folder, no file, options of the match alone.
 * Called by libretro.c, by one thread at a time. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_CONSOLE_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_CONSOLE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"
#include "lockstep/tools/adapters/libretro/libretro_imports.h"

/* ---- Libretro output: the newest frame that a core has shown, as a viewer wants it. Never saved
 * and never hashed ---- */

typedef struct libretro_picture {
    libretro_pixel_format format;
    uint32_t *pixels; /* 0xRRGGBBAA */
    size_t capacity;  /* pixels */
    uint32_t columns; /* 0: there was no frame yet */
    uint32_t rows;
    double aspect; /* width by height; 0: that of columns and rows */
} libretro_picture;

void libretro_picture_draw(const libretro_picture *picture, ls_draw_list *list);

/* ---- Libretro speaker: what a core has sounded in the newest tick. Never saved and never
 * hashed ---- */

typedef struct libretro_speaker {
    uint32_t rate_hz;
    uint32_t frames; /* pairs of left and right */
    uint32_t capacity;
    int16_t *samples;
} libretro_speaker;

void libretro_speaker_sound(const libretro_speaker *speaker, ls_sound_list *list);

/* ---- console ---- */

#define LIBRETRO_PORTS_MAX 8u
#define LIBRETRO_SAVE_HEAD_BYTES 12u

typedef struct libretro_pad {
    uint16_t buttons;  /* bit n: libretro's button n is down */
    int16_t sticks[4]; /* left x and y, right x and y; right and down are positive */
} libretro_pad;

typedef struct libretro_setup {
    const ls_sim_file *core;
    const ls_sim_file *content; /* of 0 bytes: none */
    const char *options;
    uint32_t players;
    uint32_t device; /* in every port that is a player's */
    ls_rate rate;    /* frames a second of the match */
    int64_t start_s; /* what a clock shows at frame 0, in seconds since 1970 */
    uint64_t seed;
} libretro_setup;

typedef struct libretro_console libretro_console;

/* Starts the core with its content. All that the setup points to is borrowed until destroy. Errors:
 * those of libretro_core_open, BAD_ARGUMENT, UNSUPPORTED, NO_MEMORY; all with `why`. */
ls_status libretro_console_create(const libretro_setup *setup, libretro_console **out,
                                  ls_text *why);
void libretro_console_destroy(libretro_console *console);

/* One frame. */
void libretro_console_run(libretro_console *console, const libretro_pad *pads, uint32_t count);

/* Frames that were played until now. */
uint32_t libretro_console_frames(const libretro_console *console);

/* The save of what is now, borrowed until the console is used again; NULL: there is no memory, or
 * the core does not want to. Before the core's own bytes it has u32 frames and u64 random. */
const uint8_t *libretro_console_save(libretro_console *console, size_t *size);

/* MALFORMED: the core does not take it, and is as it was. */
ls_status libretro_console_load(libretro_console *console, const uint8_t *bytes, size_t size);

/* Memory of the core, to read or to write; NULL: it has none of that kind. */
uint8_t *libretro_console_memory(libretro_console *console, unsigned id, size_t *size);

const libretro_picture *libretro_console_picture(const libretro_console *console);
const libretro_speaker *libretro_console_speaker(const libretro_console *console);

#endif

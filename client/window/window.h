/* Window: a canvas on the screen or in a file, the events of the screen's keyboard, mouse and pads,
 * and sounds. With font_writer.c the only module that knows SDL_ttf, and alone SDL2 and libpng.
 * Decides nothing; one window a process. A program loads it (window_library.h). */
#ifndef LOCKSTEP_CLIENT_WINDOW_WINDOW_H
#define LOCKSTEP_CLIENT_WINDOW_WINDOW_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/input_mapper.h"
#include "lockstep/client/view/sound_mixer.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

typedef struct ls_window ls_window;

typedef struct ls_window_config {
    const char *title;
    uint32_t width; /* in the screen's units */
    uint32_t height;
    bool follows_display;  /* pictures change with the display's own, where it can */
    bool is_painted_apart; /* by a thread that has the window for itself */
} ls_window_config;

/* UNSUPPORTED when this build has no windows, IO when there is no screen or no font, NO_MEMORY;
 * `why` explains. */
ls_status ls_window_open(const ls_window_config *config, const ls_allocator *allocator,
                         ls_window **out, ls_text *why);
void ls_window_close(ls_window *window);

/* F11, and alt with enter, change to full screen and back: they are no events. */
bool ls_window_next_event(ls_window *window, ls_view_event *event);

/* The canvas for the next picture: as large as the window is now. */
ls_canvas *ls_window_canvas(ls_window *window);
const ls_canvas_fonts *ls_window_fonts(const ls_window *window);

#define LS_WINDOW_TITLE_BYTES_MAX 256u
void ls_window_set_title(ls_window *window, const char *title);

/* Shows the canvas. Blocks until the display takes it when the window follows the display. */
void ls_window_show(ls_window *window);

/* Pictures a second that the display takes; 0: the window does not follow it. */
uint32_t ls_window_display_hz(const ls_window *window);

/* Writes a PNG file. IO with the path and the reason, or NO_MEMORY. */
ls_status ls_png_file_write(const char *path, const ls_canvas *canvas,
                            const ls_allocator *allocator, ls_text *why);

/* ---- loudspeaker: a sound mixer behind the machine's audio device, and the files with its waves
 * ---- */

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

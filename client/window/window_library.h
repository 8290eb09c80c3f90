/* Window library: windows, sounds and PNG files as a file of their own, lockstep/window.so, which a
 * program loads when the first of them is asked for: with it come SDL2, SDL_ttf, libpng, fontconfig
 * and sixty libraries of theirs, which nobody needs who plays without a picture. window.h has
 * the functions' contracts; window_loaded.c has them for a program. */
#ifndef LOCKSTEP_CLIENT_WINDOW_WINDOW_LIBRARY_H
#define LOCKSTEP_CLIENT_WINDOW_WINDOW_LIBRARY_H

#include "lockstep/client/window/window.h"

/* The library exports one of these under the name LS_WINDOW_LIBRARY_SYMBOL. */
typedef struct ls_window_library {
    const char *version; /* of the tree that it was built from: it is for programs of the same */
    size_t size_bytes;   /* of this struct */
    __typeof__(ls_window_open) *open;
    __typeof__(ls_window_close) *close;
    __typeof__(ls_window_next_event) *next_event;
    __typeof__(ls_window_canvas) *canvas;
    __typeof__(ls_window_fonts) *fonts;
    __typeof__(ls_window_set_title) *set_title;
    __typeof__(ls_window_show) *show;
    __typeof__(ls_window_display_hz) *display_hz;
    __typeof__(ls_loudspeaker_open) *loudspeaker_open;
    __typeof__(ls_loudspeaker_close) *loudspeaker_close;
    __typeof__(ls_loudspeaker_play) *loudspeaker_play;
    __typeof__(ls_png_file_write) *png_file_write;
} ls_window_library;

#define LS_WINDOW_LIBRARY_SYMBOL "lockstep_window_library"

#endif

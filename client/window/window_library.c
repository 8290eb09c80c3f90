#include "lockstep/client/window/window_library.h"

__attribute__((visibility("default"))) extern const ls_window_library lockstep_window_library;

const ls_window_library lockstep_window_library = {
    .version = LS_VERSION,
    .size_bytes = sizeof(ls_window_library),
    .open = ls_window_open,
    .close = ls_window_close,
    .next_event = ls_window_next_event,
    .canvas = ls_window_canvas,
    .fonts = ls_window_fonts,
    .set_title = ls_window_set_title,
    .show = ls_window_show,
    .display_hz = ls_window_display_hz,
    .loudspeaker_open = ls_loudspeaker_open,
    .loudspeaker_close = ls_loudspeaker_close,
    .loudspeaker_play = ls_loudspeaker_play,
    .png_file_write = ls_png_file_write,
};

#include "lockstep/client/window/window.h"

#include "lockstep/client/window/png_file.h"

#include <stddef.h>

ls_status ls_window_open(const ls_window_config *config, const ls_allocator *allocator,
                         ls_window **out, ls_text *why)
{
    (void)config;
    (void)allocator;
    (void)out;
    return ls_fail(LS_UNSUPPORTED, why,
                   "this build has no window: SDL2, SDL2_ttf, libpng or fontconfig was missing");
}

void ls_window_close(ls_window *window)
{
    (void)window;
}

bool ls_window_next_event(ls_window *window, ls_view_event *event)
{
    (void)window;
    (void)event;
    return false;
}

ls_canvas *ls_window_canvas(ls_window *window)
{
    (void)window;
    return NULL;
}

const ls_canvas_fonts *ls_window_fonts(const ls_window *window)
{
    (void)window;
    return NULL;
}

void ls_window_set_title(ls_window *window, const char *title)
{
    (void)window;
    (void)title;
}

void ls_window_show(ls_window *window)
{
    (void)window;
}

uint32_t ls_window_display_hz(const ls_window *window)
{
    (void)window;
    return 0;
}

ls_status ls_png_file_write(const char *path, const ls_canvas *canvas,
                            const ls_allocator *allocator, ls_text *why)
{
    (void)canvas;
    (void)allocator;
    return ls_fail(LS_UNSUPPORTED, why, "%s: this build writes no pictures", path);
}

/* The functions of window.h for a program that loads them when it
 * opens its window: the others are for who has one. */
#include "lockstep/client/window/window_library.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/machine.h"

#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES = 4096,
};

/* Stays open: the libraries behind it have threads and handlers of their own. */
static const ls_window_library *library;

/* LS_WINDOW_LIBRARY_FILE is where it lies as seen from the program's folder. */
static bool find_file(char *path, size_t capacity)
{
    char program[PATH_BYTES];
    char *end = ls_machine_program_path(program, sizeof program) ? strrchr(program, '/') : NULL;
    if (!end) {
        return false;
    }
    *end = '\0';
    int length = snprintf(path, capacity, "%s/%s", program, LS_WINDOW_LIBRARY_FILE);
    return length > 0 && (size_t)length < capacity;
}

static ls_status load(ls_text *why)
{
    char path[PATH_BYTES] = LS_WINDOW_LIBRARY_FILE;
    ls_file_facts facts;
    const char *words = "";
    if (library) {
        return LS_OK;
    }
    if (!find_file(path, sizeof path) || !ls_file_look(path, &facts)) {
        return ls_fail(
            LS_UNSUPPORTED, why,
            "windows are not installed here (--view=text needs none): there is no %s; the "
            "package lockstep-window has it, and a build with SDL2, SDL2_ttf, libpng "
            "and fontconfig",
            path);
    }
    void *file = ls_library_open(path, &words);
    if (!file) {
        return ls_fail(LS_UNSUPPORTED, why, "windows cannot be opened here: %s", words);
    }
    const ls_window_library *found = ls_library_find(file, LS_WINDOW_LIBRARY_SYMBOL);
    if (!found || strcmp(found->version, LS_VERSION) != 0 || found->size_bytes != sizeof *found) {
        ls_library_close(file);
        return ls_fail(LS_UNSUPPORTED, why, "%s is not of this program's version, " LS_VERSION,
                       path);
    }
    library = found;
    return LS_OK;
}

ls_status ls_window_open(const ls_window_config *config, const ls_allocator *allocator,
                         ls_window **out, ls_text *why)
{
    ls_status status = load(why);
    return status == LS_OK ? library->open(config, allocator, out, why) : status;
}

void ls_window_close(ls_window *window)
{
    if (window) {
        library->close(window);
    }
}

bool ls_window_next_event(ls_window *window, ls_view_event *event)
{
    return library->next_event(window, event);
}

ls_canvas *ls_window_canvas(ls_window *window)
{
    return library->canvas(window);
}

const ls_canvas_fonts *ls_window_fonts(const ls_window *window)
{
    return library->fonts(window);
}

void ls_window_set_title(ls_window *window, const char *title)
{
    library->set_title(window, title);
}

void ls_window_show(ls_window *window)
{
    library->show(window);
}

uint32_t ls_window_display_hz(const ls_window *window)
{
    return library->display_hz(window);
}

ls_status ls_loudspeaker_open(const ls_loudspeaker_config *config, const ls_log *log,
                              const ls_allocator *allocator, ls_loudspeaker **out, ls_text *why)
{
    return library->loudspeaker_open(config, log, allocator, out, why);
}

void ls_loudspeaker_close(ls_loudspeaker *loudspeaker)
{
    if (loudspeaker) {
        library->loudspeaker_close(loudspeaker);
    }
}

void ls_loudspeaker_play(ls_loudspeaker *loudspeaker, const ls_sound *sound, ls_sound_gain gain)
{
    library->loudspeaker_play(loudspeaker, sound, gain);
}

ls_status ls_png_file_write(const char *path, const ls_canvas *canvas,
                            const ls_allocator *allocator, ls_text *why)
{
    return library->png_file_write(path, canvas, allocator, why);
}

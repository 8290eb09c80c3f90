/* Painter: a thread of its own that has the window: it paints the scenes that it is given, shows
 * them, waits for the display and takes what a person does. Nothing that it waits for holds up the
 * thread that plays the match: of scenes that come faster than it paints only the newest is
 * painted. Where a window has to belong to the program's first thread, the same calls paint at
 * once. Owned and called by screen, from one thread. */
#ifndef LOCKSTEP_CLIENT_WINDOW_PAINTER_H
#define LOCKSTEP_CLIENT_WINDOW_PAINTER_H

#include "lockstep/client/view/scene.h"
#include "lockstep/client/window/window.h"

typedef struct ls_painter ls_painter;

#define LS_PAINTER_FILES_MAX 17u
#define LS_PAINTER_PATH_BYTES 64u

/* A scene on its way to the display and back. */
typedef struct ls_painter_job {
    ls_scene scene;

    /* The PNG files to be made of it; the paths are borrowed until the job comes back. */
    uint32_t file_count;
    const char *files[LS_PAINTER_FILES_MAX];
    char own_path[LS_PAINTER_PATH_BYTES]; /* room for one of them */

    ls_status written; /* of the files: the first that failed, or LS_OK */
    ls_text why;
} ls_painter_job;

/* The window as it was when the newest picture was shown. */
typedef struct ls_painter_state {
    uint32_t width; /* of the canvas, pixels */
    uint32_t height;
    ls_canvas_fonts fonts; /* their sizes count */
    uint32_t display_hz;   /* 0: the window does not follow the display */
    uint64_t work_ns;      /* what painting took */
    uint64_t shown_ns;     /* 0: nothing was shown so far */
} ls_painter_state;

/* As ls_window_open. */
ls_status ls_painter_open(const ls_window_config *config, const ls_allocator *allocator,
                          ls_painter **out, ls_text *why);

/* Files that were asked for are written first. NULL is allowed. */
void ls_painter_stop(ls_painter *painter);
void ls_painter_close(ls_painter *painter);

ls_painter_state ls_painter_look(ls_painter *painter);

/* The events of the window, oldest first; false: there is none left. */
bool ls_painter_next_event(ls_painter *painter, ls_view_event *event);

/* A job for the next picture, whose scene is to be composed, and then put back; NULL: the painter
 * is busy with files, and the picture is left out. */
ls_painter_job *ls_painter_take(ls_painter *painter);
void ls_painter_put(ls_painter *painter, ls_painter_job *job);

/* A job whose files were written, or could not be; NULL: none. It stays as it is until the next
 * call of any of these functions. */
const ls_painter_job *ls_painter_next_written(ls_painter *painter);

#endif

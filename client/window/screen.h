/* Screen: a view in a window or on a terminal, frame by frame: takes what the person did, paints,
 * shows, writes the pictures that were asked for and says when the next frame is to begin. The
 * driver calls it from its own loop. Knows no session and no record. */
#ifndef LOCKSTEP_CLIENT_WINDOW_SCREEN_H
#define LOCKSTEP_CLIENT_WINDOW_SCREEN_H

#include "lockstep/client/view/view.h"
#include "lockstep/client/window/window.h"
#include "lockstep/common/base/log.h"

#define LS_SCREENSHOTS_MAX 16u
#define LS_SCREEN_SIDE_MIN 64u
#define LS_SCREEN_SIDE_MAX 8192u

typedef enum ls_screen_kind {
    LS_SCREEN_NONE,
    LS_SCREEN_WINDOW,
    LS_SCREEN_TEXT,
} ls_screen_kind;

/* A picture for a file, of the first frame that shows this tick or a later one. */
typedef struct ls_screenshot {
    const char *path;
    ls_tick tick;
} ls_screenshot;

typedef struct ls_screen_config {
    ls_screen_kind kind; /* NONE: there is nothing to open */
    bool interpolates;
    bool has_chat;         /* the person can say something to others */
    bool is_terminal_live; /* of TEXT: standard output can be drawn on again and again */
    bool has_true_colour;  /* likewise: it has more than 256 colours */
    uint32_t fps;          /* 0: the display's own, else 60 */
    uint32_t width;        /* of a window, LS_SCREEN_SIDE_MIN .. LS_SCREEN_SIDE_MAX */
    uint32_t height;
    const char *sounds; /* a folder with ID.wav of cues, borrowed; NULL: none */
    uint32_t volume;    /* of a window's sounds, 0 .. LS_LOUDSPEAKER_VOLUME_MAX; 0: silent */
    uint32_t screenshot_count;
    ls_screenshot screenshots[LS_SCREENSHOTS_MAX]; /* paths are borrowed */
} ls_screen_config;

typedef struct ls_screen ls_screen;

/* A window of 1280 x 720, blended, at the display's rate. */
ls_screen_config ls_screen_config_default(void);

/* NO_MEMORY, or the reason in `why`: IO when there is no screen or no font, UNSUPPORTED when this
 * build has no windows. The log must outlive it; pictures are told there. */
ls_status ls_screen_open(const ls_screen_config *config, const ls_view_source *source,
                         const ls_log *log, const ls_allocator *allocator, ls_screen **out,
                         ls_text *why);

/* Gives the terminal back. NULL is allowed. */
void ls_screen_close(ls_screen *screen);

/* Whether its person hears anything: it is a window, and not silent. */
bool ls_screen_config_has_sound(const ls_screen_config *config);

/* Begins to look for the audio device, once it is known that there is something to hear: nothing
 * waits for it. Without one the log says so, and the screen stays silent. */
void ls_screen_start_sound(ls_screen *screen);

/* Plays a sound, if it can. */
void ls_screen_play_sound(ls_screen *screen, const ls_sound *sound);

/* Takes what the person did, for whoever is about to make an input of it. */
void ls_screen_receive(ls_screen *screen, uint64_t now_ns);

/* The same; true when they want to leave. */
bool ls_screen_is_closed(ls_screen *screen, uint64_t now_ns);

/* Composes the frame that began at `now_ns`, which is painted and shown: that of a window behind
 * it, by another thread. Returns when to call ls_screen_go_on. */
uint64_t ls_screen_frame(ls_screen *screen, uint64_t now_ns);

/* Between frames: sends on what a terminal has not taken yet of the last one. Returns when to call
 * again; 0: it is time for the next frame. */
uint64_t ls_screen_go_on(ls_screen *screen, uint64_t now_ns);

/* Of a record: nothing more is asked of it. A window has written its screenshots, if there were
 * any, text in a file shows the end; what a person looks at is never through. */
bool ls_screen_is_done(const ls_screen *screen);

ls_view *ls_screen_view(ls_screen *screen);

#endif

/* Terminal: the standard output as a place for a text view, and the keys of the standard input.
 * Without a terminal there the text goes out as it is, and there are no keys. Never waits for who
 * reads: while a picture is on its way out the next ones are left out. A terminal says when a key
 * goes down but not when it goes up again: each is taken to be held for a while. */
#ifndef LOCKSTEP_CLIENT_WINDOW_TERMINAL_H
#define LOCKSTEP_CLIENT_WINDOW_TERMINAL_H

#include "lockstep/client/view/input_mapper.h"
#include "lockstep/client/view/scene.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

typedef struct ls_terminal ls_terminal;

typedef enum ls_terminal_kind {
    LS_TERMINAL_IS_FILE, /* nothing can be drawn again in place */
    LS_TERMINAL_OF_256_COLOURS,
    LS_TERMINAL_OF_TRUE_COLOUR,
} ls_terminal_kind;

/* On standard output. NO_MEMORY. */
ls_status ls_terminal_open(ls_terminal_kind kind, const ls_allocator *allocator, ls_terminal **out);

/* Gives the terminal back as it was, as far as that can be done within half a second: one that was
 * stopped takes nothing. NULL is allowed. */
void ls_terminal_close(ls_terminal *terminal);

/* While somebody types a line every letter is one, and Escape is a key: before, Q is Escape. */
void ls_terminal_set_typing(ls_terminal *terminal, bool is_typing);

bool ls_terminal_next_event(ls_terminal *terminal, uint64_t now_ns, ls_view_event *event);

/* The canvas for the next picture: `lines` lines of the terminal stay free for text. NULL: there
 * is no memory for one now. */
ls_canvas *ls_terminal_canvas(ls_terminal *terminal, uint32_t lines);

/* Shows the canvas, on which the scene was painted, with the scene's texts, and the lines of text
 * below it, as many as were to stay free at most. False: it is left out, since the one before is
 * not out yet. */
bool ls_terminal_show(ls_terminal *terminal, const ls_scene *scene, const char *const *lines,
                      uint32_t line_count);

/* Sends on what is left of the newest picture: a terminal takes a part at a time. Returns when to
 * call again, the later the longer nobody reads; UINT64_MAX: all of it is out. */
uint64_t ls_terminal_go_on(ls_terminal *terminal, uint64_t now_ns);

#endif

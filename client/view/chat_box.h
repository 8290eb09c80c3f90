/* Chat box: the line that a person types to the others, and the lines that were said in the last
 * seconds, as rows for the picture. Takes the keys while the line is open; sends nothing, and knows
 * no player. */
#ifndef LOCKSTEP_CLIENT_VIEW_CHAT_BOX_H
#define LOCKSTEP_CLIENT_VIEW_CHAT_BOX_H

#include "lockstep/client/view/input_mapper.h"
#include "lockstep/client/view/view_source.h"

#define LS_CHAT_BOX_TYPED_BYTES_MAX 201u /* with its final NUL */
#define LS_CHAT_BOX_LINE_BYTES_MAX 256u
#define LS_CHAT_BOX_LINES_MAX 6u
#define LS_CHAT_BOX_SHOWN_NS UINT64_C(12000000000)
/* F5 .. F8: quick lines 1 .. 4. F4 opens a line, as Enter does. */
#define LS_CHAT_BOX_QUICK_KEYS 4u

/* A line that the person has said. */
typedef struct ls_chat_box_said {
    uint32_t quick_line; /* 0: the text */
    char text[LS_CHAT_BOX_TYPED_BYTES_MAX];
} ls_chat_box_said;

typedef struct ls_chat_box_line {
    uint64_t left_ns; /* for so long it is shown */
    char text[LS_CHAT_BOX_LINE_BYTES_MAX];
} ls_chat_box_line;

/* Comes zeroed. */
typedef struct ls_chat_box {
    bool game_has_enter; /* it reaches the game, and opens no line */
    bool is_open;
    bool has_said;
    ls_chat_box_said said;
    char typed[LS_CHAT_BOX_TYPED_BYTES_MAX];
    ls_chat_box_line lines[LS_CHAT_BOX_LINES_MAX]; /* oldest first */
    uint32_t line_count;
} ls_chat_box;

/* True when the event was for the chat, and is no business of anybody else. */
bool ls_chat_box_receive(ls_chat_box *box, const ls_view_event *event);

/* The line that was said since the last look; false: none. */
bool ls_chat_box_pop_said(ls_chat_box *box, ls_chat_box_said *said);

/* One more line to be shown; the oldest makes room. */
void ls_chat_box_add(ls_chat_box *box, const char *line);

/* Lets time pass, and writes the newest rows of at most so many columns into the model: lines, the
 * parts of long ones indented, and last the one that is being typed, or the end of it. */
void ls_chat_box_show(ls_chat_box *box, uint64_t elapsed_ns, uint32_t columns, ls_hud_model *hud);

#endif

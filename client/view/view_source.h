/* View source: where a view's pictures come from: a running match, or a record of one that can be
 * paused, stepped and sought. Implemented by whoever shows something; called by view alone, in its
 * frames. */
#ifndef LOCKSTEP_CLIENT_VIEW_VIEW_SOURCE_H
#define LOCKSTEP_CLIENT_VIEW_VIEW_SOURCE_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/sim_instance.h"

#include <stdbool.h>

#define LS_VIEW_LINES_MAX 12u
#define LS_VIEW_LINE_BYTES_MAX 96u
#define LS_VIEW_TITLE_BYTES_MAX 128u
#define LS_HUD_CHAT_ROWS_MAX 8u
#define LS_HUD_CHAT_BYTES_MAX 264u
#define LS_HUD_SEAT_TEXT_BYTES_MAX 24u

/* A seat of the match, for the bar above the picture. */
typedef struct ls_hud_seat {
    char name[LS_PLAYER_NAME_BYTES_MAX];   /* empty: not known */
    uint32_t colour;                       /* 0: that of the seat's largest shape */
    char text[LS_HUD_SEAT_TEXT_BYTES_MAX]; /* behind the name: a score */
} ls_hud_seat;

/* A text of the game, which may be empty. */
typedef struct ls_hud_text {
    uint32_t colour; /* 0: the view's own */
    ls_text text;
} ls_hud_text;

/* HUD model: the texts and figures that are shown with the picture. */
typedef struct ls_hud_model {
    ls_tick tick;      /* of the newer of the two states that are blended */
    ls_fixed alpha;    /* share of the newer one; of a record the view's own */
    uint32_t owner;    /* slot + 1 of the person's own shapes; 0: there are none */
    bool is_selecting; /* a box drawn with the pointer means something */

    char title[LS_VIEW_TITLE_BYTES_MAX]; /* of the window; empty: it stays */
    ls_text heading; /* before the match begins: its name, and below it what it waits for */
    ls_text waiting;
    ls_text banner; /* across the picture; empty for none */
    bool is_alarm;  /* it is about something bad */

    bool asks_ready;     /* the person can say that they are ready */
    bool game_has_enter; /* the game does something on Enter */
    bool has_chat;       /* the person can say something; the view's own */
    uint32_t chat_count; /* rows of what was said; the view's own */
    char chat[LS_HUD_CHAT_ROWS_MAX][LS_HUD_CHAT_BYTES_MAX];
    bool is_typing; /* the last one is being typed */

    uint32_t seat_count;
    ls_hud_seat seats[LS_PLAYERS_MAX];
    ls_hud_text match;  /* beside the seats */
    ls_hud_text person; /* over the picture */
    ls_hud_text keys;   /* above the view's own */

    uint32_t line_count; /* of figures for whoever looks into it */
    char lines[LS_VIEW_LINES_MAX][LS_VIEW_LINE_BYTES_MAX];

    /* Of a record: */
    ls_tick first_tick;
    ls_tick last_tick;
    uint32_t tick_rate_hz; /* > 0 */
    bool is_growing;       /* more of it is to come: playing waits for that at the end */
    bool is_on_its_way;    /* to where go_to sent it: playing waits */
} ls_hud_model;

/* Takes the sounds of a record that is being played. */
typedef struct ls_view_ear {
    void (*on_sound)(void *user, const ls_sound *sound); /* borrowed for the call */
    void *user;
} ls_view_ear;

typedef struct ls_view_source {
    void *user;

    /* Fills `hud`, which comes zeroed. */
    void (*fill_hud)(void *user, ls_hud_model *hud);

    /* Appends the picture that lies `alpha` of the way from the older of the two newest states to
     * the newer one, and what the person alone sees. */
    void (*draw)(void *user, ls_fixed alpha, ls_draw_list *list);

    /* Of a record: makes the state of `tick` (first_tick .. last_tick) the newer one and the one
     * before it the older one. May do so in parts, so that no frame takes long: hud.tick says
     * how far it is. `ear` gets the sounds of the ticks on the way; it is NULL where they are
     * sought, not played. The function is NULL: a running match, which goes its own way. */
    void (*go_to)(void *user, ls_tick tick, const ls_view_ear *ear);
} ls_view_source;

/* The status lines of the simulation for the person in `slot`; beyond the last one: for a
 * spectator. */
void ls_hud_model_add_status(ls_hud_model *hud, const ls_sim_instance *instance, uint32_t slot);

/* Whether this key alone changes the input that the game makes of its state: then the key is the
 * game's. */
bool ls_game_uses_key(const ls_sim_instance *instance, uint32_t slot, uint32_t key);

/* One more line; a line that has no room is left out. */
void ls_hud_model_add(ls_hud_model *hud, const char *format, ...) LS_PRINTF(2, 3);

#endif

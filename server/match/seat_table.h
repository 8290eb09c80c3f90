/* Seat table: the player that each slot of a match belongs to, whether it may come back, and what
 * the simulation has been told of it. It is the only writer of a seat's state. It closes no
 * connection and no tick. */
#ifndef LOCKSTEP_SERVER_MATCH_SEAT_TABLE_H
#define LOCKSTEP_SERVER_MATCH_SEAT_TABLE_H

#include "lockstep/server/match/match_context.h"
#include "lockstep/server/match/outbox.h"
#include "lockstep/server/match/player_link.h"
#include "lockstep/server/match/tick_log.h"

typedef enum ls_slot_state {
    LS_SEAT_EMPTY,
    LS_SEAT_OFFERED,  /* OFFER sent */
    LS_SEAT_READY,    /* READY was good */
    LS_SEAT_JOINING,  /* JOIN sent; the player catches up with a running match */
    LS_SEAT_PLAYING,  /* from START on, or from a good JOINED */
    LS_SEAT_FINISHED, /* FINISHED received */
    LS_SEAT_KEPT,     /* the link was lost while the match ran; the seat is kept for the player */
    LS_SEAT_LEFT,     /* the player is gone while the match ran; the seat is free for a newcomer */
} ls_slot_state;

/* The player who sits on a seat, or sat there last. */
typedef struct ls_seat_player {
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_name_look look;
    bool is_playing;
    bool has_played;
    bool has_finished;
    ls_status left_status;
    ls_text left_why; /* empty while it is here */
    ls_tick joined_tick;
    ls_tick here_tick;
    uint32_t rejoins;
    ls_finished finished;
} ls_seat_player;

typedef struct ls_seat_row {
    ls_slot_state state;
    bool is_leave_pending;  /* LEFT goes into the next tick closed */
    bool is_in_band;        /* the simulation has been told JOINED, and not LEFT since */
    ls_tick play_from;      /* the first tick that may have its input */
    uint64_t kept_until_ns; /* KEPT */
    ls_seat_generations generations;
    uint64_t origin; /* where the peer that it was offered to comes from; 0: not known */
    ls_return back;  /* the ticks that HELLO says it holds; match_id 0: a newcomer */
    ls_seat_player player;
    /* OFFERED, to a newcomer: the seat as the player before left it. */
    ls_slot_state past_state;
    ls_seat_generations past_generations;
    ls_seat_player past_player;
} ls_seat_row;

/* Every part may read it; seat_table.c alone writes it. */
typedef struct ls_seat_table {
    const ls_match *match;
    uint32_t count;
    ls_peer_id peers[LS_PLAYERS_MAX]; /* 0: none */
    ls_seat_row rows[];               /* [count] */
} ls_seat_table;

/* NO_MEMORY. */
ls_status ls_seat_table_create(const ls_match *match, ls_seat_table **out);
void ls_seat_table_destroy(ls_seat_table *table);

/* ---- who is there ---- */

/* MATCH_NO_SLOT: the peer has no seat. */
static inline uint32_t ls_seat_table_slot_of(const ls_seat_table *table, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < table->count; slot++) {
        if (table->peers[slot] == peer) {
            return slot;
        }
    }
    return MATCH_NO_SLOT;
}

/* Has been offered to somebody who has not sat here before. */
bool ls_seat_table_has_newcomer(const ls_seat_table *table, uint32_t slot);

/* Somebody who has not played here is READY to join the running match, or joins it. */
bool ls_seat_table_has_joiner(const ls_seat_table *table, uint32_t slot);

/* Somebody is connected there; in the match from START on and still connected; is sent closed ticks
 * and acknowledges them. */
static inline bool ls_seat_table_is_taken(const ls_seat_table *table, uint32_t slot)
{
    ls_slot_state state = table->rows[slot].state;
    return state != LS_SEAT_EMPTY && state != LS_SEAT_KEPT && state != LS_SEAT_LEFT;
}

static inline bool ls_seat_table_is_in_play(const ls_seat_table *table, uint32_t slot)
{
    ls_slot_state state = table->rows[slot].state;
    return state == LS_SEAT_PLAYING || state == LS_SEAT_FINISHED;
}

static inline bool ls_seat_table_follows(const ls_seat_table *table, uint32_t slot)
{
    return ls_seat_table_is_in_play(table, slot) || table->rows[slot].state == LS_SEAT_JOINING;
}

/* The slot's input belongs into that tick. */
static inline bool ls_seat_table_plays(const ls_seat_table *table, uint32_t slot, ls_tick tick)
{
    const ls_seat_row *seat = &table->rows[slot];
    return seat->state == LS_SEAT_PLAYING && tick >= seat->play_from;
}

/* Whether any seat's state is one of `first` .. `last`. */
static inline bool ls_seat_table_has_state(const ls_seat_table *table, ls_slot_state first,
                                           ls_slot_state last)
{
    bool is_found = false;
    for (uint32_t slot = 0; !is_found && slot < table->count; slot++) {
        ls_slot_state state = table->rows[slot].state;
        is_found = state >= first && state <= last;
    }
    return is_found;
}

uint32_t ls_seat_table_count(const ls_seat_table *table, ls_slot_state state);

/* The seats that newcomers from there have been offered. */
uint32_t ls_seat_table_count_offered(const ls_seat_table *table, uint64_t origin);

/* Fills in what the table knows of the slot. */
void ls_seat_table_report(const ls_seat_table *table, uint32_t slot, ls_match_slot *report);

/* Sends the outgoing message to every player in play. */
void ls_seat_table_send_all(const ls_seat_table *table);

/* The names of the players from slot `first` on, for a message; "" behind the last one. */
void ls_seat_table_names(const ls_seat_table *table, uint32_t first,
                         char names[LS_NAMES_PER_MESSAGE][LS_PLAYER_NAME_BYTES_MAX]);

/* Sends a peer the names that its next START, JOIN or LOBBY leaves out. */
void ls_seat_table_send_names(const ls_seat_table *table, ls_peer_id peer);

/* ---- coming ---- */

/* Whether the name of a player looks like this, but for the one of a slot; a player who has left
 * counts while its seat is kept. */
bool ls_seat_table_has_look(const ls_seat_table *table, const ls_name_look *look,
                            uint32_t except_slot);

/* The seat for the player who says this HELLO; `wanted` is the only one that a newcomer may get,
 * or MATCH_NO_SLOT. `why` says why there is none. */
ls_status ls_seat_table_find(ls_seat_table *table, const ls_hello *hello, uint32_t wanted,
                             uint32_t *slot, ls_text *why);

/* The player sits down on a seat where nobody is connected: OFFERED. */
ls_player_change ls_seat_table_sit_down(ls_seat_table *table, uint32_t slot, ls_peer_id peer,
                                        const ls_hello *hello);

/* The secret that the player who sits there now is given: another one at each return. */
void ls_seat_table_secret(const ls_seat_table *table, uint32_t slot, uint8_t out[LS_SECRET_BYTES]);

void ls_seat_table_set_ready(ls_seat_table *table, uint32_t slot);
void ls_seat_table_set_joining(ls_seat_table *table, uint32_t slot);

/* The slot plays: its input counts from `tick` on, which is not closed yet. */
void ls_seat_table_set_playing(ls_seat_table *table, uint32_t slot, ls_tick tick);
void ls_seat_table_set_finished(ls_seat_table *table, uint32_t slot, const ls_finished *finished);

/* ---- leaving ---- */

/* Whether the seat is kept for its player if the link is lost now. */
bool ls_seat_table_would_keep(const ls_seat_table *table, uint32_t slot);

/* The player is gone. Frees the seat in the lobby, keeps it or marks it as left in a running match;
 * a newcomer who was not READY yet leaves it as it was. */
ls_player_change ls_seat_table_leave(ls_seat_table *table, uint32_t slot, bool is_kept,
                                     ls_status status, const char *why);

/* A kept seat becomes free when its player has not come back in time. */
void ls_seat_table_expire(ls_seat_table *table, uint32_t slot);

/* ---- what the simulation is told ---- */

/* The events that go into the tick that is being closed: a seat that changes hands has both. */
uint32_t ls_seat_table_pop_events(ls_seat_table *table, uint32_t slot, bool plays);

/* A tick that was closed before the match was restored had these events. */
void ls_seat_table_note_events(ls_seat_table *table, uint32_t slot, uint32_t events, ls_tick tick);

/* ---- going on after a restart; see match.h ---- */

void ls_seat_table_restore_in_band(ls_seat_table *table, ls_slot_set in_band);
void ls_seat_table_restore_seat(ls_seat_table *table, uint32_t slot, const ls_restored_seat *from);
void ls_seat_table_restore_generations(ls_seat_table *table,
                                       const ls_seat_generations generations[LS_PLAYERS_MAX]);

/* The seats of those who played are kept; returns the slots that are waited for. `is_known`: the
 * journal said who played. */
ls_slot_set ls_seat_table_await_players(ls_seat_table *table, bool is_known);

/* The match goes on with the players who are READY; counts those of `waited`. */
uint32_t ls_seat_table_resume(ls_seat_table *table, ls_slot_set waited);

void ls_seat_table_prefetch(const ls_seat_table *table);

#endif

/* Player lag: what one player's match suffers from, and the input delay that it plays with. Gathers
 * the figures of each closed tick, has them judged now and then, and says so to the player's client
 * and as events. Called by player_link, which holds it, and by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_PLAYER_LAG_H
#define LOCKSTEP_SERVER_MATCH_PLAYER_LAG_H

#include "lockstep/server/match/lag_meter.h"
#include "lockstep/server/match/match_context.h"
#include "lockstep/server/match/outbox.h"

/* The input delay that a link needs: more as soon as its inputs come late, less when it has not
 * been needed for a while, and more patiently after each time that was wrong. */
typedef struct ls_delay_control {
    uint32_t ticks;           /* the delay that is wanted */
    uint32_t spare_stretches; /* stretches in which a tick less would have done */
    uint32_t patience;        /* as many take a tick off */
    bool has_taken_off;       /* since it was last raised */
} ls_delay_control;

void ls_delay_control_init(ls_delay_control *control, uint32_t ticks);

/* A stretch is over; `recent` is judged as `lag`. True when `ticks` has changed. */
bool ls_delay_control_update(ls_delay_control *control, const ls_lag_figures *recent,
                             const ls_lag *lag);

typedef struct ls_player_lag {
    ls_lag_meter meter;
    ls_lag lag; /* of the last five seconds */
    uint32_t input_delay_ticks;
    /* Of this connection. */
    ls_delay_control delay;
    ls_lag_cause told_cause; /* of the newest event about it, and its time */
    uint64_t told_ns;
} ls_player_lag;

/* The player: its slot for events, and its peer for messages. */
typedef struct ls_player_name {
    uint32_t slot;
    ls_peer_id peer;
} ls_player_name;

/* The player begins to play, or goes on after it was away (`has_played`). */
void ls_player_lag_begin(ls_player_lag *lag, const ls_match_context *match, bool has_played);

/* A tick has been closed: counts how it came about for this player; fills the input delay into
 * `tick`. */
void ls_player_lag_count(ls_player_lag *lag, const ls_match_context *match, ls_player_name who,
                         ls_lag_tick *tick);

/* The player's input delay changes. */
void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match_context *match, ls_peer_id peer,
                             uint32_t ticks);

/* The player is gone, or here on another connection: the figures stay. */
void ls_player_lag_forget_connection(ls_player_lag *lag);

#endif

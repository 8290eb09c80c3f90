/* Player lag: what one player's match suffers from, and the input delay that it plays with. Hands
 * the facts of each closed tick to the meter (common/lag), keeps its verdict, and says what the
 * delay is to the player's client and as an event. */
#ifndef LOCKSTEP_SERVER_MATCH_PLAYER_LAG_H
#define LOCKSTEP_SERVER_MATCH_PLAYER_LAG_H

#include "lockstep/common/lag/lag_meter.h"
#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/server/match/match_context.h"
#include "lockstep/server/match/outbox.h"

typedef struct ls_player_lag {
    /* Of this connection. */
    ls_delay_control delay;
    ls_lag_said said;

    uint32_t input_delay_ticks;
    ls_lag_meter meter;
    ls_lag lag; /* of the last five seconds */
} ls_player_lag;

/* The player: its slot for events, and its peer for messages. */
typedef struct ls_player_name {
    uint32_t slot;
    ls_peer_id peer;
} ls_player_name;

/* The player begins to play, or goes on after it was away (`has_played`). */
void ls_player_lag_begin(ls_player_lag *lag, const ls_match *match, bool has_played);

/* A tick has been closed: counts how it came about for this player; fills the input delay into
 * `tick`. True when there is a verdict that is to be said. */
bool ls_player_lag_count(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                         ls_lag_tick *tick);

/* The player's input delay changes. */
void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match *match, ls_peer_id peer,
                             uint32_t ticks);

/* The player is gone, or here on another connection: the figures stay. */
void ls_player_lag_forget_connection(ls_player_lag *lag);

#endif

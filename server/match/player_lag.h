/* Player lag: what one player's match suffers from, and the input delay that it plays with. Gathers
 * the figures of each closed tick, has them judged now and then, and says so to the player's client
 * and as events. */
#ifndef LOCKSTEP_SERVER_MATCH_PLAYER_LAG_H
#define LOCKSTEP_SERVER_MATCH_PLAYER_LAG_H

#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/match/lag_attribution.h"
#include "lockstep/server/match/match_context.h"
#include "lockstep/server/match/outbox.h"

/* ---- the figures of one slot, over the last few seconds and over the whole match ---- */

/* Recent figures are those of the last two such stretches. */
#define LS_LAG_STRETCH_NS UINT64_C(2500000000)

/* Every tick needs what stands before the arrivals of `recent[0]`. */
typedef struct ls_lag_meter {
    uint64_t dt_ns;
    uint32_t warm_up_ticks; /* left until figures count: a match needs a moment to find its pace */
    uint64_t uplink_sent;   /* by the link meter, as far as they have been counted */
    uint64_t uplink_lost;
    ls_lag_figures recent[2]; /* of this stretch and of the one before */
    ls_lag_figures total;     /* of the whole stretches before this one */
} ls_lag_meter;

/* How a tick came about for one slot. */
typedef struct ls_lag_tick {
    bool is_late;      /* its input was not there when the tick was due */
    uint32_t backlog;  /* ticks that the client has and has not stepped */
    uint32_t excused;  /* ticks by which the match itself was behind its time */
    uint32_t overdue;  /* of them, because the server came too late to close them */
    uint64_t quiet_ns; /* since anything came */
    uint32_t input_delay_ticks;
    const ls_link_meter *uplink;
} ls_lag_tick;

void ls_lag_meter_init(ls_lag_meter *meter, uint64_t dt_ns);

/* An input first came, so long before its tick was closed; negative: after it. */
void ls_lag_meter_add_arrival(ls_lag_meter *meter, int64_t slack_ns);

/* Asks for the memory that an arrival with about this slack will need. */
void ls_lag_meter_prefetch(const ls_lag_meter *meter, int64_t slack_ns);

void ls_lag_meter_add_health(ls_lag_meter *meter, const ls_client_health *health);

/* True when a stretch is complete: then *recent holds its figures and those of the one before. */
bool ls_lag_meter_add_tick(ls_lag_meter *meter, const ls_lag_tick *tick, ls_lag_figures *recent);

/* Something was changed because of the figures: what came before says nothing about it. */
void ls_lag_meter_forget_recent(ls_lag_meter *meter);

ls_lag_figures ls_lag_meter_total(const ls_lag_meter *meter);

/* ---- the delay that a link needs ---- */

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

/* ---- one player ---- */

typedef struct ls_player_lag {
    /* Of this connection. */
    ls_delay_control delay;
    ls_lag_cause told_cause; /* of the newest event about it, and its time */
    uint64_t told_ns;

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
 * `tick`. */
void ls_player_lag_count(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                         ls_lag_tick *tick);

/* The player's input delay changes. */
void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match *match, ls_peer_id peer,
                             uint32_t ticks);

/* The player is gone, or here on another connection: the figures stay. */
void ls_player_lag_forget_connection(ls_player_lag *lag);

#endif

/* Lag meter: gathers, of one slot, the figures that lag_attribution judges: over the last few
 * seconds and over the whole match. Judges nothing itself, sends nothing. Called by
 * player_link and player_lag. */
#ifndef LOCKSTEP_SERVER_MATCH_LAG_METER_H
#define LOCKSTEP_SERVER_MATCH_LAG_METER_H

#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/match/lag_attribution.h"

/* Recent figures are those of the last two such stretches. */
#define LS_LAG_STRETCH_NS UINT64_C(2500000000)

typedef struct ls_lag_meter {
    uint64_t dt_ns;
    uint32_t warm_up_ticks; /* left until figures count: a match needs a moment to find its pace */
    ls_lag_figures recent[2]; /* of this stretch and of the one before */
    ls_lag_figures total;     /* of the whole stretches before this one */
    uint64_t uplink_sent;     /* by the link meter, as far as they have been counted */
    uint64_t uplink_lost;
} ls_lag_meter;

/* How a tick came about for one slot. */
typedef struct ls_lag_tick {
    bool is_late;      /* its input was not there when the tick was due */
    uint32_t backlog;  /* ticks that the client has and has not stepped */
    uint32_t excused;  /* ticks by which the match itself was behind its time */
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

#endif

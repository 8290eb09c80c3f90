/* Lag meter: the figures of one player, over the last few seconds and over the whole match. A match
 * gives it how each tick came about, each input that came and each report of the client; it finds
 * the cause of every late input and every stalled tick out of what both sides know. Never reads a
 * clock. */
#ifndef LOCKSTEP_COMMON_LAG_LAG_METER_H
#define LOCKSTEP_COMMON_LAG_LAG_METER_H

#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/common/lag/lag_verdict.h"

/* Recent figures are those of the last two such stretches. */
#define LS_LAG_STRETCH_NS UINT64_C(2500000000)

/* More than a buffer for jitter holds, at low tick rates. */
#define LS_LAG_BACKLOG_TICKS 20u

/* A jitter buffer remembers for so many what it has met. */
#define LS_LAG_EXCUSE_STRETCHES 4u

/* Late inputs and stalls whose cause is not known yet, or is known before they are. */
typedef struct ls_lag_account {
    ls_lag_report heard; /* the client's newest on this connection */
    ls_tick first;       /* late inputs that are not explained: the first, the newest, how many */
    ls_tick newest;
    uint32_t open;
    uint32_t
        open_ticks; /* that went by because of them: more than they are where they are waited for */
    uint32_t made;  /* inputs that the client made too late, or held, and that are not seen late */
    uint32_t held;
    uint32_t excuse; /* stalled ticks that are no fault of their way; how many came to it in this
                        stretch and in those before */
    uint32_t fresh_excuse[LS_LAG_EXCUSE_STRETCHES];
    uint32_t refill_pause;
    uint32_t slow_ticks; /* that the client has been behind by more than a buffer holds */
    uint32_t pause; /* ticks until figures of the downlink count again: once a second is enough */
} ls_lag_account;

/* Every tick needs what stands before the arrivals of `recent[0]`. */
typedef struct ls_lag_meter {
    uint64_t dt_ns;
    uint32_t warm_up_ticks; /* left until figures count: a match needs a moment to find its pace */
    uint64_t uplink_sent;   /* as far as they have been counted */
    uint64_t uplink_lost;
    ls_lag_account account;
    ls_lag_figures recent[2]; /* of this stretch and of the one before */
    ls_lag_figures total;     /* of the whole stretches before this one */
    uint64_t
        judged[LS_LAG_CAUSE_COUNT]; /* what each cause cost while it was the verdict, in ticks */
} ls_lag_meter;

/* How a tick came about for one player. */
typedef struct ls_lag_tick {
    ls_tick tick;
    bool is_late;         /* its input was not there when the tick was due */
    uint32_t held_up;     /* ticks that went by while the match waited for this player */
    uint32_t waited;      /* ... for others alone */
    uint32_t waited_slot; /* one of those */
    uint32_t overdue;     /* ... while the server was late to close it */
    bool was_behind;      /* it was closed later than due, if only a little */
    uint64_t uneven_ns;   /* how unevenly ticks are closed, whoever's fault it is */
    uint32_t backlog;     /* ticks that the client has and has not stepped */
    uint64_t quiet_ns;    /* since anything came */
    uint32_t input_delay_ticks;
} ls_lag_tick;

/* A packet of the client, and what it says of the time before. */
typedef struct ls_lag_packet {
    ls_tick end;                 /* behind its newest input */
    uint64_t late_ns;            /* by which the latest input in it came too late; 0: none did */
    uint32_t lost_before;        /* packets, since the one before it that came */
    const ls_lag_report *report; /* NULL: it has none */
    bool has_downlink;           /* else the next two mean nothing */
    uint32_t downlink_loss;      /* packets of 256 */
    uint64_t downlink_jitter_ns;
    bool is_match_behind; /* the match waits now, or the server is late */
} ls_lag_packet;

void ls_lag_meter_init(ls_lag_meter *meter, uint64_t dt_ns);

/* Another connection: what the client said on the old one does not go on. */
void ls_lag_meter_forget_connection(ls_lag_meter *meter);

/* An input that was made in time first came, so long before its tick was closed; negative: after
 * it. */
void ls_lag_meter_add_arrival(ls_lag_meter *meter, int64_t slack_ns);

/* A late input came, and its tick was closed with the same: nothing is lost. */
void ls_lag_meter_forgive_late(ls_lag_meter *meter, ls_tick tick);

/* Asks for the memory that an arrival with about this slack will need. */
void ls_lag_meter_prefetch(const ls_lag_meter *meter, int64_t slack_ns);

/* Sums of the packets of this connection, as of one that is newer than those before it. Returns how
 * many were lost before it. */
uint32_t ls_lag_meter_add_uplink(ls_lag_meter *meter, uint64_t sent, uint64_t lost);

/* The jitter of the uplink, as it was just measured. */
static inline void ls_lag_meter_add_uplink_jitter(ls_lag_meter *meter, uint64_t jitter_ns)
{
    if (meter->warm_up_ticks == 0) {
        meter->recent[0].uplink_samples++;
        meter->recent[0].uplink_jitter_ns += jitter_ns;
    }
}

/* Whether a packet without a report and figures of the downlink has to be added as well. */
static inline bool ls_lag_meter_is_open(const ls_lag_meter *meter)
{
    return (meter->account.open | meter->account.made | meter->account.held) != 0;
}

/* A packet came that is newer than those before. */
void ls_lag_meter_add_packet(ls_lag_meter *meter, const ls_lag_packet *packet);

/* A tick that was closed with its input and within a tick's time, for a client with a backlog of
 * less than LS_LAG_BACKLOG_TICKS. False: it is not counted, and ls_lag_meter_add_tick is to be
 * called. */
bool ls_lag_meter_add_quiet_tick(ls_lag_meter *meter, bool was_behind, uint64_t uneven_ns);

/* True when a stretch is complete: then *recent holds its figures and those of the one before. */
bool ls_lag_meter_add_tick(ls_lag_meter *meter, const ls_lag_tick *tick, ls_lag_figures *recent);

/* The server was late by so many ticks while the player was away: perhaps it is because of that. */
void ls_lag_meter_add_outage(ls_lag_meter *meter, uint32_t overdue);

/* The verdict on the stretch that has just been completed. */
void ls_lag_meter_note_verdict(ls_lag_meter *meter, ls_lag_cause cause);

/* Something was changed because of the figures: what came before says nothing about it. */
void ls_lag_meter_forget_recent(ls_lag_meter *meter);

/* Over the match as a whole: the verdict that was given for the worst, with all the figures. */
ls_lag_figures ls_lag_meter_total(const ls_lag_meter *meter);
ls_lag ls_lag_meter_verdict(const ls_lag_meter *meter);

#endif

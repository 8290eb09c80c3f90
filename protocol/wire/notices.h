/* Notices: what client and server tell each other about a match, as the values that a game sees in
 * events and reports. They are part of messages, but know nothing of bits. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_NOTICES_H
#define LOCKSTEP_PROTOCOL_WIRE_NOTICES_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

#define LS_HASH_INTERVAL_MAX 1024u
#define LS_TIMEOUT_MS_MAX 600000u
#define LS_CAUSE_FIELD_BYTES_MAX 96u
#define LS_CAUSE_VALUE_BYTES_MAX 128u

#define LS_LOSS_MAX 255u    /* loss counts packets of 256 */
#define LS_JITTER_MAX 4095u /* in quarters of a millisecond */

/* The losses of one direction of a connection, in the units in which they are sent, so that games
 * see the numbers that the machines exchange. */
typedef struct ls_link_figures {
    uint32_t loss;   /* lost packets of 256, 0 .. LS_LOSS_MAX */
    uint32_t jitter; /* quarters of a millisecond, 0 .. LS_JITTER_MAX */
} ls_link_figures;

typedef enum ls_late_rule {
    LS_LATE_REPEAT, /* a missing input becomes the slot's input of the tick before */
    LS_LATE_WAIT,   /* nothing is closed until every input is there, within a bound */
} ls_late_rule;

/* How many INPUTS and TICKS are sent. */
typedef enum ls_send_rate {
    LS_SEND_AUTO,   /* one a tick; a second one half a tick later while that direction loses many */
    LS_SEND_HALF,   /* one for every two ticks */
    LS_SEND_TICK,   /* one a tick */
    LS_SEND_DOUBLE, /* one a tick, and a second one half a tick later */
    LS_SEND_SAVING, /* as auto, but one for several ticks while inputs are delayed and none is lost
                     */
    LS_SEND_RATE_COUNT,
} ls_send_rate;

typedef struct ls_offer {
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t simulation_version;
    ls_sim_config config;
    uint32_t slot;
    uint32_t hash_interval_ticks;
    bool trusts_writes; /* of the simulation: see ls_sim_instance_trust_writes */
    uint32_t input_delay_ticks;
    uint32_t timeout_ms;
    uint32_t late_rule; /* ls_late_rule */
    uint32_t send_rate; /* ls_send_rate */
    uint64_t match_id;  /* never 0 */
    uint8_t secret[LS_SECRET_BYTES];
    bool is_spectator; /* the slot means nothing */
    bool is_running;   /* JOIN comes instead of START */
} ls_offer;

typedef struct ls_desync_notice {
    uint32_t slot;
    ls_tick tick; /* of the first state that differs */
    uint64_t server_hash;
    uint64_t client_hash;
    uint32_t clients; /* 0: the slot differs; else the server does, from so many that agree */
} ls_desync_notice;

/* DESYNC_CAUSE: all that was found out; empty texts are not known. Without `why` it is only what
 * differs, and another one follows. */
typedef struct ls_desync_cause {
    uint32_t slot;
    ls_tick tick;
    uint32_t kind;                        /* ls_desync_class */
    uint32_t culprit;                     /* ls_desync_culprit */
    uint32_t fields;                      /* that differ */
    uint32_t elements;                    /* of them, at most UINT32_MAX */
    bool is_lower_bound;                  /* at least so many */
    char field[LS_CAUSE_FIELD_BYTES_MAX]; /* the first one, and both values */
    char server_value[LS_CAUSE_VALUE_BYTES_MAX];
    char client_value[LS_CAUSE_VALUE_BYTES_MAX];
    char pass[LS_NAME_BYTES_MAX]; /* the first one that did other work */
    bool is_behind_pass;          /* fields and values are those behind it; else of the state */
    ls_text why;
} ls_desync_cause;

/* Its class is still being looked for. */
static inline bool ls_desync_cause_is_open(const ls_desync_cause *cause)
{
    return cause->why.bytes[0] == '\0';
}

typedef struct ls_end {
    ls_tick final_tick;
    uint64_t final_hash;
} ls_end;

typedef struct ls_finished {
    ls_tick tick;
    uint64_t state_hash;
    ls_tick chain_tick; /* the newest hashed state, and the low half of the chain up to it */
    uint32_t chain;
    uint32_t stalled_ticks;
    uint32_t confirm_latency_p50_us;
    uint32_t confirm_latency_p99_us;
    uint32_t confirm_latency_max_us;
    uint32_t rtt_us;
    uint32_t frames;
} ls_finished;

typedef struct ls_waiting {
    ls_tick tick;
    ls_slot_set slots;
    uint32_t waited_ms;
} ls_waiting;

/* How the state comes to a client that joins a running match. */
typedef enum ls_join_source {
    LS_JOIN_HELD,     /* it has it */
    LS_JOIN_SNAPSHOT, /* the blob is a save of it */
    LS_JOIN_HISTORY,  /* the blob is every closed tick before it */
    LS_JOIN_REST,     /* the blob is that of the JOIN before, of which it has some, and the ticks */
    LS_JOIN_SOURCE_COUNT,
} ls_join_source;

typedef struct ls_join {
    uint32_t source;     /* ls_join_source */
    ls_tick tick;        /* first closed tick that will be sent; the blob leads to this state */
    uint64_t state_hash; /* of it; HELD: 0, and so are the next two */
    ls_tick chain_tick;  /* newest hashed state up to there */
    uint64_t chain;      /* of the state hashes up to that one */
    uint64_t tick_chain; /* before `tick` */
    ls_tick next_close;
    uint32_t next_close_us;                                     /* from sending until then */
    uint32_t blob;                                              /* its number, 0 .. 255 */
    uint32_t blob_bytes;                                        /* 0: none */
    uint64_t blob_hash;                                         /* XXH3-64 */
    char names[LS_NAMES_PER_MESSAGE][LS_PLAYER_NAME_BYTES_MAX]; /* NAMES has the others */
} ls_join;

typedef struct ls_resuming {
    ls_slot_set slots; /* that the match waits for */
    uint32_t left_ms;  /* how long, at most */
} ls_resuming;

/* NOTICE: what the host of a match says to those who play or watch it. */
typedef enum ls_notice_kind {
    LS_NOTICE_TEXT,
    LS_NOTICE_PAUSED,   /* no tick is closed until UNPAUSED */
    LS_NOTICE_UNPAUSED, /* the match goes on */
    LS_NOTICE_NEXT,     /* "ROOM: WHAT": that room plays another match behind this one */
    LS_NOTICE_KIND_COUNT,
} ls_notice_kind;

typedef struct ls_notice {
    uint32_t kind; /* ls_notice_kind */
    ls_tick tick;  /* the next that is closed */
    ls_text text;  /* empty: PAUSED and UNPAUSED without a reason */
} ls_notice;

LS_C_END

#endif

/* Session context: one session: how it was set up, how things stand with it, what the server
 * offered, and its parts, in the order in which they are made. A part may call those that stand
 * before it. Session and gameplay fill it in; the parts only read it. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_CONTEXT_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_CONTEXT_H

#include "lockstep/client/session/hash_log.h"
#include "lockstep/client/session/tick_sync.h"

/* How far an attempt to make the link anew has got. */
typedef enum ls_reconnect_attempt {
    LS_RECONNECT_NONE,
    LS_RECONNECT_GREETED, /* HELLO sent */
    LS_RECONNECT_SEATED,  /* READY sent */
} ls_reconnect_attempt;

/* To the seat of the last OFFER. */
typedef enum ls_seat_claim {
    LS_CLAIM_NONE,
    LS_CLAIM_OPTIONAL, /* the match may have begun without this client; where it has not and the
                       seat was given to another, it comes as a newcomer */
    LS_CLAIM_FIRM,     /* the match has begun */
} ls_seat_claim;

/* A link that was lost. */
typedef struct ls_lost_link {
    ls_status status;  /* why */
    uint64_t pause_ns; /* before the next attempt */
    uint64_t retry_ns; /* when that is due */
    ls_reconnect_attempt attempt;
    bool was_in_lobby; /* START or JOIN may come */
    ls_seat_claim claim;
} ls_lost_link;

typedef struct ls_failure {
    ls_status status;
    ls_text why;
} ls_failure;

struct ls_session {
    const ls_allocator *allocator;
    ls_session_config config;
    struct ls_session_outbox *outbox;

    ls_session_state state;
    uint64_t now_ns;
    uint64_t drawn_ns; /* when the last frame began */
    uint64_t frames;   /* so far */
    uint64_t lost_ns;  /* when the link was lost; 0 while it is there and the session plays */

    /* From the server's offer on: */
    ls_offer offer; /* the newest one: after a reconnection the slot may be another */
    bool has_end;
    ls_end end;         /* final_tick: UINT32_MAX while there is none */
    ls_failure failure; /* why the session cannot go on, once gameplay has said so */
    const ls_simulation *simulation;
    uint64_t dt_ns; /* of one tick */
    ls_sim_instance *instance;
    struct ls_tick_sync *sync;
    struct ls_hash_log *hashes;
    struct ls_confirmed_ticks *ticks;
    struct ls_uplink *uplink;
    struct ls_stepper *stepper;

    /* Of session.c: */
    ls_status status; /* OVER: why it ended */
    uint64_t heard_ns;
    uint64_t asked_ns; /* HELLO sent, or READY: its answer shows how long the way is at most */
    uint64_t connect_rtt_ns; /* as the transport measured it; 0: it did not */
    uint64_t finished_ns;
    ls_text turned_away;          /* why, by the server that may be asked again */
    ls_status turned_away_status; /* LS_OK: it was not */
    uint32_t malformed;
    uint64_t packets_rejected;
    uint32_t rejoins;
    char names[LS_PLAYERS_MAX][LS_PLAYER_NAME_BYTES_MAX];
    ls_lost_link lost;
    ls_session_lobby lobby;
    bool is_ready;      /* for the match to begin */
    ls_message message; /* that has come in */

    /* Of gameplay.c: */
    bool has_gameplay; /* the server's offer was good */
    struct ls_diagnosis *diagnosis;
    struct ls_joiner *joiner; /* NULL: it is where the match is, or was, or has no state */
    bool is_stateless;        /* nothing is held that the server could build on */
    ls_tick joined_tick;
    ls_lag lag;             /* as the server said last */
    uint64_t played_ns;     /* up to here the time has been played */
    uint64_t frames_before; /* drawn before the match began, or this player came (back) */

    /* The pointers above lead to these, so that parts may change them. */
    ls_session_outbox own_outbox;
    ls_tick_sync own_sync;
    ls_hash_log own_hashes;
};

/* It receives what happens in a running match, and sends as often as one asks for. */
static inline bool ls_session_is_in_match(const ls_session *context)
{
    return context->state == LS_SESSION_JOINING || context->state == LS_SESSION_PLAYING ||
           context->state == LS_SESSION_FINISHED;
}

#endif

/* Session context: what the parts of a session share: how the session was set up, how things stand
 * with it, what the server offered, and the parts themselves, in the order in which they are made.
 * A part may call those that stand before it. Session and gameplay fill it in; the parts only read
 * it. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_CONTEXT_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_CONTEXT_H

#include "lockstep/client/session/session.h"
#include "lockstep/protocol/wire/message.h"

typedef struct ls_failure {
    ls_status status;
    ls_text why;
} ls_failure;

typedef struct ls_session_context {
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
} ls_session_context;

/* It receives what happens in a running match, and sends as often as one asks for. */
static inline bool ls_session_is_in_match(const ls_session_context *context)
{
    return context->state == LS_SESSION_JOINING || context->state == LS_SESSION_PLAYING ||
           context->state == LS_SESSION_FINISHED;
}

#endif

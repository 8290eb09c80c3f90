/* Session context: what the parts of a session share: how the session was set up, what the server
 * offered, and the parts themselves, in the order in which they are made. A part may call those
 * that stand before it. Gameplay fills it in; the parts only read it. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_CONTEXT_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_CONTEXT_H

#include "lockstep/client/session/session.h"
#include "lockstep/protocol/wire/message.h"

typedef struct ls_session_context {
    const ls_allocator *allocator;
    const ls_session_config *config;
    ls_offer offer; /* the newest one: after a reconnection the slot may be another */
    const ls_simulation *simulation;
    uint64_t dt_ns; /* of one tick */
    ls_sim_instance *instance;
    struct ls_session_outbox *outbox;
    struct ls_hash_log *hashes;
    struct ls_confirmed_ticks *ticks;
    struct ls_uplink *uplink;
    struct ls_stepper *stepper;
} ls_session_context;

/* How things stand with a session when it calls gameplay. */
typedef struct ls_session_moment {
    ls_session_state state;
    uint64_t now_ns;
    uint64_t drawn_ns; /* when the last frame began */
    uint64_t frames;   /* so far */
    uint64_t lost_ns;  /* when the link was lost; 0 while it is there and the session plays */
} ls_session_moment;

#endif

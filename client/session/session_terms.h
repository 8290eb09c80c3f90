/* Session terms: what every part of a session may read and no part changes: how the session was set
 * up and what the server offered. The session fills them in when it takes the server's offer, and
 * its parts keep a copy. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_TERMS_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_TERMS_H

#include "lockstep/client/session/session.h"
#include "lockstep/protocol/wire/message.h"

typedef struct ls_session_terms {
    const ls_allocator *allocator;
    const ls_session_config *config;
    const ls_offer *offer; /* the newest one: after a reconnection the slot may be another */
    const ls_simulation *simulation;
    const ls_sim_instance *instance; /* the live state */
    uint64_t dt_ns;                  /* of one tick */
} ls_session_terms;

#endif

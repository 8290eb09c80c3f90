/* Honest match: a match and one honest client of it in virtual time, over a perfect memory network.
 * The other seats are left to the fuzz target, which talks to the match itself. */
#ifndef LOCKSTEP_TESTS_FUZZ_HONEST_MATCH_H
#define LOCKSTEP_TESTS_FUZZ_HONEST_MATCH_H

#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/server/match/match.h"

typedef struct honest_match {
    ls_memory_network *network;
    ls_transport *server_transport;
    ls_transport *client_transport;
    ls_match *match;
    ls_session *session;
    ls_bot bot;
    const ls_simulation *simulation;
    uint64_t now_ns;
} honest_match;

/* The config is one that the match accepts. */
void honest_match_open(honest_match *here, const ls_match_config *config,
                       const ls_allocator *allocator);
void honest_match_close(honest_match *here);

/* Runs both ends for `ns` in steps of five milliseconds, or until both are over; in longer steps
 * when there is nothing left to do but wait for the others. */
void honest_match_run(honest_match *here, uint64_t ns);
bool honest_match_is_over(const honest_match *here);

#endif

/* Visitor: somebody who is let into a match again and again and means it ill: comes back for one
 * state after another, takes it at a trickle or not at all, sits on a seat without a word, lies
 * about its states, and sends the largest messages that are valid. Speaks the protocol by hand,
 * with the match before its eyes. Draws what it does from a stream of its own. Called by play. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_VISITOR_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_VISITOR_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/lab/faultsim/scenario.h"

typedef struct faultsim_visitor {
    const faultsim_scenario_visitor *drawn;
    virtual_match *run;
    ls_rng rng;
    uint32_t number;
    uint32_t visits;
    uint64_t sent; /* packets */

    ls_transport *transport; /* NULL: it is away */
    ls_peer_id server;       /* 0: not connected */
    uint64_t next_ns;        /* it comes, or goes */
    uint64_t end_ns;         /* it comes no more */
    uint64_t inputs_ns;      /* its next INPUTS */
    bool has_join;
    bool is_playing;
    uint32_t sequence;
    ls_offer offer; /* of its seat; match_id 0: it has none */
    ls_join join;
    ls_message message;
} faultsim_visitor;

/* From now on it comes and goes, until the run is over. `visitor` outlives the run. */
void faultsim_visitor_start(faultsim_visitor *visitor, virtual_match *run,
                            const faultsim_scenario_visitor *drawn, uint32_t number);

#endif

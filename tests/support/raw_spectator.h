/* Raw spectator: a spectator of a virtual match without a session: it takes JOIN, the blob
 * and the closed ticks, steps the simulation on them and says what came out; honest only as far as
 * the test wants. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_RAW_SPECTATOR_H
#define LOCKSTEP_TESTS_SUPPORT_RAW_SPECTATOR_H

#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/tests/support/raw_peer.h"

typedef struct raw_spectator {
    virtual_match *run;
    raw_peer *peer; /* its packets, and the messages that it keeps */

    /* Set by the test. */
    bool is_wrong;      /* its chains are not those of its states */
    bool is_altered;    /* the next one alone */
    bool is_silent;     /* says nothing any more */
    bool is_stuck;      /* acknowledges nothing new */
    bool is_lazy;       /* never says that it has joined, and steps nothing */
    ls_tick leave_tick; /* closes its connection once it has stepped so many; 0: stays */

    /* Received. */
    bool has_join;
    ls_end end;
    bool has_end;
    uint32_t ticks_heard; /* TICKS since JOIN */
    uint32_t most_heard;  /* TICKS in the same instant */
    uint64_t heard_ns;
    uint64_t last_heard_ns;
    uint64_t longest_pause_ns; /* between two TICKS after JOIN */
    uint32_t same_heard;
    ls_tick least_delay; /* the server had closed at least so many more than it was sent */

    /* Its own state. */
    ls_sim_instance *instance;
    ls_input_buffer *received;
    ls_tick_cursor *cursor;
    bool has_state;
    bool has_finished;
    ls_tick next; /* first closed tick that it does not have */
    ls_tick chain_tick;
    uint64_t chain;
    ls_tick first_chain_tick; /* as they were when it joined */
    uint64_t first_chain;
    uint64_t tick_chain; /* before the tick that it steps next */
    uint64_t sent_ns;
    uint64_t state_hash; /* of its newest state */
} raw_spectator;

/* Connects over this link, and says HELLO: new, or as who comes back with all that `before` has,
 * which is taken from it. */
raw_spectator *raw_spectator_create(virtual_match *run, const ls_link_config *link,
                                    raw_spectator *before);
void raw_spectator_destroy(raw_spectator *spectator);

/* Ticks stepped. */
ls_tick raw_spectator_tick(const raw_spectator *spectator);

#endif

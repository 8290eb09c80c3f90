/* Check bounds: I9, what one peer can cause: for each seat, each origin that watches and each
 * connection, what it has used of everything that is limited, held against the limits of one table.
 * And I10: how long the way in takes those who come, which is their own link's affair. Observes
 * only. Called by match_check; faultsim reports what came nearest to its limit. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_CHECK_BOUNDS_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_CHECK_BOUNDS_H

#include "lockstep/tests/lab/faultsim/match_check.h"

/* The resources that are limited, and for whom each is counted: the rows of the table in
 * check_bounds.c. */
#define CHECK_BOUND_MAP(X)                                                                         \
    X(STATES, states)             /* JOINs with a state, of a seat */                              \
    X(WATCHED_STATES, watched)    /* likewise, of an origin that watches */                        \
    X(STATE_BYTES, state_bytes)   /* parts of states, of a connection */                           \
    X(TICK_PACKETS, tick_packets) /* packets of closed ticks, of a connection */                   \
    X(ANSWERS, answers)           /* reliable messages, of a connection */                         \
    X(PACKETS, packets)           /* that are read, of a connection */                             \
    X(DESYNCS, desyncs)           /* that are looked into, of a seat */                            \
    X(BUNDLES, bundles)           /* that are written, of a seat */                                \
    X(LINES, lines)               /* events in the log, of a seat or of all without one */         \
    X(MEMORY, memory)             /* bytes that the transport of the server holds, of all */       \
    X(WAY_IN, way_in)             /* I10: milliseconds, of a newcomer */

typedef enum check_bound {
#define CHECK_BOUND_ENUM(name, key) CHECK_BOUND_##name,
    CHECK_BOUND_MAP(CHECK_BOUND_ENUM)
#undef CHECK_BOUND_ENUM
    CHECK_BOUND_COUNT,
} check_bound;

const char *check_bound_key(check_bound bound);

/* The most that was used of anything, in thousandths of what may be, and how much that was. */
typedef struct check_use {
    uint64_t share;
    uint64_t used;
    uint64_t limit;
} check_use;

check_bounds *check_bounds_create(match_check *check);
void check_bounds_destroy(check_bounds *bounds);

check_use check_bounds_use(const check_bounds *bounds, check_bound bound);

/* Another process of the server knows of nobody. */
void check_bounds_forget(check_bounds *bounds);

void check_bounds_sends(check_bounds *bounds, ls_peer_id peer, ls_channel channel,
                        const uint8_t *bytes, size_t size);
void check_bounds_receives(check_bounds *bounds, const ls_transport_event *event);
void check_bounds_event(check_bounds *bounds, const ls_match_event *event);

/* After each turn of the server. */
void check_bounds_memory(check_bounds *bounds);
void check_bounds_newcomers(check_bounds *bounds);

/* The session of a client has ended so. */
void check_bounds_refused(check_bounds *bounds, const client_check *client,
                          const ls_session_event *event);

#endif

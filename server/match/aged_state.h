/* Aged state: a copy of a running simulation's state that is at least so many ticks old, for those
 * who may not see newer ones. Two copies take turns: one can be given out while the other comes of
 * age. Of a simulation that cannot save it notes how far the history of its ticks went by then.
 * Copies only; nothing is compressed here. */
#ifndef LOCKSTEP_SERVER_MATCH_AGED_STATE_H
#define LOCKSTEP_SERVER_MATCH_AGED_STATE_H

#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/server/match/tick_history.h"

/* A state and what goes with it. */
typedef struct ls_state_copy {
    ls_tick tick;
    uint64_t state_hash;
    ls_tick chain_tick;  /* the newest hashed state up to there */
    uint64_t chain;      /* of the state hashes up to that one */
    uint64_t tick_chain; /* before `tick` */
    uint32_t size;       /* of the bytes, or of the history up to there; 0: state 0 */
    uint8_t *bytes;      /* as saved; NULL for state 0, and when the simulation cannot save */
} ls_state_copy;

typedef struct ls_aged_state_config {
    ls_sim_instance *instance; /* its state is copied */
    ls_tick_history *history;  /* its ticks, when it cannot save; else NULL */
    uint32_t age_ticks;
    uint32_t pause_min_ticks; /* between two copies; age_ticks if that is longer */
} ls_aged_state_config;

typedef struct ls_aged_state {
    ls_aged_state_config config;
    size_t bytes;         /* of a copy; 0: the simulation cannot save */
    bool has_copies;      /* false: none is made, or none any more */
    uint32_t pause_ticks; /* between two copies */
    ls_state_copy ready;  /* the one that is old enough */
    ls_state_copy coming;
    bool is_coming;
    uint8_t *rooms[2]; /* the next copy goes into the first */
} ls_aged_state;

/* Holds state 0 then, whose digests are the instance's. A state too large for a blob is not copied.
 * NO_MEMORY. */
ls_status ls_aged_state_init(ls_aged_state *aged, const ls_aged_state_config *config,
                             const ls_allocator *allocator);
void ls_aged_state_deinit(ls_aged_state *aged, const ls_allocator *allocator);

/* Whether ls_aged_state_advance has something to do once the live state is `tick`. */
bool ls_aged_state_is_due(const ls_aged_state *aged, ls_tick tick);

/* The live state is `live`, but for its state hash, size and bytes, which are taken from the
 * instance when it is time to: makes a copy of it, or gives out the one that has come of age. */
void ls_aged_state_advance(ls_aged_state *aged, const ls_state_copy *live);

#endif

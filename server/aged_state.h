/* Aged state: a copy of a running simulation's state that is at least so many ticks old, for those
 * who may not see newer ones. Two copies take turns: one can be given out while the other comes of
 * age. Copies only; nothing is compressed here. Called by match_watch. */
#ifndef LOCKSTEP_SERVER_AGED_STATE_H
#define LOCKSTEP_SERVER_AGED_STATE_H

#include "lockstep/common/sim_instance.h"

/* A state and what goes with it. */
typedef struct ls_aged_copy {
    ls_tick tick;
    uint64_t root;
    ls_tick chain_tick;  /* the newest hashed state up to there */
    uint64_t chain;      /* of the roots up to that one */
    uint64_t tick_chain; /* before `tick` */
    uint8_t *bytes;      /* as saved; NULL for state 0, and when the simulation cannot save */
} ls_aged_copy;

typedef struct ls_aged_state {
    size_t bytes; /* of a copy; 0: the simulation cannot save, and state 0 is all there is */
    uint32_t age_ticks;
    uint32_t pause_ticks; /* between two copies */
    ls_aged_copy ready;   /* the one that is old enough */
    ls_aged_copy coming;
    bool is_coming;
    uint8_t *rooms[2]; /* the next copy goes into the first */
} ls_aged_state;

/* Holds state 0 then, whose digests are the instance's. A copy is made every age_ticks, or
 * pause_min_ticks if that is longer. NO_MEMORY. */
ls_status ls_aged_state_init(ls_aged_state *aged, const ls_sim_instance *instance,
                             uint32_t age_ticks, uint32_t pause_min_ticks,
                             const ls_allocator *allocator);
void ls_aged_state_deinit(ls_aged_state *aged, const ls_allocator *allocator);

/* Whether ls_aged_state_advance has something to do once the live state is `tick`. */
bool ls_aged_state_is_due(const ls_aged_state *aged, ls_tick tick);

/* The live state is `live`, but for its root and bytes, which are taken from the instance when it
 * is time to: makes a copy of it, or gives out the one that has come of age. */
void ls_aged_state_advance(ls_aged_state *aged, ls_sim_instance *instance,
                           const ls_aged_copy *live);

#endif

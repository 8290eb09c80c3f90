/* Diff pool: the places in which clients' states are compared with the server's, several at a time:
 * a hash-tree diff each, and the states of the server that they are about, which diffs of the same
 * state share. Two places for each player while 16 MiB hold them, two at least; each is made when
 * it is needed for the first time, since most matches need none. Sends nothing. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_DIFF_POOL_H
#define LOCKSTEP_SERVER_INVESTIGATION_DIFF_POOL_H

#include "lockstep/common/diagnosis/hash_tree_diff.h"
#include "lockstep/common/diagnosis/state_inspector.h"

typedef struct ls_held_state {
    ls_state_inspector inspector;
    uint32_t users; /* places that compare with it */
} ls_held_state;

typedef struct ls_diff_place {
    ls_hash_tree_diff *diff;
    ls_held_state *held; /* NULL: the place is free */
} ls_diff_place;

typedef struct ls_diff_pool {
    const ls_allocator *allocator;
    const ls_sim_instance *instance;
    const ls_replay_window *window;
    uint32_t count;
    uint32_t made;         /* of them; 1 or more */
    ls_diff_place *places; /* [count] */
    ls_held_state *held;   /* [count] */
} ls_diff_pool;

/* For states of the instance, which is borrowed like the window. `pool` comes zeroed and is to be
 * released whatever the result is. NO_MEMORY; UNSUPPORTED without a schema. */
ls_status ls_diff_pool_init(ls_diff_pool *pool, const ls_sim_instance *instance,
                            const ls_replay_window *window, const ls_allocator *allocator);
void ls_diff_pool_deinit(ls_diff_pool *pool);

/* A state of the server: state `tick`, or the one behind a pass of the step to it. */
typedef struct ls_diff_subject {
    ls_tick tick;
    uint32_t pass; /* LS_NO_PASS: the state itself */
} ls_diff_subject;

/* Begins to compare with a state of the server's, as it was recorded, or as a re-run that led to it
 * (NULL: none has) came to it. FULL: no place is free, or no memory
 * for one more; NOT_FOUND: the state is not to be had. */
ls_status ls_diff_pool_claim(ls_diff_pool *pool, const ls_diff_subject *subject,
                             const ls_rerun_outcome *outcome, ls_diff_place **out);
void ls_diff_pool_release(ls_diff_place *place);

/* Goes on with hashing large states, while the client is asked. */
void ls_diff_pool_advance(ls_diff_pool *pool);

#endif

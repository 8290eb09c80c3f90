/* State history: the newest state of a match that it took, whole, and what changed on the way to it
 * from the states before: a log of differences, so that any state that it reaches back to can be
 * made again. Where so much changes that the log does not reach back far enough, some older states
 * stay as snapshots; where most of the state changes, a few states alone are copied, evenly apart.
 * Memory is fixed at create, and so is what a tick costs on average: states are left out when
 * adding them would cost more. Adding a state compares it with the one before, by the hashes of its
 * chunks where those are known, and never allocates. Knows nothing of simulations and inputs.
 * Called by the replay window alone. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_HISTORY_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_HISTORY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/state_loan.h"
#include "lockstep/common/simulation/state_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_HISTORY_SNAPSHOTS_MAX 16u

typedef struct ls_state_history_config {
    size_t state_bytes;
    size_t log_bytes;      /* of differences; a multiple of 8 */
    uint32_t recent_ticks; /* older states leave the log even where there is room; > reach_ticks */
    uint32_t reach_ticks;  /* one state that is at least so old is always there */
    uint32_t snapshots;    /* 2 .. LS_HISTORY_SNAPSHOTS_MAX, which share that time evenly */
    size_t tick_bytes;     /* that may be compared for each tick that has passed; 0: any */

    /* In whose block the live states lie and in whose copy the newest one is kept, so that the two
     * share memory; borrowed until destroy. NULL: the history has a block of its own. */
    const ls_block_pair *pair;
} ls_state_history_config;

/* A log of this size holds the states of `ticks` ticks whatever changes, and no snapshots are
 * needed. */
size_t ls_state_history_whole_log_bytes(size_t state_bytes, uint32_t ticks);

/* All memory that create asks for. */
size_t ls_state_history_bytes(const ls_state_history_config *config);

typedef struct ls_state_history ls_state_history;

/* BAD_ARGUMENT, NO_MEMORY. */
ls_status ls_state_history_create(const ls_state_history_config *config,
                                  const ls_allocator *allocator, ls_state_history **out);
void ls_state_history_destroy(ls_state_history *history);

typedef struct ls_history_state {
    const uint8_t *bytes;
    const uint8_t *chunk_hashes; /* of LS_HASH_CHUNK_BYTES each; NULL: not known */
    bool is_wanted;              /* whatever it costs */
} ls_history_state;

/* Forgets everything; this state, of any tick, is the first one. */
void ls_state_history_start(ls_state_history *history, ls_tick tick, const ls_history_state *state);

/* The state of a later tick than the newest; those between may be left out. False: it is left out,
 * since it would cost more than the ticks since the newest state may. Ticks and bytes alone decide
 * that, never the time. */
bool ls_state_history_add(ls_state_history *history, ls_tick tick, ls_history_state state);

/* The state that was just added is the live one, in the block of the pair: some more of the pages
 * that hold still share memory with it. */
void ls_state_history_share(ls_state_history *history);

/* Asks for the memory that adding the next state will need. */
void ls_state_history_prefetch(const ls_state_history *history);

/* Such a state, made out of the newest one in its place: borrowed until the next call of this
 * function, of add or of start. NULL when it was never added, or is not there any more. */
const uint8_t *ls_state_history_state(ls_state_history *history, ls_tick tick);

/* The state that was asked for last stays as it is until the loan is over. Until then states are
 * left out, but for those that are wanted; one that is asked for and lies elsewhere ends it. */
void ls_state_history_lend(ls_state_history *history, const ls_state_loan *loan);
void ls_state_history_reclaim(ls_state_history *history); /* ends a loan */

/* As long as a state is held, one that is not after it is always there: where there is no room for
 * it beside the newest ones, those between go first. Holding lasts LS_HISTORY_HELD_REACHES_MAX
 * times the reach at most, at 60 Hz 155 s: no case takes longer. The one that was held before is
 * held no more. */
#define LS_HISTORY_HELD_REACHES_MAX 64u
void ls_state_history_hold(ls_state_history *history, ls_tick tick);
void ls_state_history_let_go(ls_state_history *history);

/* The oldest state that is there, and the newest not after `tick`; false when there is none. */
ls_tick ls_state_history_oldest(const ls_state_history *history);
bool ls_state_history_newest_until(const ls_state_history *history, ls_tick tick, ls_tick *out);

LS_C_END

#endif

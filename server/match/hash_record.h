/* Hash record: the hashes of the server's newest states and the chains over them, as rings. States
 * whose tick is a multiple of the interval are hashed. Compares nothing and sends nothing. Owned by
 * tick_log; read by everything that compares a client's states with the server's. */
#ifndef LOCKSTEP_SERVER_MATCH_HASH_RECORD_H
#define LOCKSTEP_SERVER_MATCH_HASH_RECORD_H

#include "lockstep/common/simulation/simulation.h"

typedef struct ls_hash_record {
    uint32_t interval_ticks;
    ls_tick newest_tick;
    ls_tick first_tick; /* no chain before this is held, of a match that was restored */
    ls_tick first_hash; /* likewise no state hash */
    uint64_t state_hashes[LS_WINDOW_TICKS];
    uint64_t chains[LS_WINDOW_TICKS];
} ls_hash_record;

/* Every packet asks these. */

/* Due states fill the rings densely: state tick stands at (tick / interval) % window. */
static inline uint32_t ls_hash_record_index(const ls_hash_record *record, ls_tick tick)
{
    return tick / record->interval_ticks % LS_WINDOW_TICKS;
}

/* Whether state `tick` is one that is hashed. */
static inline bool ls_hash_record_is_due(const ls_hash_record *record, ls_tick tick)
{
    return tick % record->interval_ticks == 0;
}

/* Due and not in the future; it may be too old to be held. */
static inline bool ls_hash_record_is_known(const ls_hash_record *record, ls_tick tick)
{
    return ls_hash_record_is_due(record, tick) && tick <= record->newest_tick;
}

/* The oldest due state that is held. */
static inline ls_tick ls_hash_record_oldest(const ls_hash_record *record)
{
    uint64_t span = (uint64_t)(LS_WINDOW_TICKS - 1) * record->interval_ticks;
    ls_tick oldest = record->newest_tick > span ? (ls_tick)(record->newest_tick - span) : 0;
    return oldest > record->first_tick ? oldest : record->first_tick;
}

/* Due, and not too old. */
static inline bool ls_hash_record_holds(const ls_hash_record *record, ls_tick tick)
{
    return ls_hash_record_is_known(record, tick) && tick >= ls_hash_record_oldest(record);
}

/* The chain up to state `tick`, and the hash of that state; false when it is not held. */
static inline bool ls_hash_record_chain(const ls_hash_record *record, ls_tick tick, uint64_t *chain)
{
    if (!ls_hash_record_holds(record, tick)) {
        return false;
    }
    *chain = record->chains[ls_hash_record_index(record, tick)];
    return true;
}

static inline bool ls_hash_record_hash(const ls_hash_record *record, ls_tick tick,
                                       uint64_t *state_hash)
{
    if (!ls_hash_record_holds(record, tick) || tick < record->first_hash) {
        return false;
    }
    *state_hash = record->state_hashes[ls_hash_record_index(record, tick)];
    return true;
}

/* The hash is that of state 0. interval_ticks >= 1. */
void ls_hash_record_init(ls_hash_record *record, uint32_t interval_ticks, uint64_t state_hash);

/* Goes on where another record stopped: `chain` is up to state `tick`, whose hash is known or 0. */
void ls_hash_record_restore(ls_hash_record *record, ls_tick tick, uint64_t chain,
                            uint64_t state_hash);

/* Adds the hash of the next due state: newest_tick + interval_ticks. */
void ls_hash_record_add(ls_hash_record *record, ls_tick tick, uint64_t state_hash);

/* Asks for the memory that the next tick will need. */
void ls_hash_record_prefetch(const ls_hash_record *record, ls_tick next_tick);

#endif

/* Hash record: the hashes of the server's newest states and the chains over them, as a ring. States
 * whose tick is a multiple of the interval are hashed. It knows state 0 alone until it is opened,
 * which takes the memory for the others. Compares nothing and sends nothing. Owned by tick_log;
 * read by everything that compares a client's states with the server's. */
#ifndef LOCKSTEP_SERVER_MATCH_HASH_RECORD_H
#define LOCKSTEP_SERVER_MATCH_HASH_RECORD_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/simulation.h"

/* A state that was hashed. */
typedef struct ls_hashed_state {
    uint64_t state_hash;
    uint64_t chain; /* up to this one */
} ls_hashed_state;

typedef struct ls_hash_record {
    uint32_t interval_ticks;
    ls_tick newest_tick;
    ls_tick first_tick;      /* no chain before this is held, of a match that was restored */
    ls_tick first_hash;      /* likewise no state hash */
    ls_hashed_state *states; /* [LS_WINDOW_TICKS]; NULL before it is opened */
    ls_hashed_state state_0;
} ls_hash_record;

/* Every packet asks these. */

/* Due states fill the ring densely: state tick stands at (tick / interval) % window. */
static inline ls_hashed_state ls_hash_record_at(const ls_hash_record *record, ls_tick tick)
{
    return record->states ? record->states[tick / record->interval_ticks % LS_WINDOW_TICKS]
                          : record->state_0;
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
    *chain = ls_hash_record_at(record, tick).chain;
    return true;
}

static inline bool ls_hash_record_hash(const ls_hash_record *record, ls_tick tick,
                                       uint64_t *state_hash)
{
    if (!ls_hash_record_holds(record, tick) || tick < record->first_hash) {
        return false;
    }
    *state_hash = ls_hash_record_at(record, tick).state_hash;
    return true;
}

/* Whether a peer's state is the server's: OK or DESYNCED. MISBEHAVED: there is none to compare it
 * with yet; FELL_BEHIND: that is not held any more. */
ls_status ls_hash_record_compare(const ls_hash_record *record, ls_tick tick, uint64_t state_hash);

/* The hash is that of state 0. interval_ticks >= 1. */
void ls_hash_record_init(ls_hash_record *record, uint32_t interval_ticks, uint64_t state_hash);
void ls_hash_record_deinit(ls_hash_record *record, const ls_allocator *allocator);

/* Takes the memory for the states after state 0; none has been added. NO_MEMORY. */
ls_status ls_hash_record_open(ls_hash_record *record, const ls_allocator *allocator);

/* One that was just opened goes on where another record stopped: `chain` is up to state `tick`,
 * whose hash is known or 0. */
void ls_hash_record_restore(ls_hash_record *record, ls_tick tick, uint64_t chain,
                            uint64_t state_hash);

/* Adds the hash of the next due state to one that is open: newest_tick + interval_ticks. */
void ls_hash_record_add(ls_hash_record *record, ls_tick tick, uint64_t state_hash);

/* Asks for the memory that the next state will need, of one that is open. */
void ls_hash_record_prefetch(const ls_hash_record *record);

#endif

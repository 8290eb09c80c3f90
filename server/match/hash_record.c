#include "lockstep/server/match/hash_record.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/simulation/state_hash.h"

#include <stddef.h>
#include <string.h>

void ls_hash_record_init(ls_hash_record *record, uint32_t interval_ticks, uint64_t state_hash)
{
    LS_ASSERT(interval_ticks >= 1);
    memset(record, 0, sizeof *record);
    record->interval_ticks = interval_ticks;
    record->state_hashes[0] = state_hash;
    record->chains[0] = ls_hash_chain_start(state_hash);
}

void ls_hash_record_restore(ls_hash_record *record, ls_tick tick, uint64_t chain,
                            uint64_t state_hash)
{
    LS_ASSERT(ls_hash_record_is_due(record, tick));
    record->newest_tick = tick;
    record->first_tick = tick;
    record->first_hash = state_hash != 0 ? tick : tick + record->interval_ticks;
    record->chains[ls_hash_record_index(record, tick)] = chain;
    record->state_hashes[ls_hash_record_index(record, tick)] = state_hash;
}

void ls_hash_record_add(ls_hash_record *record, ls_tick tick, uint64_t state_hash)
{
    LS_ASSERT(tick == record->newest_tick + record->interval_ticks);
    uint64_t before = record->chains[ls_hash_record_index(record, record->newest_tick)];
    record->newest_tick = tick;
    record->state_hashes[ls_hash_record_index(record, tick)] = state_hash;
    record->chains[ls_hash_record_index(record, tick)] = ls_hash_chain_next(before, state_hash);
}

void ls_hash_record_prefetch(const ls_hash_record *record, ls_tick next_tick)
{
    uint32_t next = next_tick % LS_WINDOW_TICKS;
    uint32_t newest = (next_tick - 1) % LS_WINDOW_TICKS;
    ls_prefetch(record, offsetof(ls_hash_record, state_hashes));
    ls_prefetch(&record->chains[newest], sizeof record->chains[0]);
    ls_prefetch(&record->state_hashes[next], sizeof record->state_hashes[0]);
}

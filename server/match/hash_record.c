#include "lockstep/server/match/hash_record.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/simulation/state_hash.h"

static ls_hashed_state *place_of(ls_hash_record *record, ls_tick tick)
{
    return &record->states[tick / record->interval_ticks % LS_WINDOW_TICKS];
}

void ls_hash_record_init(ls_hash_record *record, uint32_t interval_ticks, uint64_t state_hash)
{
    LS_ASSERT(interval_ticks >= 1);
    *record = (ls_hash_record){.interval_ticks = interval_ticks,
                               .state_0 = {state_hash, ls_hash_chain_start(state_hash)}};
}

void ls_hash_record_deinit(ls_hash_record *record, const ls_allocator *allocator)
{
    ls_release(allocator, record->states);
    record->states = NULL;
}

ls_status ls_hash_record_open(ls_hash_record *record, const ls_allocator *allocator)
{
    LS_ASSERT(!record->states);
    record->states = ls_allocate_array(allocator, LS_WINDOW_TICKS, sizeof *record->states);
    if (!record->states) {
        return LS_NO_MEMORY;
    }
    record->states[0] = record->state_0;
    return LS_OK;
}

void ls_hash_record_restore(ls_hash_record *record, ls_tick tick, uint64_t chain,
                            uint64_t state_hash)
{
    LS_ASSERT(ls_hash_record_is_due(record, tick));
    record->newest_tick = tick;
    record->first_tick = tick;
    record->first_hash = state_hash != 0 ? tick : tick + record->interval_ticks;
    *place_of(record, tick) = (ls_hashed_state){state_hash, chain};
}

void ls_hash_record_add(ls_hash_record *record, ls_tick tick, uint64_t state_hash)
{
    LS_ASSERT(tick == record->newest_tick + record->interval_ticks);
    uint64_t before = place_of(record, record->newest_tick)->chain;
    record->newest_tick = tick;
    *place_of(record, tick) = (ls_hashed_state){state_hash, ls_hash_chain_next(before, state_hash)};
}

ls_status ls_hash_record_compare(const ls_hash_record *record, ls_tick tick, uint64_t state_hash)
{
    uint64_t own = 0;
    if (!ls_hash_record_is_known(record, tick)) {
        return LS_MISBEHAVED;
    }
    if (!ls_hash_record_hash(record, tick, &own)) {
        return LS_FELL_BEHIND;
    }
    return state_hash == own ? LS_OK : LS_DESYNCED;
}

void ls_hash_record_prefetch(const ls_hash_record *record)
{
    ls_tick next = record->newest_tick + record->interval_ticks;
    ls_prefetch(&record->states[next / record->interval_ticks % LS_WINDOW_TICKS],
                sizeof record->states[0]);
}

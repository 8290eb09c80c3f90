#include "lockstep/client/session/hash_log.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulation/state_hash.h"

struct ls_hash_log {
    const ls_allocator *allocator;
    uint32_t interval_ticks;
    uint64_t initial;
    ls_tick first; /* no state before it has its hash in the log */
    ls_tick tick;
    uint64_t chain;
    uint64_t hashes[LS_WINDOW_TICKS]; /* by hashed state */
};

ls_status ls_hash_log_create(uint32_t interval_ticks, uint64_t initial,
                             const ls_allocator *allocator, ls_hash_log **out)
{
    ls_hash_log *log = ls_allocate(allocator, sizeof *log);
    if (!log) {
        return LS_NO_MEMORY;
    }
    log->allocator = allocator;
    log->interval_ticks = interval_ticks;
    log->initial = initial;
    ls_hash_log_restart(log);
    *out = log;
    return LS_OK;
}

void ls_hash_log_destroy(ls_hash_log *log)
{
    if (log) {
        ls_release(log->allocator, log);
    }
}

static void store(ls_hash_log *log, ls_tick tick, uint64_t hash)
{
    log->hashes[tick / log->interval_ticks % LS_WINDOW_TICKS] = hash;
    log->tick = tick;
}

void ls_hash_log_restart(ls_hash_log *log)
{
    store(log, 0, log->initial);
    log->first = 0;
    log->chain = ls_hash_chain_start(log->initial);
}

void ls_hash_log_continue(ls_hash_log *log, ls_tick chain_tick, uint64_t chain, ls_tick tick,
                          uint64_t hash)
{
    log->tick = chain_tick;
    log->chain = chain;
    log->first = chain_tick + log->interval_ticks;
    if (chain_tick == tick) {
        store(log, tick, hash);
        log->first = tick;
    }
}

void ls_hash_log_append(ls_hash_log *log, ls_tick tick, uint64_t hash)
{
    hash += LS_FAULT(FALSE_ALARM) && tick % 128 == 64;
    store(log, tick, hash);
    log->chain = ls_hash_chain_next(log->chain, hash);
}

void ls_hash_log_correct(ls_hash_log *log, ls_tick tick, uint64_t hash, uint64_t chain)
{
    store(log, tick, hash);
    log->chain = chain;
}

bool ls_hash_log_get(const ls_hash_log *log, ls_tick tick, uint64_t *hash)
{
    if (tick % log->interval_ticks != 0 || tick < log->first || tick > log->tick ||
        (log->tick - tick) / log->interval_ticks >= LS_WINDOW_TICKS) {
        return false;
    }
    *hash = log->hashes[tick / log->interval_ticks % LS_WINDOW_TICKS];
    return true;
}

void ls_hash_log_send(const ls_hash_log *log, const ls_hash_request *request,
                      ls_session_outbox *outbox)
{
    uint32_t interval = log->interval_ticks;
    uint32_t left = request->first % interval == 0 ? request->count : 0;
    ls_tick tick = request->first / interval * interval;
    ls_hashes *hashes = &ls_session_outbox_begin(outbox, LS_MESSAGE_HASHES)->body.hashes;
    do {
        hashes->first = tick;
        hashes->count = 0;
        while (left > 0 && hashes->count < LS_HASHES_PER_MESSAGE &&
               ls_hash_log_get(log, tick, &hashes->state_hashes[hashes->count])) {
            hashes->count++;
            left--;
            tick += interval;
        }
        ls_session_outbox_send(outbox);
    } while (hashes->count == LS_HASHES_PER_MESSAGE);
}

ls_tick ls_hash_log_tick(const ls_hash_log *log)
{
    return log->tick;
}

uint64_t ls_hash_log_chain(const ls_hash_log *log)
{
    return log->chain;
}

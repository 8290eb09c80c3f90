#include "lockstep/client/session/hash_log.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/common/simulation/state_hash.h"

void ls_hash_log_init(ls_hash_log *log, uint32_t interval_ticks, uint64_t initial)
{
    log->interval_ticks = interval_ticks;
    log->initial = initial;
    ls_hash_log_restart(log);
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

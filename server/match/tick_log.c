#include "lockstep/server/match/tick_log.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/simulation/save_fault.h"
#include "lockstep/common/simulation/state_hash.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* ---- hash record ---- */

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

/* For so many milliseconds a tick is held as it is sent, beside what spectators are behind. */
#define CODED_MS 500u

enum {
    CODED_TICKS_MIN = 32, /* no fewer, at any rate */
};

/* ---- life ---- */

static ls_status create_window(ls_tick_log *log)
{
    if (!ls_sim_instance_image_schema(log->instance)) {
        return LS_OK; /* an engine that only hashes: two of its states cannot be compared */
    }
    ls_replay_needs needs = ls_replay_needs_of(log->instance, log->hashes.interval_ticks);
    ls_replay_window_config config = ls_replay_window_config_default(&needs);
    bool holds_enough = config.window_ticks <= LS_WINDOW_TICKS;
    config.inputs = holds_enough ? log->closed : NULL;
    ls_status status =
        ls_replay_window_create(&config, log->instance, log->allocator, &log->window);
    if (status == LS_OK) {
        ls_replay_window_start(log->window, log->instance, log->hashes.state_0.state_hash);
    }
    return status;
}

/* A power of two. Ticks that a peer has not acknowledged within that time are coded anew, from
 * their inputs. */
static uint32_t count_coded(const ls_match_config *config)
{
    uint32_t wanted = config->sim.tick_rate_hz * CODED_MS / 1000;
    wanted += config->spectators_max > 0 ? config->spectator_delay_ticks : 0;
    uint32_t count = CODED_TICKS_MIN;
    while (count < wanted && count < LS_WINDOW_TICKS) {
        count *= 2;
    }
    return count;
}

static ls_status create_rings(ls_tick_log *log, const ls_match_config *config)
{
    const ls_allocator *allocator = log->allocator;
    ls_input_buffer_config closed = {.slots = log->players,
                                     .input_bytes_max = log->input_bytes_max,
                                     .window_ticks = LS_WINDOW_TICKS};
    size_t large_bytes = ls_ticks_tick_bytes_max(log->players, log->input_bytes_max);
    log->coded_count = count_coded(config);
    log->ticks = ls_allocate_array(allocator, LS_WINDOW_TICKS, sizeof *log->ticks);
    log->coded = ls_allocate_array(allocator, log->coded_count, sizeof *log->coded);
    log->large = ls_allocate(allocator, large_bytes);
    if (!log->ticks || !log->coded || !log->large) {
        return LS_NO_MEMORY;
    }
    log->ticks[0].chain = LS_TICK_CHAIN_START;
    ls_status status = ls_hash_record_open(&log->hashes, allocator);
    return status == LS_OK ? ls_input_buffer_create(&closed, allocator, &log->closed) : status;
}

static void close_rings(ls_tick_log *log)
{
    ls_replay_window_destroy(log->window);
    ls_input_buffer_destroy(log->closed);
    ls_hash_record_deinit(&log->hashes, log->allocator);
    ls_release(log->allocator, log->large);
    ls_release(log->allocator, log->coded);
    ls_release(log->allocator, log->ticks);
    log->window = NULL;
    log->closed = NULL;
    log->large = NULL;
    log->coded = NULL;
    log->ticks = NULL;
}

ls_status ls_tick_log_open(ls_tick_log *log, const ls_match_config *config)
{
    LS_ASSERT(!ls_tick_log_is_open(log) && log->next == 0);
    ls_status status = ls_sim_instance_wake(log->instance);
    LS_THEN(status, create_rings(log, config));
    if (status == LS_OK && config->finds_causes) {
        status = create_window(log);
    }
    if (status != LS_OK) {
        close_rings(log);
    }
    return status;
}

static ls_status create_parts(ls_tick_log *log, const ls_match_config *config, ls_text *why)
{
    ls_status status = ls_sim_instance_create(config->simulation, &config->sim, log->allocator,
                                              &log->instance, why);
    if (status != LS_OK) {
        return status;
    }
    status = config->trusts_writes ? ls_sim_instance_trust_writes(log->instance) : LS_OK;
    ls_hash_record_init(&log->hashes, config->hash_interval_ticks,
                        ls_sim_instance_digests(log->instance).initial);
    if (status == LS_OK && ls_sim_instance_save_bytes(log->instance) == 0) {
        status = ls_tick_history_create(log->players, log->input_bytes_max, log->allocator,
                                        &log->history);
    }
    return status;
}

ls_status ls_tick_log_create(const ls_match *match, ls_tick_log **out, ls_text *why)
{
    const ls_match_config *config = &match->config;
    ls_tick_log *log = ls_allocate(match->allocator, sizeof *log);
    if (!log) {
        return LS_NO_MEMORY;
    }
    log->allocator = match->allocator;
    log->players = config->sim.players;
    log->input_bytes_max = config->simulation->input_bytes_max;
    log->next_due_ns = match->dt_ns;
    *out = log;
    return create_parts(log, config, why);
}

void ls_tick_log_destroy(ls_tick_log *log)
{
    if (!log) {
        return;
    }
    ls_tick_history_destroy(log->history);
    close_rings(log);
    ls_sim_instance_destroy(log->instance);
    ls_release(log->allocator, log);
}

/* ---- closing ---- */

static void store(ls_tick_log *log, ls_tick tick, const ls_slot_input *inputs)
{
    const ls_tick_inputs all = {.tick = tick, .slot_count = log->players, .slots = inputs};
    ls_status stored = ls_input_buffer_put_tick(log->closed, &all);
    LS_ASSERT(stored == LS_OK);
}

/* The instance has made state `next` of `inputs`. */
static void record(ls_tick_log *log, const ls_tick_inputs *inputs)
{
    uint64_t state_hash = 0;
    if (ls_hash_record_is_due(&log->hashes, log->next)) {
        state_hash = ls_sim_instance_hash(log->instance);
        ls_hash_record_add(&log->hashes, log->next, state_hash);
    }
    if (log->window) {
        ls_replay_window_record(log->window, inputs, log->instance, state_hash);
    }
    if (log->history) {
        ls_tick_history_add(log->history, inputs, state_hash, ls_tick_log_chain(log, log->next));
    }
}

void ls_tick_log_append(ls_tick_log *log, const ls_slot_input *inputs, uint64_t now_ns)
{
    ls_tick tick = log->next;
    if (tick + 1 > LS_WINDOW_TICKS) {
        ls_input_buffer_forget_before(log->closed, tick + 1 - LS_WINDOW_TICKS);
    }
    store(log, tick, inputs);
    bool is_wrong = LS_FAULT(CLOSED_TICK_CHANGES) && tick % 100 == 99;
    ls_coded_tick_make(&log->coded[tick & (log->coded_count - 1)], log->players, log->newest,
                       is_wrong ? log->newest : inputs);
    ls_status held = ls_input_buffer_tick(log->closed, tick, log->newest);
    LS_ASSERT(held == LS_OK);
    log->closed_ns = now_ns;
    log->next = tick + 1;
    ls_tick_inputs all = {.tick = tick, .slot_count = log->players, .slots = log->newest};
    ls_closed_tick *closed = &log->ticks[tick % LS_WINDOW_TICKS];
    closed->closed_ns = now_ns;
    log->ticks[log->next % LS_WINDOW_TICKS].chain = ls_tick_chain_next(closed->chain, &all);
    ls_sim_instance_step(log->instance, &all);
    record(log, &all);
}

/* ---- from a journal ---- */

static ls_status load_state(ls_tick_log *log, const ls_match_restore *from, ls_text *why)
{
    ls_status status =
        ls_sim_instance_load(log->instance, from->state, from->state_bytes, from->tick);
    if (status != LS_OK) {
        return ls_fail(status, why, "the state of tick %" PRIu32 " cannot be loaded: %s",
                       from->tick, ls_status_text(status));
    }
    uint64_t state_hash = ls_sim_instance_hash(log->instance);
    if (state_hash != from->state_hash) {
        ls_text_set(why,
                    "the state of tick %" PRIu32 " has state hash %016" PRIx64 ", not %016" PRIx64,
                    from->tick, state_hash, from->state_hash);
        ls_save_fault_add(log->instance, from->state, log->allocator, why);
        return LS_DESYNCED;
    }
    return LS_OK;
}

ls_status ls_tick_log_restore(ls_tick_log *log, const ls_match_restore *from, ls_text *why)
{
    uint32_t interval = log->hashes.interval_ticks;
    LS_ASSERT(log->next == 0 && from->state && from->tick > 0);
    if (from->hash_chain_tick != from->tick / interval * interval) {
        return ls_fail(LS_MALFORMED, why, "the chain of state hashes ends at state %" PRIu32,
                       from->hash_chain_tick);
    }
    ls_status status = load_state(log, from, why);
    if (status != LS_OK) {
        return status;
    }
    log->next = from->tick;
    log->ticks[from->tick % LS_WINDOW_TICKS].chain = from->tick_chain;
    ls_input_buffer_restart(log->closed, from->before ? from->tick - 1 : from->tick);
    if (from->before) {
        store(log, from->before->tick, from->before->slots);
        (void)ls_input_buffer_tick(log->closed, from->before->tick, log->newest);
    }
    ls_hash_record_restore(&log->hashes, from->hash_chain_tick, from->hash_chain,
                           from->hash_chain_tick == from->tick ? from->state_hash : 0);
    if (log->window) {
        ls_replay_window_start(log->window, log->instance, from->state_hash);
    }
    return LS_OK;
}

/* ---- what there is ---- */

bool ls_tick_log_holds(const ls_tick_log *log, ls_tick tick)
{
    return ls_tick_log_is_open(log) && ls_input_buffer_has(log->closed, tick, 0);
}

ls_status ls_tick_log_at(const ls_tick_log *log, ls_tick tick, ls_slot_input slots[LS_PLAYERS_MAX],
                         ls_tick_inputs *out)
{
    if (tick >= log->next) {
        return LS_FUTURE;
    }
    if (ls_input_buffer_tick(log->closed, tick, slots) != LS_OK) {
        return LS_STALE;
    }
    *out = (ls_tick_inputs){.tick = tick, .slot_count = log->players, .slots = slots};
    return LS_OK;
}

uint64_t ls_tick_log_chain(const ls_tick_log *log, ls_tick tick)
{
    LS_ASSERT(tick <= log->next && log->next - tick < LS_WINDOW_TICKS);
    return log->ticks ? log->ticks[tick % LS_WINDOW_TICKS].chain : LS_TICK_CHAIN_START;
}

uint64_t ls_tick_log_state_hash(const ls_tick_log *log)
{
    return log->next == 0 ? log->hashes.state_0.state_hash : ls_sim_instance_hash(log->instance);
}

uint64_t ls_tick_log_hash_chain(const ls_tick_log *log, ls_tick *tick)
{
    uint64_t chain = 0;
    *tick = log->hashes.newest_tick;
    bool is_held = ls_hash_record_chain(&log->hashes, *tick, &chain);
    LS_ASSERT(is_held);
    return chain;
}

ls_state_copy ls_tick_log_live(const ls_tick_log *log)
{
    ls_state_copy live = {.tick = log->next, .tick_chain = ls_tick_log_chain(log, log->next)};
    live.chain = ls_tick_log_hash_chain(log, &live.chain_tick);
    return live;
}

/* ---- sending ---- */

bool ls_tick_log_write_tick(const ls_tick_log *log, ls_tick tick, bool is_keyframe,
                            ls_bit_stream *stream)
{
    ls_slot_input before[LS_PLAYERS_MAX]; /* all of them would be 2 KiB of zeros */
    ls_slot_input inputs[LS_PLAYERS_MAX];
    if (tick > 0 && !is_keyframe) {
        ls_status held = ls_input_buffer_tick(log->closed, tick - 1, before);
        LS_ASSERT(held == LS_OK);
    } else {
        memset(before, 0, log->players * sizeof before[0]);
    }
    ls_status held = ls_input_buffer_tick(log->closed, tick, inputs);
    LS_ASSERT(held == LS_OK);
    return ls_ticks_write_tick(stream, log->players, before, inputs);
}

uint32_t ls_tick_log_large_tick(ls_tick_log *log, ls_tick tick, bool is_keyframe,
                                const uint8_t **bytes)
{
    if (log->large_bytes == 0 || log->large_tick != tick || log->is_large_keyframe != is_keyframe) {
        size_t bytes_max = ls_ticks_tick_bytes_max(log->players, log->input_bytes_max);
        ls_bit_stream stream = ls_bit_writer(log->large, bytes_max);
        bool is_written = ls_tick_log_write_tick(log, tick, is_keyframe, &stream);
        LS_ASSERT(is_written);
        log->large_bytes = (uint32_t)ls_bits_size_bytes(&stream);
        log->large_tick = tick;
        log->is_large_keyframe = is_keyframe;
    }
    *bytes = log->large;
    return log->large_bytes;
}

void ls_tick_log_prefetch(const ls_tick_log *log)
{
    ls_prefetch(log, offsetof(ls_tick_log, newest) + log->players * sizeof log->newest[0]);
    ls_sim_instance_prefetch(log->instance);
    if (log->window) {
        ls_replay_window_prefetch(log->window);
    }
}

void ls_tick_log_prefetch_more(const ls_tick_log *log)
{
    if (!ls_tick_log_is_open(log)) {
        return;
    }
    uint32_t next = log->next & (log->coded_count - 1);
    uint32_t newest = (log->next - 1) & (log->coded_count - 1);
    ls_prefetch(&log->ticks[log->next % LS_WINDOW_TICKS], sizeof log->ticks[0]);
    ls_prefetch(&log->coded[newest], sizeof log->coded[0]);
    ls_prefetch(&log->coded[next], sizeof log->coded[0]);
    ls_hash_record_prefetch(&log->hashes);
    ls_input_buffer_prefetch(log->closed, log->next);
    ls_sim_instance_prefetch_more(log->instance);
    if (log->window) {
        ls_replay_window_prefetch_more(log->window);
    }
}

void ls_tick_log_prefetch_packet(const ls_tick_log *log)
{
    ls_prefetch(&log->ticks[(log->next - 1) % LS_WINDOW_TICKS], sizeof log->ticks[0]);
    ls_hash_record_prefetch(&log->hashes);
}

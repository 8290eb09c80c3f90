#include "lockstep/server/match/spectator_states.h"

enum {
    STREAMS_MAX = 8,  /* spectators that are sent a blob at a time */
    SPARE_TICKS = 64, /* of the window, left to a spectator that begins with an old state */
};

/* Many spectators begin with the same state. A larger blob is not kept while nobody is sent it: it
 * would be as much memory as two states. */
#define KEPT_BYTES_MAX ((uint32_t)4 << 20)

/* ---- copies of the state ---- */

static bool is_copy_due(const ls_spectator_states *states)
{
    return states->match->state == LS_MATCH_RUNNING &&
           ls_aged_state_is_due(&states->aged, states->match->log->next);
}

bool ls_spectator_states_is_young(const ls_spectator_states *states, ls_tick tick)
{
    return states->match->log->next - tick < LS_WINDOW_TICKS - SPARE_TICKS;
}

/* ---- the blob, one for all ---- */

static bool is_good(const ls_spectator_states *states, const ls_state_copy *copy)
{
    return copy->size > 0 && ls_spectator_states_is_young(states, copy->tick);
}

/* A blob that others are being sent is kept as long as it is any good, or it would never be renewed
 * while spectators keep coming. */
static ls_status provide_blob(ls_spectator_states *states)
{
    const ls_aged_state *aged = &states->aged;
    ls_handover *handover = &states->handover;
    bool is_newest = handover->in_blob.size > 0 && handover->in_blob.tick == aged->ready.tick;
    bool is_kept = is_newest || handover->busy_count > 0;
    if (is_good(states, is_kept ? &handover->in_blob : &aged->ready)) {
        return is_kept ? LS_OK : ls_handover_fill(handover, &aged->ready);
    }
    bool is_one_to_come = aged->has_copies || aged->is_coming || is_good(states, &aged->ready);
    return is_one_to_come ? LS_STALE : LS_UNSUPPORTED;
}

ls_status ls_spectator_states_provide(ls_spectator_states *states)
{
    ls_status status = provide_blob(states);
    return status == LS_OK ? ls_handover_prepare(&states->handover) : status;
}

static bool is_blob_unfinished(const ls_spectator_states *states)
{
    const ls_handover *handover = &states->handover;
    return handover->in_blob.size > 0 && !ls_blob_is_compressed(handover->blob);
}

/* ---- time ---- */

bool ls_spectator_states_is_due(const ls_spectator_states *states)
{
    return is_copy_due(states) || is_blob_unfinished(states);
}

void ls_spectator_states_advance(ls_spectator_states *states)
{
    ls_send_budget_fill(&states->budget, states->match->now_ns);
    if (is_copy_due(states)) {
        ls_state_copy live = ls_tick_log_live(states->match->log);
        ls_aged_state_advance(&states->aged, &live);
    }
    if (is_blob_unfinished(states)) {
        ls_blob_advance(states->handover.blob, 1);
    }
    /* Another stream begins each time, or the first ones would take all of the rate. */
    uint32_t count = states->handover.stream_count;
    states->first_stream++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stream = (states->first_stream + i) % count;
        ls_handover_send(&states->handover, &states->handover.streams[stream], &states->budget);
    }
}

/* ---- life ---- */

/* Packets leave once a tick, so many at a time that the rate is kept. */
static uint32_t burst_packets(const ls_match_context *match)
{
    uint64_t bytes = match->config.join_bytes_per_s * match->dt_ns / LS_NS_PER_SECOND;
    uint64_t packets = bytes / LS_PACKET_BYTES_MAX + 1;
    return (uint32_t)LS_MIN(packets, LS_BLOB_BURST_PACKETS_MAX);
}

ls_status ls_spectator_states_init(ls_spectator_states *states, const ls_match_context *match,
                                   uint32_t bytes_per_s)
{
    uint32_t rate_hz = match->config.sim.tick_rate_hz;
    ls_aged_state_config aged = {.instance = match->log->instance,
                                 .history = match->log->history,
                                 .age_ticks = match->config.spectator_delay_ticks,
                                 .pause_min_ticks = LS_MIN(rate_hz, 128)};
    ls_handover_config handover = {.streams = STREAMS_MAX,
                                   .burst_packets = burst_packets(match),
                                   .kept_bytes_max = KEPT_BYTES_MAX};
    states->match = match;
    states->budget = ls_send_budget_make(bytes_per_s, 0);
    ls_status status = ls_aged_state_init(&states->aged, &aged, match->allocator);
    ls_handover_init(&states->handover, match, &handover, states->aged.bytes);
    return status;
}

void ls_spectator_states_deinit(ls_spectator_states *states, const ls_allocator *allocator)
{
    ls_handover_deinit(&states->handover);
    ls_aged_state_deinit(&states->aged, allocator);
}

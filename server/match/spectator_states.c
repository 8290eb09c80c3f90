#include "lockstep/server/match/spectator_states.h"

#include "lockstep/server/match/send_budget.h"

#include <string.h>

enum {
    STREAMS_MAX = 8,  /* spectators that are sent a blob at a time */
    SPARE_TICKS = 64, /* of the window, left to a spectator that begins with an old state */
};

/* A blob on its way to a spectator. */
typedef struct blob_stream {
    ls_blob_sender *sender;
    ls_peer_id peer; /* 0: free */
} blob_stream;

struct ls_spectator_states {
    const ls_match_context *match;
    ls_send_budget budget;
    ls_aged_state aged;
    ls_blob *blob;         /* NULL: none was needed yet, or the state is too large */
    ls_state_copy in_blob; /* the state that it holds, or leads to; size 0: none */
    blob_stream streams[STREAMS_MAX];
};

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

ls_tick ls_spectator_states_ready_tick(const ls_spectator_states *states)
{
    return states->aged.ready.tick;
}

/* ---- the blob, one for all ---- */

static ls_status fill_blob(ls_spectator_states *states)
{
    const ls_state_copy *ready = &states->aged.ready;
    states->in_blob.size = 0;
    ls_status status = ls_handover_make_blob(states->match, ready->size, &states->blob);
    if (status != LS_OK) {
        return status;
    }
    uint8_t *bytes = ls_blob_start(states->blob, ready->size);
    if (ready->bytes) {
        memcpy(bytes, ready->bytes, ready->size);
    } else {
        ls_tick_history_write(states->match->log->history, bytes, ready->size);
    }
    ls_blob_seal(states->blob);
    states->in_blob = *ready;
    return LS_OK;
}

static bool is_good(const ls_spectator_states *states, const ls_state_copy *copy)
{
    return copy->size > 0 && ls_spectator_states_is_young(states, copy->tick);
}

/* A blob that others are being sent is kept as long as it is any good, or it would never be renewed
 * while spectators keep coming. */
static ls_status provide_blob(ls_spectator_states *states)
{
    const ls_aged_state *aged = &states->aged;
    bool is_newest = states->in_blob.size > 0 && states->in_blob.tick == aged->ready.tick;
    bool is_kept = is_newest || (states->blob && ls_blob_is_in_use(states->blob));
    if (is_good(states, is_kept ? &states->in_blob : &aged->ready)) {
        return is_kept ? LS_OK : fill_blob(states);
    }
    bool is_one_to_come = aged->has_copies || aged->is_coming || is_good(states, &aged->ready);
    return is_one_to_come ? LS_STALE : LS_UNSUPPORTED;
}

static bool is_blob_unfinished(const ls_spectator_states *states)
{
    return states->in_blob.size > 0 && !ls_blob_is_compressed(states->blob);
}

const ls_state_copy *ls_spectator_states_in_blob(const ls_spectator_states *states)
{
    return &states->in_blob;
}

void ls_spectator_states_set_blob(const ls_spectator_states *states, ls_join *join, ls_text *how)
{
    ls_handover_set_blob(join, &states->in_blob, states->blob, how);
}

/* ---- streams ---- */

static blob_stream *stream_of(ls_spectator_states *states, ls_peer_id peer)
{
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        if (states->streams[i].peer == peer) {
            return &states->streams[i];
        }
    }
    return NULL;
}

ls_status ls_spectator_states_provide(ls_spectator_states *states)
{
    ls_status status = provide_blob(states);
    return status == LS_OK && !stream_of(states, 0) ? LS_STALE : status;
}

void ls_spectator_states_start(ls_spectator_states *states, ls_peer_id peer, uint32_t number)
{
    blob_stream *stream = stream_of(states, 0);
    stream->peer = peer;
    ls_blob_sender_start(stream->sender, states->blob, number, 0, states->match->now_ns);
}

void ls_spectator_states_stop(ls_spectator_states *states, ls_peer_id peer)
{
    blob_stream *stream = stream_of(states, peer);
    if (stream) {
        ls_blob_sender_stop(stream->sender);
        stream->peer = 0;
    }
}

ls_status ls_spectator_states_take_ack(ls_spectator_states *states, ls_peer_id peer,
                                       ls_peer_link *link, const uint8_t *bytes, size_t size)
{
    blob_stream *stream = stream_of(states, peer);
    if (!stream) {
        return LS_STALE; /* it was on its way when the last of the blob was acknowledged */
    }
    ls_status status = ls_peer_link_take_blob_ack(link, states->match, stream->sender, bytes, size);
    if (status == LS_OK && !ls_blob_sender_is_busy(stream->sender)) {
        ls_spectator_states_stop(states, peer);
    }
    return status;
}

static void send_stream(ls_spectator_states *states, blob_stream *stream)
{
    size_t size = 0;
    while (!ls_send_budget_is_spent(&states->budget) &&
           (size = ls_blob_sender_next(stream->sender, states->match->now_ns,
                                       ls_outbox_packet(states->match->outbox))) > 0) {
        ls_outbox_send_packet(states->match->outbox, stream->peer, size);
        ls_send_budget_spend(&states->budget, size + LS_PEER_LINK_HEADER_BYTES);
    }
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
        ls_blob_advance(states->blob, 1);
    }
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        if (states->streams[i].peer != 0) {
            send_stream(states, &states->streams[i]);
        }
    }
}

/* ---- life ---- */

static ls_blob_sender_config sender_config(const ls_match_context *match)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    config.bytes_per_second = match->config.join_bytes_per_s;
    config.tick_ns = match->dt_ns;
    config.header_bytes = LS_PEER_LINK_HEADER_BYTES;
    /* Packets leave once a tick, so many at a time that the rate is kept. */
    uint64_t bytes = config.bytes_per_second * match->dt_ns / LS_NS_PER_SECOND;
    uint64_t packets = bytes / LS_PACKET_BYTES_MAX + 1;
    packets = packets < LS_BLOB_BURST_PACKETS_MAX ? packets : LS_BLOB_BURST_PACKETS_MAX;
    config.burst_packets = (uint32_t)packets;
    return config;
}

static ls_status create_parts(ls_spectator_states *states)
{
    const ls_match_context *match = states->match;
    uint32_t rate_hz = match->config.sim.tick_rate_hz;
    ls_aged_state_config aged = {.instance = match->log->instance,
                                 .history = match->log->history,
                                 .age_ticks = match->config.spectator_delay_ticks,
                                 .pause_min_ticks = rate_hz < 128 ? rate_hz : 128};
    ls_status status = ls_aged_state_init(&states->aged, &aged, match->allocator);
    if (status == LS_OK && states->aged.bytes > 0) {
        status = ls_handover_make_blob(match, states->aged.bytes, &states->blob);
    }
    ls_blob_sender_config config = sender_config(match);
    for (uint32_t i = 0; status == LS_OK && i < STREAMS_MAX; i++) {
        status = ls_blob_sender_create(&config, match->allocator, &states->streams[i].sender);
    }
    return status;
}

ls_status ls_spectator_states_create(const ls_match_context *match, uint32_t bytes_per_s,
                                     ls_spectator_states **out)
{
    ls_spectator_states *states = ls_allocate(match->allocator, sizeof *states);
    if (!states) {
        return LS_NO_MEMORY;
    }
    states->match = match;
    states->budget = ls_send_budget_make(bytes_per_s, 0);
    *out = states;
    return create_parts(states);
}

void ls_spectator_states_destroy(ls_spectator_states *states)
{
    if (!states) {
        return;
    }
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        ls_blob_sender_destroy(states->streams[i].sender);
    }
    ls_blob_destroy(states->blob);
    ls_aged_state_deinit(&states->aged, states->match->allocator);
    ls_release(states->match->allocator, states);
}

#include "lockstep/server/match/state_handover.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"

#include <inttypes.h>
#include <string.h>

#define SLOW_START_NS (UINT64_C(3) * LS_NS_PER_SECOND) /* in which nobody is called too slow */

/* ---- the blob ---- */

static ls_status make_room(ls_handover *handover, size_t bytes)
{
    const ls_match *match = handover->match;
    if (bytes == 0 || bytes > LS_BLOB_BYTES_MAX) {
        return LS_UNSUPPORTED;
    }
    if (handover->blob && bytes <= ls_blob_bytes_max(handover->blob)) {
        return LS_OK;
    }
    /* Most states have a fixed size. */
    bool is_growing = match->log->history || handover->blob;
    ls_blob_destroy(handover->blob);
    handover->blob = NULL;
    size_t room = bytes + (is_growing ? bytes / 4 : 0);
    return ls_blob_create((uint32_t)LS_MIN(room, LS_BLOB_BYTES_MAX), match->allocator,
                          &handover->blob);
}

void ls_handover_init(ls_handover *handover, const ls_match *match,
                      const ls_handover_config *config, size_t bytes)
{
    LS_ASSERT(config->streams >= 1 && config->streams <= LS_HANDOVER_STREAMS_MAX);
    *handover = (ls_handover){.match = match,
                              .config = *config,
                              .stream_count = bytes > LS_BLOB_BYTES_MAX ? 0 : config->streams};
}

void ls_handover_deinit(ls_handover *handover)
{
    for (uint32_t i = 0; i < handover->stream_count; i++) {
        ls_blob_sender_destroy(handover->streams[i].sender);
    }
    ls_blob_destroy(handover->blob);
}

ls_status ls_handover_fill(ls_handover *handover, const ls_state_copy *copy)
{
    const ls_tick_log *log = handover->match->log;
    handover->in_blob.size = 0;
    ls_status status = make_room(handover, copy->size);
    if (status != LS_OK) {
        return status;
    }
    uint8_t *bytes = ls_blob_start(handover->blob, copy->size);
    if (log->history) {
        ls_tick_history_write(log->history, bytes, copy->size);
    } else if (copy->bytes) {
        memcpy(bytes, copy->bytes, copy->size);
    } else {
        status = ls_sim_instance_save(log->instance, bytes);
    }
    if (status == LS_OK) {
        ls_blob_seal(handover->blob);
        handover->in_blob = *copy;
    }
    return status;
}

/* ---- streams ---- */

ls_handover_stream *ls_handover_find(ls_handover *handover, ls_peer_id peer)
{
    for (uint32_t i = 0; i < handover->stream_count; i++) {
        if (handover->streams[i].peer == peer) {
            return &handover->streams[i];
        }
    }
    return NULL;
}

ls_status ls_handover_prepare(ls_handover *handover)
{
    const ls_match *match = handover->match;
    ls_handover_stream *stream = ls_handover_find(handover, 0);
    ls_blob_sender_config config = ls_blob_sender_config_default();
    config.bytes_per_second = match->config.join_bytes_per_s;
    config.tick_ns = match->dt_ns;
    config.header_bytes = LS_PEER_LINK_HEADER_BYTES;
    config.burst_packets = handover->config.burst_packets;
    config.blob_bytes_max = ls_blob_bytes_max(handover->blob);
    if (!stream || stream->sender) {
        return stream ? LS_OK : LS_STALE;
    }
    return ls_blob_sender_create(&config, match->allocator, &stream->sender);
}

void ls_handover_start(ls_handover *handover, ls_peer_id peer, ls_join *join, uint32_t number,
                       ls_text *how)
{
    const ls_state_copy *copy = &handover->in_blob;
    ls_handover_stream *stream = ls_handover_find(handover, 0);
    LS_ASSERT(stream && stream->sender);
    join->source = handover->match->log->history ? LS_JOIN_HISTORY : LS_JOIN_SNAPSHOT;
    join->tick = copy->tick;
    join->state_hash = copy->state_hash;
    join->chain_tick = copy->chain_tick;
    join->chain = copy->chain;
    join->tick_chain = copy->tick_chain;
    join->blob = number;
    join->blob_bytes = ls_blob_bytes(handover->blob);
    join->blob_hash = ls_blob_hash(handover->blob);
    if (join->source == LS_JOIN_HISTORY) {
        ls_text_set(how, "with %" PRIu32 " ticks from the first on", join->tick);
    } else {
        ls_text_set(how, "with a snapshot of %" PRIu32 " bytes", join->blob_bytes);
    }
    stream->peer = peer;
    stream->began_ns = handover->match->now_ns;
    handover->busy_count++;
    ls_blob_sender_start(stream->sender, handover->blob, number, 0, handover->match->now_ns);
}

void ls_handover_release_idle(ls_handover *handover)
{
    bool is_idle = handover->busy_count == 0 && handover->match->now_ns >= handover->kept_until_ns;
    if (is_idle && handover->blob &&
        ls_blob_bytes_max(handover->blob) > handover->config.kept_bytes_max) {
        ls_blob_destroy(handover->blob);
        handover->blob = NULL;
        handover->in_blob.size = 0;
    }
}

void ls_handover_stop(ls_handover *handover, ls_peer_id peer)
{
    ls_handover_stream *stream = peer != 0 ? ls_handover_find(handover, peer) : NULL;
    if (stream) {
        ls_blob_sender_destroy(stream->sender);
        stream->sender = NULL;
        stream->peer = 0;
        handover->busy_count--;
        ls_handover_release_idle(handover);
    }
}

uint64_t ls_handover_bytes_max(uint32_t blob_bytes)
{
    return LS_BLOB_RATE_MIN + UINT64_C(4) * blob_bytes;
}

/* The parts need not be sent as often as that over any link that will do. */
static bool is_spent(const ls_handover *handover, const ls_handover_stream *stream)
{
    uint64_t sent = ls_blob_sender_figures_of(stream->sender).bytes;
    uint64_t next = LS_PACKET_BYTES_MAX + LS_PEER_LINK_HEADER_BYTES;
    return sent + next > ls_handover_bytes_max(ls_blob_bytes(handover->blob)) &&
           !LS_FAULT(STATE_REPEATED);
}

static bool is_slower(const ls_handover *handover, const ls_handover_stream *stream,
                      uint64_t bytes_per_s)
{
    uint64_t passed_ns = handover->match->now_ns - stream->began_ns;
    uint64_t parts = ls_blob_sender_figures_of(stream->sender).acknowledged;
    return passed_ns > SLOW_START_NS && parts * LS_BLOB_PART_BYTES < (passed_ns - SLOW_START_NS) /
                                                                         LS_NS_PER_MS *
                                                                         bytes_per_s / 1000;
}

/* Of any peer, or of this one. */
static ls_peer_id find_slow(const ls_handover *handover, ls_peer_id peer, uint64_t bytes_per_s)
{
    for (uint32_t i = 0; handover->busy_count > 0 && i < handover->stream_count; i++) {
        const ls_handover_stream *stream = &handover->streams[i];
        bool is_meant = peer != 0 ? stream->peer == peer : stream->peer != 0;
        if (is_meant && (is_spent(handover, stream) || is_slower(handover, stream, bytes_per_s))) {
            return stream->peer;
        }
    }
    return 0;
}

ls_peer_id ls_handover_slowest(const ls_handover *handover, uint64_t bytes_per_s)
{
    return find_slow(handover, 0, bytes_per_s);
}

bool ls_handover_is_slow(const ls_handover *handover, ls_peer_id peer, uint64_t bytes_per_s)
{
    return peer != 0 && find_slow(handover, peer, bytes_per_s) == peer;
}

ls_status ls_handover_receive_ack(ls_handover *handover, ls_peer_id peer, ls_peer_link *link,
                                  const uint8_t *bytes, size_t size)
{
    const ls_handover_stream *stream = ls_handover_find(handover, peer);
    if (!stream) {
        return LS_NOT_FOUND;
    }
    ls_status status =
        ls_peer_link_receive_blob_ack(link, handover->match, stream->sender, bytes, size);
    if (status == LS_OK && !ls_blob_sender_is_busy(stream->sender)) {
        ls_handover_stop(handover, peer);
    }
    return status;
}

/* Returns the bytes of it, headers counted. */
static size_t send_packet(const ls_handover *handover, ls_peer_id peer, size_t size)
{
    uint32_t copies = LS_FAULT(STATE_REPEATED) ? 4000 : 1;
    for (uint32_t i = 0; i < copies; i++) {
        ls_outbox_send_packet(handover->match->outbox, peer, size);
    }
    return size + LS_PEER_LINK_HEADER_BYTES;
}

void ls_handover_send(ls_handover *handover, ls_handover_stream *stream, ls_send_budget *budget)
{
    const ls_match *match = handover->match;
    size_t size = 0;
    while (stream->peer != 0 && (!budget || !ls_send_budget_is_spent(budget)) &&
           !is_spent(handover, stream) &&
           (size = ls_blob_sender_next(stream->sender, match->now_ns,
                                       ls_outbox_packet(match->outbox))) > 0) {
        size_t sent = send_packet(handover, stream->peer, size);
        if (budget) {
            ls_send_budget_spend(budget, sent);
        }
    }
}

/* ---- messages ---- */

ls_offer *ls_handover_begin_offer(const ls_match *match)
{
    const ls_match_config *config = &match->config;
    ls_offer *offer = &ls_outbox_message(match->outbox, LS_MESSAGE_OFFER)->body.offer;
    *offer = (ls_offer){.simulation_version = config->simulation->version,
                        .config = config->sim,
                        .hash_interval_ticks = config->hash_interval_ticks,
                        .trusts_writes = config->trusts_writes,
                        .input_delay_ticks = config->input_delay_ticks,
                        .timeout_ms = config->timeout_ms,
                        .late_rule = (uint32_t)config->late_rule,
                        .send_rate = (uint32_t)config->send_rate,
                        .match_id = config->match_id,
                        .is_running = match->state != LS_MATCH_LOBBY};
    ls_name_copy(offer->simulation, sizeof offer->simulation, config->simulation->name);
    return offer;
}

ls_join *ls_handover_begin_join(const ls_match *match, ls_peer_id peer, ls_tick tick)
{
    ls_seat_table_send_names(match->seats, peer);
    ls_join *join = &ls_outbox_message(match->outbox, LS_MESSAGE_JOIN)->body.join;
    uint64_t next_close_ns = match->log->next_due_ns;
    memset(join, 0, sizeof *join);
    join->source = LS_JOIN_HELD;
    join->tick = tick;
    join->tick_chain = ls_tick_log_chain(match->log, tick);
    join->next_close = match->log->next;
    if (next_close_ns > match->now_ns) {
        join->next_close_us = (uint32_t)((next_close_ns - match->now_ns) / LS_NS_PER_US);
    }
    ls_seat_table_names(match->seats, 0, join->names);
    return join;
}

void ls_handover_send_end(const ls_match *match, ls_peer_id peer)
{
    ls_outbox_message(match->outbox, LS_MESSAGE_END)->body.end =
        (ls_end){.final_tick = match->log->next, .final_hash = match->final_hash};
    ls_outbox_send(match->outbox, peer);
}

/* ---- what may be sent ---- */

static int64_t limit_of(const ls_send_budget *budget)
{
    return (int64_t)((budget->bytes_per_s + 1) / 2);
}

ls_send_budget ls_send_budget_make(uint64_t bytes_per_s, uint64_t now_ns)
{
    LS_ASSERT(bytes_per_s > 0 && bytes_per_s <= UINT64_C(1) << 40);
    ls_send_budget budget = {.bytes_per_s = bytes_per_s, .filled_ns = now_ns};
    budget.left = limit_of(&budget);
    return budget;
}

void ls_send_budget_fill(ls_send_budget *budget, uint64_t now_ns)
{
    /* Whole microseconds only: what is left of them counts the next time. */
    uint64_t elapsed_us = (now_ns - budget->filled_ns) / LS_NS_PER_US;
    budget->filled_ns += elapsed_us * LS_NS_PER_US;
    uint64_t longest_us = UINT64_C(1000000);
    elapsed_us = LS_MIN(elapsed_us, longest_us);
    int64_t due = (int64_t)(budget->bytes_per_s * elapsed_us / UINT64_C(1000000));
    int64_t left = budget->left + due;
    budget->left = LS_MIN(left, limit_of(budget));
}

bool ls_send_budget_is_spent(const ls_send_budget *budget)
{
    return budget->left <= 0;
}

void ls_send_budget_spend(ls_send_budget *budget, size_t bytes)
{
    budget->left -= (int64_t)bytes;
}

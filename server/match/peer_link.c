#include "lockstep/server/match/peer_link.h"

#include "lockstep/common/base/fault.h"

#include <string.h>

enum {
    MALFORMED_MAX = 64,
    PARTS_PER_TURN = 128, /* to one peer; the tick that is begun is sent to its end */
};

/* ---- what the peer may do ---- */

void ls_peer_link_start_waiting(ls_peer_link *link, uint64_t now_ns)
{
    link->heard_ns = now_ns;
    link->progress_ns = now_ns;
}

void ls_peer_link_start_ticks(ls_peer_link *link, ls_tick tick, bool is_keyframe)
{
    link->downlink.next = tick;
    link->downlink.alone = is_keyframe ? tick : 0;
}

ls_departure ls_peer_link_judge(ls_peer_link *link, ls_status status)
{
    if (status == LS_MISBEHAVED) {
        return (ls_departure){status, "a message that does not belong here"};
    }
    if (status == LS_MALFORMED && ++link->malformed >= MALFORMED_MAX) {
        return (ls_departure){LS_MISBEHAVED, "too many malformed packets"};
    }
    return (ls_departure){.status = LS_OK};
}

uint64_t ls_peer_link_join_limit_ns(const ls_match_context *match)
{
    uint64_t timeout_ns = ls_match_timeout_ns(match);
    return LS_MAX(timeout_ns, MATCH_HANDSHAKE_NS);
}

/* ---- what it says ---- */

ls_status ls_peer_link_read_header(const ls_peer_link *link, const ls_tick_log *log,
                                   ls_bit_stream *stream, ls_inputs_header *header)
{
    ls_inputs_header_bits(stream, header, link->downlink.next);
    bool is_known =
        ls_hash_record_is_known(&log->hashes, header->chain_tick) || LS_FAULT(CHAIN_UNCHECKED);
    return stream->is_failed || !is_known ? LS_MALFORMED : LS_OK;
}

ls_status ls_peer_link_take_blob_ack(ls_peer_link *link, const ls_match_context *match,
                                     ls_blob_sender *sender, const uint8_t *bytes, size_t size)
{
    ls_status status = ls_blob_sender_take_ack(sender, match->arrived_ns, bytes, size);
    if (status != LS_OK) {
        return status;
    }
    link->heard_ns = match->now_ns;
    uint32_t held = ls_blob_sender_figures_of(sender).acknowledged;
    if (held > link->parts_held) {
        link->parts_held = held;
        link->progress_ns = match->now_ns;
    }
    return LS_OK;
}

/* ---- large ticks ---- */

/* Sends one tick in parts; returns how many, and adds up their bytes. */
static uint32_t send_tick(const ls_match_context *match, ls_peer_id peer, ls_tick tick,
                          bool is_keyframe, size_t *bytes)
{
    ls_outbox *outbox = match->outbox;
    const uint8_t *coded = NULL;
    ls_tick_part part = {
        .tick = tick, .total_bytes = ls_tick_log_large_tick(match->log, tick, is_keyframe, &coded)};
    uint32_t count = ls_tick_part_count(part.total_bytes);
    for (; part.index < count; part.index++) {
        memcpy(part.bytes, coded + part.index * LS_TICK_PART_BYTES,
               ls_tick_part_size(part.total_bytes, part.index));
        ls_bit_stream stream = ls_bit_writer(ls_outbox_packet(outbox), LS_PACKET_BYTES_MAX);
        ls_tick_part_bits(&stream, &part);
        size_t size = ls_bits_size_bytes(&stream);
        ls_outbox_send_packet(outbox, peer, size);
        *bytes += size + LS_PEER_LINK_HEADER_BYTES;
    }
    return count;
}

size_t ls_peer_link_send_parts(ls_peer_link *link, const ls_match_context *match, ls_peer_id peer,
                               ls_tick first, ls_tick end)
{
    ls_downlink *downlink = &link->downlink;
    ls_tick parts_end = ls_downlink_take_parts_end(downlink, first);
    uint32_t sent = 0;
    size_t bytes = 0;
    for (ls_tick tick = first; tick < end && tick < parts_end && sent < PARTS_PER_TURN; tick++) {
        if (ls_downlink_take_parts_due(downlink, match, tick)) {
            sent += send_tick(match, peer, tick, tick == downlink->alone, &bytes);
        }
    }
    return bytes;
}

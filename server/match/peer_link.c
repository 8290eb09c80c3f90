#include "lockstep/server/match/peer_link.h"

#include "lockstep/common/base/fault.h"

#include <string.h>

enum {
    MALFORMED_MAX = 64,
    PARTS_PER_TURN = 128, /* to one peer; the tick that is begun is sent to its end */
    RTT_SMOOTHING = 8,    /* a sample moves the estimate by an eighth, as TCP's does (RFC 6298) */
};

/* A peer acknowledges within two ticks, or within this. */
static const uint64_t ANSWER_MAX_NS = 100 * LS_NS_PER_MS;

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
    link->downlink.sent = (ls_sent_ends){{0}};
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

ls_departure ls_peer_link_goodbye(const ls_close_reason *said)
{
    ls_status reason = (ls_status) - (int)said->negated_status;
    reason = reason == LS_OK ? LS_DISCONNECTED : reason;
    return (ls_departure){reason, said->text.bytes[0] ? said->text.bytes : ls_status_text(reason)};
}

uint64_t ls_peer_link_join_limit_ns(const ls_match *match)
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

ls_status ls_peer_link_receive_blob_ack(ls_peer_link *link, const ls_match *match,
                                        ls_blob_sender *sender, const uint8_t *bytes, size_t size)
{
    ls_status status = ls_blob_sender_receive_ack(sender, match->arrived_ns, bytes, size);
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

/* ---- what it acknowledges ---- */

/* When a tick first went out, if it did so once for long enough that its acknowledgement is known
 * to be that one's; else 0. `closed_ns`: when it was closed. */
static uint64_t when_sent(const ls_downlink *link, ls_tick tick, uint64_t closed_ns)
{
    const ls_downlink_parts *parts = &link->parts[tick % LS_TICK_PARTS_AHEAD];
    if (parts->tick == tick && parts->sent_ns != 0) {
        return parts->is_repeated ? 0 : parts->sent_ns;
    }
    return tick < link->delayed_end ? 0 : closed_ns;
}

static void measure_rtt(ls_downlink *link, uint64_t now_ns, const ls_inputs_header *header,
                        uint64_t closed_ns)
{
    if (header->hold == LS_HOLD_NONE || header->next == 0) {
        return;
    }
    uint64_t sent_ns = closed_ns == 0 ? 0 : when_sent(link, header->next - 1, closed_ns);
    uint64_t away_ns = now_ns - sent_ns;
    uint64_t held_ns = header->hold * LS_HOLD_UNIT_NS;
    if (sent_ns == 0 || now_ns < sent_ns || away_ns < held_ns) {
        return;
    }
    int64_t sample = (int64_t)(away_ns - held_ns);
    int64_t smoothed = (int64_t)link->rtt_ns;
    smoothed = smoothed == 0 ? sample : smoothed + (sample - smoothed) / RTT_SMOOTHING;
    link->rtt_ns = (uint64_t)smoothed;
}

/* The newest packet counts, not the highest number: an acknowledgement that was altered on its way
 * is mended by the next one. A tick that is no longer held cannot be asked for again. */
static void receive_ack(ls_downlink *link, const ls_match *match, ls_tick next)
{
    if (match->log->next - next + 1 < LS_WINDOW_TICKS) {
        link->next = next;
    }
}

ls_link_arrival ls_downlink_receive(ls_downlink *link, const ls_match *match,
                                    const ls_inputs_header *header, uint64_t sent_ns,
                                    int64_t stamp_ns)
{
    ls_link_arrival arrival =
        ls_link_meter_add(&link->uplink, header->sequence, stamp_ns, match->arrived_ns);
    if (arrival == LS_LINK_REPEATED) {
        return arrival;
    }
    measure_rtt(link, match->arrived_ns, header, sent_ns);
    if (header->has_health) {
        link->health = header->health;
        link->loss = ls_send_loss_of(link->loss, header->health.downlink.loss);
    }
    if (arrival == LS_LINK_NEWER) {
        receive_ack(link, match, header->next);
    }
    return arrival;
}

/* ---- what it is sent ---- */

ls_tick ls_downlink_first(const ls_downlink *link, const ls_match *match, ls_tick end)
{
    if (link->loss == LS_SEND_LOSS_MANY || link->next >= end) {
        return link->next;
    }
    uint64_t age_ns = match->now_ns - ls_tick_log_closed_at(match->log, link->next);
    uint32_t packets = link->loss == LS_SEND_LOSS_FEW ? LS_SEND_PACKETS : LS_SEND_PACKETS_LOSSY;
    return ls_send_is_overdue(age_ns, link->rtt_ns, match->dt_ns)
               ? link->next
               : ls_sent_ends_first(&link->sent, packets, link->next, end);
}

/* Field by field: a struct that is made here and copied is read before its stores have drained,
 * which took longer than the rest of the packet. */
void ls_downlink_header(ls_downlink *link, const ls_match *match, ls_ticks_header *header)
{
    uint64_t now_ns = match->now_ns;
    header->sequence = link->sequence++;
    header->first = link->next;
    header->hold = LS_HOLD_NONE;
    header->wanted = link->next;
    header->has_base = false;
    header->slack = LS_SLACK_NONE;
    header->has_uplink = link->uplink.has_first && (now_ns - link->uplink_told_ns >= LS_HEALTH_NS ||
                                                    ls_downlink_has_new_loss(link, match));
    if (header->has_uplink) {
        header->uplink = ls_link_meter_figures(&link->uplink);
        link->uplink_told_ns = now_ns;
        link->uplink_told_lost = link->uplink.lost;
    }
}

/* Returns the first tick that did not fit. */
static ls_tick write_ticks(const ls_downlink *link, const ls_tick_log *log, ls_tick end,
                           ls_ticks_header *header, ls_bit_stream *stream)
{
    ls_ticks_header_bits(stream, header, 0);
    ls_tick tick = header->first;
    for (; tick < end; tick++) {
        const ls_coded_tick *coded = ls_tick_log_coded(log, tick);
        bool is_alone = tick == link->alone;
        bool is_written = coded && (!is_alone || tick == 0)
                              ? ls_coded_tick_write(coded, stream)
                              : ls_tick_log_write_tick(log, tick, is_alone, stream);
        if (!is_written) {
            break;
        }
    }
    ls_tick_packet_write_end(stream);
    return tick;
}

ls_tick ls_downlink_write(ls_downlink *link, const ls_tick_log *log, ls_tick end,
                          ls_ticks_header *header, ls_bit_stream *stream)
{
    ls_tick tick = write_ticks(link, log, end, header, stream);
    link->fitted_end = LS_MAX(tick, link->fitted_end);
    link->delayed_end = tick < end ? end : link->delayed_end;
    ls_sent_ends_add(&link->sent, tick < end ? 0 : end);
    return tick;
}

/* The first tick of the next answer: behind those that went before, until they should have been
 * acknowledged. */
static ls_tick first_of_answer(ls_downlink *link, const ls_match *match)
{
    ls_answered_ticks *answered = &link->answered;
    if (link->next != answered->next) {
        answered->next = link->next;
        answered->moved_ns = match->now_ns;
    } else if (ls_send_is_overdue(match->now_ns - answered->moved_ns, link->rtt_ns, match->dt_ns)) {
        answered->moved_ns = match->now_ns;
        answered->end = link->next;
    }
    return LS_MAX(link->next, answered->end);
}

bool ls_downlink_write_answer(ls_downlink *link, const ls_match *match, ls_ticks_header *header,
                              ls_bit_stream *stream)
{
    header->first = first_of_answer(link, match);
    header->sequence = link->sequence;
    ls_tick end = write_ticks(link, match->log, match->log->next, header, stream);
    if (end <= header->first) {
        return false;
    }
    link->sequence++;
    link->answered.end = end;
    link->delayed_end = LS_MAX(link->delayed_end, end); /* they went out late */
    return true;
}

ls_tick ls_downlink_advance_parts_end(ls_downlink *link, ls_tick first)
{
    /* The peer takes parts of so many ticks from the first that it lacks on. Counted from what it
     * has acknowledged there would be none to send beside a TICKS that holds as many. While it gets
     * on, the TICKS before them arrives as well, and then it lacks `first`; while it does not,
     * perhaps nothing arrives, and they would be sent in vain, again and again. */
    bool is_getting_on = link->next != link->parts_next;
    link->parts_next = link->next;
    return (is_getting_on ? first : link->next) + LS_TICK_PARTS_AHEAD;
}

bool ls_downlink_claim_parts_due(ls_downlink *link, const ls_match *match, ls_tick tick)
{
    ls_downlink_parts *sent = &link->parts[tick % LS_TICK_PARTS_AHEAD];
    uint64_t answer_ns = LS_MIN(LS_SEND_SPARE_TICKS * match->dt_ns, ANSWER_MAX_NS);
    bool was_sent = sent->tick == tick && sent->sent_ns != 0;
    if (was_sent && match->now_ns - sent->sent_ns < link->rtt_ns + answer_ns) {
        return false;
    }
    *sent = (ls_downlink_parts){
        .tick = tick, .sent_ns = match->now_ns, .is_repeated = was_sent || tick < link->fitted_end};
    return true;
}

/* ---- large ticks ---- */

/* Sends one tick in parts; returns how many, and adds up their bytes. */
static uint32_t send_tick(const ls_match *match, ls_peer_id peer, ls_tick tick, bool is_keyframe,
                          size_t *bytes)
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

size_t ls_peer_link_send_parts(ls_peer_link *link, const ls_match *match, ls_peer_id peer,
                               ls_tick first, ls_tick end)
{
    ls_downlink *downlink = &link->downlink;
    ls_tick parts_end = ls_downlink_advance_parts_end(downlink, first);
    uint32_t sent = 0;
    size_t bytes = 0;
    for (ls_tick tick = first; tick < end && tick < parts_end && sent < PARTS_PER_TURN; tick++) {
        if (ls_downlink_claim_parts_due(downlink, match, tick)) {
            sent += send_tick(match, peer, tick, tick == downlink->alone, &bytes);
        }
    }
    return bytes;
}

#include "lockstep/server/match/downlink.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/send_rate.h"

enum {
    RTT_SMOOTHING = 8, /* a sample moves the estimate by an eighth, as TCP's does (RFC 6298) */
};

/* A peer acknowledges within two ticks, or within this. */
static const uint64_t ANSWER_MAX_NS = 100 * LS_NS_PER_MS;

/* ---- what the peer says ---- */

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
static void take_acknowledgement(ls_downlink *link, const ls_match_context *match, ls_tick next)
{
    if (match->log->next - next + 1 < LS_WINDOW_TICKS) {
        link->next = next;
    }
}

ls_link_arrival ls_downlink_take(ls_downlink *link, const ls_match_context *match,
                                 const ls_inputs_header *header, uint64_t sent_ns, int64_t stamp_ns)
{
    ls_link_arrival arrival =
        ls_link_meter_add(&link->uplink, header->sequence, stamp_ns, match->arrived_ns);
    if (arrival == LS_LINK_REPEATED) {
        return arrival;
    }
    measure_rtt(link, match->arrived_ns, header, sent_ns);
    if (header->has_health) {
        link->health = header->health;
        link->is_losing = ls_send_rate_is_lossy(link->is_losing, &header->health.downlink);
    }
    if (arrival == LS_LINK_NEWER) {
        take_acknowledgement(link, match, header->next);
    }
    return arrival;
}

/* ---- what it is sent ---- */

/* Field by field: a struct that is made here and copied is read before its stores have drained,
 * which took longer than the rest of the packet. */
void ls_downlink_header(ls_downlink *link, const ls_match_context *match, ls_ticks_header *header)
{
    uint64_t now_ns = match->now_ns;
    header->sequence = link->sequence++;
    header->first = link->next;
    header->hold = LS_HOLD_NONE;
    header->wanted = link->next;
    header->has_base = false;
    header->slack = LS_SLACK_NONE;
    header->has_uplink = link->uplink.has_first && now_ns - link->uplink_told_ns >= LS_HEALTH_NS;
    if (header->has_uplink) {
        header->uplink = ls_link_meter_figures(&link->uplink);
        link->uplink_told_ns = now_ns;
    }
}

ls_tick ls_downlink_write(ls_downlink *link, const ls_tick_log *log, ls_tick end,
                          ls_ticks_header *header, ls_bit_stream *stream)
{
    ls_ticks_header_bits(stream, header, 0);
    ls_tick tick = header->first;
    for (; tick < end; tick++) {
        const ls_coded_tick *coded = &log->coded[tick % LS_WINDOW_TICKS];
        bool is_alone = tick == link->alone;
        bool is_written = coded->bits > 0 && (!is_alone || tick == 0)
                              ? ls_coded_tick_write(coded, stream)
                              : ls_tick_log_write_tick(log, tick, is_alone, stream);
        if (!is_written) {
            break;
        }
    }
    ls_tick_packet_write_end(stream);
    link->fitted_end = LS_MAX(tick, link->fitted_end);
    link->delayed_end = tick < end ? end : link->delayed_end;
    return tick;
}

ls_tick ls_downlink_take_parts_end(ls_downlink *link, ls_tick first)
{
    /* The peer takes parts of so many ticks from the first that it lacks on. Counted from what it
     * has acknowledged there would be none to send beside a TICKS that holds as many. While it gets
     * on, the TICKS before them arrives as well, and then it lacks `first`; while it does not,
     * perhaps nothing arrives, and they would be sent in vain, again and again. */
    bool is_getting_on = link->next != link->parts_next;
    link->parts_next = link->next;
    return (is_getting_on ? first : link->next) + LS_TICK_PARTS_AHEAD;
}

bool ls_downlink_take_parts_due(ls_downlink *link, const ls_match_context *match, ls_tick tick)
{
    ls_downlink_parts *sent = &link->parts[tick % LS_TICK_PARTS_AHEAD];
    uint64_t answer_ns = LS_MIN(2 * match->dt_ns, ANSWER_MAX_NS);
    bool was_sent = sent->tick == tick && sent->sent_ns != 0;
    if (was_sent && match->now_ns - sent->sent_ns < link->rtt_ns + answer_ns) {
        return false;
    }
    *sent = (ls_downlink_parts){
        .tick = tick, .sent_ns = match->now_ns, .is_repeated = was_sent || tick < link->fitted_end};
    return true;
}

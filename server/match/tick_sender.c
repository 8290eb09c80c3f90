#include "lockstep/server/match/tick_sender.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/protocol/wire/send_rate.h"

#define RESEND_NS (UINT64_C(100) * LS_NS_PER_MS) /* heartbeat once ticks are closed */

/* Returns the first closed tick that did not fit. */
static ls_tick send_packet(const ls_match_context *match, uint32_t slot)
{
    ls_player_link *link = &match->links[slot];
    bool follows = ls_seat_table_follows(match->seats, slot);
    ls_tick end = follows ? match->log->next : link->peer.downlink.next;
    size_t size = ls_player_link_write_ticks(link, match, &end, ls_outbox_packet(match->outbox));
    ls_outbox_send_packet(match->outbox, match->seats->peers[slot], size);
    return end;
}

/* The longest time between two TICKS when nothing is closed. */
static uint64_t heartbeat_ns_of(const ls_match_context *match)
{
    uint64_t heartbeat_ns = match->log->next == 0 ? MATCH_HEARTBEAT_NS : RESEND_NS;
    if (match->state == LS_MATCH_ENDING) {
        heartbeat_ns = LS_MIN(heartbeat_ns, match->dt_ns);
    }
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    return LS_MIN(heartbeat_ns, silence_max_ns);
}

static bool is_sent_twice(const ls_match_context *match, uint32_t slot)
{
    const ls_downlink *downlink = &match->links[slot].peer.downlink;
    return ls_seat_table_is_in_play(match->seats, slot) && downlink->next < match->log->next &&
           ls_send_rate_is_double(match->config.send_rate, downlink->is_losing);
}

static void send_all(ls_match_context *match)
{
    ls_tick next = match->log->next;
    match->sent.sent_ns = match->now_ns;
    match->sent.end = next;
    match->sent.again_ns = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_peer_link *link = &match->links[slot].peer;
        link->packets = 0;
        if (!ls_seat_table_is_taken(match->seats, slot)) {
            continue;
        }
        ls_tick end = send_packet(match, slot);
        if (ls_seat_table_follows(match->seats, slot)) {
            ls_peer_link_send_parts(link, match, match->seats->peers[slot], end, next);
        }
        if (is_sent_twice(match, slot)) {
            match->sent.again_ns = match->now_ns + match->dt_ns / 2;
        }
    }
}

/* The second TICKS between two ticks, to players that lose many and lack something. */
static void send_again(ls_match_context *match)
{
    match->sent.again_ns = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (is_sent_twice(match, slot)) {
            send_packet(match, slot);
        }
    }
}

void ls_tick_sender_answer(ls_match_context *match, uint32_t slot, size_t room_bytes)
{
    size_t size = ls_player_link_write_answer(&match->links[slot], match, room_bytes,
                                              ls_outbox_packet(match->outbox));
    if (size > 0) {
        ls_outbox_answer_packet(match->outbox, match->seats->peers[slot], size);
    }
}

/* A tick that is closed is not kept back while none follows. */
static bool is_packet_full(const ls_match_context *match, bool is_waiting)
{
    bool is_last = match->state != LS_MATCH_RUNNING || is_waiting;
    uint32_t ticks = match->config.send_rate == LS_SEND_HALF && !is_last ? 2 : 1;
    return match->log->next - match->sent.end >= ticks;
}

void ls_tick_sender_advance(ls_match_context *match, bool is_waiting)
{
    uint64_t now_ns = match->now_ns;
    if (is_packet_full(match, is_waiting) || LS_FAULT(TICKS_UNPACED) ||
        now_ns - match->sent.sent_ns >= heartbeat_ns_of(match)) {
        send_all(match);
    } else if (match->sent.again_ns != 0 && now_ns >= match->sent.again_ns) {
        send_again(match);
    }
}

uint64_t ls_tick_sender_next_ns(const ls_match_context *match)
{
    uint64_t heartbeat_ns = match->sent.sent_ns + heartbeat_ns_of(match);
    return match->sent.again_ns != 0 && match->sent.again_ns < heartbeat_ns ? match->sent.again_ns
                                                                            : heartbeat_ns;
}

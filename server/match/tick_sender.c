#include "lockstep/server/match/tick_sender.h"

#include "lockstep/protocol/wire/send_rate.h"

#define RESEND_NS (UINT64_C(100) * LS_NS_PER_MS) /* heartbeat once ticks are closed */

ls_tick_sender ls_tick_sender_make(const ls_match_context *context, ls_tick_log *log,
                                   ls_outbox *outbox, const ls_seat_table *seats,
                                   ls_player_link *links)
{
    return (ls_tick_sender){
        .context = context, .log = log, .outbox = outbox, .seats = seats, .links = links};
}

void ls_tick_sender_restore(ls_tick_sender *sender)
{
    sender->sent_end = ls_tick_log_next(sender->log);
}

/* Returns the first closed tick that did not fit. */
static ls_tick send_packet(ls_tick_sender *sender, uint32_t slot, const ls_downlink_clock *clock)
{
    ls_player_link *link = &sender->links[slot];
    ls_downlink_ticks ticks = ls_tick_log_ticks(sender->log);
    if (!ls_seat_table_follows(sender->seats, slot)) {
        ticks.end = link->peer.downlink.next;
    }
    ls_tick end = 0;
    size_t size =
        ls_player_link_write_ticks(link, clock, &ticks, ls_outbox_packet(sender->outbox), &end);
    ls_outbox_send_packet(sender->outbox, ls_seat_table_peer(sender->seats, slot), size);
    return end;
}

/* The longest time between two TICKS when nothing is closed. */
static uint64_t heartbeat_ns_of(const ls_tick_sender *sender)
{
    const ls_match_context *context = sender->context;
    uint64_t heartbeat_ns = ls_tick_log_next(sender->log) == 0 ? MATCH_HEARTBEAT_NS : RESEND_NS;
    if (context->state == LS_MATCH_ENDING && context->dt_ns < heartbeat_ns) {
        heartbeat_ns = context->dt_ns;
    }
    uint64_t silence_max_ns = ls_match_silence_max_ns(context);
    return heartbeat_ns < silence_max_ns ? heartbeat_ns : silence_max_ns;
}

static bool is_sent_twice(const ls_tick_sender *sender, uint32_t slot)
{
    const ls_downlink *downlink = &sender->links[slot].peer.downlink;
    return ls_seat_table_is_in_play(sender->seats, slot) &&
           downlink->next < ls_tick_log_next(sender->log) &&
           ls_send_rate_is_double(sender->context->config.send_rate, downlink->is_losing);
}

static void send_all(ls_tick_sender *sender)
{
    const ls_match_context *context = sender->context;
    ls_downlink_clock clock = ls_tick_log_clock(sender->log, context->now_ns);
    ls_tick next = ls_tick_log_next(sender->log);
    sender->sent_ns = context->now_ns;
    sender->sent_end = next;
    sender->again_ns = 0;
    for (uint32_t slot = 0; slot < context->config.sim.players; slot++) {
        ls_peer_link *link = &sender->links[slot].peer;
        link->packets = 0;
        if (!ls_seat_table_is_taken(sender->seats, slot)) {
            continue;
        }
        ls_tick end = send_packet(sender, slot, &clock);
        if (ls_seat_table_follows(sender->seats, slot)) {
            ls_peer_link_send_parts(link, sender->log, sender->outbox, &clock,
                                    ls_seat_table_peer(sender->seats, slot), end, next);
        }
        if (is_sent_twice(sender, slot)) {
            sender->again_ns = context->now_ns + context->dt_ns / 2;
        }
    }
}

/* The second TICKS between two ticks, to players that lose many and lack something. */
static void send_again(ls_tick_sender *sender)
{
    ls_downlink_clock clock = ls_tick_log_clock(sender->log, sender->context->now_ns);
    sender->again_ns = 0;
    for (uint32_t slot = 0; slot < sender->context->config.sim.players; slot++) {
        if (is_sent_twice(sender, slot)) {
            send_packet(sender, slot, &clock);
        }
    }
}

/* A tick that is closed is not kept back while none follows. */
static bool is_packet_full(const ls_tick_sender *sender, bool is_waiting)
{
    bool is_last = sender->context->state != LS_MATCH_RUNNING || is_waiting;
    uint32_t ticks = sender->context->config.send_rate == LS_SEND_HALF && !is_last ? 2 : 1;
    return ls_tick_log_next(sender->log) - sender->sent_end >= ticks;
}

void ls_tick_sender_advance(ls_tick_sender *sender, bool is_waiting)
{
    uint64_t now_ns = sender->context->now_ns;
    if (is_packet_full(sender, is_waiting) || now_ns - sender->sent_ns >= heartbeat_ns_of(sender)) {
        send_all(sender);
    } else if (sender->again_ns != 0 && now_ns >= sender->again_ns) {
        send_again(sender);
    }
}

uint64_t ls_tick_sender_next_ns(const ls_tick_sender *sender)
{
    uint64_t heartbeat_ns = sender->sent_ns + heartbeat_ns_of(sender);
    return sender->again_ns != 0 && sender->again_ns < heartbeat_ns ? sender->again_ns
                                                                    : heartbeat_ns;
}

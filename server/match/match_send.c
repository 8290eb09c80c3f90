#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/send_rate.h"
#include "lockstep/server/match/match_spectators.h"
#include "lockstep/server/match/match_state.h"

#include <string.h>

/* ---- one TICKS, and what does not fit into it ---- */

ls_downlink_clock ls_match_clock(const ls_match *match)
{
    uint64_t dt_ns = match->timestep.config.dt_ns;
    uint64_t next_close_ns = match->last_ns + dt_ns - match->timestep.bank_ns;
    return (ls_downlink_clock){.now_ns = match->now_ns,
                               .dt_ns = dt_ns,
                               /* A tick that waits was due when the wait began. */
                               .next_close_ns =
                                   match->waiting_ns ? match->waiting_ns : next_close_ns,
                               .next_close = match->next_close,
                               .closed_at_ns = match->closed_at_ns};
}

ls_downlink_ticks ls_match_ticks(const ls_match *match)
{
    return (ls_downlink_ticks){.closed = match->closed,
                               .coded = match->coded,
                               .slot_count = match->config.sim.players,
                               .end = match->next_close};
}

/* Codes a tick for sending in parts, once for all who are sent it in this turn. */
static uint32_t code_large_tick(ls_match *match, ls_tick tick, bool is_alone)
{
    if (match->large_tick_bytes == 0 || match->large_tick_number != tick ||
        match->is_large_tick_alone != is_alone) {
        ls_downlink_ticks ticks = ls_match_ticks(match);
        match->large_tick_bytes =
            ls_downlink_write_large_tick(&ticks, tick, is_alone, match->large_tick);
        match->large_tick_number = tick;
        match->is_large_tick_alone = is_alone;
    }
    return match->large_tick_bytes;
}

/* Sends one tick in parts; returns how many, and adds up their bytes. */
static uint32_t send_parts(ls_match *match, ls_peer_id peer, ls_tick tick, bool is_alone,
                           size_t *bytes)
{
    ls_tick_part part = {.tick = tick, .total_bytes = code_large_tick(match, tick, is_alone)};
    uint32_t count = ls_tick_part_count(part.total_bytes);
    for (; part.index < count; part.index++) {
        memcpy(part.bytes, match->large_tick + part.index * LS_TICK_PART_BYTES,
               ls_tick_part_size(part.total_bytes, part.index));
        ls_bit_stream stream = ls_bit_writer(match->packet, sizeof match->packet);
        ls_tick_part_bits(&stream, &part);
        size_t size = ls_bits_size_bytes(&stream);
        match->sink.send(match->sink.user, peer, LS_CHANNEL_UNRELIABLE, match->packet, size);
        *bytes += size + WATCH_HEADER_BYTES;
    }
    return count;
}

size_t ls_match_send_parts(ls_match *match, ls_downlink *link, ls_peer_id peer, ls_tick first,
                           ls_tick end)
{
    ls_downlink_clock clock = ls_match_clock(match);
    ls_tick parts_end = ls_downlink_take_parts_end(link, first);
    uint32_t sent = 0;
    size_t bytes = 0;
    for (ls_tick tick = first; tick < end && tick < parts_end && sent < MATCH_PARTS_PER_TURN;
         tick++) {
        if (ls_downlink_take_parts_due(link, &clock, tick)) {
            sent += send_parts(match, peer, tick, tick == link->alone, &bytes);
        }
    }
    return bytes;
}

/* Returns the first closed tick that did not fit. */
static ls_tick send_packet(ls_match *match, ls_seat *seat, const ls_downlink_clock *clock)
{
    ls_downlink_ticks ticks = ls_match_ticks(match);
    ticks.end = ls_seat_follows(seat) ? ticks.end : seat->downlink.next;
    ls_tick end = 0;
    size_t size = ls_seat_write_ticks(seat, clock, &ticks, match->packet, &end);
    match->sink.send(match->sink.user, seat->report.peer, LS_CHANNEL_UNRELIABLE, match->packet,
                     size);
    return end;
}

/* ---- when they leave ---- */

/* The longest time between two TICKS when nothing is closed. */
static uint64_t heartbeat_ns_of(const ls_match *match)
{
    uint64_t heartbeat_ns = match->next_close == 0 ? MATCH_HEARTBEAT_NS : MATCH_RESEND_NS;
    uint64_t dt_ns = match->timestep.config.dt_ns;
    if (match->state == LS_MATCH_ENDING && dt_ns < heartbeat_ns) {
        heartbeat_ns = dt_ns;
    }
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    return heartbeat_ns < silence_max_ns ? heartbeat_ns : silence_max_ns;
}

static bool is_sent_twice(const ls_match *match, const ls_seat *seat)
{
    return ls_seat_is_in_play(seat) && seat->downlink.next < match->next_close &&
           ls_send_rate_is_double(match->config.send_rate, seat->downlink.is_losing);
}

void ls_match_send_ticks(ls_match *match)
{
    ls_downlink_clock clock = ls_match_clock(match);
    match->sent_ns = match->now_ns;
    match->unsent_ticks = 0;
    match->again_ns = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        seat->packets_since_tick = 0;
        if (!ls_seat_is_taken(seat)) {
            continue;
        }
        ls_tick end = send_packet(match, seat, &clock);
        if (ls_seat_follows(seat)) {
            ls_match_send_parts(match, &seat->downlink, seat->report.peer, end, match->next_close);
        }
        if (is_sent_twice(match, seat)) {
            match->again_ns = match->now_ns + clock.dt_ns / 2;
        }
    }
}

/* The second one between two ticks, to those who lose many and lack something. */
static void send_again(ls_match *match)
{
    ls_downlink_clock clock = ls_match_clock(match);
    match->again_ns = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (is_sent_twice(match, &match->seats[slot])) {
            send_packet(match, &match->seats[slot], &clock);
        }
    }
}

/* A tick that is closed is not kept back while none follows. */
static bool is_packet_full(const ls_match *match)
{
    bool is_last = match->state != LS_MATCH_RUNNING || match->waiting_ns != 0;
    uint32_t ticks = match->config.send_rate == LS_SEND_HALF && !is_last ? 2 : 1;
    return match->unsent_ticks >= ticks;
}

void ls_match_send_due(ls_match *match)
{
    if (is_packet_full(match) || match->now_ns - match->sent_ns >= heartbeat_ns_of(match)) {
        ls_match_send_ticks(match);
    } else if (match->again_ns != 0 && match->now_ns >= match->again_ns) {
        send_again(match);
    }
}

uint64_t ls_match_send_next_ns(const ls_match *match)
{
    uint64_t heartbeat_ns = match->sent_ns + heartbeat_ns_of(match);
    return match->again_ns != 0 && match->again_ns < heartbeat_ns ? match->again_ns : heartbeat_ns;
}

#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/send_rate.h"

enum {
    WAIT_LEAD_SPARE_TICKS = 8,
    HALF_RATE_INPUTS = 2,   /* of one INPUTS */
    RESEND_SPARE_TICKS = 2, /* beyond a round trip: the server answers once a tick */
    PACKETS_PER_FRAME_MAX = 16,
};

/* ---- making ---- */

static void make_input(ls_session *session, ls_tick tick)
{
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    if (session->config.make_input) {
        size = session->config.make_input(session->config.user, session->instance,
                                          session->report.slot, tick, bytes);
    }
    LS_ASSERT(size <= session->simulation->input_bytes_max);
    ls_status stored = ls_input_buffer_put(session->own, tick, 0, bytes, size, 0);
    LS_ASSERT(stored == LS_OK);
    session->made_ns[tick % LS_WINDOW_TICKS] = session->now_ns;
    session->report.inputs_made++;
}

/* How far ahead of the confirmed ticks inputs are made at most. The server refuses what is further
 * ahead than its window. Under the rule `wait` it may stand still; inputs made meanwhile would be
 * latency for as long as they last. */
static uint32_t lead_limit_ticks(const ls_session *session)
{
    if (session->offer.late_rule != LS_LATE_WAIT) {
        return LS_LEAD_TICKS_MAX;
    }
    const ls_tick_sync *sync = &session->sync;
    uint64_t lead_ns = 2 * sync->rtt_ns + sync->frame_ns + sync->delay_ns;
    uint64_t ticks = lead_ns / sync->config.dt_ns + WAIT_LEAD_SPARE_TICKS;
    return ticks < LS_LEAD_TICKS_MAX ? (uint32_t)ticks : LS_LEAD_TICKS_MAX;
}

/* What is not acknowledged has to be held: no more than there is room for. */
static bool is_held_back(const ls_session *session)
{
    ls_tick next = session->sync.next_input;
    return next >= session->confirmed + lead_limit_ticks(session) ||
           next - ls_input_buffer_first(session->own) >= LS_WINDOW_TICKS;
}

/* The match goes on at least until the next input's tick. */
static bool is_wanted(const ls_session *session)
{
    return !session->report.has_end || session->sync.next_input < session->report.end.final_tick;
}

void ls_session_play_make_inputs(ls_session *session)
{
    while (!is_held_back(session)) {
        if (!is_wanted(session) || !ls_tick_sync_take_due(&session->sync, session->now_ns)) {
            return;
        }
        make_input(session, session->sync.next_input - 1);
    }
    ls_tick_sync_hold(&session->sync, session->now_ns);
}

/* ---- sending ---- */

/* Writes the inputs from `tick` on, as many as fit; returns the first that does not. */
static ls_tick write_inputs(ls_session *session, ls_bit_stream *stream, ls_tick tick,
                            const ls_slot_input *base)
{
    ls_slot_input before = *base;
    ls_slot_input input;
    for (; tick < session->sync.next_input; tick++) {
        ls_status held = ls_input_buffer_get(session->own, tick, 0, &input);
        LS_ASSERT(held == LS_OK);
        if (!ls_inputs_write_tick(stream, &before, &input)) {
            break;
        }
        before = input;
        session->own_resent_ns[tick % LS_WINDOW_TICKS] = session->now_ns;
        if (tick >= session->sent_input) {
            session->own_sent_ns[tick % LS_WINDOW_TICKS] = session->now_ns;
            session->sent_input = tick + 1;
        }
    }
    ls_tick_packet_write_end(stream);
    return tick;
}

/* Sends one INPUTS, with inputs or without; returns the first input that did not fit. */
static ls_tick send_packet(ls_session *session, ls_inputs_header *header, bool has_inputs)
{
    ls_slot_input base = {0};
    if (header->has_base) {
        ls_status held = ls_input_buffer_get(session->own, header->first - 1, 0, &base);
        LS_ASSERT(held == LS_OK);
    }
    header->sequence = session->sequence++;
    ls_bit_stream stream = ls_bit_writer(session->packet, sizeof session->packet);
    ls_inputs_header_bits(&stream, header, 0);
    ls_tick end = header->first;
    if (has_inputs) {
        end = write_inputs(session, &stream, header->first, &base);
    } else {
        ls_tick_packet_write_end(&stream);
    }
    session->sink.send(session->sink.user, session->server, LS_CHANNEL_UNRELIABLE, session->packet,
                       ls_bits_size_bytes(&stream));
    return end;
}

/* Never sent, or long enough ago that the answer would be here. */
static bool is_due(const ls_session *session, ls_tick tick)
{
    uint64_t spare_ns = RESEND_SPARE_TICKS * session->sync.config.dt_ns;
    spare_ns = spare_ns < SESSION_ANSWER_NS ? spare_ns : SESSION_ANSWER_NS;
    uint64_t pause_ns = session->sync.rtt_ns + spare_ns;
    return tick >= session->sent_input ||
           session->now_ns - session->own_resent_ns[tick % LS_WINDOW_TICKS] >= pause_ns;
}

/* What did not fit does not wait for the acknowledgement of the rest, or no more than a packet of
 * inputs would ever arrive in a round trip. */
static void send_what_did_not_fit(ls_session *session, ls_inputs_header *header, ls_tick tick)
{
    header->hold = LS_HOLD_NONE;
    header->has_base = false;
    header->has_health = false;
    uint32_t packets = 1;
    while (tick < session->sync.next_input && packets < PACKETS_PER_FRAME_MAX) {
        if (!is_due(session, tick)) {
            tick++;
            continue;
        }
        header->first = tick;
        tick = send_packet(session, header, true);
        packets++;
    }
}

static void add_health(ls_session *session, ls_inputs_header *header)
{
    if (!session->downlink.has_first || session->now_ns - session->health_ns < LS_HEALTH_NS) {
        return;
    }
    header->has_health = true;
    header->health = (ls_client_health){
        .downlink = ls_link_meter_figures(&session->downlink),
        .longest_frame_ms = (uint32_t)(session->longest_frame_ns / LS_NS_PER_MS),
        .stalled_ticks = (uint32_t)(session->report.stalled_ticks - session->stalled_told)};
    session->health_ns = session->now_ns;
    session->longest_frame_ns = 0;
    session->stalled_told = session->report.stalled_ticks;
}

/* Who watches, or is on the way into the match, acknowledges only. */
static bool is_playing(const ls_session *session)
{
    return session->report.state == LS_SESSION_PLAYING && !session->config.is_spectator;
}

void ls_session_play_send_inputs(ls_session *session)
{
    ls_inputs_header header = {.next = session->confirmed,
                               .hold = LS_HOLD_NONE,
                               .chain_tick = session->chain_tick,
                               .chain = (uint32_t)session->chain,
                               .first = session->confirmed};
    if (is_playing(session)) {
        header.first = session->wanted;
        header.has_base = session->has_base && session->wanted > session->altered_end;
    }
    if (session->confirmed > 0 && !session->is_arrival_reported) {
        header.hold = ls_hold_from_ns(session->now_ns - session->newest_arrival_ns);
        session->is_arrival_reported = true;
    }
    add_health(session, &header);
    session->sent_ns = session->now_ns;
    session->acknowledged = session->confirmed;
    ls_tick end = send_packet(session, &header, is_playing(session));
    if (!is_playing(session)) {
        return;
    }
    session->is_overflowing = end < session->sync.next_input;
    send_what_did_not_fit(session, &header, end);
}

/* ---- when to send ---- */

/* Inputs that have never been sent, as many as an INPUTS waits for. */
static bool has_inputs_to_send(const ls_session *session)
{
    ls_tick unsent = session->sync.next_input - session->sent_input;
    bool is_enough = session->offer.send_rate != LS_SEND_HALF || unsent >= HALF_RATE_INPUTS ||
                     is_held_back(session);
    return unsent > 0 && is_enough;
}

/* When they are sent a second time: only while the server has not said that they came. */
static uint64_t second_send_ns(const ls_session *session)
{
    bool is_missed = session->wanted < session->sync.next_input;
    return session->is_second_due && is_missed
               ? session->first_sent_ns + session->sync.config.dt_ns / 2
               : UINT64_MAX;
}

static bool is_sending_twice(const ls_session *session)
{
    return ls_send_rate_is_double(session->offer.send_rate, session->is_uplink_lossy);
}

void ls_session_play_take_uplink(ls_session *session, ls_link_figures uplink)
{
    bool was_sending_twice = is_sending_twice(session);
    session->report.uplink = uplink;
    ls_tick_sync_set_loss(&session->sync, uplink.loss);
    session->is_uplink_lossy = ls_send_rate_is_lossy(session->is_uplink_lossy, &uplink);
    if (is_sending_twice(session) != was_sending_twice) {
        ls_tick_sync_forget(&session->sync);
    }
}

void ls_session_play_send_due(ls_session *session)
{
    if (!is_playing(session)) {
        if (session->acknowledged != session->confirmed) {
            ls_session_play_send_inputs(session);
        }
        return;
    }
    if (has_inputs_to_send(session)) {
        session->first_sent_ns = session->now_ns;
        session->is_second_due = is_sending_twice(session);
        ls_session_play_send_inputs(session);
    } else if (session->now_ns >= second_send_ns(session)) {
        session->is_second_due = false;
        ls_session_play_send_inputs(session);
    }
}

void ls_session_play_send_in_time(ls_session *session)
{
    if (session->now_ns - session->sent_ns >= ls_session_heartbeat_ns(session)) {
        ls_session_play_send_inputs(session);
    }
}

void ls_session_play_update(ls_session *session)
{
    ls_session_play_make_inputs(session);
    ls_session_play_send_due(session);
}

uint64_t ls_session_play_next_ns(const ls_session *session)
{
    if (session->config.is_spectator) {
        return UINT64_MAX;
    }
    bool is_making = is_wanted(session) && !is_held_back(session);
    uint64_t due_ns = is_making ? session->sync.next_due_ns : UINT64_MAX;
    uint64_t second_ns = second_send_ns(session);
    return due_ns < second_ns ? due_ns : second_ns;
}

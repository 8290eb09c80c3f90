/* Checks of each packet that a virtual match receives. I2: when each input reached the server,
 * found out here again from the bytes, so that the result of the server can be compared. I6: bytes
 * that are malformed beyond doubt are counted, at once and once. */
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/lab/faultsim/match_check_parts.h"
#include "lockstep/tests/lab/faultsim/step_observer.h"

#include <inttypes.h>
#include <string.h>

enum {
    INPUTS_KEPT_TICKS = 256, /* closed ticks for which a late input still counts as one */
};

/* Kinds that do not belong to the channel and the direction, and no bytes at all. */
static bool is_malformed(const ls_transport_event *event, bool is_to_server)
{
    uint32_t kind = ls_message_peek(event->bytes, event->size);
    if (event->channel == LS_CHANNEL_UNRELIABLE) {
        return is_to_server ? kind != LS_MESSAGE_INPUTS && kind != LS_MESSAGE_BLOB_ACK
                            : kind != LS_MESSAGE_TICKS && kind != LS_MESSAGE_TICK_PART &&
                                  kind != LS_MESSAGE_BLOB_PART;
    }
    return kind == 0 ||
           (kind > LS_MESSAGE_CHAT && kind != LS_MESSAGE_LOBBY && kind != LS_MESSAGE_NAMES);
}

static bool is_seated(const match_check *check, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        if (ls_match_slot_of(check->run->match, slot).peer == peer) {
            return true;
        }
    }
    return false;
}

static void check_rejection(match_check *check, uint64_t counted, const char *who, uint32_t number)
{
    if (check->must_be_rejected && counted == 0) {
        match_check_note(check, CHECK_I6, check->tick_count,
                         "malformed bytes for %s %u are not counted", who, number);
    } else if (counted > 1) {
        match_check_note(check, CHECK_I6, check->tick_count,
                         "one packet for %s %u counts %" PRIu64 " times", who, number, counted);
    }
}

/* ---- to the server ---- */

/* The client that was seated over this connection. It may have hung up since: what it sent before
 * is on its way still, and counts for as long as the server has not missed it. */
static client_check *client_of_peer(const match_check *check, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        if (check->by_slot[slot] && check->seated_as[slot] == peer) {
            return check->by_slot[slot];
        }
    }
    return NULL;
}

static uint8_t *held_at(const client_check *client, ls_tick tick)
{
    size_t bytes = client->check->run->setup.match.simulation->input_bytes_max;
    return client->held + tick % CHECK_INPUTS_HELD * bytes;
}

static void start_cursor(client_check *client, const ls_inputs_header *header)
{
    ls_slot_input base = {0};
    if (header->has_base && header->first > header->base_gap) {
        ls_tick tick = header->first - header->base_gap - 1;
        base.size = client->made_size[tick];
        base.bytes = held_at(client, tick);
    }
    ls_tick_cursor_start(client->check->cursor, 1, LS_INPUT_BYTES_MAX, &base);
}

/* A client sends what its player made and, where the simulation says which bits are edges and
 * buttons, the presses that were lost with earlier inputs. */
static void read_arriving(client_check *client, ls_tick tick)
{
    ls_slot_input input;
    ls_tick_cursor_inputs(client->check->cursor, &input);
    if (input.size > 0) {
        memcpy(held_at(client, tick), input.bytes, input.size);
    }
    if (client->check->run->setup.match.simulation->input_bits) {
        client->made[tick] = step_observer_digest(input.bytes, input.size);
        client->made_size[tick] = (uint16_t)input.size;
    }
}

/* Marks the inputs that the packet brings and that have not come before: the match may close them
 * while it reads the packet. */
static void mark_arriving(client_check *client, const ls_transport_event *event)
{
    match_check *check = client->check;
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(event->bytes, event->size);
    ls_inputs_header_bits(&stream, &header, client->acknowledged);
    if (header.next > client->acknowledged) {
        client->acknowledged = header.next;
    }
    start_cursor(client, &header);
    check->arriving_first = header.first;
    ls_tick tick = header.first;
    for (; ls_inputs_read_tick(&stream, check->cursor); tick++) {
        bool is_forgotten = tick + INPUTS_KEPT_TICKS < check->tick_count;
        if (!is_forgotten && client->arrived[tick] == CHECK_ARRIVED_NOT) {
            client->arrived[tick] = CHECK_ARRIVING;
            read_arriving(client, tick);
        }
    }
    check->arriving_end = tick;
}

/* The tick was closed without the input, and with the same: nothing has come too late. */
static bool is_repeated_rightly(const client_check *client, uint32_t slot, ls_tick tick)
{
    const match_check *check = client->check;
    return tick >= check->play_from[slot] && check->ticks[tick].inputs[slot] == client->made[tick];
}

/* Settles what has been marked. */
static void settle_arriving(client_check *client, bool is_rejected)
{
    const match_check *check = client->check;
    uint32_t slot = ls_session_report_of(client->core->session).slot;
    for (ls_tick tick = check->arriving_first; tick < check->arriving_end; tick++) {
        if (client->arrived[tick] != CHECK_ARRIVING) {
            continue;
        }
        bool is_late = tick < check->tick_count_before;
        client->arrived[tick] = is_rejected ? CHECK_ARRIVED_NOT
                                : is_late   ? CHECK_ARRIVED_LATE
                                            : CHECK_ARRIVED_IN_TIME;
        client->late += is_late && !is_rejected && !is_repeated_rightly(client, slot, tick);
    }
}

void match_check_receives(void *user, const ls_transport_event *event)
{
    match_check *check = user;
    check->rejected_before = ls_match_packets_rejected(check->run->match);
    check->received_before = check->allocations ? *check->allocations : 0;
    bool is_wrong = is_malformed(event, true);
    check->must_be_rejected = is_wrong && is_seated(check, event->peer);
    check->tick_count_before = check->tick_count;
    check->arriving = NULL;
    client_check *newest = match_check_client_of(check, event->peer);
    if (newest) {
        newest->heard_at_ns = check->run->now_ns;
    }
    client_check *client = client_of_peer(check, event->peer);
    if (client) {
        client->heard_ns = virtual_match_server_ns(check->run);
    }
    bool is_inputs = !is_wrong && event->channel == LS_CHANNEL_UNRELIABLE &&
                     ls_message_peek(event->bytes, event->size) == LS_MESSAGE_INPUTS &&
                     ls_match_state_of(check->run->match) != LS_MATCH_LOBBY;
    if (is_inputs && client && !client->is_fed_wrong && !client->is_dropped) {
        check->arriving = client;
        mark_arriving(client, event);
    }
}

/* A packet that is rejected takes no memory, unless its player is dropped for it and that brings
 * the first difference to light. */
static void check_rejected_memory(match_check *check)
{
    if (!check->allocations || *check->allocations == check->received_before) {
        return;
    }
    if (check->has_taken_for_causes) {
        match_check_note(check, CHECK_I5, check->tick_count,
                         "a packet that is rejected takes memory");
    }
    check->has_taken_for_causes = true;
}

void match_check_received(void *user, const ls_transport_event *event)
{
    match_check *check = user;
    uint64_t counted = ls_match_packets_rejected(check->run->match) - check->rejected_before;
    if (counted > 0) {
        virtual_log(check->run, "server: rejects a packet of peer %u", event->peer);
        check_rejected_memory(check);
    }
    if (check->must_be_rejected && !is_seated(check, event->peer)) {
        check->must_be_rejected = false; /* a dropped peer has been rejected as well */
    }
    check_rejection(check, counted, "the server, from peer", event->peer);
    if (check->arriving) {
        settle_arriving(check->arriving, counted > 0);
    }
}

/* ---- to a client ---- */

static uint64_t rejected_by(const client_check *client)
{
    return ls_session_report_of(client->core->session).packets_rejected;
}

void client_check_receives(client_check *client, const ls_transport_event *event)
{
    match_check *check = client->check;
    client->hearing_ns = virtual_client_ns(client->core);
    if (event->channel == LS_CHANNEL_UNRELIABLE) {
        client->ticks_ns = virtual_match_server_ns(check->run);
    }
    check->must_be_rejected =
        is_malformed(event, false) && ls_session_state_of(client->core->session) != LS_SESSION_OVER;
    if (check->must_be_rejected) {
        check->rejected_before = rejected_by(client);
    }
}

void client_check_received(client_check *client)
{
    match_check *check = client->check;
    if (check->must_be_rejected) {
        check_rejection(check, rejected_by(client) - check->rejected_before, "client",
                        client->core->index);
    }
}

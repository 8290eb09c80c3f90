/* What comes out of each packet that a virtual match receives. I2: which input reached the server
 * when: found out here again, from the bytes, so that what the server makes of it can be compared.
 * I6: what is malformed beyond doubt is counted, at once and once. */
#include "lockstep/tools/faultsim/virtual_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/wire/message.h"

#include <inttypes.h>

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
    return kind == 0 || kind > LS_MESSAGE_RESUMING;
}

static bool is_seated(const virtual_match *run, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        if (ls_match_slot_of(run->match, slot).peer == peer) {
            return true;
        }
    }
    return false;
}

static void check_rejection(virtual_match *run, uint64_t counted, const char *who, uint32_t number)
{
    if (run->must_be_rejected && counted == 0) {
        virtual_check_note(run, VIRTUAL_I6, run->tick_count,
                           "malformed bytes for %s %u are not counted", who, number);
    } else if (counted > 1) {
        virtual_check_note(run, VIRTUAL_I6, run->tick_count,
                           "one packet for %s %u counts %" PRIu64 " times", who, number, counted);
    }
}

/* ---- to the server ---- */

/* Whoever sat down over this connection. It may have hung up since: what it sent before is on its
 * way still, and counts for as long as the server has not missed it. */
static virtual_client *client_of_peer(const virtual_match *run, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        if (run->by_slot[slot] && run->seated_as[slot] == peer) {
            return run->by_slot[slot];
        }
    }
    return NULL;
}

/* The values of the base are of no interest here, its size is. */
static void start_cursor(virtual_client *client, const ls_inputs_header *header)
{
    static const uint8_t zeros[LS_INPUT_BYTES_MAX];
    ls_slot_input base = {.bytes = zeros};
    if (header->has_base && header->first > 0) {
        base.size = client->made_size[header->first - 1];
    }
    ls_tick_cursor_start(client->run->cursor, 1, LS_INPUT_BYTES_MAX, &base);
}

/* Marks the inputs that the packet brings and that have not come before: the match may close them
 * while it reads the packet. */
static void mark_arriving(virtual_client *client, const ls_transport_event *event)
{
    virtual_match *run = client->run;
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(event->bytes, event->size);
    ls_inputs_header_bits(&stream, &header, client->acknowledged);
    if (header.next > client->acknowledged) {
        client->acknowledged = header.next;
    }
    start_cursor(client, &header);
    run->arriving_first = header.first;
    ls_tick tick = header.first;
    for (; ls_inputs_read_tick(&stream, run->cursor); tick++) {
        bool is_forgotten = tick + INPUTS_KEPT_TICKS < run->tick_count;
        if (!is_forgotten && client->arrived[tick] == VIRTUAL_ARRIVED_NOT) {
            client->arrived[tick] = VIRTUAL_ARRIVING;
        }
    }
    run->arriving_end = tick;
}

/* Settles what has been marked. */
static void settle_arriving(virtual_client *client, bool is_rejected)
{
    const virtual_match *run = client->run;
    for (ls_tick tick = run->arriving_first; tick < run->arriving_end; tick++) {
        if (client->arrived[tick] != VIRTUAL_ARRIVING) {
            continue;
        }
        bool is_late = tick < run->tick_count_before;
        client->arrived[tick] = is_rejected ? VIRTUAL_ARRIVED_NOT
                                : is_late   ? VIRTUAL_ARRIVED_LATE
                                            : VIRTUAL_ARRIVED_IN_TIME;
        client->late += is_late && !is_rejected;
    }
}

void virtual_wire_before_match(virtual_match *run, const ls_transport_event *event)
{
    run->rejected_before = ls_match_packets_rejected(run->match);
    bool is_wrong = is_malformed(event, true);
    run->must_be_rejected = is_wrong && is_seated(run, event->peer);
    run->tick_count_before = run->tick_count;
    run->arriving = NULL;
    virtual_client *newest = virtual_match_client_of(run, event->peer);
    if (newest) {
        newest->heard_at_ns = run->now_ns;
    }
    virtual_client *client = client_of_peer(run, event->peer);
    if (client) {
        client->heard_ns = virtual_match_server_ns(run);
    }
    bool is_inputs = !is_wrong && event->channel == LS_CHANNEL_UNRELIABLE &&
                     ls_message_peek(event->bytes, event->size) == LS_MESSAGE_INPUTS &&
                     ls_match_state_of(run->match) != LS_MATCH_LOBBY;
    if (is_inputs && client && !client->is_fed_wrong && !client->is_dropped) {
        run->arriving = client;
        mark_arriving(client, event);
    }
}

void virtual_wire_after_match(virtual_match *run, const ls_transport_event *event)
{
    uint64_t counted = ls_match_packets_rejected(run->match) - run->rejected_before;
    if (counted > 0) {
        virtual_log(run, "server: rejects a packet of peer %u", event->peer);
    }
    if (run->must_be_rejected && !is_seated(run, event->peer)) {
        run->must_be_rejected = false; /* whoever is dropped for it has been rejected as well */
    }
    check_rejection(run, counted, "the server, from peer", event->peer);
    if (run->arriving) {
        settle_arriving(run->arriving, counted > 0);
    }
}

/* ---- to a client ---- */

static uint64_t rejected_by(const virtual_client *client)
{
    return ls_session_report_of(client->session).packets_rejected;
}

void virtual_wire_before_session(virtual_client *client, const ls_transport_event *event)
{
    virtual_match *run = client->run;
    client->hearing_ns = virtual_client_ns(client);
    if (event->channel == LS_CHANNEL_UNRELIABLE) {
        client->ticks_ns = virtual_match_server_ns(run);
    }
    run->must_be_rejected =
        is_malformed(event, false) && ls_session_state_of(client->session) != LS_SESSION_OVER;
    if (run->must_be_rejected) {
        run->rejected_before = rejected_by(client);
    }
}

void virtual_wire_after_session(virtual_client *client, const ls_transport_event *event)
{
    (void)event;
    virtual_match *run = client->run;
    if (run->must_be_rejected) {
        check_rejection(run, rejected_by(client) - run->rejected_before, "client", client->index);
    }
}

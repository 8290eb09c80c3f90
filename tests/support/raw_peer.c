#include "lockstep/tests/support/raw_peer.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/handshake.h"

#include <stdlib.h>
#include <string.h>

static void receive_join(raw_peer *peer, const ls_join *join)
{
    peer->join = *join;
    peer->confirmed = join->tick;
    peer->first_tick = 0;
    ls_blob_promise promise = {join->blob, join->blob_bytes, join->blob_hash};
    if (promise.bytes > 0) {
        ls_status status = ls_blob_receiver_create(promise.bytes, ls_allocator_heap(), &peer->blob);
        LS_ASSERT(status == LS_OK);
        status = ls_blob_receiver_start(peer->blob, &promise, peer->run->now_ns);
        LS_ASSERT(status == LS_OK);
    }
}

static void receive_message(raw_peer *peer, const uint8_t *bytes, size_t size)
{
    static ls_message message;
    uint32_t players = ls_match_players(peer->run->match);
    ls_status status = ls_message_read(bytes, size, players, &message);
    LS_ASSERT(status == LS_OK);
    if (message.kind == LS_MESSAGE_OFFER) {
        peer->offer = message.body.offer;
    } else if (message.kind == LS_MESSAGE_REFUSE) {
        peer->refusal = message.body.close_reason;
    } else if (message.kind == LS_MESSAGE_JOIN) {
        receive_join(peer, &message.body.join);
    } else if (message.kind == LS_MESSAGE_TICKS_REQUEST) {
        peer->request = message.body.ticks_request;
    } else if (message.kind == LS_MESSAGE_RESUMING) {
        peer->resuming = message.body.resuming;
    }
    if (peer->owner.message) {
        peer->owner.message(peer->owner.user, &message);
    }
}

static void receive_part(raw_peer *peer, const ls_transport_event *event)
{
    if (peer->blob && !peer->takes_no_parts) {
        ls_status status =
            ls_blob_receiver_receive_part(peer->blob, peer->run->now_ns, event->bytes, event->size);
        LS_ASSERT(status == LS_OK);
    }
}

static void acknowledge_parts(raw_peer *peer)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = 0;
    while (peer->blob && ls_blob_receiver_advance(peer->blob, 1)) {
    }
    while (peer->blob && !peer->takes_no_parts && !peer->is_closed &&
           (size = ls_blob_receiver_next(peer->blob, peer->run->now_ns, bytes)) > 0) {
        raw_peer_send(peer, LS_CHANNEL_UNRELIABLE, bytes, size);
    }
}

static void receive_ticks(raw_peer *peer, const uint8_t *bytes, size_t size)
{
    ls_ticks_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_ticks_header_bits(&stream, &header, peer->confirmed);
    peer->confirmed = header.first;
    bool has_tick = false;
    ls_bits_bool(&stream, &has_tick);
    if (has_tick && peer->first_tick == 0) {
        peer->first_tick = header.first;
    }
}

static void receive_packet(raw_peer *peer, const ls_transport_event *event)
{
    uint32_t kind = ls_message_peek(event->bytes, event->size);
    peer->heard[kind]++;
    if (event->channel == LS_CHANNEL_RELIABLE) {
        receive_message(peer, event->bytes, event->size);
    } else if (kind == LS_MESSAGE_TICKS && peer->owner.ticks) {
        peer->owner.ticks(peer->owner.user, event->bytes, event->size);
    } else if (kind == LS_MESSAGE_TICKS) {
        receive_ticks(peer, event->bytes, event->size);
    } else if (kind == LS_MESSAGE_BLOB_PART) {
        receive_part(peer, event);
    }
}

static void on_connection(raw_peer *peer, ls_peer_id server)
{
    peer->server = server;
    if (peer->owner.connected) {
        peer->owner.connected(peer->owner.user);
    }
}

static void pump(void *user)
{
    raw_peer *peer = user;
    ls_transport_event event;
    while (ls_transport_next_event(peer->transport, &event)) {
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            on_connection(peer, event.peer);
        } else if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            peer->is_closed = true;
        } else {
            receive_packet(peer, &event);
        }
    }
    acknowledge_parts(peer);
    if (peer->owner.turned) {
        peer->owner.turned(peer->owner.user);
    }
}

raw_peer *raw_peer_create(virtual_match *run)
{
    static const raw_peer_owner no_owner;
    ls_link_config link = {.delay_ns = LS_NS_PER_MS};
    return raw_peer_create_for(run, &link, &no_owner);
}

raw_peer *raw_peer_create_for(virtual_match *run, const ls_link_config *link,
                              const raw_peer_owner *owner)
{
    raw_peer *peer = calloc(1, sizeof *peer);
    LS_ASSERT(peer != NULL);
    peer->run = run;
    peer->owner = *owner;
    const virtual_dialer dialer = {.origin = owner->origin, .up = *link, .down = *link};
    peer->transport = run->network->operations->connect(run->network, &dialer);
    virtual_match_add_peer(run, (virtual_peer){pump, peer});
    return peer;
}

void raw_peer_destroy(raw_peer *peer)
{
    ls_blob_receiver_destroy(peer->blob);
    free(peer);
}

void raw_peer_send(raw_peer *peer, ls_channel channel, const uint8_t *bytes, size_t size)
{
    ls_transport_send(peer->transport, peer->server, channel, bytes, size);
}

void raw_peer_send_message(raw_peer *peer, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message sent = *message;
    sent.players = peer->offer.config.players;
    raw_peer_send(peer, LS_CHANNEL_RELIABLE, bytes, ls_message_write(&sent, bytes));
}

void raw_peer_send_kind(raw_peer *peer, ls_message_kind kind)
{
    ls_message message = {.kind = kind};
    if (kind == LS_MESSAGE_OFFER) {
        message.body.offer = peer->offer; /* all zero would not be a valid one */
    } else if (kind == LS_MESSAGE_HASH_REQUEST) {
        message.body.hash_request.count = 1;
    }
    raw_peer_send_message(peer, &message);
}

void raw_peer_say_hello(raw_peer *peer)
{
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    raw_peer_send_message(peer, &message);
}

void raw_peer_join(raw_peer *peer)
{
    virtual_match_run(peer->run, 5 * LS_NS_PER_MS);
    raw_peer_say_hello(peer);
    virtual_match_run(peer->run, 5 * LS_NS_PER_MS);
    LS_ASSERT(peer->heard[LS_MESSAGE_OFFER] == 1);
    raw_peer_say_ready(peer);
}

void raw_peer_say_back(raw_peer *peer, const ls_offer *offer, const ls_return *claim)
{
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    ls_return *back = &message.body.hello.back;
    *back = *claim;
    if (back->hashed_tick == 0 && back->hash_chain == 0) { /* it has hashed no other state */
        back->hash_chain = (uint32_t)ls_hash_chain_start(
            ls_ready_make(ls_match_instance(peer->run->match)).initial_hash);
    }
    back->match_id = offer->match_id;
    memcpy(back->secret, offer->secret, sizeof back->secret);
    raw_peer_send_message(peer, &message);
}

void raw_peer_say_ready(raw_peer *peer)
{
    ls_message message = {.kind = LS_MESSAGE_READY};
    message.body.ready = ls_ready_make(ls_match_instance(peer->run->match));
    raw_peer_send_message(peer, &message);
}

void raw_peer_send_joined(raw_peer *peer, ls_tick tick, uint64_t state_hash, ls_tick first_input)
{
    ls_message message = {.kind = LS_MESSAGE_JOINED,
                          .body.joined = {tick, state_hash, first_input}};
    raw_peer_send_message(peer, &message);
}

void raw_peer_say_joined(raw_peer *peer, ls_tick first_input)
{
    ls_tick tick = ls_match_tick(peer->run->match);
    uint64_t state_hash = 0;
    bool is_held = ls_match_hash_of_tick(peer->run->match, tick, &state_hash);
    LS_ASSERT(is_held);
    raw_peer_send_joined(peer, tick, state_hash, first_input);
}

void raw_peer_send_closed_tick(raw_peer *peer, const ls_tick_inputs *inputs)
{
    static const ls_slot_input empty[LS_PLAYERS_MAX];
    ls_message message = {.kind = LS_MESSAGE_CLOSED_TICK,
                          .body.closed_tick = {.tick = inputs->tick}};
    ls_tick_part *part = &message.body.closed_tick;
    ls_bit_stream stream = ls_bit_writer(part->bytes, sizeof part->bytes);
    bool is_whole = ls_ticks_write_tick(&stream, inputs->slot_count, empty, inputs->slots);
    LS_ASSERT(is_whole);
    part->size = (uint32_t)ls_bits_size_bytes(&stream);
    part->total_bytes = part->size;
    raw_peer_send_message(peer, &message);
}

ls_inputs_header raw_peer_inputs_header(raw_peer *peer)
{
    ls_sim_instance *instance = ls_match_instance(peer->run->match);
    ls_tick closed = ls_match_tick(peer->run->match);
    return (ls_inputs_header){
        .sequence = peer->sequence++,
        .next = closed,
        .hold = LS_HOLD_NONE,
        .chain_tick = 0,
        .chain = (uint32_t)ls_hash_chain_start(ls_sim_instance_digests(instance).initial),
        .first = closed,
    };
}

size_t raw_peer_write_inputs(const ls_inputs_header *header, uint32_t count,
                             uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    ls_inputs_header written = *header;
    ls_bit_stream stream = ls_bit_writer(bytes, LS_PACKET_BYTES_MAX);
    ls_inputs_header_bits(&stream, &written, 0);
    ls_slot_input before = {0};
    uint8_t value = 0;
    for (uint32_t i = 0; i < count; i++) {
        value = (uint8_t)(header->first + i);
        ls_slot_input input = {.bytes = &value, .size = 1};
        bool is_written = ls_inputs_write_tick(&stream, &before, &input);
        LS_ASSERT(is_written);
    }
    ls_tick_packet_write_end(&stream);
    return ls_bits_size_bytes(&stream);
}

void raw_peer_send_inputs(raw_peer *peer, const ls_inputs_header *header, uint32_t count)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    raw_peer_send(peer, LS_CHANNEL_UNRELIABLE, bytes, raw_peer_write_inputs(header, count, bytes));
}

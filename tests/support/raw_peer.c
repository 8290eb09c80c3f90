#include "lockstep/tests/support/raw_peer.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"
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

/* ==== the raw spectator ==== */

#define INPUTS_NS (100 * LS_NS_PER_MS)

ls_tick raw_spectator_tick(const raw_spectator *spectator)
{
    return spectator->instance ? ls_sim_instance_tick(spectator->instance) : 0;
}

/* ---- the handshake ---- */

static void say_hello(void *user)
{
    raw_spectator *spectator = user;
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    message.body.hello.is_spectator = true;
    if (spectator->peer->offer.match_id != 0) {
        message.body.hello.back = (ls_return){.match_id = spectator->peer->offer.match_id,
                                              .confirmed = raw_spectator_tick(spectator),
                                              .tick_chain = spectator->tick_chain};
    }
    raw_peer_send_message(spectator->peer, &message);
}

static void make_simulation(raw_spectator *spectator)
{
    ls_text why;
    ls_status status = ls_sim_instance_create(spectator->run->setup.match.simulation,
                                              &spectator->peer->offer.config, ls_allocator_heap(),
                                              &spectator->instance, &why);
    LS_ASSERT(status == LS_OK);
    ls_input_buffer_config config = {.slots = spectator->peer->offer.config.players,
                                     .input_bytes_max =
                                         spectator->run->setup.match.simulation->input_bytes_max,
                                     .window_ticks = 4 * LS_WINDOW_TICKS};
    status = ls_input_buffer_create(&config, ls_allocator_heap(), &spectator->received);
    LS_ASSERT(status == LS_OK);
    spectator->chain = ls_hash_chain_start(ls_sim_instance_hash(spectator->instance));
    spectator->tick_chain = LS_TICK_CHAIN_START;
}

static void receive_offer(raw_spectator *spectator)
{
    if (!spectator->instance) {
        make_simulation(spectator);
    }
    raw_peer_say_ready(spectator->peer);
}

static void say_joined(raw_spectator *spectator)
{
    ls_message message = {.kind = LS_MESSAGE_JOINED};
    spectator->has_state = true;
    spectator->first_chain_tick = spectator->chain_tick;
    spectator->first_chain = spectator->chain;
    if (spectator->is_lazy) {
        return;
    }
    message.body.joined.tick = spectator->peer->join.tick;
    message.body.joined.state_hash = spectator->state_hash;
    raw_peer_send_message(spectator->peer, &message);
}

static void spectator_receive_join(raw_spectator *spectator, const ls_join *join)
{
    spectator->has_join = true;
    spectator->next = join->tick;
    spectator->last_heard_ns = 0;
    if (join->source != LS_JOIN_HELD) {
        ls_input_buffer_restart(spectator->received, join->tick);
        return;
    }
    LS_ASSERT(join->tick == raw_spectator_tick(spectator));
    LS_ASSERT(join->tick_chain == spectator->tick_chain);
    spectator->state_hash = ls_sim_instance_hash(spectator->instance);
    say_joined(spectator);
}

static void receive_blob(raw_spectator *spectator)
{
    const ls_blob_receiver *blob = spectator->peer->blob;
    if (spectator->has_state || ls_blob_receiver_state_of(blob) != LS_BLOB_COMPLETE) {
        return;
    }
    ls_status status =
        ls_sim_instance_load(spectator->instance, ls_blob_receiver_bytes(blob),
                             spectator->peer->join.blob_bytes, spectator->peer->join.tick);
    LS_ASSERT(status == LS_OK);
    spectator->state_hash = ls_sim_instance_hash(spectator->instance);
    LS_ASSERT(spectator->state_hash == spectator->peer->join.state_hash);
    spectator->chain_tick = spectator->peer->join.chain_tick;
    spectator->chain = spectator->peer->join.chain;
    spectator->tick_chain = spectator->peer->join.tick_chain;
    say_joined(spectator);
}

/* ---- closed ticks ---- */

static void note_received(raw_spectator *spectator)
{
    uint64_t now_ns = spectator->run->now_ns;
    spectator->ticks_heard++;
    spectator->same_heard = now_ns == spectator->last_heard_ns ? spectator->same_heard + 1 : 1;
    if (spectator->same_heard > spectator->most_heard) {
        spectator->most_heard = spectator->same_heard;
    }
    if (spectator->last_heard_ns != 0 &&
        now_ns - spectator->last_heard_ns > spectator->longest_pause_ns) {
        spectator->longest_pause_ns = now_ns - spectator->last_heard_ns;
    }
    spectator->last_heard_ns = now_ns;
}

static void note_delay(raw_spectator *spectator, ls_tick next_before)
{
    ls_tick ahead = ls_match_tick(spectator->run->match) - spectator->next;
    bool is_running = ls_match_state_of(spectator->run->match) == LS_MATCH_RUNNING;
    if (is_running && spectator->next > next_before && ahead < spectator->least_delay) {
        spectator->least_delay = ahead;
    }
}

static void spectator_receive_ticks(void *user, const uint8_t *bytes, size_t size)
{
    raw_spectator *spectator = user;
    if (!spectator->has_join) {
        return;
    }
    ls_ticks_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_ticks_header_bits(&stream, &header, spectator->next);
    LS_ASSERT(!stream.is_failed);
    note_received(spectator);
    if (header.first > spectator->next) {
        return; /* what was before it was lost, and comes once it has said so */
    }
    ls_tick next = spectator->next;
    ls_slot_input base[LS_PLAYERS_MAX] = {{0}};
    bool is_alone = header.first == 0 || (header.first == spectator->peer->join.tick &&
                                          spectator->peer->join.source != LS_JOIN_HELD);
    if (!is_alone && ls_input_buffer_tick(spectator->received, header.first - 1, base) != LS_OK) {
        return;
    }
    ls_tick_cursor_start(spectator->cursor, spectator->peer->offer.config.players,
                         LS_INPUT_BYTES_MAX, base);
    for (ls_tick tick = header.first; ls_ticks_read_tick(&stream, spectator->cursor); tick++) {
        if (tick < spectator->next) {
            continue;
        }
        ls_slot_input inputs[LS_PLAYERS_MAX];
        ls_tick_cursor_inputs(spectator->cursor, inputs);
        for (uint32_t slot = 0; slot < spectator->peer->offer.config.players; slot++) {
            ls_status status =
                ls_input_buffer_put(spectator->received, tick, slot, inputs[slot].bytes,
                                    inputs[slot].size, inputs[slot].events);
            LS_ASSERT(status == LS_OK);
        }
        spectator->next = tick + 1;
    }
    LS_ASSERT(ls_bits_is_complete(&stream));
    note_delay(spectator, next);
}

static void step(raw_spectator *spectator)
{
    uint32_t players = spectator->peer->offer.config.players;
    while (!spectator->is_lazy && raw_spectator_tick(spectator) < spectator->next) {
        ls_slot_input inputs[LS_PLAYERS_MAX];
        ls_tick tick = raw_spectator_tick(spectator);
        ls_status status = ls_input_buffer_tick(spectator->received, tick, inputs);
        LS_ASSERT(status == LS_OK);
        ls_tick_inputs all = {.tick = tick, .slot_count = players, .slots = inputs};
        spectator->tick_chain = ls_tick_chain_next(spectator->tick_chain, &all);
        ls_sim_instance_step(spectator->instance, &all);
        if (tick + 1 > LS_WINDOW_TICKS) {
            ls_input_buffer_forget_before(spectator->received, tick + 1 - LS_WINDOW_TICKS);
        }
        spectator->state_hash = ls_sim_instance_hash(spectator->instance);
        if ((tick + 1) % spectator->peer->offer.hash_interval_ticks == 0) {
            spectator->chain_tick = tick + 1;
            spectator->chain = ls_hash_chain_next(spectator->chain, spectator->state_hash);
        }
    }
}

/* ---- what it says ---- */

static void send_inputs(raw_spectator *spectator)
{
    bool is_told_wrong = spectator->is_wrong || spectator->is_altered;
    spectator->is_altered = false;
    ls_tick next = spectator->is_stuck ? spectator->peer->join.tick : spectator->next;
    ls_inputs_header header = {.sequence = spectator->peer->sequence++,
                               .next = next,
                               .hold = LS_HOLD_NONE,
                               .chain_tick = spectator->chain_tick,
                               .chain = (uint32_t)spectator->chain + (is_told_wrong ? 1 : 0),
                               .first = next};
    if (spectator->is_stuck) {
        header.chain_tick = spectator->first_chain_tick;
        header.chain = (uint32_t)spectator->first_chain;
    }
    raw_peer_send_inputs(spectator->peer, &header, 0);
    spectator->sent_ns = spectator->run->now_ns;
}

static void say_finished(raw_spectator *spectator)
{
    ls_message message = {.kind = LS_MESSAGE_FINISHED};
    message.body.finished = (ls_finished){.tick = raw_spectator_tick(spectator),
                                          .state_hash = spectator->state_hash,
                                          .chain_tick = spectator->chain_tick,
                                          .chain = (uint32_t)spectator->chain};
    raw_peer_send_message(spectator->peer, &message);
    spectator->has_finished = true;
}

static void act(void *user)
{
    raw_spectator *spectator = user;
    raw_peer *peer = spectator->peer;
    peer->takes_no_parts = spectator->is_silent;
    if (peer->is_closed || peer->server == 0 || spectator->peer->offer.match_id == 0) {
        return;
    }
    if (peer->blob) {
        receive_blob(spectator);
    }
    if (spectator->has_state && !spectator->has_finished) {
        step(spectator);
    }
    if (spectator->is_silent || spectator->has_finished) {
        return;
    }
    if (spectator->leave_tick != 0 && raw_spectator_tick(spectator) >= spectator->leave_tick) {
        ls_transport_disconnect(peer->transport, peer->server);
        spectator->is_silent = true;
        return;
    }
    bool is_at_end =
        spectator->has_end && spectator->end.final_tick == raw_spectator_tick(spectator);
    if (is_at_end && spectator->has_state && !spectator->is_lazy && !spectator->is_stuck) {
        say_finished(spectator);
    } else if (spectator->run->now_ns - spectator->sent_ns >= INPUTS_NS) {
        send_inputs(spectator);
    }
}

/* ---- life ---- */

static void spectator_receive_message(void *user, const ls_message *message)
{
    raw_spectator *spectator = user;
    if (message->kind == LS_MESSAGE_OFFER) {
        receive_offer(spectator);
    } else if (message->kind == LS_MESSAGE_JOIN) {
        spectator_receive_join(spectator, &message->body.join);
    } else if (message->kind == LS_MESSAGE_END) {
        spectator->end = message->body.end;
        spectator->has_end = true;
    }
}

raw_spectator *raw_spectator_create(virtual_match *run, const ls_link_config *link,
                                    raw_spectator *before)
{
    raw_spectator *spectator = calloc(1, sizeof *spectator);
    LS_ASSERT(spectator != NULL);
    spectator->cursor = calloc(1, sizeof *spectator->cursor);
    LS_ASSERT(spectator->cursor != NULL);
    spectator->run = run;
    spectator->least_delay = UINT32_MAX;
    raw_peer_owner owner = {.connected = say_hello,
                            .message = spectator_receive_message,
                            .ticks = spectator_receive_ticks,
                            .turned = act,
                            .user = spectator};
    spectator->peer = raw_peer_create_for(run, link, &owner);
    if (before) {
        spectator->peer->offer = before->peer->offer;
        spectator->instance = before->instance;
        spectator->received = before->received;
        spectator->chain_tick = before->chain_tick;
        spectator->chain = before->chain;
        spectator->tick_chain = before->tick_chain;
        spectator->state_hash = before->state_hash;
        spectator->next = raw_spectator_tick(spectator);
        before->instance = NULL;
        before->received = NULL;
        before->peer->is_closed = true;
    }
    return spectator;
}

void raw_spectator_destroy(raw_spectator *spectator)
{
    raw_peer_destroy(spectator->peer);
    ls_input_buffer_destroy(spectator->received);
    ls_sim_instance_destroy(spectator->instance);
    free(spectator->cursor);
    free(spectator);
}

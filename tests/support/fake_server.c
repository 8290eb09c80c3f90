#include "lockstep/tests/support/fake_server.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    BLOB_BYTES_MAX = 4 << 20,
    BLOCK_TICKS = 100, /* of a history */
    BLOCK_BYTES = 16384,
};

/* ---- what the session does ---- */

static void keep_reliable(fake_server *fake, const ls_message *message)
{
    switch (message->kind) {
    case LS_MESSAGE_HELLO:
        fake->hello = message->body.hello;
        return;
    case LS_MESSAGE_READY:
        fake->ready_count++;
        return;
    case LS_MESSAGE_JOINED:
        fake->joined = message->body.joined;
        fake->joined_count++;
        return;
    case LS_MESSAGE_GOODBYE:
        fake->goodbye = message->body.close_reason;
        fake->has_goodbye = true;
        return;
    case LS_MESSAGE_FINISHED:
        fake->finished_count++;
        return;
    case LS_MESSAGE_CLOSED_TICK:
        cr_assert_lt(fake->closed_tick_count, FAKE_CLOSED_MAX);
        fake->closed_ticks[fake->closed_tick_count++] = message->body.closed_tick;
        return;
    case LS_MESSAGE_CHAT:
        fake->chat = message->body.chat;
        return;
    case LS_MESSAGE_HASHES:
        return;
    default:
        cr_assert_fail("a client does not send kind %d", (int)message->kind);
    }
}

static void keep_inputs(fake_server *fake, const uint8_t *bytes, size_t size)
{
    static ls_tick_cursor cursor;
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &fake->inputs, fake_server_report(fake).confirmed);
    cr_assert_not(stream.is_failed);
    cr_assert_leq(fake->inputs.next, fake->closed);
    ls_tick_cursor_start(&cursor, 1, COUNTER_INPUT_BYTES_MAX, NULL);
    fake->inputs_carried = 0;
    while (ls_inputs_read_tick(&stream, &cursor)) {
        fake->inputs_carried++;
    }
    cr_assert(ls_bits_is_complete(&stream));
    fake->inputs_sent++;
}

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    static ls_message message;
    fake_server *fake = user;
    cr_assert_eq(peer, fake->peer, "sent to a connection that is gone");
    fake->packets++;
    if (channel == LS_CHANNEL_RELIABLE) {
        cr_assert_eq(ls_message_read(bytes, size, FAKE_SLOTS, &message), LS_OK);
        keep_reliable(fake, &message);
        return;
    }
    ls_blob_ack ack;
    if (ls_blob_ack_read(bytes, size, &ack) == LS_OK) {
        fake->blob_acks++;
        return;
    }
    keep_inputs(fake, bytes, size);
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    fake_server *fake = user;
    cr_assert_eq(peer, fake->peer);
    fake->disconnections++;
}

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const fake_server *fake = user;
    return strcmp(name, fake->simulation.name) == 0 ? &fake->simulation : NULL;
}

/* ---- life ---- */

void fake_server_open(fake_server *fake, const ls_session_config *config)
{
    ls_session_config own = *config;
    *fake = (fake_server){.simulation = *counter_simulation(), .now_ns = LS_NS_PER_SECOND};
    if (!own.find_simulation) {
        own.find_simulation = find_simulation;
        own.user = fake;
    }
    ls_packet_sink sink = {on_send, on_disconnect, fake};
    cr_assert_eq(ls_session_create(&own, &sink, ls_allocator_heap(), &fake->session, NULL), LS_OK);
    cr_assert_eq(ls_blob_create(BLOB_BYTES_MAX, ls_allocator_heap(), &fake->blob), LS_OK);
    ls_offer *offer = &fake->offer;
    offer->match_id = FAKE_MATCH_ID;
    memset(offer->secret, 0x5e, sizeof offer->secret);
    ls_name_copy(offer->simulation, sizeof offer->simulation, fake->simulation.name);
    offer->simulation_version = fake->simulation.version;
    offer->config = ls_sim_config_default(&fake->simulation);
    offer->config.tick_rate_hz = 100;
    offer->config.players = FAKE_SLOTS;
    offer->hash_interval_ticks = 1;
    offer->timeout_ms = 10000;
    offer->is_running = true;
    offer->is_spectator = own.is_spectator;
}

void fake_server_close(fake_server *fake)
{
    ls_session_destroy(fake->session);
    ls_sim_instance_destroy(fake->instance);
    ls_blob_destroy(fake->blob);
    ls_release(ls_allocator_heap(), fake->raw);
}

static void start_match(fake_server *fake)
{
    cr_assert_eq(ls_sim_instance_create(&fake->simulation, &fake->offer.config, ls_allocator_heap(),
                                        &fake->instance, NULL),
                 LS_OK);
    fake->state_hashes[0] = ls_sim_instance_hash(fake->instance);
    fake->chains[0] = ls_hash_chain_start(fake->state_hashes[0]);
    fake->tick_chains[0] = LS_TICK_CHAIN_START;
}

/* ---- the match ---- */

void fake_server_inputs(ls_tick tick, uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX],
                        ls_slot_input slots[FAKE_SLOTS])
{
    for (uint32_t slot = 0; slot < FAKE_SLOTS; slot++) {
        uint32_t size = 1 + (tick + slot) % 3;
        for (uint32_t i = 0; i < size; i++) {
            bytes[slot][i] = (uint8_t)(tick / 10 + slot + i);
        }
        slots[slot] = (ls_slot_input){bytes[slot], size, tick == 0 ? (uint32_t)LS_EVENT_JOINED : 0};
    }
}

void fake_server_close_ticks(fake_server *fake, uint32_t count)
{
    uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX];
    ls_slot_input slots[FAKE_SLOTS];
    for (; count > 0; count--) {
        ls_tick tick = fake->closed;
        cr_assert_lt(tick, FAKE_TICKS_MAX);
        fake_server_inputs(tick, bytes, slots);
        ls_tick_inputs inputs = {.tick = tick, .slot_count = FAKE_SLOTS, .slots = slots};
        ls_sim_instance_step(fake->instance, &inputs);
        fake->closed = tick + 1;
        fake->state_hashes[tick + 1] = ls_sim_instance_hash(fake->instance);
        fake->tick_chains[tick + 1] = ls_tick_chain_next(fake->tick_chains[tick], &inputs);
        fake->chains[tick + 1] =
            (tick + 1) % fake->offer.hash_interval_ticks == 0
                ? ls_hash_chain_next(fake->chains[tick], fake->state_hashes[tick + 1])
                : fake->chains[tick];
    }
}

/* ---- messages ---- */

static void send_bytes(fake_server *fake, ls_channel channel, const uint8_t *bytes, size_t size)
{
    ls_session_receive(fake->session, channel, bytes, size, fake->now_ns);
}

void fake_server_send(fake_server *fake, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message sent = *message;
    sent.players = FAKE_SLOTS;
    size_t size = ls_message_write(&sent, bytes);
    send_bytes(fake, LS_CHANNEL_RELIABLE, bytes, size);
}

void fake_server_connect(fake_server *fake)
{
    fake->peer = 100 + ++fake->connections;
    fake->sequence = 0;
    const ls_transport_event event = {
        .kind = LS_TRANSPORT_CONNECTED, .peer = fake->peer, .rtt_ns = fake->connect_rtt_ns};
    ls_session_receive_event(fake->session, &event, fake->now_ns);
}

void fake_server_send_offer(fake_server *fake)
{
    if (!fake->instance) {
        start_match(fake);
    }
    ls_message message = {.kind = LS_MESSAGE_OFFER, .body.offer = fake->offer};
    fake_server_send(fake, &message);
}

void fake_server_send_start(fake_server *fake)
{
    ls_message message = {.kind = LS_MESSAGE_START};
    message.body.start.delay_us = 100000;
    fake_server_send(fake, &message);
}

void fake_server_send_join(fake_server *fake, const ls_join *join)
{
    ls_message message = {.kind = LS_MESSAGE_JOIN, .body.join = *join};
    if (join->source != LS_JOIN_HELD) {
        fake->keyframe_tick = join->tick;
    }
    fake_server_send(fake, &message);
}

/* ---- blobs ---- */

void fake_server_set_blob(fake_server *fake, ls_join *join, const uint8_t *bytes, uint32_t size)
{
    uint8_t *raw = ls_allocate(ls_allocator_heap(), size);
    memcpy(raw, bytes, size);
    ls_release(ls_allocator_heap(), fake->raw);
    fake->raw = raw;
    memcpy(ls_blob_start(fake->blob, size), raw, size);
    ls_blob_seal(fake->blob);
    while (!ls_blob_advance(fake->blob, 16)) {
    }
    join->blob_bytes = size;
    join->blob_hash = ls_blob_hash(fake->blob);
}

void fake_server_send_blob(fake_server *fake, const ls_join *join)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    for (uint32_t i = 0; i < ls_blob_part_count(fake->blob); i++) {
        ls_blob_part part = ls_blob_part_at(fake->blob, i);
        part.blob = join->blob;
        part.packet = i;
        size_t size = ls_blob_part_write(&part, bytes);
        send_bytes(fake, LS_CHANNEL_UNRELIABLE, bytes, size);
    }
}

static uint32_t write_block(const fake_server *fake, ls_tick first, ls_tick end, uint8_t *to)
{
    static ls_tick_block_writer writer;
    uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX];
    ls_slot_input slots[FAKE_SLOTS];
    ls_tick_block_start(&writer, to + 4, BLOCK_BYTES, FAKE_SLOTS);
    for (ls_tick tick = first; tick < end; tick++) {
        fake_server_inputs(tick, bytes, slots);
        ls_tick_inputs inputs = {.tick = tick, .slot_count = FAKE_SLOTS, .slots = slots};
        bool is_hashed = (tick + 1) % fake->offer.hash_interval_ticks == 0;
        bool is_added =
            ls_tick_block_add(&writer, &inputs, is_hashed ? fake->state_hashes[tick + 1] : 0);
        cr_assert(is_added);
    }
    uint32_t size = (uint32_t)ls_tick_block_finish(&writer, fake->tick_chains[end]);
    ls_store_u32(to, size);
    return size + 4;
}

static void make_history(fake_server *fake, ls_join *join)
{
    static uint8_t bytes[FAKE_TICKS_MAX / BLOCK_TICKS * BLOCK_BYTES + 2 * BLOCK_BYTES];
    uint32_t size = 0;
    for (ls_tick tick = 0; tick < fake->closed; tick += BLOCK_TICKS) {
        ls_tick end = tick + BLOCK_TICKS < fake->closed ? tick + BLOCK_TICKS : fake->closed;
        size += write_block(fake, tick, end, bytes + size);
    }
    fake_server_set_blob(fake, join, bytes, size);
}

static void make_snapshot(fake_server *fake, ls_join *join)
{
    size_t size = ls_sim_instance_save_bytes(fake->instance);
    uint8_t *bytes = ls_allocate(ls_allocator_heap(), size);
    cr_assert_eq(ls_sim_instance_save(fake->instance, bytes), LS_OK);
    fake_server_set_blob(fake, join, bytes, (uint32_t)size);
    ls_release(ls_allocator_heap(), bytes);
}

ls_join fake_server_make_join(fake_server *fake, ls_join_source source)
{
    uint32_t interval = fake->offer.hash_interval_ticks;
    ls_join join = {.source = source,
                    .tick = fake->closed,
                    .next_close = fake->closed,
                    .next_close_us = 10000,
                    .blob = 3,
                    .names = {"anna", "bert"}};
    if (source == LS_JOIN_HELD) {
        join.tick = fake->hello.back.confirmed;
        join.tick_chain = fake->tick_chains[join.tick];
        return join;
    }
    join.state_hash = fake->state_hashes[join.tick];
    join.chain_tick = join.tick / interval * interval;
    join.chain = fake->chains[join.tick];
    join.tick_chain = fake->tick_chains[join.tick];
    if (source == LS_JOIN_SNAPSHOT) {
        make_snapshot(fake, &join);
    } else {
        make_history(fake, &join);
    }
    return join;
}

/* ---- ticks ---- */

static void tick_before(const fake_server *fake, ls_tick tick,
                        uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX],
                        ls_slot_input slots[FAKE_SLOTS])
{
    if (tick == 0 || tick == fake->keyframe_tick) {
        memset(slots, 0, FAKE_SLOTS * sizeof slots[0]);
    } else {
        fake_server_inputs(tick - 1, bytes, slots);
    }
}

void fake_server_send_ticks_to(fake_server *fake, ls_tick end)
{
    uint8_t packet[LS_PACKET_BYTES_MAX];
    uint8_t bytes[2][FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX];
    ls_slot_input slots[2][FAKE_SLOTS];
    ls_tick confirmed = fake_server_report(fake).confirmed;
    ls_tick tick = LS_MAX(confirmed, fake->sends_from);
    while (tick < end) {
        ls_bit_stream stream = ls_bit_writer(packet, sizeof packet);
        ls_ticks_header header = {.sequence = fake->sequence++,
                                  .first = tick,
                                  .hold = LS_HOLD_NONE,
                                  .wanted = fake->acknowledges_nothing ? 0 : tick,
                                  .slack = fake->has_slack ? fake->slack : LS_SLACK_NONE};
        ls_ticks_header_bits(&stream, &header, 0);
        for (; tick < end; tick++) {
            tick_before(fake, tick, bytes[0], slots[0]);
            fake_server_inputs(tick, bytes[1], slots[1]);
            if (!ls_ticks_write_tick(&stream, FAKE_SLOTS, slots[0], slots[1])) {
                break;
            }
        }
        ls_tick_packet_write_end(&stream);
        send_bytes(fake, LS_CHANNEL_UNRELIABLE, packet, ls_bits_size_bytes(&stream));
    }
}

void fake_server_send_ticks(fake_server *fake)
{
    fake_server_send_ticks_to(fake, fake->closed);
}

void fake_server_send_tick_in_parts(fake_server *fake, ls_tick tick,
                                    const ls_slot_input before[FAKE_SLOTS],
                                    const ls_slot_input now[FAKE_SLOTS])
{
    static uint8_t whole[LS_TICK_BYTES_MAX];
    uint8_t packet[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(whole, sizeof whole);
    cr_assert(ls_ticks_write_tick(&stream, FAKE_SLOTS, before, now));
    uint32_t size = (uint32_t)ls_bits_size_bytes(&stream);
    for (uint32_t index = 0; index < ls_tick_part_count(size); index++) {
        ls_tick_part part = {.tick = tick, .total_bytes = size, .index = index};
        part.size = ls_tick_part_size(size, index);
        memcpy(part.bytes, whole + (size_t)index * LS_TICK_PART_BYTES, part.size);
        stream = ls_bit_writer(packet, sizeof packet);
        ls_tick_part_bits(&stream, &part);
        send_bytes(fake, LS_CHANNEL_UNRELIABLE, packet, ls_bits_size_bytes(&stream));
    }
}

/* ---- time ---- */

void fake_server_frame(fake_server *fake)
{
    fake->now_ns += FAKE_DT_NS;
    ls_session_frame(fake->session, fake->now_ns);
}

void fake_server_frame_on(fake_server *fake, uint32_t frames)
{
    for (; frames > 0; frames--) {
        fake_server_close_ticks(fake, 1);
        fake_server_send_ticks(fake);
        fake_server_frame(fake);
    }
}

bool fake_server_find_event(fake_server *fake, ls_session_event_kind kind, ls_session_event *event)
{
    static ls_session_event next;
    bool is_found = false;
    while (ls_session_next_event(fake->session, &next)) {
        if (next.kind == kind) {
            *event = next;
            is_found = true;
        }
    }
    return is_found;
}

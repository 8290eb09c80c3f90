/* Fuzzes a session that comes into a running match, loses its link and comes back, against a
 * hostile server: the bytes drive what the server says of the state that it sends, what it sends,
 * which ticks come meanwhile, and when links are lost. In any case the session sends only what
 * PROTOCOL.md allows, to the connection that it has, steps to no state but one whose state hash is
 * the server's word, and gives back all memory.
 *
 *   u8 setup      bits 0-1 players less one; bit 2 predicts; bit 3 watches; bit 4 no reconnecting;
 *                 bit 5 inputs are made between frames; bits 6-7 hash interval less one
 *   then moves:   u8: bits 0-3 the move; then what the move takes
 */
#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/blob/blob.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/fuzz/fuzz_memory.h"
#include "lockstep/tests/fuzz/fuzz_peer.h"
#include "lockstep/tests/support/counter_simulation.h"

#include <string.h>

enum {
    MOVES_MAX = 300,
    HISTORY_TICKS_MAX = 64,
    BLOB_BYTES_MAX = 1 << 16,
    PREDICT_TICKS = 8,
    RECONNECT_MS = 30000,
    TRANSFER_MAX = 1 << 20, /* of a size that is only claimed */
};

typedef struct hostile_server {
    fuzz_input input;
    ls_session *session;
    ls_bot bot;
    ls_sim_instance *instance; /* what the server plays, on empty inputs */
    uint64_t chain;            /* of state hashes */
    uint64_t tick_chain;
    uint64_t state_hashes[HISTORY_TICKS_MAX + 1]; /* of the first ticks */
    uint64_t tick_chains[HISTORY_TICKS_MAX + 1];
    ls_blob *blob;
    ls_offer offer;
    ls_join join;    /* the newest that was sent */
    ls_peer_id peer; /* 0: no connection */
    uint32_t peers;
    uint32_t work; /* frames that were drawn, and what took as long */
    ls_tick keyframe;
    uint32_t sequence;
    uint64_t now_ns;
} hostile_server;

/* ---- what the session does ---- */

/* It is coded by itself: its reader holds no tick before it. */
static void check_closed_tick(const hostile_server *server, const ls_tick_part *part)
{
    static ls_tick_cursor cursor;
    ls_bit_stream stream = ls_bit_reader(part->bytes, part->size);
    LS_ASSERT(part->tick < ls_session_report_of(server->session).confirmed);
    LS_ASSERT(part->total_bytes == part->size);
    ls_tick_cursor_start(&cursor, server->offer.config.players, COUNTER_INPUT_BYTES_MAX, NULL);
    LS_ASSERT(ls_ticks_read_tick(&stream, &cursor) && ls_bits_is_complete(&stream));
}

static void check_reliable(const hostile_server *server, const uint8_t *bytes, size_t size)
{
    static ls_message message;
    LS_ASSERT(ls_message_read(bytes, size, 0, &message) == LS_OK);
    if (message.kind == LS_MESSAGE_JOINED) {
        ls_tick confirmed = ls_session_report_of(server->session).confirmed;
        ls_tick first = message.body.joined.first_input;
        LS_ASSERT(server->offer.is_spectator ? first == 0 : first >= confirmed);
    } else if (message.kind == LS_MESSAGE_CLOSED_TICK) {
        check_closed_tick(server, &message.body.closed_tick);
    } else {
        LS_ASSERT(fuzz_is_client_message(message.kind));
    }
}

static void check_inputs(const hostile_server *server, const uint8_t *bytes, size_t size)
{
    static ls_tick_cursor cursor;
    ls_inputs_header header;
    ls_session_report report = ls_session_report_of(server->session);
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &header, report.confirmed);
    LS_ASSERT(!stream.is_failed && header.next == report.confirmed);
    LS_ASSERT(header.chain_tick <= header.next);
    ls_tick_cursor_start(&cursor, 1, COUNTER_INPUT_BYTES_MAX, NULL);
    uint32_t count = 0;
    while (ls_inputs_read_tick(&stream, &cursor)) {
        count++;
    }
    bool may_play = report.state == LS_SESSION_PLAYING && !server->offer.is_spectator;
    LS_ASSERT(count == 0 || may_play);
}

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    const hostile_server *server = user;
    ls_blob_ack ack;
    LS_ASSERT(peer == server->peer && peer != 0 && size <= LS_PACKET_BYTES_MAX);
    if (channel == LS_CHANNEL_RELIABLE) {
        check_reliable(server, bytes, size);
    } else if (ls_blob_ack_read(bytes, size, &ack) != LS_OK) {
        check_inputs(server, bytes, size);
    }
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    hostile_server *server = user;
    LS_ASSERT(peer == server->peer);
    server->peer = 0;
}

static const ls_simulation *find_simulation(void *user, const char *name)
{
    (void)user;
    return strcmp(name, counter_simulation()->name) == 0 ? counter_simulation() : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    hostile_server *server = user;
    (void)tick;
    return ls_bot_input(&server->bot, instance, slot, bytes);
}

/* ---- what the server plays ---- */

/* A tick without any input. */
static ls_tick_inputs empty_tick(const hostile_server *server, ls_tick tick)
{
    static const ls_slot_input slots[LS_PLAYERS_MAX];
    return (ls_tick_inputs){
        .tick = tick, .slot_count = server->offer.config.players, .slots = slots};
}

static void close_ticks(hostile_server *server, uint32_t count)
{
    for (; count > 0; count--) {
        ls_tick tick = ls_sim_instance_tick(server->instance);
        ls_tick_inputs inputs = empty_tick(server, tick);
        ls_sim_instance_step(server->instance, &inputs);
        server->tick_chain = ls_tick_chain_next(server->tick_chain, &inputs);
        uint64_t state_hash = ls_sim_instance_hash(server->instance);
        if ((tick + 1) % server->offer.hash_interval_ticks == 0) {
            server->chain = ls_hash_chain_next(server->chain, state_hash);
        }
        if (tick < HISTORY_TICKS_MAX) {
            server->state_hashes[tick + 1] = state_hash;
            server->tick_chains[tick + 1] = server->tick_chain;
        }
    }
}

/* ---- what the server sends ---- */

static void deliver(hostile_server *server, ls_channel channel, const uint8_t *bytes, size_t size)
{
    if (server->peer != 0) {
        ls_session_receive(server->session, channel, bytes, size, server->now_ns);
    }
}

static void send_message(hostile_server *server, ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    message->players = server->offer.config.players;
    size_t size = ls_message_write(message, bytes);
    deliver(server, LS_CHANNEL_RELIABLE, bytes, size);
}

static void send_offer(hostile_server *server)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_OFFER);
    message->body.offer = server->offer;
    send_message(server, message);
}

static uint32_t write_history(hostile_server *server, uint8_t *to)
{
    static ls_tick_block_writer writer;
    ls_tick end = ls_sim_instance_tick(server->instance);
    end = end < HISTORY_TICKS_MAX ? end : HISTORY_TICKS_MAX;
    ls_tick_block_start(&writer, to + 4, BLOB_BYTES_MAX - 4, server->offer.config.players);
    for (ls_tick tick = 0; tick < end; tick++) {
        ls_tick_inputs inputs = empty_tick(server, tick);
        ls_tick_block_add(&writer, &inputs, tick % 3 == 0 ? server->state_hashes[tick + 1] : 0);
    }
    uint32_t size = (uint32_t)ls_tick_block_finish(&writer, server->tick_chains[end]);
    ls_store_u32(to, size);
    return size + 4;
}

static uint32_t write_snapshot(const hostile_server *server, uint8_t *to)
{
    LS_ASSERT(ls_sim_instance_save_bytes(server->instance) <= BLOB_BYTES_MAX);
    ls_status status = ls_sim_instance_save(server->instance, to);
    LS_ASSERT(status == LS_OK);
    return (uint32_t)ls_sim_instance_save_bytes(server->instance);
}

/* The state or the ticks, perhaps with some bits flipped; the hash is that of what is sent. */
static void make_blob(hostile_server *server, ls_join *join)
{
    static uint8_t bytes[BLOB_BYTES_MAX];
    fuzz_input *input = &server->input;
    uint32_t size = join->source == LS_JOIN_HISTORY ? write_history(server, bytes)
                                                    : write_snapshot(server, bytes);
    fuzz_flip_bits(input, fuzz_take_u8(input) & 3u, bytes, size);
    memcpy(ls_blob_start(server->blob, size), bytes, size);
    ls_blob_seal(server->blob);
    while (!ls_blob_advance(server->blob, 16)) {
    }
    join->blob_bytes = size;
    join->blob_hash = ls_blob_hash(server->blob);
}

static void alter_join(hostile_server *server, ls_join *join)
{
    fuzz_input *input = &server->input;
    uint8_t odd = fuzz_take_u8(input);
    if (odd & 1u) {
        join->tick = fuzz_tick_near(join->tick, fuzz_take_i8(input));
    }
    if (odd & 2u) {
        join->next_close = fuzz_tick_near(join->next_close, 8 * fuzz_take_i8(input));
    }
    if (odd & 4u) {
        join->chain_tick = fuzz_tick_near(join->chain_tick, fuzz_take_i8(input));
    }
    join->chain_tick = join->chain_tick < join->tick ? join->chain_tick : join->tick;
    if (odd & 8u) {
        join->blob_bytes = fuzz_take_u32(input);
        /* A size as large as that is only claimed; memory for it would slow this down. */
        bool is_claimed = join->source == LS_JOIN_HISTORY && join->blob_bytes > TRANSFER_MAX;
        join->blob_bytes = is_claimed ? UINT32_MAX : join->blob_bytes;
    }
    if (odd & 16u) {
        join->state_hash ^= 1;
    }
    if (odd & 32u) {
        join->chain ^= 1;
    }
    if (odd & 64u) {
        join->tick_chain ^= 1;
    }
    join->next_close_us = odd & 128u ? fuzz_take_u32(input) : 10000;
}

static void fill_held(hostile_server *server, ls_join *join)
{
    ls_session_report report = ls_session_report_of(server->session);
    join->tick = report.confirmed;
    join->next_close = report.confirmed;
    if (report.confirmed <= HISTORY_TICKS_MAX) {
        join->tick_chain = server->tick_chains[report.confirmed];
    }
}

static void send_join(hostile_server *server)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_JOIN);
    ls_join *join = &message->body.join;
    uint32_t interval = server->offer.hash_interval_ticks;
    uint8_t source = fuzz_take_u8(&server->input) % LS_JOIN_SOURCE_COUNT;
    ls_tick tick = ls_sim_instance_tick(server->instance);
    *join = (ls_join){.source = source, .tick = tick, .next_close = tick, .blob = 1};
    if (source == LS_JOIN_HELD) {
        fill_held(server, join);
    } else {
        join->state_hash = ls_sim_instance_hash(server->instance);
        join->chain_tick = tick / interval * interval;
        join->chain = server->chain;
        join->tick_chain = server->tick_chain;
        make_blob(server, join);
        server->keyframe = tick;
    }
    alter_join(server, join);
    server->join = *join;
    send_message(server, message);
}

static void send_blob(hostile_server *server)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    fuzz_input *input = &server->input;
    uint8_t odd = fuzz_take_u8(input);
    uint32_t count = server->join.blob_bytes > 0 ? ls_blob_part_count(server->blob) : 0;
    for (uint32_t i = 0; i < count; i++) {
        ls_blob_part part = ls_blob_part_at(server->blob, i);
        part.blob = odd & 1u ? odd : 1;
        part.packet = i;
        size_t size = ls_blob_part_write(&part, bytes);
        if (odd & 2u && i == 0) {
            bytes[fuzz_take_u16(input) % size] ^= 1;
        }
        deliver(server, LS_CHANNEL_UNRELIABLE, bytes, size);
    }
}

/* Ticks that go on from where the session is: empty, or with events. */
static void send_ticks(hostile_server *server)
{
    fuzz_input *input = &server->input;
    uint8_t shape = fuzz_take_u8(input);
    static const uint8_t nothing[1];
    ls_slot_input slots[LS_PLAYERS_MAX];
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_ticks_header header = {.sequence = server->sequence++,
                              .first = ls_session_report_of(server->session).confirmed,
                              .hold = LS_HOLD_NONE,
                              .slack = LS_SLACK_NONE};
    if (shape & 1u) {
        header.first = fuzz_tick_near(header.first, fuzz_take_i8(input));
    }
    if (shape & 2u) {
        header.wanted = fuzz_tick_near(header.first, fuzz_take_i8(input));
    }
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        slots[slot] = (ls_slot_input){nothing, 0, shape & 4u ? fuzz_take_u8(input) & 3u : 0};
    }
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_ticks_header_bits(&stream, &header, 0);
    for (uint32_t i = (shape >> 3) * 8u; i > 0; i--) {
        if (!ls_ticks_write_tick(&stream, server->offer.config.players, slots, slots)) {
            break;
        }
    }
    ls_tick_packet_write_end(&stream);
    deliver(server, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
}

static void send_order(hostile_server *server)
{
    ls_message *message = fuzz_message_of(0);
    fuzz_input *input = &server->input;
    ls_session_report report = ls_session_report_of(server->session);
    switch (fuzz_take_u8(input) % 6) {
    case 0:
        message->kind = LS_MESSAGE_TICKS_REQUEST;
        message->body.ticks_request.first =
            fuzz_tick_near(report.confirmed, 4 * fuzz_take_i8(input));
        message->body.ticks_request.count = 1u + fuzz_take_u8(input) % LS_TICKS_PER_REQUEST;
        break;
    case 1:
        message->kind = LS_MESSAGE_RESUMING;
        message->body.resuming.slots.words[0] = fuzz_take_u32(input);
        break;
    case 2:
        message->kind = LS_MESSAGE_END;
        message->body.end.final_tick = fuzz_tick_near(report.confirmed, fuzz_take_i8(input));
        break;
    case 3:
        message->kind = LS_MESSAGE_HASH_REQUEST;
        message->body.hash_request.first = fuzz_tick_near(report.tick, 4 * fuzz_take_i8(input));
        message->body.hash_request.count = 1u + fuzz_take_u16(input) % LS_WINDOW_TICKS;
        break;
    case 4:
        message->kind = LS_MESSAGE_START;
        break;
    default:
        message->kind = LS_MESSAGE_REFUSE;
        message->body.close_reason.negated_status = 28u + fuzz_take_u8(input) % 12;
        break;
    }
    send_message(server, message);
}

static void send_raw(hostile_server *server, ls_channel channel)
{
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_packet(&server->input, &size);
    bool is_join = ls_message_peek(bytes, size) == LS_MESSAGE_JOIN;
    if (!is_join) { /* its sizes are made elsewhere */
        deliver(server, channel, bytes, size);
    }
}

/* ---- the link ---- */

static void connect(hostile_server *server)
{
    server->peer = 100 + ++server->peers;
    server->sequence = 0;
    ls_session_connected(server->session, server->peer, server->now_ns);
}

static void lose_link(hostile_server *server)
{
    if (server->peer != 0) {
        server->peer = 0;
        ls_session_disconnected(server->session, LS_TIMED_OUT, server->now_ns);
    }
}

/* As a driver does, when the session says so. */
static void come_back(hostile_server *server)
{
    uint64_t at_ns = ls_session_reconnect_ns(server->session);
    if (at_ns == UINT64_MAX) {
        return;
    }
    LS_ASSERT(server->peer == 0);
    server->now_ns = at_ns > server->now_ns ? at_ns : server->now_ns;
    if (fuzz_take_u8(&server->input) & 1u) {
        ls_session_disconnected(server->session, LS_REFUSED, server->now_ns);
    } else {
        connect(server);
        send_offer(server);
    }
}

/* ---- the run ---- */

static void draw_frames(hostile_server *server, uint32_t count, uint64_t gap_ns)
{
    for (; count > 0 && server->work < FUZZ_WORK_MAX; count--, server->work++) {
        server->now_ns += gap_ns;
        ls_session_update(server->session, server->now_ns);
        ls_session_frame(server->session, server->now_ns);
    }
}

static void check_state(const hostile_server *server)
{
    ls_session_report report = ls_session_report_of(server->session);
    LS_ASSERT(report.state != LS_SESSION_OVER || server->peer == 0);
    LS_ASSERT(report.state != LS_SESSION_PLAYING || report.tick <= report.confirmed);
    LS_ASSERT(report.shown_tick - report.tick <= (report.has_prediction ? PREDICT_TICKS : 0u));
    LS_ASSERT(report.behind_ticks == 0 || report.state == LS_SESSION_JOINING ||
              report.state == LS_SESSION_RECONNECTING || report.state == LS_SESSION_OVER);
}

static void make_move(hostile_server *server)
{
    fuzz_input *input = &server->input;
    switch (fuzz_take_u8(input) & 15u) {
    case 0:
        draw_frames(server, 1, (1u + fuzz_take_u8(input)) * LS_NS_PER_MS);
        return;
    case 1:
    case 2:
        draw_frames(server, fuzz_take_u8(input), 10 * LS_NS_PER_MS);
        return;
    case 3:
        send_raw(server, LS_CHANNEL_RELIABLE);
        return;
    case 4:
        send_raw(server, LS_CHANNEL_UNRELIABLE);
        return;
    case 5:
    case 6:
        send_order(server);
        return;
    case 7:
    case 8:
        send_join(server);
        return;
    case 9:
    case 10:
        send_blob(server);
        return;
    case 11:
        close_ticks(server, fuzz_take_u8(input) % 32u);
        return;
    case 12:
        lose_link(server);
        return;
    case 13:
        come_back(server);
        return;
    default:
        send_ticks(server);
        return;
    }
}

static void open_match(hostile_server *server, uint8_t setup)
{
    ls_offer *offer = &server->offer;
    *offer = (ls_offer){.match_id = 1, .timeout_ms = 10000, .is_running = true};
    ls_name_copy(offer->simulation, sizeof offer->simulation, counter_simulation()->name);
    offer->simulation_version = counter_simulation()->version;
    offer->config = ls_sim_config_default(counter_simulation());
    offer->config.tick_rate_hz = 100;
    offer->config.players = 1u + (setup & 3u);
    offer->hash_interval_ticks = 1u + (setup >> 6);
    offer->is_spectator = setup >> 3 & 1u;
    ls_status status = ls_sim_instance_create(counter_simulation(), &offer->config,
                                              fuzz_memory_allocator(), &server->instance, NULL);
    LS_ASSERT(status == LS_OK);
    status = ls_blob_create(BLOB_BYTES_MAX, fuzz_memory_allocator(), &server->blob);
    LS_ASSERT(status == LS_OK);
    server->state_hashes[0] = ls_sim_instance_hash(server->instance);
    server->chain = ls_hash_chain_start(server->state_hashes[0]);
    server->tick_chain = server->tick_chains[0] = LS_TICK_CHAIN_START;
    close_ticks(server, 20);
}

static void open_session(hostile_server *server, uint8_t setup)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = server;
    config.predict_ticks = setup & 4u ? PREDICT_TICKS : 0;
    config.is_spectator = setup >> 3 & 1u;
    config.reconnect_ms = setup & 16u ? 0 : RECONNECT_MS;
    config.makes_inputs_between_frames = setup >> 5 & 1u;
    ls_packet_sink sink = {on_send, on_disconnect, server};
    ls_status status =
        ls_session_create(&config, &sink, fuzz_memory_allocator(), &server->session, NULL);
    LS_ASSERT(status == LS_OK);
    connect(server);
    send_offer(server);
}

static bool is_over(const hostile_server *server)
{
    return server->input.size == 0 || server->work >= FUZZ_WORK_MAX;
}

/* The start of every run with these first bytes. */
static void start_run(hostile_server *server, uint8_t setup)
{
    server->now_ns = LS_NS_PER_SECOND;
    server->bot = ls_bot_make(1);
    open_match(server, setup);
    open_session(server, setup);
}

FUZZ_TARGET(join)
{
    fuzz_input input = {bytes, size};
    uint8_t setup = fuzz_take_u8(&input);
    hostile_server *server = fuzz_memory_restore(setup);
    if (!server) {
        server = fuzz_memory_start(sizeof *server);
        start_run(server, setup);
        fuzz_memory_keep(setup);
    }
    server->input = input;
    for (uint32_t moves = 0; moves < MOVES_MAX && !is_over(server); moves++) {
        ls_session_event event;
        make_move(server);
        check_state(server);
        while (ls_session_next_event(server->session, &event)) {
            LS_ASSERT(event.kind <= LS_SESSION_EVENT_OVER);
        }
    }
    ls_session_destroy(server->session);
    ls_sim_instance_destroy(server->instance);
    ls_blob_destroy(server->blob);
    LS_ASSERT(fuzz_memory_live_blocks() == 0);
    return 0;
}

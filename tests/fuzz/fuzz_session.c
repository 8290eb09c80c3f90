/* Fuzzes a session against a hostile server: after a good OFFER and START, unless told otherwise,
 * the bytes drive what the server sends and when frames are drawn. In any case the session sends
 * only what PROTOCOL.md allows, vouches only for what is confirmed, guesses no further than it may,
 * and takes no more memory.
 *
 *   u8 setup      bits 0-2 players less one; bit 3 keeps the previous state; bit 4 inputs of up to
 *                 256 bytes; bit 5 leaves after 60 ticks; bit 6 no good OFFER; bit 7 no good
 * START u8 timing     bits 0-2 hash interval less one; bit 3 input delay of 3 ticks; bit 4
 * predicts; bits 5-7 slot. So that few starts differ, the high four bits follow from the low ones
 *   then moves:   u8: bits 0-3 the move; then what the move takes
 */
#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/fuzz/fuzz_memory.h"
#include "lockstep/tests/fuzz/fuzz_peer.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

enum {
    MOVES_MAX = 400,
    SERVER_ID = 5,
    MADE_TICKS = 2 * LS_WINDOW_TICKS,
    MADE_BYTES_MAX = 16,         /* a bot sends no more at random */
    LARGE_INPUT_BYTES_MAX = 256, /* a tick of eight players takes two packets */
    PREDICT_TICKS = 8,
};

typedef struct hostile_server {
    fuzz_input input;
    ls_simulation simulation;
    ls_session *session;
    ls_bot bot;
    uint8_t made[MADE_TICKS][MADE_BYTES_MAX]; /* the inputs that the session asked for */
    uint32_t made_sizes[MADE_TICKS];
    uint64_t now_ns;
    uint32_t work; /* frames that were drawn, and what took as long */
    bool is_disconnected;
    uint32_t sequence; /* of the next TICKS */
    uint64_t memory_calls_at_start;
    bool was_healed; /* with a snapshot, for which memory is taken, and for the ticks behind it */
    ls_session_report newest; /* report after the last move */
    size_t packet_size;       /* of the packet delivered last */
    ls_channel packet_channel;
    uint8_t packet[LS_PACKET_BYTES_MAX];
} hostile_server;

/* ---- what the session does ---- */

static void check_reliable(const uint8_t *bytes, size_t size)
{
    static ls_message message;
    LS_ASSERT(ls_message_read(bytes, size, 0, &message) == LS_OK);
    LS_ASSERT(fuzz_is_client_message(message.kind));
}

static ls_slot_input made_input(const hostile_server *server, ls_tick tick)
{
    uint32_t place = tick % MADE_TICKS;
    return (ls_slot_input){server->made[place], server->made_sizes[place], 0};
}

static void check_inputs(const hostile_server *server, const uint8_t *bytes, size_t size)
{
    static ls_tick_cursor cursor;
    ls_inputs_header header = {0};
    ls_session_report report = ls_session_report_of(server->session);
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &header, report.confirmed);
    LS_ASSERT(!stream.is_failed && header.next == report.confirmed);
    LS_ASSERT(header.chain_tick <= report.tick);
    ls_tick tick = header.first;
    ls_slot_input base = {NULL, 0, 0};
    if (header.has_base) {
        base = made_input(server, tick - header.base_gap - 1);
    }
    ls_tick_cursor_start(&cursor, 1, server->simulation.input_bytes_max, &base);
    for (; ls_inputs_read_tick(&stream, &cursor); tick++) {
        ls_slot_input made = made_input(server, tick);
        LS_ASSERT(cursor.sizes[0] == made.size);
        LS_ASSERT(memcmp(cursor.bytes[0], made.bytes, made.size) == 0);
    }
    LS_ASSERT(ls_bits_is_complete(&stream));
    LS_ASSERT(tick <= report.next_input || tick == header.first);
}

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    const hostile_server *server = user;
    LS_ASSERT(peer == SERVER_ID && !server->is_disconnected);
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX);
    if (channel == LS_CHANNEL_RELIABLE) {
        check_reliable(bytes, size);
    } else if (ls_message_peek(bytes, size) !=
               LS_MESSAGE_BLOB_ACK) { /* of a snapshot to heal with */
        check_inputs(server, bytes, size);
    }
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    hostile_server *server = user;
    LS_ASSERT(peer == SERVER_ID && !server->is_disconnected);
    server->is_disconnected = true;
}

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const hostile_server *server = user;
    return strcmp(name, server->simulation.name) == 0 ? &server->simulation : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    hostile_server *server = user;
    uint32_t place = tick % MADE_TICKS;
    uint32_t size = ls_bot_input(&server->bot, instance, slot, bytes);
    LS_ASSERT(size <= MADE_BYTES_MAX);
    memcpy(server->made[place], bytes, size);
    server->made_sizes[place] = size;
    return size;
}

/* ---- what the server sends ---- */

static bool is_malformed(const hostile_server *server, ls_channel channel, const uint8_t *bytes,
                         size_t size)
{
    static ls_message message;
    const ls_offer *offer = ls_session_offer(server->session);
    uint32_t players = offer ? offer->config.players : 0;
    if (channel == LS_CHANNEL_RELIABLE) {
        return ls_message_read(bytes, size, players, &message) != LS_OK;
    }
    uint32_t kind = ls_message_peek(bytes, size);
    return kind != LS_MESSAGE_TICKS && kind != LS_MESSAGE_TICK_PART && kind != LS_MESSAGE_BLOB_PART;
}

static uint64_t memory_calls(void)
{
    return heap_calls() + fuzz_memory_calls();
}

/* A session that was turned away before its offer may be connected again: here nobody does. */
static ls_session_report report_of(hostile_server *server)
{
    if (server->is_disconnected && ls_session_state_of(server->session) == LS_SESSION_CONNECTING) {
        ls_session_disconnected(server->session, LS_DISCONNECTED, server->now_ns);
    }
    return ls_session_report_of(server->session);
}

static void check_report(hostile_server *server, const ls_session_report *report)
{
    const ls_session_report *before = &server->newest;
    LS_ASSERT(report->confirmed >= before->confirmed);
    LS_ASSERT(report->tick >= before->tick);
    LS_ASSERT(report->tick <= report->confirmed);
    LS_ASSERT(report->confirmed - report->tick <= LS_WINDOW_TICKS);
    LS_ASSERT(report->shown_tick - report->tick <= (report->has_prediction ? PREDICT_TICKS : 0u));
    LS_ASSERT(report->state >= before->state);
    LS_ASSERT((report->state == LS_SESSION_OVER) == server->is_disconnected);
    if (before->state < LS_SESSION_SEATED) {
        server->memory_calls_at_start = memory_calls(); /* all that it needs it has taken by now */
    }
    LS_ASSERT(memory_calls() == server->memory_calls_at_start || server->was_healed);
    server->newest = *report;
}

static void deliver(hostile_server *server, ls_channel channel, const uint8_t *bytes, size_t size)
{
    if (channel == LS_CHANNEL_RELIABLE && ls_message_peek(bytes, size) == LS_MESSAGE_JOIN) {
        return; /* fuzz_join.c */
    }
    const ls_session_report *before = &server->newest;
    bool is_over = before->state == LS_SESSION_OVER;
    bool is_bad = is_malformed(server, channel, bytes, size);
    ls_session_receive(server->session, channel, bytes, size, server->now_ns);
    server->was_healed =
        server->was_healed || (channel == LS_CHANNEL_RELIABLE &&
                               ls_message_peek(bytes, size) == LS_MESSAGE_HEAL_SNAPSHOT);
    ls_session_report after = report_of(server);
    LS_ASSERT(!is_bad || is_over || after.packets_rejected == before->packets_rejected + 1);
    LS_ASSERT(!is_bad || after.confirmed == before->confirmed);
    LS_ASSERT(after.steps == before->steps); /* packets only store */
    check_report(server, &after);
    if (bytes != server->packet) {
        memcpy(server->packet, bytes, size);
    }
    server->packet_size = size;
    server->packet_channel = channel;
}

static void send_message(hostile_server *server, ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    const ls_offer *offer = ls_session_offer(server->session);
    message->players = offer ? offer->config.players : 0;
    size_t size = ls_message_write(message, bytes);
    deliver(server, LS_CHANNEL_RELIABLE, bytes, size);
}

static void send_offer(hostile_server *server, uint8_t setup, uint8_t timing)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_OFFER);
    ls_offer *offer = &message->body.offer;
    ls_name_copy(offer->simulation, sizeof offer->simulation, server->simulation.name);
    offer->simulation_version = server->simulation.version;
    offer->config = ls_sim_config_default(&server->simulation);
    offer->config.tick_rate_hz = 100;
    offer->config.players = 1u + (setup & 7u);
    offer->slot = (timing >> 5) % offer->config.players;
    offer->hash_interval_ticks = 1u + (timing & 7u);
    offer->input_delay_ticks = timing & 8u ? 3 : 0;
    offer->timeout_ms = 10000;
    offer->match_id = 1;
    send_message(server, message);
}

static void send_start(hostile_server *server, uint32_t delay_ms)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_START);
    message->body.start.delay_us = delay_ms * 1000;
    send_message(server, message);
}

/* One tick's inputs out of the bytes: the slots that change, and their new inputs. */
static void read_tick(hostile_server *server, uint32_t slots, ls_slot_input *inputs)
{
    fuzz_input *input = &server->input;
    uint8_t changes = fuzz_take_u8(input);
    for (uint32_t slot = 0; slot < slots; slot++) {
        inputs[slot].events = 0;
        if (changes >> slot & 1u) {
            uint8_t shape = fuzz_take_u8(input);
            size_t size = 0;
            inputs[slot].bytes = fuzz_take_bytes(input, shape >> 2, &size);
            inputs[slot].size = (uint32_t)size;
            inputs[slot].events = shape & 3u;
        }
    }
}

static void write_ticks(hostile_server *server, const ls_ticks_header *header, uint32_t count,
                        bool is_idle)
{
    ls_slot_input inputs[2][LS_PLAYERS_MAX] = {{{0}}};
    const ls_offer *offer = ls_session_offer(server->session);
    uint32_t slots = offer ? offer->config.players : 1;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_ticks_header written = *header;
    written.sequence = server->sequence++;
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_ticks_header_bits(&stream, &written, 0);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(inputs[1], inputs[0], sizeof inputs[0]);
        if (!is_idle) {
            read_tick(server, slots, inputs[1]);
        }
        if (!ls_ticks_write_tick(&stream, slots, inputs[0], inputs[1])) {
            break;
        }
        memcpy(inputs[0], inputs[1], sizeof inputs[0]);
    }
    ls_tick_packet_write_end(&stream);
    server->work += count / 8;
    deliver(server, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
}

/* TICKS whose fields lie near what they should be. */
static void send_ticks(hostile_server *server)
{
    fuzz_input *input = &server->input;
    uint8_t shape = fuzz_take_u8(input);
    ls_ticks_header header = {.slack = LS_SLACK_NONE, .hold = LS_HOLD_NONE};
    header.first = server->newest.confirmed;
    if (shape & 1u) {
        header.first = fuzz_tick_near(header.first, fuzz_take_i8(input));
    }
    header.wanted = server->newest.next_input;
    if (shape & 2u) {
        header.wanted = fuzz_tick_near(header.wanted, 16 * fuzz_take_i8(input));
    }
    if (shape & 4u) {
        header.slack = (int32_t)(fuzz_take_u16(input) & 0xfffu) - 2048;
        header.hold = fuzz_take_u8(input);
        uint8_t odd = fuzz_take_u8(input);
        server->sequence += odd & 0x3fu;
        header.has_uplink = odd >> 7;
        header.uplink.loss = odd;
    }
    header.has_base = shape >> 3 & 1u;
    write_ticks(server, &header, shape >> 4, false);
}

/* Very many ticks at once, as after a long gap; inputs acknowledged or not. */
static void send_burst(hostile_server *server)
{
    uint8_t shape = fuzz_take_u8(&server->input);
    ls_ticks_header header = {.slack = LS_SLACK_NONE, .hold = LS_HOLD_NONE};
    header.first = server->newest.confirmed;
    if (shape & 1u) {
        header.wanted = header.first;
    }
    write_ticks(server, &header, (shape >> 1) * 16u, true);
}

static void send_part(hostile_server *server)
{
    static ls_tick_part part;
    fuzz_input *input = &server->input;
    memset(&part, 0, sizeof part);
    part.tick = fuzz_tick_near(server->newest.confirmed, fuzz_take_i8(input) / 64);
    part.total_bytes = 1u + fuzz_take_u16(input) % LS_TICK_BYTES_MAX;
    part.index = fuzz_take_u8(input) % ls_tick_part_count(part.total_bytes);
    uint32_t part_bytes = ls_tick_part_size(part.total_bytes, part.index);
    size_t size = 0;
    const uint8_t *content = fuzz_take_bytes(input, part_bytes, &size);
    memcpy(part.bytes, content, size);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_tick_part_bits(&stream, &part);
    deliver(server, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
}

/* A tick with events alone, whole, in one part. */
static void send_small_part(hostile_server *server)
{
    static ls_tick_part part;
    memset(&part, 0, sizeof part);
    part.tick = server->newest.confirmed;
    part.total_bytes = 1;
    part.bytes[0] = 1;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_tick_part_bits(&stream, &part);
    size_t size = ls_bits_size_bytes(&stream);
    uint32_t count = fuzz_take_u8(&server->input) * 4u;
    server->work += count / 8;
    for (uint32_t i = count; i > 0; i--) {
        part.tick = server->newest.confirmed;
        stream = ls_bit_writer(bytes, sizeof bytes);
        ls_tick_part_bits(&stream, &part);
        deliver(server, LS_CHANNEL_UNRELIABLE, bytes, size);
    }
}

static void send_order(hostile_server *server)
{
    ls_message *message = fuzz_message_of(0);
    fuzz_input *input = &server->input;
    ls_tick tick = server->newest.tick;
    uint8_t shape = 0;
    switch (fuzz_take_u8(input) % 11) {
    case 0:
        message->kind = LS_MESSAGE_HASH_REQUEST;
        message->body.hash_request.first = fuzz_tick_near(tick, 4 * fuzz_take_i8(input));
        message->body.hash_request.count = 1u + fuzz_take_u16(input) % LS_WINDOW_TICKS;
        break;
    case 1:
        message->kind = LS_MESSAGE_END;
        message->body.end.final_tick =
            fuzz_tick_near(server->newest.confirmed, fuzz_take_i8(input));
        break;
    case 2:
        message->kind = LS_MESSAGE_DESYNC;
        message->body.desync.slot = fuzz_take_u8(input) % LS_PLAYERS_MAX;
        message->body.desync.tick = fuzz_take_u32(input);
        break;
    case 3:
        message->kind = LS_MESSAGE_WAITING;
        message->body.waiting.tick = fuzz_take_u32(input);
        message->body.waiting.slots.words[0] = fuzz_take_u32(input);
        break;
    case 4:
        message->kind = LS_MESSAGE_INPUT_DELAY;
        message->body.input_delay_ticks = fuzz_take_u8(input) % (LS_INPUT_DELAY_TICKS_MAX + 1);
        break;
    case 5:
        message->kind = LS_MESSAGE_TREE_QUERY;
        message->body.tree_query.tick = fuzz_tick_near(tick, fuzz_take_i8(input));
        shape = fuzz_take_u8(input);
        message->body.tree_query.pass = shape / 2 % (LS_PASSES_MAX + 1) - 1u;
        message->body.tree_query.query.wants_values = shape % 2 != 0;
        message->body.tree_query.query.nodes.first = fuzz_take_u8(input);
        message->body.tree_query.query.nodes.count = 1u + fuzz_take_u8(input) % LS_TREE_FAN;
        break;
    case 6:
        message->kind = LS_MESSAGE_EVIDENCE_REQUEST;
        message->body.evidence_request.tick = fuzz_tick_near(tick, fuzz_take_i8(input));
        message->body.evidence_request.pass = fuzz_take_u8(input) % (LS_PASSES_MAX + 1) - 1u;
        message->body.evidence_request.is_single = message->body.evidence_request.tick % 3 == 0;
        message->body.evidence_request.time_max_ms = 1 + fuzz_take_u8(input);
        break;
    case 7:
        message->kind = LS_MESSAGE_HEAL_LEAF;
        message->body.heal_leaf.tick = fuzz_tick_near(tick, fuzz_take_i8(input));
        message->body.heal_leaf.leaf = fuzz_take_u8(input);
        message->body.heal_leaf.size = fuzz_take_u16(input) % (LS_TREE_LEAF_BYTES + 1);
        break;
    case 8:
        message->kind = LS_MESSAGE_HEAL;
        message->body.heal.tick = fuzz_tick_near(tick, fuzz_take_i8(input));
        message->body.heal.state_hash = fuzz_take_u32(input);
        if (message->body.heal.state_hash % 4 == 3) {
            const ls_sim_config config = ls_sim_config_default(&server->simulation);
            tick = message->body.heal.tick;
            message->kind = LS_MESSAGE_HEAL_SNAPSHOT;
            message->body.heal_snapshot =
                (ls_heal_snapshot){.tick = tick,
                                   .chain_tick = tick,
                                   .blob_bytes = (uint32_t)server->simulation.state_bytes(&config)};
        }
        break;
    case 9:
        message->kind = LS_MESSAGE_DESYNC_CAUSE;
        message->body.cause.slot = fuzz_take_u8(input) % LS_PLAYERS_MAX;
        break;
    default:
        message->kind = LS_MESSAGE_REFUSE;
        message->body.close_reason.negated_status = fuzz_take_u8(input);
        break;
    }
    send_message(server, message);
}

static void send_raw(hostile_server *server, ls_channel channel)
{
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_packet(&server->input, &size);
    deliver(server, channel, bytes, size);
}

/* The newest packet with some bits flipped, perhaps on the other channel. */
static void send_altered(hostile_server *server)
{
    uint8_t flips = fuzz_take_u8(&server->input);
    fuzz_flip_bits(&server->input, flips & 7u, server->packet, server->packet_size);
    ls_channel channel = flips & 8u ? LS_CHANNEL_RELIABLE : server->packet_channel;
    deliver(server, channel, server->packet, server->packet_size);
}

/* ---- the run ---- */

static void draw_frames(hostile_server *server, uint32_t count, uint64_t gap_ns)
{
    for (; count > 0 && server->work < FUZZ_WORK_MAX; count--, server->work++) {
        server->now_ns += gap_ns;
        ls_session_frame(server->session, server->now_ns);
    }
    ls_session_report report = report_of(server);
    check_report(server, &report);
}

static void make_move(hostile_server *server)
{
    fuzz_input *input = &server->input;
    switch (fuzz_take_u8(input) & 15u) {
    case 0:
    case 1:
        draw_frames(server, 1, (1u + fuzz_take_u8(input)) * LS_NS_PER_MS);
        return;
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
        send_order(server);
        return;
    case 6:
        send_offer(server, fuzz_take_u8(input), fuzz_take_u8(input));
        return;
    case 7:
        send_start(server, fuzz_take_u8(input));
        return;
    case 8:
        send_altered(server);
        return;
    case 9:
        send_part(server);
        return;
    case 10:
        send_small_part(server);
        return;
    case 11:
        send_burst(server);
        return;
    default:
        send_ticks(server);
        return;
    }
}

static void open_session(hostile_server *server, uint8_t setup, uint8_t timing)
{
    ls_text why = {{0}};
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = server;
    config.keeps_previous_state = setup >> 3 & 1u;
    config.ticks = setup & 0x20u ? 60 : 0;
    config.predict_ticks = timing & 0x10u ? PREDICT_TICKS : 0;
    ls_packet_sink sink = {on_send, on_disconnect, server};
    ls_status status =
        ls_session_create(&config, &sink, fuzz_memory_allocator(), &server->session, &why);
    LS_ASSERT(status == LS_OK);
    ls_session_connected(server->session, SERVER_ID, server->now_ns);
    server->newest = report_of(server);
}

static bool is_over(const hostile_server *server)
{
    return server->input.size == 0 || server->work >= FUZZ_WORK_MAX;
}

static uint8_t timing_of(uint8_t timing)
{
    static const uint8_t high[16] = {0x0, 0x9, 0x3, 0x1, 0xf, 0x6, 0x0, 0x6,
                                     0x1, 0x3, 0x6, 0x7, 0xc, 0x2, 0x8, 0x5};
    uint8_t low = timing & 15u;
    return (uint8_t)(high[low] << 4 | low);
}

/* The start of every run with these first bytes. */
static void start_run(hostile_server *server, uint8_t setup, uint8_t timing)
{
    server->now_ns = LS_NS_PER_SECOND;
    server->bot = ls_bot_make(1);
    server->simulation = *counter_simulation();
    if (setup & 0x10u) {
        server->simulation.input_bytes_max = LARGE_INPUT_BYTES_MAX;
    }
    open_session(server, setup, timing);
    if (!(setup & 0x40u)) {
        send_offer(server, setup, timing);
    }
    if (!(setup & 0x80u)) {
        send_start(server, 30);
    }
}

FUZZ_TARGET(session)
{
    fuzz_input input = {bytes, size};
    uint8_t setup = fuzz_take_u8(&input);
    uint8_t timing = timing_of(fuzz_take_u8(&input));
    uint32_t start = (uint32_t)timing << 8 | setup;
    hostile_server *server = fuzz_memory_restore(start);
    if (!server) {
        server = fuzz_memory_start(sizeof *server);
        start_run(server, setup, timing);
        fuzz_memory_keep(start);
    }
    server->memory_calls_at_start = memory_calls();
    server->input = input;
    for (uint32_t moves = 0; moves < MOVES_MAX && !is_over(server); moves++) {
        ls_session_event event;
        make_move(server);
        while (ls_session_next_event(server->session, &event)) {
            LS_ASSERT(event.kind <= LS_SESSION_EVENT_OVER);
        }
    }
    ls_session_destroy(server->session);
    LS_ASSERT(fuzz_memory_live_blocks() == 0);
    return 0;
}

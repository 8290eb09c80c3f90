/* Fuzzes a whole match in virtual time: one honest client, and hostile peers that the bytes drive
 * straight into the match. After the garbage the honest client's match must still come to its end
 * and agree with the server.
 *
 *   u8 setup      bits 0-1 hostile seats less one; bit 2 rule `wait`; bits 3-4 on desync; bit 5
 *                 inputs of up to 256 bytes; bit 6 garbage in the lobby; bit 7 the hostile peers
 *                 disconnect at last
 *   u8 timing     bits 0-2 hash interval less one; bits 3-4 input delay; bits 5-6 send rate; bit 7
 *                 the input delay adapts. So that few starts differ, the high four bits follow
 *                 from the low ones; the byte's own bits 4-6 say that the match is a short one
 *   then moves:   u8: bits 0-3 the move, bits 4-5 the peer that makes it; then what the move takes
 */
#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/fuzz/fuzz_memory.h"
#include "lockstep/tests/fuzz/fuzz_peer.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

/* Honest match: a match and one honest client of it in virtual time, over a perfect memory network.
 * The other seats are left to the fuzz target, which talks to the match itself. */

typedef struct honest_match {
    ls_memory_network *network;
    ls_transport *server_transport;
    ls_transport *client_transport;
    ls_match *match;
    ls_session *session;
    ls_bot bot;
    const ls_simulation *simulation;
    uint64_t now_ns;
} honest_match;

#define STEP_NS (10 * LS_NS_PER_MS)
#define SILENCE_STEP_NS (400 * LS_NS_PER_MS)

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const honest_match *here = user;
    (void)name;
    return here->simulation;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    honest_match *here = user;
    (void)tick;
    return ls_bot_input(&here->bot, instance, slot, bytes);
}

static void open_session(honest_match *here, const ls_allocator *allocator)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = here;
    ls_packet_sink sink = ls_transport_sink(here->client_transport);
    ls_status status = ls_session_create(&config, &sink, allocator, &here->session, NULL);
    LS_ASSERT(status == LS_OK);
}

/* The config is one that the match accepts. */
static void honest_match_open(honest_match *here, const ls_match_config *config,
                              const ls_allocator *allocator)
{
    memset(here, 0, sizeof *here);
    here->simulation = config->simulation;
    here->bot = ls_bot_make(1);
    here->now_ns = LS_NS_PER_SECOND;
    ls_status status = ls_memory_network_create(1, allocator, &here->network);
    LS_ASSERT(status == LS_OK);
    ls_memory_network_set_time(here->network, here->now_ns);
    status = ls_memory_server_create(here->network, &here->server_transport);
    LS_ASSERT(status == LS_OK);
    status =
        ls_memory_client_create(here->network, here->server_transport, &here->client_transport);
    LS_ASSERT(status == LS_OK);
    ls_packet_sink sink = ls_transport_sink(here->server_transport);
    status = ls_match_create(config, &sink, allocator, &here->match, NULL);
    LS_ASSERT(status == LS_OK);
    open_session(here, allocator);
}

static void honest_match_close(honest_match *here)
{
    ls_session_destroy(here->session);
    ls_match_destroy(here->match);
    ls_memory_network_destroy(here->network);
}

static void turn_server(honest_match *here)
{
    ls_transport_event event;
    ls_match_event said;
    while (ls_transport_next_event(here->server_transport, &event)) {
        ls_match_receive_event(here->match, &event, here->now_ns);
    }
    ls_match_advance(here->match, here->now_ns);
    while (ls_match_next_event(here->match, &said)) {
    }
}

static void turn_client(honest_match *here)
{
    ls_transport_event event;
    while (ls_transport_next_event(here->client_transport, &event)) {
        ls_session_receive_event(here->session, &event, here->now_ns);
    }
    ls_session_frame(here->session, here->now_ns);
}

static bool honest_match_is_over(const honest_match *here)
{
    return ls_match_state_of(here->match) == LS_MATCH_OVER &&
           ls_session_state_of(here->session) == LS_SESSION_OVER;
}

/* Where nothing is left but to wait for the hostile peers, a long step is as good as many. */
static uint64_t step_ns(const honest_match *here)
{
    bool is_waiting = ls_match_state_of(here->match) == LS_MATCH_ENDING &&
                      ls_session_state_of(here->session) == LS_SESSION_FINISHED;
    return is_waiting ? SILENCE_STEP_NS : STEP_NS;
}

/* Runs both ends for `ns` in steps of five milliseconds, or until both are over; in longer steps
 * when there is nothing left to do but wait for the others. */
static void honest_match_run(honest_match *here, uint64_t ns)
{
    uint64_t end_ns = here->now_ns + ns;
    while (here->now_ns < end_ns && !honest_match_is_over(here)) {
        here->now_ns += step_ns(here);
        ls_memory_network_set_time(here->network, here->now_ns);
        turn_server(here);
        turn_client(here);
    }
}

enum {
    TICK_RATE_HZ = 100,
    TICKS = 12,
    LONG_TICKS = 40,
    PEERS = 4,
    LARGE_INPUT_BYTES_MAX = 256,
    FIRST_PEER_ID = 1000,
    MOVES_MAX = 300,
    LOBBY_ROUNDS_MAX = 150, /* pending connections who say nothing go after 10 s */
    BLOCKS_MORE_MAX = 256,  /* held while states are sent and causes are looked for */
};

typedef struct hostile_match {
    honest_match run;
    ls_simulation simulation;
    fuzz_input input;
    ls_peer_id peers[PEERS];
    ls_peer_id next_peer;
    ls_hello hello;            /* of every client: to make one takes as long as a move */
    uint32_t sequences[PEERS]; /* of the next INPUTS of each */
    uint32_t hash_interval;
    uint64_t match_id;
    ls_secret_key key;
    uint64_t heap_calls_at_start;
    uint32_t blocks_at_start;
    size_t newest_size; /* of the packet sent last */
    ls_channel newest_channel;
    uint8_t newest[LS_PACKET_BYTES_MAX];
} hostile_match;

/* ---- what the hostile peers send ---- */

static bool is_seated(const hostile_match *hostile, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(hostile->run.match); slot++) {
        if (ls_match_slot_of(hostile->run.match, slot).peer == peer) {
            return true;
        }
    }
    return false;
}

static bool is_malformed(ls_channel channel, const uint8_t *bytes, size_t size)
{
    static ls_message message;
    if (channel == LS_CHANNEL_RELIABLE) {
        return ls_message_read(bytes, size, 0, &message) != LS_OK;
    }
    return ls_message_peek(bytes, size) != LS_MESSAGE_INPUTS;
}

/* Every rejection is counted; no packet closes a tick under the rule `repeat`. */
static void deliver(hostile_match *hostile, uint32_t peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    ls_match *match = hostile->run.match;
    ls_peer_id id = hostile->peers[peer];
    bool is_bad = is_malformed(channel, bytes, size) && is_seated(hostile, id);
    uint64_t rejected = ls_match_packets_rejected(match);
    ls_match_receive(match, id, channel, bytes, size, hostile->run.now_ns);
    if (is_bad) {
        LS_ASSERT(ls_match_packets_rejected(match) == rejected + 1 || !is_seated(hostile, id));
    }
    if (bytes != hostile->newest) {
        memcpy(hostile->newest, bytes, size);
    }
    hostile->newest_size = size;
    hostile->newest_channel = channel;
}

static void send_message(hostile_match *hostile, uint32_t peer, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    deliver(hostile, peer, LS_CHANNEL_RELIABLE, bytes, size);
}

static void connect_peer(hostile_match *hostile, uint32_t peer)
{
    hostile->peers[peer] = hostile->next_peer++;
    ls_match_peer_connected(hostile->run.match, hostile->peers[peer], hostile->run.now_ns);
}

static void disconnect_peer(hostile_match *hostile, uint32_t peer)
{
    ls_match_peer_disconnected(hostile->run.match, hostile->peers[peer], LS_DISCONNECTED,
                               hostile->run.now_ns);
}

/* With the secret of whoever sits, or sat, on one of the seats but the honest client's. */
static ls_return make_return(hostile_match *hostile, uint32_t shape)
{
    fuzz_input *input = &hostile->input;
    ls_match *match = hostile->run.match;
    uint32_t slot = 1u + shape % (ls_match_players(match) - 1);
    ls_return back = {.match_id = hostile->match_id, .is_desynced = shape >> 2};
    ls_secret_derive(&hostile->key, back.match_id, slot, 1u + fuzz_take_u8(input) % 4, back.secret);
    back.confirmed = fuzz_tick_near(ls_match_tick(match), fuzz_take_i8(input));
    back.held = fuzz_take_u8(input);
    back.held = back.held < back.confirmed ? back.held : back.confirmed;
    return back;
}

static void send_hello(hostile_match *hostile, uint32_t peer, uint8_t flaw)
{
    static ls_message message;
    message.kind = LS_MESSAGE_HELLO;
    message.body.hello = hostile->hello;
    message.body.hello.magic ^= flaw & 1u;
    message.body.hello.protocol_version ^= flaw >> 1 & 1u;
    message.body.hello.arithmetic ^= flaw >> 2 & 1u;
    message.body.hello.is_spectator = flaw >> 3 & 1u;
    if (flaw & 0x10u) {
        message.body.hello.back = make_return(hostile, flaw >> 5);
    }
    send_message(hostile, peer, &message);
}

static void send_ready(hostile_match *hostile, uint32_t peer, uint8_t flaw)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_READY);
    message->body.ready = ls_ready_make(ls_match_instance(hostile->run.match));
    message->body.ready.simulation_version ^= flaw & 1u;
    message->body.ready.parameter_digest ^= flaw >> 1 & 1u;
    message->body.ready.initial_hash ^= flaw >> 2 & 1u;
    send_message(hostile, peer, message);
}

static uint64_t hash_of_state_0(const hostile_match *hostile)
{
    return ls_sim_instance_digests(ls_match_instance(hostile->run.match)).initial;
}

/* INPUTS whose fields lie near what they should be; 0 for the chain is the right one of state 0. */
static void send_inputs(hostile_match *hostile, uint32_t peer)
{
    fuzz_input *input = &hostile->input;
    ls_tick tick = ls_match_tick(hostile->run.match);
    ls_inputs_header header = {.next = fuzz_tick_near(tick, fuzz_take_i8(input))};
    header.hold = fuzz_take_u8(input);
    header.chain_tick = fuzz_tick_near(header.next, -(int64_t)fuzz_take_u8(input));
    header.chain = fuzz_take_u8(input);
    if (header.chain == 0) {
        header.chain_tick = 0;
        header.chain = (uint32_t)ls_hash_chain_start(hash_of_state_0(hostile));
    }
    header.first = fuzz_tick_near(tick, 3 * fuzz_take_i8(input));
    uint8_t shape = fuzz_take_u8(input);
    header.has_base = shape & 1u;
    header.base_gap = shape & 0x80u ? LS_MIN(shape & 7u, header.first) : 0;
    header.sequence = hostile->sequences[peer]++;
    if (shape & 0x20u) {
        header.sequence += fuzz_take_u8(input);
    }
    if (shape & 0x40u) {
        header.has_health = true;
        header.health.downlink.loss = fuzz_take_u8(input);
        header.health.has_lag = true;
        header.health.lag.late_inputs = fuzz_take_u16(input);
        header.health.lag.frames_late_ms = shape & 0x10u ? header.health.lag.late_inputs : 0;
        header.health.lag.held_ticks = shape & 0x8u ? header.health.lag.late_inputs : 0;
        header.health.lag.stalled_ticks = fuzz_take_u8(input);
    }
    uint32_t count = shape & 2u ? fuzz_take_u8(input) : shape >> 2 & 7u;

    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    ls_slot_input before = {NULL, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 0;
        ls_slot_input made = {NULL, 0, 0};
        made.bytes = fuzz_take_bytes(input, fuzz_take_u8(input) * (shape & 0x80u ? 5u : 1u), &size);
        made.size = size < LS_INPUT_BYTES_MAX ? (uint32_t)size : LS_INPUT_BYTES_MAX;
        if (!ls_inputs_write_tick(&stream, &before, &made)) {
            break;
        }
        before = made;
    }
    ls_tick_packet_write_end(&stream);
    deliver(hostile, peer, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
}

/* HASHES from the first state that the match may have asked for. */
static void send_hashes(hostile_match *hostile, uint32_t peer)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_HASHES);
    fuzz_input *input = &hostile->input;
    ls_hashes *hashes = &message->body.hashes;
    hashes->first = fuzz_take_u8(input);
    hashes->count = fuzz_take_u8(input) % (LS_HASHES_PER_MESSAGE + 1);
    uint8_t content = fuzz_take_u8(input);
    for (uint32_t i = 0; i < hashes->count; i++) {
        hashes->state_hashes[i] = content;
    }
    if (content & 1u) {
        hashes->state_hashes[0] = hash_of_state_0(hostile);
    }
    send_message(hostile, peer, message);
}

static void send_finished(hostile_match *hostile, uint32_t peer)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_FINISHED);
    fuzz_input *input = &hostile->input;
    ls_match *match = hostile->run.match;
    ls_finished *finished = &message->body.finished;
    finished->tick = fuzz_tick_near(ls_match_tick(match), fuzz_take_i8(input));
    ls_tick newest_hashed = finished->tick - finished->tick % hostile->hash_interval;
    finished->chain_tick = fuzz_tick_near(newest_hashed, -(int64_t)fuzz_take_u8(input));
    finished->chain = fuzz_take_u8(input);
    finished->state_hash = ls_match_hash(match) ^ fuzz_take_u8(input);
    send_message(hostile, peer, message);
}

/* Answers that the match may have asked for after a desync. */
static void send_evidence(hostile_match *hostile, uint32_t peer)
{
    ls_message *message = fuzz_message_of(0);
    fuzz_input *input = &hostile->input;
    ls_tick tick = fuzz_take_u8(input);
    uint8_t shape = fuzz_take_u8(input);
    switch (shape & 3u) {
    case 0: {
        ls_wire_answer *answer = &message->body.tree_answer;
        message->kind = LS_MESSAGE_TREE_ANSWER;
        answer->asked.tick = tick;
        answer->asked.pass = (shape >> 5) - 1u;
        answer->asked.query.wants_values = shape >> 2 & 1u;
        answer->asked.query.nodes = (ls_tree_range){fuzz_take_u8(input), 1u + (shape >> 3)};
        answer->size = fuzz_take_u16(input) % (LS_TREE_ANSWER_BYTES_MAX + 1);
        memset(answer->bytes, shape, answer->size);
        break;
    }
    case 1:
        message->kind = LS_MESSAGE_EVIDENCE;
        message->body.evidence.tick = tick;
        message->body.evidence.pass = (shape >> 5) - 1u;
        message->body.evidence.figures[0] = shape >> 2;
        message->body.evidence.figures[5] = (uint8_t)tick;
        message->body.evidence.figures[9] = (uint8_t)tick;
        message->body.evidence.pass_count = fuzz_take_u8(input) % (LS_PASSES_MAX + 1);
        break;
    case 2:
        message->kind = LS_MESSAGE_BUILD_FINGERPRINT;
        message->body.build_fingerprint.size =
            fuzz_take_u16(input) % (LS_EVIDENCE_PRINT_BYTES_MAX + 1);
        memset(message->body.build_fingerprint.bytes, shape, message->body.build_fingerprint.size);
        break;
    default:
        message->kind = LS_MESSAGE_HEALED;
        message->body.healed = (ls_healed){.tick = tick, .is_equal = shape >> 2 & 1u};
        break;
    }
    send_message(hostile, peer, message);
}

static void send_goodbye(hostile_match *hostile, uint32_t peer)
{
    ls_message *message = fuzz_message_of(LS_MESSAGE_GOODBYE);
    message->body.close_reason.negated_status = fuzz_take_u8(&hostile->input);
    ls_text_set(&message->body.close_reason.text, "bye");
    send_message(hostile, peer, message);
}

static void send_raw(hostile_match *hostile, uint32_t peer, ls_channel channel)
{
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_packet(&hostile->input, &size);
    deliver(hostile, peer, channel, bytes, size);
}

/* The newest packet with some bits flipped, perhaps by another peer and on another channel. */
static void send_altered(hostile_match *hostile, uint32_t peer)
{
    if (hostile->newest_size == 0) {
        return;
    }
    uint8_t flips = fuzz_take_u8(&hostile->input);
    fuzz_flip_bits(&hostile->input, flips & 7u, hostile->newest, hostile->newest_size);
    ls_channel channel = flips & 8u ? LS_CHANNEL_RELIABLE : hostile->newest_channel;
    deliver(hostile, peer, channel, hostile->newest, hostile->newest_size);
}

static void send_flood(hostile_match *hostile, uint32_t peer)
{
    for (uint32_t i = fuzz_take_u8(&hostile->input) * 2u; i > 0; i--) {
        deliver(hostile, peer, hostile->newest_channel, hostile->newest, hostile->newest_size);
    }
}

static void make_move(hostile_match *hostile)
{
    uint8_t head = fuzz_take_u8(&hostile->input);
    uint32_t peer = head >> 4 & (PEERS - 1);
    switch (head & 15u) {
    case 0:
    case 1:
        honest_match_run(&hostile->run, (1u + fuzz_take_u8(&hostile->input) % 64) * LS_NS_PER_MS);
        return;
    case 2:
        send_raw(hostile, peer, LS_CHANNEL_RELIABLE);
        return;
    case 3:
        send_raw(hostile, peer, LS_CHANNEL_UNRELIABLE);
        return;
    case 4:
        send_hashes(hostile, peer);
        return;
    case 5:
        send_finished(hostile, peer);
        return;
    case 6:
        send_goodbye(hostile, peer);
        return;
    case 7:
        send_ready(hostile, peer, fuzz_take_u8(&hostile->input));
        return;
    case 8:
        send_hello(hostile, peer, fuzz_take_u8(&hostile->input));
        return;
    case 9:
        connect_peer(hostile, peer);
        return;
    case 10:
        disconnect_peer(hostile, peer);
        return;
    case 11:
        send_altered(hostile, peer);
        return;
    case 12:
        send_flood(hostile, peer);
        return;
    case 13:
        send_evidence(hostile, peer);
        return;
    default:
        send_inputs(hostile, peer);
        return;
    }
}

static void make_moves(hostile_match *hostile, uint32_t most)
{
    for (uint32_t moves = 0; moves < most && hostile->input.size > 0; moves++) {
        make_move(hostile);
    }
}

/* ---- the match ---- */

static ls_match_config make_config(const ls_simulation *simulation, uint8_t setup, uint8_t timing)
{
    ls_match_config config = ls_match_config_default(simulation);
    config.sim.tick_rate_hz = TICK_RATE_HZ;
    config.sim.players = 2u + (setup & 3u) % 3;
    config.late_rule = setup & 4u ? LS_LATE_WAIT : LS_LATE_REPEAT;
    config.on_desync = (ls_on_desync)(setup >> 3 & 3u);
    config.hash_interval_ticks = 1u + (timing & 7u);
    config.input_delay_ticks = timing >> 3 & 3u;
    config.send_rate = (ls_send_rate)(timing >> 5 & 3u);
    config.adapts_input_delay = timing >> 7;
    config.timeout_ms = 1500;
    config.wait_limit_ms = 60;
    config.start_delay_ms = 40;
    return config;
}

/* Fills the seats that the honest client leaves, until the match starts. A client that took one in
 * the lobby and is not ready loses it by silence. */
static void start_match(hostile_match *hostile)
{
    for (int round = 0; round < LOBBY_ROUNDS_MAX; round++) {
        for (uint32_t peer = 0; peer + 1 < ls_match_players(hostile->run.match); peer++) {
            if (ls_match_state_of(hostile->run.match) != LS_MATCH_LOBBY) {
                return;
            }
            if (!is_seated(hostile, hostile->peers[peer])) {
                connect_peer(hostile, peer);
                send_hello(hostile, peer, 0);
                send_ready(hostile, peer, 0);
            }
        }
        honest_match_run(&hostile->run, 100 * LS_NS_PER_MS);
    }
}

/* The honest client played the whole match, was never harmed, and has the server's state. */
static void check_honest(const hostile_match *hostile)
{
    const honest_match *run = &hostile->run;
    ls_session_report session = ls_session_report_of(run->session);
    LS_ASSERT(honest_match_is_over(run));
    LS_ASSERT(session.status == LS_OK);
    LS_ASSERT(session.tick == ls_match_tick(run->match));
    LS_ASSERT(!session.is_desynced);
    ls_match_slot slot = ls_match_slot_of(run->match, session.slot);
    LS_ASSERT(slot.has_finished && !slot.is_desynced && slot.left_status == LS_OK);
    LS_ASSERT(slot.finished.state_hash == ls_match_hash(run->match));
    LS_ASSERT(slot.packets_rejected == 0);
    LS_ASSERT(slot.inputs_substituted == 0 && slot.inputs_late == 0);
    LS_ASSERT(heap_calls() == hostile->heap_calls_at_start);
    LS_ASSERT(fuzz_memory_live_blocks() <= hostile->blocks_at_start + BLOCKS_MORE_MAX);
}

static void play(hostile_match *hostile, uint8_t setup)
{
    honest_match *run = &hostile->run;
    if (setup & 0x40u) {
        make_moves(hostile, MOVES_MAX / 4);
        start_match(hostile);
    }
    LS_ASSERT(ls_match_state_of(run->match) != LS_MATCH_LOBBY);
    hostile->heap_calls_at_start = heap_calls();
    hostile->blocks_at_start = fuzz_memory_live_blocks();
    make_moves(hostile, MOVES_MAX);
    for (uint32_t peer = 0; setup & 0x80u && peer < PEERS; peer++) {
        disconnect_peer(hostile, peer);
    }
    honest_match_run(run, 20 * LS_NS_PER_SECOND);
    check_honest(hostile);
}

/* The start of every run with these first bytes. */
static void start_run(hostile_match *hostile, uint8_t setup, uint8_t timing, ls_tick ticks)
{
    hostile->next_peer = FIRST_PEER_ID;
    hostile->hello = ls_hello_make("mallory");
    for (uint32_t peer = 0; peer < PEERS; peer++) {
        hostile->peers[peer] = hostile->next_peer++; /* no client that is connected */
    }
    hostile->simulation = *counter_simulation();
    if (setup & 0x20u) {
        hostile->simulation.input_bytes_max = LARGE_INPUT_BYTES_MAX;
    }
    ls_match_config config = make_config(&hostile->simulation, setup, timing);
    config.ticks = ticks;
    hostile->hash_interval = config.hash_interval_ticks;
    hostile->match_id = config.match_id;
    hostile->key = config.key;
    honest_match_open(&hostile->run, &config, fuzz_memory_allocator());
    honest_match_run(&hostile->run, 50 * LS_NS_PER_MS);
    if (!(setup & 0x40u)) {
        start_match(hostile);
    }
}

static uint8_t timing_of(uint8_t timing)
{
    static const uint8_t high[16] = {0x0, 0x9, 0x3, 0x0, 0xf, 0x6, 0x0, 0x6,
                                     0xf, 0x3, 0x6, 0x4, 0xc, 0x2, 0x8, 0x5};
    uint8_t low = timing & 15u;
    return (uint8_t)(high[low] << 4 | low);
}

FUZZ_TARGET(match)
{
    fuzz_input input = {bytes, size};
    uint8_t setup = fuzz_take_u8(&input);
    uint8_t timing = fuzz_take_u8(&input);
    bool is_long = (timing & 0x70u) == 0;
    uint32_t start = (timing & 15u) << 8 | (setup & 0x7fu) | (is_long ? 0x80u : 0);
    hostile_match *hostile = fuzz_memory_restore(start);
    if (!hostile) {
        hostile = fuzz_memory_start(sizeof *hostile);
        start_run(hostile, setup, timing_of(timing), is_long ? LONG_TICKS : TICKS);
        fuzz_memory_keep(start);
    }
    hostile->input = input;
    play(hostile, setup);
    honest_match_close(&hostile->run);
    LS_ASSERT(fuzz_memory_live_blocks() == 0);
    return 0;
}

/* Fuzzes a match whose server came back from its journal, and clients that say what they hold of
 * the ticks that the journal has not. While no client lies, every recovered tick is one that was
 * closed; in any case the match goes on in the end.
 *
 *   u8 setup      bits 0-1 players less one; bit 2 inputs of up to 1,024 bytes; bits 3-7 ticks in
 *                 the journal
 *   then moves:   u8: bits 0-3 the move, bits 4-5 the peer that makes it; then what the move takes
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tests/fuzz/fuzz_memory.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

enum {
    PEERS = 4,
    MOVES_MAX = 300,
    CLOSED_TICKS = 200, /* before the server stopped */
    RESUME_WAIT_MS = 20000,
    STEP_MS = 250,
    STEPS_MAX = 800,
    BLOCKS_MORE_MAX = 256, /* held while states are sent and causes are looked for */
};

typedef struct returning_match {
    fuzz_input input;
    ls_simulation simulation;
    ls_match_config config;
    ls_match *match;
    uint64_t chains[CLOSED_TICKS + 1]; /* of what was closed */
    uint32_t first_hash_chain;         /* low half of the chain of state hashes up to state 0 */
    ls_peer_id peers[PEERS];           /* 0: no connection */
    ls_ticks_request asked[PEERS];
    ls_peer_id next_peer;
    ls_hello hello; /* of every client: to make one takes as long as a move */
    bool has_lied;
    uint64_t now_ns;
} returning_match;

/* ---- what was closed ---- */

/* Every slot's input is the same; a lie differs in its first byte. */
static ls_tick_inputs inputs_of(const returning_match *here, ls_tick tick, bool is_lie,
                                ls_slot_input slots[LS_PLAYERS_MAX])
{
    static uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t most = here->simulation.input_bytes_max;
    memset(bytes, (int)(tick % 7), sizeof bytes);
    bytes[0] ^= is_lie ? 0x80u : 0;
    for (uint32_t slot = 0; slot < here->config.sim.players; slot++) {
        slots[slot] =
            (ls_slot_input){bytes, 1 + tick * 97 % most, tick == 0 ? (uint32_t)LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = here->config.sim.players, .slots = slots};
}

static void make_chains(returning_match *here)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    here->chains[0] = LS_TICK_CHAIN_START;
    for (ls_tick tick = 0; tick < CLOSED_TICKS; tick++) {
        ls_tick_inputs inputs = inputs_of(here, tick, false, slots);
        here->chains[tick + 1] = ls_tick_chain_next(here->chains[tick], &inputs);
    }
}

/* ---- what the match does ---- */

static uint32_t place_of(const returning_match *here, ls_peer_id id)
{
    uint32_t peer = 0;
    while (peer < PEERS && here->peers[peer] != id) {
        peer++;
    }
    LS_ASSERT(id != 0 && peer < PEERS);
    return peer;
}

static void on_send(void *user, ls_peer_id id, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    static ls_message message;
    returning_match *here = user;
    uint32_t peer = place_of(here, id);
    if (channel != LS_CHANNEL_RELIABLE) {
        return;
    }
    LS_ASSERT(ls_message_read(bytes, size, here->config.sim.players, &message) == LS_OK);
    if (message.kind == LS_MESSAGE_TICKS_REQUEST) {
        LS_ASSERT(ls_match_state_of(here->match) == LS_MATCH_RESUMING);
        here->asked[peer] = message.body.ticks_request;
    }
}

static void on_disconnect(void *user, ls_peer_id id)
{
    returning_match *here = user;
    here->peers[place_of(here, id)] = 0;
}

static void check_match(const returning_match *here)
{
    ls_tick tick = ls_match_tick(here->match);
    if (ls_match_state_of(here->match) == LS_MATCH_RESUMING && !here->has_lied) {
        LS_ASSERT(tick <= CLOSED_TICKS);
        LS_ASSERT(ls_match_tick_chain(here->match, tick) == here->chains[tick]);
    }
}

static void advance(returning_match *here, uint64_t ns)
{
    ls_match_event event;
    here->now_ns += ns;
    ls_match_advance(here->match, here->now_ns);
    while (ls_match_next_event(here->match, &event)) {
        LS_ASSERT(event.kind <= LS_MATCH_HEALING);
    }
}

/* ---- what the peers send ---- */

static void deliver(returning_match *here, uint32_t peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    if (here->peers[peer] != 0) {
        ls_match_receive(here->match, here->peers[peer], channel, bytes, size, here->now_ns);
    }
}

static void send_message(returning_match *here, uint32_t peer, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    deliver(here, peer, LS_CHANNEL_RELIABLE, bytes, ls_message_write(message, bytes));
}

static void connect_peer(returning_match *here, uint32_t peer)
{
    if (here->peers[peer] == 0) {
        here->peers[peer] = here->next_peer++;
        here->asked[peer].count = 0;
        ls_match_peer_connected(here->match, here->peers[peer], here->now_ns);
    }
}

static void disconnect_peer(returning_match *here, uint32_t peer)
{
    ls_peer_id id = here->peers[peer];
    here->peers[peer] = 0;
    if (id != 0) {
        ls_match_peer_disconnected(here->match, id, LS_DISCONNECTED, here->now_ns);
    }
}

/* Of who was there when the server stopped, or of a newcomer; some say more than is true. */
static void send_hello(returning_match *here, uint32_t peer)
{
    static ls_message message;
    fuzz_input *input = &here->input;
    uint8_t shape = fuzz_take_u8(input);
    ls_return *back = &message.body.hello.back;
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_HELLO;
    message.body.hello = here->hello;
    if ((shape & 7u) != 7) {
        back->match_id = here->config.match_id;
        back->confirmed = fuzz_take_u8(input) % (CLOSED_TICKS + 1u);
        back->tick_chain = here->chains[back->confirmed];
        back->held = fuzz_take_u8(input);
        back->held = back->held < back->confirmed ? back->held : back->confirmed;
        back->is_desynced = shape >> 3 & 1u;
        back->hash_chain = here->first_hash_chain; /* it has hashed no other state */
        back->has_seal = shape >> 5 & 1u;
        back->sealed_tick = back->confirmed / 2;
        back->seal = ls_secret_seal(&here->config.key, back->match_id, back->sealed_tick,
                                    here->chains[back->sealed_tick]);
        uint32_t slot = (shape & 7u) % here->config.sim.players;
        ls_secret_derive(&here->config.key, back->match_id, slot, 1 + (shape >> 7), back->secret);
    }
    if (shape & 0x10u) {
        here->has_lied = true;
        back->tick_chain ^= fuzz_take_u8(input);
        back->confirmed = fuzz_tick_near(back->confirmed, 8 * fuzz_take_i8(input));
        back->held = back->held < back->confirmed ? back->held : back->confirmed;
        back->sealed_tick = LS_MIN(back->sealed_tick, back->confirmed);
        back->seal ^= shape >> 6 & 1u;
    }
    connect_peer(here, peer);
    send_message(here, peer, &message);
    if (!(shape & 0x20u)) {
        message.kind = LS_MESSAGE_READY;
        message.body.ready = ls_ready_make(ls_match_instance(here->match));
        send_message(here, peer, &message);
    }
}

/* One tick in all its parts, perhaps but one. */
static void send_tick(returning_match *here, uint32_t peer, ls_tick tick, uint8_t shape)
{
    static ls_message message;
    static uint8_t bytes[LS_TICK_BYTES_MAX];
    static const ls_slot_input none[LS_PLAYERS_MAX];
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs = inputs_of(here, tick, shape & 1u, slots);
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    bool fits = ls_ticks_write_tick(&stream, inputs.slot_count, none, inputs.slots);
    LS_ASSERT(fits);
    ls_tick_part *part = &message.body.closed_tick;
    message.kind = LS_MESSAGE_CLOSED_TICK;
    part->tick = tick;
    part->total_bytes = (uint32_t)ls_bits_size_bytes(&stream);
    for (part->index = 0; part->index < ls_tick_part_count(part->total_bytes); part->index++) {
        part->size = ls_tick_part_size(part->total_bytes, part->index);
        memcpy(part->bytes, bytes + part->index * LS_TICK_PART_BYTES, part->size);
        if ((shape & 2u) && part->index == shape >> 6) {
            continue;
        }
        part->bytes[0] ^= shape & 4u ? fuzz_take_u8(&here->input) : 0;
        send_message(here, peer, &message);
    }
}

/* The tick that it was asked for, or one near it. */
static void answer(returning_match *here, uint32_t peer)
{
    uint8_t shape = fuzz_take_u8(&here->input);
    ls_ticks_request asked = here->asked[peer];
    if (shape & 8u) {
        asked.first = fuzz_tick_near(asked.first, fuzz_take_i8(&here->input));
        asked.count = fuzz_take_u8(&here->input) % LS_TICKS_PER_REQUEST;
    }
    here->has_lied = here->has_lied || (shape & 15u) != 0;
    here->asked[peer].count = 0;
    for (uint32_t i = 0; i < asked.count && asked.first + i < CLOSED_TICKS; i++) {
        send_tick(here, peer, asked.first + i, i + 1 == asked.count ? shape : 0);
    }
}

static void send_raw(returning_match *here, uint32_t peer)
{
    size_t size = 0;
    uint8_t wanted = fuzz_take_u8(&here->input);
    const uint8_t *bytes = fuzz_take_bytes(&here->input, wanted >> 1, &size);
    here->has_lied = true;
    deliver(here, peer, wanted & 1u ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE, bytes, size);
}

static void make_move(returning_match *here)
{
    uint8_t head = fuzz_take_u8(&here->input);
    uint32_t peer = head >> 4 & (PEERS - 1);
    switch (head & 15u) {
    case 0:
    case 1:
        advance(here, (1u + fuzz_take_u8(&here->input)) * 5 * LS_NS_PER_MS);
        return;
    case 2:
        send_raw(here, peer);
        return;
    case 3:
        connect_peer(here, peer);
        return;
    case 4:
        disconnect_peer(here, peer);
        return;
    case 5:
    case 6:
    case 7:
    case 8:
        send_hello(here, peer);
        return;
    default:
        advance(here, 1);
        answer(here, peer);
        return;
    }
}

/* ---- the match ---- */

static void open_match(returning_match *here, uint8_t setup)
{
    here->simulation = *counter_simulation();
    here->simulation.input_bytes_max =
        setup & 4u ? LS_INPUT_BYTES_MAX : here->simulation.input_bytes_max;
    here->config = ls_match_config_default(&here->simulation);
    here->config.sim.players = 1u + (setup & 3u);
    here->config.resume_wait_ms = RESUME_WAIT_MS;
    here->config.keep_seat_ms = 1000;
    here->config.timeout_ms = 1500;
    ls_packet_sink sink = {on_send, on_disconnect, here};
    ls_status status =
        ls_match_create(&here->config, &sink, fuzz_memory_allocator(), &here->match, NULL);
    LS_ASSERT(status == LS_OK);
    here->first_hash_chain = (uint32_t)ls_match_hash_chain(here->match, &(ls_tick){0});
    make_chains(here);
}

static void restore_match(returning_match *here, ls_tick ticks)
{
    ls_text why;
    ls_match_restore from = {.tick = 0};
    ls_status status = ls_match_restore_start(here->match, &from, &why);
    LS_ASSERT(status == LS_OK);
    for (ls_tick tick = 0; tick < ticks; tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs = inputs_of(here, tick, false, slots);
        status = ls_match_restore_tick(here->match, &inputs, 0, &why);
        LS_ASSERT(status == LS_OK);
    }
    for (uint32_t slot = 0; slot < here->config.sim.players; slot++) {
        ls_match_restore_seat(here->match, slot,
                              &(ls_restored_seat){.name = "Ada", .generations = {.newest = 1}});
    }
    ls_match_restore_end(here->match, here->now_ns);
}

/* The start of every run with these first bytes. */
static void start_run(returning_match *here, uint8_t setup)
{
    here->now_ns = LS_NS_PER_SECOND;
    here->next_peer = 1;
    here->hello = ls_hello_make("mallory");
    open_match(here, setup);
    restore_match(here, setup >> 3);
}

static void play(returning_match *here)
{
    uint64_t calls_before = heap_calls();
    uint32_t blocks_before = fuzz_memory_live_blocks();
    for (uint32_t moves = 0; moves < MOVES_MAX && here->input.size > 0; moves++) {
        make_move(here);
        check_match(here);
    }
    for (int step = 0; ls_match_state_of(here->match) == LS_MATCH_RESUMING; step++) {
        LS_ASSERT(step < STEPS_MAX);
        advance(here, STEP_MS * LS_NS_PER_MS);
        check_match(here);
    }
    LS_ASSERT(heap_calls() == calls_before);
    LS_ASSERT(fuzz_memory_live_blocks() <= blocks_before + BLOCKS_MORE_MAX);
}

FUZZ_TARGET(resume)
{
    fuzz_input input = {bytes, size};
    uint8_t setup = fuzz_take_u8(&input);
    returning_match *here = fuzz_memory_restore(setup);
    if (!here) {
        here = fuzz_memory_start(sizeof *here);
        start_run(here, setup);
        fuzz_memory_keep(setup);
    }
    here->input = input;
    play(here);
    ls_match_destroy(here->match);
    LS_ASSERT(fuzz_memory_live_blocks() == 0);
    return 0;
}

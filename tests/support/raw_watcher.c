#include "lockstep/tests/support/raw_watcher.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/protocol/wire/handshake.h"

#include <stdlib.h>

#define INPUTS_NS (100 * LS_NS_PER_MS)

static void send_bytes(raw_watcher *watcher, ls_lane lane, const uint8_t *bytes, size_t size)
{
    ls_transport_send(watcher->transport, watcher->server, lane, bytes, size);
}

static void send_message(raw_watcher *watcher, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    send_bytes(watcher, LS_LANE_RELIABLE, bytes, ls_message_write(message, bytes));
}

ls_tick raw_watcher_tick(const raw_watcher *watcher)
{
    return watcher->instance ? ls_sim_instance_tick(watcher->instance) : 0;
}

/* ---- the handshake ---- */

static void say_hello(raw_watcher *watcher)
{
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("watcher")};
    message.body.hello.is_watching = true;
    if (watcher->offer.match_id != 0) {
        message.body.hello.back = (ls_return){.match_id = watcher->offer.match_id,
                                              .confirmed = raw_watcher_tick(watcher),
                                              .tick_chain = watcher->tick_chain};
    }
    send_message(watcher, &message);
}

static void make_simulation(raw_watcher *watcher)
{
    ls_text why;
    ls_status status =
        ls_sim_instance_create(watcher->run->setup.match.simulation, &watcher->offer.config,
                               ls_allocator_heap(), &watcher->instance, &why);
    LS_ASSERT(status == LS_OK);
    ls_input_buffer_config config = {.slots = watcher->offer.config.players,
                                     .input_bytes_max =
                                         watcher->run->setup.match.simulation->input_bytes_max,
                                     .window_ticks = 4 * LS_WINDOW_TICKS};
    status = ls_input_buffer_create(&config, ls_allocator_heap(), &watcher->received);
    LS_ASSERT(status == LS_OK);
    watcher->chain = ls_hash_chain_start(ls_sim_instance_hash(watcher->instance));
    watcher->tick_chain = LS_TICK_CHAIN_START;
}

static void take_offer(raw_watcher *watcher, const ls_offer *offer)
{
    watcher->offer = *offer;
    if (!watcher->instance) {
        make_simulation(watcher);
    }
    ls_message message = {.kind = LS_MESSAGE_READY};
    message.body.ready = ls_ready_make(ls_match_instance(watcher->run->match));
    send_message(watcher, &message);
}

static void say_joined(raw_watcher *watcher)
{
    ls_message message = {.kind = LS_MESSAGE_JOINED};
    watcher->has_state = true;
    watcher->first_chain_tick = watcher->chain_tick;
    watcher->first_chain = watcher->chain;
    if (watcher->is_lazy) {
        return;
    }
    message.body.joined.tick = watcher->join.tick;
    message.body.joined.root = watcher->root;
    send_message(watcher, &message);
}

static void take_join(raw_watcher *watcher, const ls_join *join)
{
    watcher->join = *join;
    watcher->has_join = true;
    watcher->next = join->tick;
    watcher->last_heard_ns = 0;
    if (join->source != LS_JOIN_HELD) {
        ls_input_buffer_restart(watcher->received, join->tick);
    }
    if (join->source == LS_JOIN_HELD) {
        LS_ASSERT(join->tick == raw_watcher_tick(watcher));
        LS_ASSERT(join->tick_chain == watcher->tick_chain);
        watcher->root = ls_sim_instance_hash(watcher->instance);
        say_joined(watcher);
        return;
    }
    ls_blob_promise promise = {
        .number = join->blob, .bytes = join->blob_bytes, .hash = join->blob_hash};
    ls_status status =
        ls_blob_receiver_create(join->blob_bytes, ls_allocator_heap(), &watcher->blob);
    LS_ASSERT(status == LS_OK);
    status = ls_blob_receiver_start(watcher->blob, &promise, watcher->run->now_ns);
    LS_ASSERT(status == LS_OK);
}

static void take_blob(raw_watcher *watcher)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint64_t now_ns = watcher->run->now_ns;
    while (ls_blob_receiver_advance(watcher->blob, 8)) {
    }
    size_t size = 0;
    while (!watcher->is_silent &&
           (size = ls_blob_receiver_next(watcher->blob, now_ns, bytes)) > 0) {
        send_bytes(watcher, LS_LANE_UNRELIABLE, bytes, size);
    }
    if (watcher->has_state || ls_blob_receiver_state_of(watcher->blob) != LS_BLOB_COMPLETE) {
        return;
    }
    ls_status status = ls_sim_instance_load(
        watcher->instance, ls_blob_receiver_bytes(watcher->blob), watcher->join.tick);
    LS_ASSERT(status == LS_OK);
    watcher->root = ls_sim_instance_hash(watcher->instance);
    LS_ASSERT(watcher->root == watcher->join.root);
    watcher->chain_tick = watcher->join.chain_tick;
    watcher->chain = watcher->join.chain;
    watcher->tick_chain = watcher->join.tick_chain;
    say_joined(watcher);
}

/* ---- closed ticks ---- */

static void note_heard(raw_watcher *watcher)
{
    uint64_t now_ns = watcher->run->now_ns;
    watcher->ticks_heard++;
    watcher->same_heard = now_ns == watcher->last_heard_ns ? watcher->same_heard + 1 : 1;
    if (watcher->same_heard > watcher->most_heard) {
        watcher->most_heard = watcher->same_heard;
    }
    if (watcher->last_heard_ns != 0 &&
        now_ns - watcher->last_heard_ns > watcher->longest_pause_ns) {
        watcher->longest_pause_ns = now_ns - watcher->last_heard_ns;
    }
    watcher->last_heard_ns = now_ns;
}

static void note_delay(raw_watcher *watcher, ls_tick next_before)
{
    ls_tick ahead = ls_match_tick(watcher->run->match) - watcher->next;
    bool is_running = ls_match_state_of(watcher->run->match) == LS_MATCH_RUNNING;
    if (is_running && watcher->next > next_before && ahead < watcher->least_delay) {
        watcher->least_delay = ahead;
    }
}

static void take_ticks(raw_watcher *watcher, const uint8_t *bytes, size_t size)
{
    ls_ticks_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_ticks_header_bits(&stream, &header, watcher->next);
    LS_ASSERT(!stream.is_failed && header.first <= watcher->next);
    note_heard(watcher);
    ls_tick next = watcher->next;
    ls_slot_input base[LS_PLAYERS_MAX] = {{0}};
    bool is_alone = header.first == 0 ||
                    (header.first == watcher->join.tick && watcher->join.source != LS_JOIN_HELD);
    if (!is_alone && ls_input_buffer_tick(watcher->received, header.first - 1, base) != LS_OK) {
        return;
    }
    ls_tick_cursor_start(watcher->cursor, watcher->offer.config.players, LS_INPUT_BYTES_MAX, base);
    for (ls_tick tick = header.first; ls_ticks_read_tick(&stream, watcher->cursor); tick++) {
        if (tick < watcher->next) {
            continue;
        }
        ls_slot_input inputs[LS_PLAYERS_MAX];
        ls_tick_cursor_inputs(watcher->cursor, inputs);
        for (uint32_t slot = 0; slot < watcher->offer.config.players; slot++) {
            ls_status status =
                ls_input_buffer_put(watcher->received, tick, slot, inputs[slot].bytes,
                                    inputs[slot].size, inputs[slot].events);
            LS_ASSERT(status == LS_OK);
        }
        watcher->next = tick + 1;
    }
    LS_ASSERT(ls_bits_is_complete(&stream));
    note_delay(watcher, next);
}

static void step(raw_watcher *watcher)
{
    uint32_t players = watcher->offer.config.players;
    while (!watcher->is_lazy && raw_watcher_tick(watcher) < watcher->next) {
        ls_slot_input inputs[LS_PLAYERS_MAX];
        ls_tick tick = raw_watcher_tick(watcher);
        ls_status status = ls_input_buffer_tick(watcher->received, tick, inputs);
        LS_ASSERT(status == LS_OK);
        ls_tick_inputs all = {.tick = tick, .slot_count = players, .slots = inputs};
        watcher->tick_chain = ls_tick_chain_next(watcher->tick_chain, &all);
        ls_sim_instance_step(watcher->instance, &all);
        if (tick + 1 > LS_WINDOW_TICKS) {
            ls_input_buffer_forget_before(watcher->received, tick + 1 - LS_WINDOW_TICKS);
        }
        watcher->root = ls_sim_instance_hash(watcher->instance);
        if ((tick + 1) % watcher->offer.hash_interval_ticks == 0) {
            watcher->chain_tick = tick + 1;
            watcher->chain = ls_hash_chain_next(watcher->chain, watcher->root);
        }
    }
}

/* ---- what it says ---- */

static void send_inputs(raw_watcher *watcher)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    bool is_told_wrong = watcher->is_wrong || watcher->is_altered;
    watcher->is_altered = false;
    ls_tick next = watcher->is_stuck ? watcher->join.tick : watcher->next;
    ls_inputs_header header = {.sequence = watcher->sequence++,
                               .next = next,
                               .hold = LS_HOLD_NONE,
                               .chain_tick = watcher->chain_tick,
                               .chain = (uint32_t)watcher->chain + (is_told_wrong ? 1 : 0),
                               .first = next};
    if (watcher->is_stuck) {
        header.chain_tick = watcher->first_chain_tick;
        header.chain = (uint32_t)watcher->first_chain;
    }
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    ls_tick_packet_write_end(&stream);
    send_bytes(watcher, LS_LANE_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
    watcher->sent_ns = watcher->run->now_ns;
}

static void say_finished(raw_watcher *watcher)
{
    ls_message message = {.kind = LS_MESSAGE_FINISHED};
    message.body.finished = (ls_finished){.tick = raw_watcher_tick(watcher),
                                          .root = watcher->root,
                                          .chain_tick = watcher->chain_tick,
                                          .chain = (uint32_t)watcher->chain};
    send_message(watcher, &message);
    watcher->has_finished = true;
}

static void act(raw_watcher *watcher)
{
    if (watcher->is_closed || watcher->server == 0 || watcher->offer.match_id == 0) {
        return;
    }
    if (watcher->blob) {
        take_blob(watcher);
    }
    if (watcher->has_state && !watcher->has_finished) {
        step(watcher);
    }
    if (watcher->is_silent || watcher->has_finished) {
        return;
    }
    if (watcher->leave_tick != 0 && raw_watcher_tick(watcher) >= watcher->leave_tick) {
        ls_transport_disconnect(watcher->transport, watcher->server);
        watcher->is_silent = true;
        return;
    }
    bool is_at_end = watcher->has_end && watcher->end.final_tick == raw_watcher_tick(watcher);
    if (is_at_end && watcher->has_state && !watcher->is_lazy && !watcher->is_stuck) {
        say_finished(watcher);
    } else if (watcher->run->now_ns - watcher->sent_ns >= INPUTS_NS) {
        send_inputs(watcher);
    }
}

/* ---- packets ---- */

static void take_message(raw_watcher *watcher, const uint8_t *bytes, size_t size)
{
    static ls_message message;
    ls_status status =
        ls_message_read(bytes, size, ls_match_players(watcher->run->match), &message);
    LS_ASSERT(status == LS_OK);
    if (message.kind == LS_MESSAGE_OFFER) {
        take_offer(watcher, &message.body.offer);
    } else if (message.kind == LS_MESSAGE_JOIN) {
        take_join(watcher, &message.body.join);
    } else if (message.kind == LS_MESSAGE_END) {
        watcher->end = message.body.end;
        watcher->has_end = true;
    } else if (message.kind == LS_MESSAGE_REFUSE) {
        watcher->refusal = message.body.farewell;
    }
}

static void take_packet(raw_watcher *watcher, const ls_transport_event *event)
{
    uint32_t kind = ls_message_peek(event->bytes, event->size);
    if (event->lane == LS_LANE_RELIABLE) {
        take_message(watcher, event->bytes, event->size);
    } else if (kind == LS_MESSAGE_TICKS && watcher->has_join) {
        take_ticks(watcher, event->bytes, event->size);
    } else if (kind == LS_MESSAGE_BLOB_PART && watcher->blob) {
        ls_blob_receiver_take_part(watcher->blob, watcher->run->now_ns, event->bytes, event->size);
    }
}

static void pump(void *user)
{
    raw_watcher *watcher = user;
    ls_transport_event event;
    while (ls_transport_next_event(watcher->transport, &event)) {
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            watcher->server = event.peer;
            say_hello(watcher);
        } else if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            watcher->is_closed = true;
        } else {
            take_packet(watcher, &event);
        }
    }
    act(watcher);
}

raw_watcher *raw_watcher_create(virtual_match *run, const ls_memory_link *link, raw_watcher *before)
{
    raw_watcher *watcher = calloc(1, sizeof *watcher);
    LS_ASSERT(watcher != NULL);
    watcher->cursor = calloc(1, sizeof *watcher->cursor);
    LS_ASSERT(watcher->cursor != NULL);
    watcher->run = run;
    watcher->least_delay = UINT32_MAX;
    if (before) {
        watcher->offer = before->offer;
        watcher->instance = before->instance;
        watcher->received = before->received;
        watcher->chain_tick = before->chain_tick;
        watcher->chain = before->chain;
        watcher->tick_chain = before->tick_chain;
        watcher->root = before->root;
        watcher->next = raw_watcher_tick(watcher);
        before->instance = NULL;
        before->received = NULL;
        before->is_closed = true;
    }
    ls_status status =
        ls_memory_client_create(run->network, run->server_transport, &watcher->transport);
    LS_ASSERT(status == LS_OK);
    ls_memory_client_set_links(watcher->transport, link, link);
    virtual_match_add_stranger(run, (virtual_stranger){pump, watcher});
    return watcher;
}

void raw_watcher_destroy(raw_watcher *watcher)
{
    ls_blob_receiver_destroy(watcher->blob);
    ls_input_buffer_destroy(watcher->received);
    ls_sim_instance_destroy(watcher->instance);
    free(watcher->cursor);
    free(watcher);
}

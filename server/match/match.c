#include "lockstep/server/match/match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/match_state.h"

#include <string.h>

/* ---- life ---- */

static ls_status create_parts(ls_match *match, ls_text *why)
{
    const ls_match_config *config = &match->config;
    ls_status status = ls_sim_instance_create(config->simulation, &config->sim, match->allocator,
                                              &match->instance, why);
    ls_input_buffer_config closed = {.slots = config->sim.players,
                                     .input_bytes_max = config->simulation->input_bytes_max,
                                     .window_ticks = LS_WINDOW_TICKS};
    if (status == LS_OK) {
        status = ls_input_buffer_create(&closed, match->allocator, &match->closed);
    }
    for (uint32_t slot = 0; status == LS_OK && slot < config->sim.players; slot++) {
        status = ls_seat_init(&match->seats[slot], closed.input_bytes_max, match->allocator);
    }
    return status;
}

static ls_status create_investigation(ls_match *match, ls_text *why)
{
    if (!match->config.finds_causes) {
        return LS_OK;
    }
    ls_status status =
        ls_investigation_create(match->instance, match->own_ready.initial_hash, match->closed,
                                match->allocator, &match->investigation, why);
    if (status == LS_NO_MEMORY) {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    return status == LS_UNSUPPORTED ? LS_OK : status;
}

ls_status ls_match_create(const ls_match_config *config, const ls_packet_sink *sink,
                          const ls_allocator *allocator, ls_match **out, ls_text *why)
{
    ls_status status = ls_match_config_check(config, why);
    if (status != LS_OK) {
        return status;
    }
    ls_match *match = ls_allocate(allocator, sizeof *match);
    if (!match) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    match->config = *config;
    match->sink = *sink;
    match->allocator = allocator;
    status = create_parts(match, why);
    if (status != LS_OK) {
        if (status == LS_NO_MEMORY) {
            ls_text_set(why, "%s", ls_status_text(status));
        }
        ls_match_destroy(match);
        return status;
    }
    ls_timestep_config timestep = ls_timestep_config_default(config->sim.tick_rate_hz);
    timestep.strategy = LS_TIMESTEP_ACCUMULATOR;
    if (timestep.frame_max_ns < 2 * timestep.dt_ns) {
        timestep.frame_max_ns = 2 * timestep.dt_ns; /* who calls once a tick loses no time */
    }
    match->timestep = ls_timestep_make(&timestep);
    match->own_ready = ls_ready_make(match->instance);
    match->tick_chains[0] = LS_TICK_CHAIN_START;
    ls_arbiter_init(&match->arbiter, config->hash_interval_ticks, match->own_ready.initial_hash);
    status = create_investigation(match, why);
    if (status == LS_OK) {
        status = ls_match_join_create(match);
        ls_text_set(why, "%s", status == LS_OK ? "" : ls_status_text(status));
    }
    if (status == LS_OK && (status = ls_match_spectators_create(match)) != LS_OK) {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    if (status != LS_OK) {
        ls_match_destroy(match);
        return status;
    }
    *out = match;
    return LS_OK;
}

void ls_match_destroy(ls_match *match)
{
    if (!match) {
        return;
    }
    ls_match_join_destroy(match);
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        ls_seat_deinit(&match->seats[slot]);
    }
    ls_match_spectators_destroy(match);
    ls_investigation_destroy(match->investigation);
    ls_input_buffer_destroy(match->resume.candidates);
    ls_input_buffer_destroy(match->closed);
    ls_sim_instance_destroy(match->instance);
    ls_release(match->allocator, match);
}

/* ---- events and messages ---- */

ls_match_event *ls_match_push_event(ls_match *match, ls_match_event_kind kind)
{
    uint32_t index = (match->event_first + match->event_count) % MATCH_EVENTS_MAX;
    if (match->event_count == MATCH_EVENTS_MAX) {
        /* The oldest gives way: the newest tells how things stand. */
        match->event_first = (match->event_first + 1) % MATCH_EVENTS_MAX;
        match->events_lost++;
    } else {
        match->event_count++;
    }
    memset(&match->events[index], 0, sizeof match->events[index]);
    match->events[index].kind = kind;
    return &match->events[index];
}

bool ls_match_next_event(ls_match *match, ls_match_event *event)
{
    if (match->event_count == 0) {
        return false;
    }
    *event = match->events[match->event_first];
    match->event_first = (match->event_first + 1) % MATCH_EVENTS_MAX;
    match->event_count--;
    return true;
}

void ls_match_send(ls_match *match, ls_peer_id peer)
{
    size_t size = ls_message_write(&match->message, match->packet);
    match->sink.send(match->sink.user, peer, LS_CHANNEL_RELIABLE, match->packet, size);
}

void ls_match_send_all(ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (ls_seat_is_in_play(&match->seats[slot])) {
            ls_match_send(match, match->seats[slot].report.peer);
        }
    }
}

static uint32_t slot_of_peer(const ls_match *match, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->peers[slot] == peer) {
            return slot;
        }
    }
    return MATCH_NO_SLOT;
}

static void forget_pending(ls_match *match, match_pending *pending)
{
    pending->peer = 0;
    match->pending_count--;
}

static match_pending *pending_of_peer(ls_match *match, ls_peer_id peer)
{
    for (uint32_t i = 0; i < MATCH_PENDING_MAX; i++) {
        if (match->pending[i].peer == peer) {
            return &match->pending[i];
        }
    }
    return NULL;
}

bool ls_match_is_pending(const ls_match *match, ls_peer_id peer)
{
    for (uint32_t i = 0; match->pending_count > 0 && i < MATCH_PENDING_MAX; i++) {
        if (match->pending[i].peer == peer) {
            return true;
        }
    }
    return false;
}

/* ---- leaving ---- */

void ls_match_refuse(ls_match *match, ls_peer_id peer, ls_status status, const char *why)
{
    ls_close_reason *close_reason = &match->message.body.close_reason;
    if (!match->resume.is_given_up) { /* its journal can be resumed again: nobody is told an end */
        match->message.kind = LS_MESSAGE_REFUSE;
        close_reason->negated_status = (uint32_t)-status;
        ls_text_set(&close_reason->text, "%s", why);
        ls_match_send(match, peer);
    }
    match->sink.disconnect(match->sink.user, peer);
}

static void refuse_pending(ls_match *match, match_pending *pending, ls_status status,
                           const char *why)
{
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_PEER_REFUSED);
    event->peer = pending->peer;
    event->status = status;
    ls_text_set(&event->text, "%s", why);
    ls_match_refuse(match, pending->peer, status, why);
    forget_pending(match, pending);
}

void ls_match_close(ls_match *match)
{
    match->state = LS_MATCH_OVER;
    for (uint32_t i = 0; i < MATCH_PENDING_MAX; i++) {
        if (match->pending[i].peer != 0) {
            refuse_pending(match, &match->pending[i], LS_ALREADY_OVER,
                           ls_status_text(LS_ALREADY_OVER));
        }
    }
    ls_match_spectators_close(match);
    ls_match_push_event(match, LS_MATCH_FINISHED);
}

void ls_match_peer_disconnected(ls_match *match, ls_peer_id peer, ls_status reason, uint64_t now_ns)
{
    match->now_ns = now_ns;
    uint32_t slot = slot_of_peer(match, peer);
    match_pending *pending = pending_of_peer(match, peer);
    if (pending) {
        forget_pending(match, pending);
    }
    if (slot == MATCH_NO_SLOT || match->seats[slot].state == LS_SEAT_FINISHED) {
        ls_match_spectators_disconnected(match, peer, reason);
        return;
    }
    ls_match_vacate(match, slot, true, reason, ls_status_text(reason));
}

/* ---- greeting and seating ---- */

static match_pending *oldest_pending(ls_match *match)
{
    match_pending *oldest = &match->pending[0];
    for (uint32_t i = 1; i < MATCH_PENDING_MAX; i++) {
        if (match->pending[i].number < oldest->number) {
            oldest = &match->pending[i];
        }
    }
    return oldest;
}

void ls_match_peer_connected(ls_match *match, ls_peer_id peer, uint64_t now_ns)
{
    match->now_ns = now_ns;
    match_pending *pending = pending_of_peer(match, 0);
    if (!pending) {
        /* Who says nothing must not keep others out: who has been silent for longest goes. */
        pending = oldest_pending(match);
        match->rejected++;
        refuse_pending(match, pending, LS_TIMED_OUT, "no HELLO came, and others are waiting");
    }
    *pending = (match_pending){.peer = peer, .since_ns = now_ns, .number = match->pending_seen++};
    match->pending_count++;
    if (match->state == LS_MATCH_OVER) {
        refuse_pending(match, pending, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
    }
}

void ls_match_fill_offer(ls_match *match)
{
    ls_offer *offer = &match->message.body.offer;
    match->message.kind = LS_MESSAGE_OFFER;
    *offer = (ls_offer){.simulation_version = match->config.simulation->version,
                        .config = match->config.sim,
                        .hash_interval_ticks = match->config.hash_interval_ticks,
                        .input_delay_ticks = match->config.input_delay_ticks,
                        .timeout_ms = match->config.timeout_ms,
                        .late_rule = (uint32_t)match->config.late_rule,
                        .send_rate = (uint32_t)match->config.send_rate,
                        .match_id = match->config.match_id,
                        .is_running = match->state != LS_MATCH_LOBBY};
    ls_name_copy(offer->simulation, sizeof offer->simulation, match->config.simulation->name);
}

static void send_offer(ls_match *match, uint32_t slot)
{
    ls_match_fill_offer(match);
    match->message.body.offer.slot = slot;
    ls_match_secret(match, slot, match->message.body.offer.secret);
    ls_match_send(match, match->seats[slot].report.peer);
}

static void receive_hello(ls_match *match, match_pending *pending, const ls_hello *hello)
{
    ls_text why = {{0}};
    uint32_t slot = MATCH_NO_SLOT;
    ls_status status = ls_hello_check(hello, &why);
    if (status == LS_OK && hello->is_spectator) {
        status = ls_match_spectators_seat(match, pending->peer, hello, &why);
        if (status == LS_OK) {
            forget_pending(match, pending);
            return;
        }
    } else if (status == LS_OK) {
        status = ls_match_find_seat(match, hello, &slot, &why);
    }
    if (status != LS_OK) {
        refuse_pending(match, pending, status, why.bytes);
        return;
    }
    ls_match_take_seat(match, slot, pending->peer, hello);
    forget_pending(match, pending);
    send_offer(match, slot);
}

static bool are_enough_ready(const ls_match *match)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        count += match->seats[slot].state == LS_SEAT_READY ? 1 : 0;
    }
    return count >= (match->config.start_players > 0 ? match->config.start_players
                                                     : match->config.sim.players);
}

static ls_status receive_ready(ls_match *match, uint32_t slot, const ls_ready *ready)
{
    ls_seat *seat = &match->seats[slot];
    if (seat->state != LS_SEAT_OFFERED) {
        return LS_MISBEHAVED;
    }
    ls_text why = {{0}};
    ls_status status = ls_ready_check(ready, &match->own_ready, &why);
    if (status != LS_OK) {
        ls_match_drop(match, slot, status, why.bytes);
        return LS_OK;
    }
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_PLAYER_READY);
    event->slot = slot;
    event->peer = seat->report.peer;
    event->was_coming = ls_seat_has_newcomer(seat);
    ls_text_set(&event->text, "%s", seat->report.name);
    seat->state = LS_SEAT_READY;
    if (match->state != LS_MATCH_LOBBY) {
        ls_match_join_ready(match, slot);
    } else if (are_enough_ready(match)) {
        ls_match_play_start(match);
    }
    return LS_OK;
}

/* ---- receiving ---- */

static void receive_from_pending(ls_match *match, match_pending *pending, ls_channel channel,
                                 const uint8_t *bytes, size_t size)
{
    ls_status status = channel == LS_CHANNEL_RELIABLE
                           ? ls_message_read(bytes, size, 0, &match->message)
                           : LS_MALFORMED;
    if (status != LS_OK || match->message.kind != LS_MESSAGE_HELLO) {
        match->rejected++;
        refuse_pending(match, pending, LS_MALFORMED, "the first message was no HELLO");
        return;
    }
    ls_hello hello = match->message.body.hello;
    receive_hello(match, pending, &hello);
}

/* Answers to what is asked once a slot differs; match->message is used for asking on. */
static ls_status receive_of_desync(ls_match *match, uint32_t slot)
{
    switch (match->message.kind) {
    case LS_MESSAGE_TREE_ANSWER: {
        ls_wire_answer answer = match->message.body.tree_answer;
        return ls_match_desync_answer(match, slot, &answer);
    }
    case LS_MESSAGE_EVIDENCE: {
        ls_wire_evidence evidence = match->message.body.evidence;
        return ls_match_desync_evidence(match, slot, &evidence);
    }
    case LS_MESSAGE_BUILD_FINGERPRINT: {
        ls_wire_fingerprint print = match->message.body.build_fingerprint;
        return ls_match_desync_fingerprint(match, slot, &print);
    }
    default: {
        ls_healed healed = match->message.body.healed;
        return ls_match_desync_healed(match, slot, &healed);
    }
    }
}

static ls_status receive_reliable(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size)
{
    ls_status status = ls_message_read(bytes, size, 0, &match->message);
    if (status != LS_OK) {
        return status;
    }
    match->seats[slot].heard_ns = match->now_ns;
    switch (match->message.kind) {
    case LS_MESSAGE_READY: {
        ls_ready ready = match->message.body.ready;
        return receive_ready(match, slot, &ready);
    }
    case LS_MESSAGE_HASHES: {
        ls_hashes hashes = match->message.body.hashes;
        return ls_match_play_hashes(match, slot, &hashes);
    }
    case LS_MESSAGE_TREE_ANSWER:
    case LS_MESSAGE_EVIDENCE:
    case LS_MESSAGE_BUILD_FINGERPRINT:
    case LS_MESSAGE_HEALED:
        return receive_of_desync(match, slot);
    case LS_MESSAGE_CLOSED_TICK: {
        ls_tick_part part = match->message.body.closed_tick;
        return ls_match_resume_take(match, slot, &part);
    }
    case LS_MESSAGE_JOINED: {
        ls_joined joined = match->message.body.joined;
        return ls_match_join_joined(match, slot, &joined);
    }
    case LS_MESSAGE_FINISHED: {
        ls_finished finished = match->message.body.finished;
        return ls_match_play_finished(match, slot, &finished);
    }
    case LS_MESSAGE_GOODBYE: {
        ls_close_reason close_reason = match->message.body.close_reason;
        ls_peer_id peer = match->seats[slot].report.peer;
        ls_status reason = (ls_status) - (int)close_reason.negated_status;
        reason = reason == LS_OK ? LS_DISCONNECTED : reason;
        ls_match_vacate(match, slot, false, reason,
                        close_reason.text.bytes[0] ? close_reason.text.bytes
                                                   : ls_status_text(reason));
        match->sink.disconnect(match->sink.user, peer);
        return LS_OK;
    }
    default:
        return LS_MISBEHAVED;
    }
}

static ls_status receive_unreliable(ls_match *match, uint32_t slot, const uint8_t *bytes,
                                    size_t size)
{
    ls_seat *seat = &match->seats[slot];
    uint32_t kind = ls_message_peek(bytes, size);
    if (kind == LS_MESSAGE_BLOB_ACK) {
        return ls_match_join_ack(match, slot, bytes, size);
    }
    if (kind != LS_MESSAGE_INPUTS) {
        return LS_MALFORMED;
    }
    if (seat->state == LS_SEAT_READY) {
        seat->heard_ns = match->now_ns; /* the lobby's sign of life */
    }
    if (!ls_seat_follows(seat)) {
        return LS_OK; /* who has been offered a seat has to say READY in time, nothing else */
    }
    return ls_match_play_inputs(match, slot, bytes, size);
}

/* What piles up while this machine stands still comes all at once and is none: each tick's time
 * since the last TICKS allows as many packets again. */
static bool is_flood(const ls_match *match, uint64_t packets)
{
    uint64_t ticks = (match->now_ns - match->sent_ns) / match->timestep.config.dt_ns;
    return packets > (ticks + 1) * MATCH_PACKETS_PER_TICK_MAX;
}

static void take_packet(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                        size_t size)
{
    uint32_t slot = slot_of_peer(match, peer);
    if (slot == MATCH_NO_SLOT) {
        match_pending *pending = pending_of_peer(match, peer);
        if (pending) {
            receive_from_pending(match, pending, channel, bytes, size);
        } else {
            ls_match_spectators_receive(match, peer, channel, bytes, size);
        }
        return;
    }
    ls_seat *seat = &match->seats[slot];
    if (is_flood(match, ++seat->packets_since_tick)) {
        ls_match_drop(match, slot, LS_MISBEHAVED, "more than 256 packets a tick");
        return;
    }
    ls_status status = channel == LS_CHANNEL_RELIABLE
                           ? receive_reliable(match, slot, bytes, size)
                           : receive_unreliable(match, slot, bytes, size);
    if (status == LS_OK) {
        return;
    }
    match->rejected += !LS_FAULT(REJECTION_UNCOUNTED);
    seat->report.packets_rejected++;
    if (LS_FAULT(REJECTION_ALLOCATES)) {
        ls_release(match->allocator, ls_allocate(match->allocator, 1));
    }
    if (status == LS_MISBEHAVED && ls_seat_is_taken(seat)) {
        ls_match_drop(match, slot, status, "a message that does not belong here");
    } else if (status == LS_MALFORMED && ++seat->malformed >= MATCH_MALFORMED_MAX) {
        ls_match_drop(match, slot, LS_MISBEHAVED, "too many malformed packets");
    }
}

void ls_match_receive(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size, uint64_t now_ns)
{
    match->now_ns = now_ns;
    match->arrived_ns = now_ns;
    take_packet(match, peer, channel, bytes, size);
}

void ls_match_receive_event(ls_match *match, const ls_transport_event *event, uint64_t now_ns)
{
    uint64_t arrived_ns = event->arrived_ns;
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        ls_match_peer_connected(match, event->peer, now_ns);
        return;
    }
    if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        ls_match_peer_disconnected(match, event->peer, event->reason, now_ns);
        return;
    }
    match->now_ns = now_ns;
    /* A tick that was closed before the packet was taken was closed without it. */
    arrived_ns = arrived_ns < match->closed_ns ? match->closed_ns : arrived_ns;
    match->arrived_ns = arrived_ns > now_ns ? now_ns : arrived_ns;
    take_packet(match, event->peer, event->channel, event->bytes, event->size);
}

/* ---- time ---- */

static void drop_silent(ls_match *match)
{
    uint64_t timeout_ns = match->config.timeout_ms * LS_NS_PER_MS;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        bool is_watched = ls_seat_is_taken(seat) && seat->state != LS_SEAT_FINISHED;
        if (is_watched && match->now_ns - seat->heard_ns >= timeout_ns) {
            ls_match_lose(match, slot, LS_TIMED_OUT, "nothing was heard within the timeout");
        } else if (seat->state == LS_SEAT_OFFERED &&
                   match->now_ns - seat->offered_ns >= MATCH_HANDSHAKE_NS) {
            ls_match_lose(match, slot, LS_TIMED_OUT, "no READY came");
        }
    }
    for (uint32_t i = 0; match->pending_count > 0 && i < MATCH_PENDING_MAX; i++) {
        match_pending *pending = &match->pending[i];
        if (pending->peer != 0 && match->now_ns - pending->since_ns >= MATCH_HANDSHAKE_NS) {
            refuse_pending(match, pending, LS_TIMED_OUT, "no HELLO came");
        }
    }
}

void ls_match_advance(ls_match *match, uint64_t now_ns)
{
    LS_ASSERT(now_ns >= match->now_ns);
    match->now_ns = now_ns;
    if (match->state == LS_MATCH_OVER) {
        return;
    }
    drop_silent(match);
    if (match->state == LS_MATCH_RESUMING) {
        ls_match_resume_advance(match);
    }
    if (match->state >= LS_MATCH_RUNNING) {
        ls_match_play_advance(match);
    } else {
        ls_match_send_due(match);
    }
    ls_match_spectators_advance(match);
    ls_match_play_close(match); /* the last who watched may just have been let go */
}

void ls_match_stop(ls_match *match, uint64_t now_ns)
{
    match->now_ns = now_ns;
    if (match->state == LS_MATCH_RUNNING) {
        ls_match_play_end(match);
    } else if (match->state < LS_MATCH_RUNNING) {
        match->resume.is_given_up = match->state == LS_MATCH_RESUMING;
        ls_status status = match->resume.is_given_up ? LS_DISCONNECTED : LS_ALREADY_OVER;
        for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
            if (ls_seat_is_taken(&match->seats[slot])) {
                ls_match_drop(match, slot, status, "the server stopped");
            }
        }
        ls_match_close(match);
    }
}

/* ---- what can be seen from outside ---- */

ls_match_state ls_match_state_of(const ls_match *match)
{
    return match->state;
}

ls_tick ls_match_tick(const ls_match *match)
{
    return match->next_close;
}

uint64_t ls_match_hash(ls_match *match)
{
    return ls_sim_instance_hash(match->instance);
}

uint32_t ls_match_players(const ls_match *match)
{
    return match->config.sim.players;
}

uint64_t ls_match_packets_rejected(const ls_match *match)
{
    return match->rejected;
}

ls_match_slot ls_match_slot_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < match->config.sim.players);
    ls_match_slot report = match->seats[slot].report;
    report.hashes_compared = match->arbiter.slots[slot].compared;
    report.agreed_tick = match->arbiter.slots[slot].agreed_tick;
    report.rtt_ns = match->seats[slot].downlink.rtt_ns;
    if (report.joined_tick == MATCH_NOT_JOINED) {
        report.joined_tick = match->next_close; /* at the earliest */
    }
    return report;
}

uint32_t ls_match_seats_open(const ls_match *match)
{
    uint32_t free_seats = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat_state state = match->seats[slot].state;
        free_seats += state == LS_SEAT_EMPTY || state == LS_SEAT_LEFT ? 1 : 0;
    }
    uint32_t pending = match->pending_count;
    return match->state < LS_MATCH_ENDING && free_seats > pending ? free_seats - pending : 0;
}

bool ls_match_is_waiting(const ls_match *match)
{
    return match->state == LS_MATCH_RUNNING && match->waiting_ns != 0;
}

ls_sim_instance *ls_match_instance(ls_match *match)
{
    return match->instance;
}

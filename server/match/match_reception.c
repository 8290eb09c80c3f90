#include "lockstep/common/base/fault.h"
#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/match/match_conduct.h"

#include <inttypes.h>
#include <string.h>

enum {
    NAME_NUMBERS_MAX = 1 << 16, /* more than there are players and spectators */
};

/* ---- players ---- */

static ls_status receive_ready(ls_match *match, uint32_t slot, const ls_ready *ready)
{
    ls_text why = {{0}};
    if (match->seats->rows[slot].state != LS_SEAT_OFFERED) {
        return LS_MISBEHAVED;
    }
    ls_status status = ls_ready_check(ls_sim_instance_simulation(match->log->instance), ready,
                                      &match->own_ready, &why);
    if (status != LS_OK) {
        ls_match_refusal refusal = {.status = status,
                                    .slot = slot,
                                    .server_hash = match->own_ready.initial_hash,
                                    .client_hash = ready->initial_hash};
        ls_name_copy(refusal.name, sizeof refusal.name, match->seats->rows[slot].player.name);
        ls_outbox_note_refusal(match->outbox, &refusal);
        ls_conduct_drop(match, slot, status, why.bytes);
        return LS_OK;
    }
    ls_seat_table_set_ready(match->seats, slot);
    if (match->state == LS_MATCH_RUNNING || match->state == LS_MATCH_ENDING) {
        ls_conduct_begin_joining(match, slot);
    } else if (match->state == LS_MATCH_RESUMING) {
        ls_resume_vote_renotify(match->vote);
    } else {
        ls_talk_come(&match->talk, match, slot);
        ls_conduct_start_when_due(match);
    }
    return LS_OK;
}

static ls_status receive_chat(ls_match *match, uint32_t slot, const ls_chat *chat)
{
    const char *why = NULL;
    ls_status status = ls_talk_receive_chat(&match->talk, match, slot, chat, &why);
    if (why) {
        (void)ls_match_say(match, slot, why, match->now_ns);
    }
    return status;
}

static ls_status receive_lobby(ls_match *match, uint32_t slot, const ls_lobby *lobby)
{
    ls_status status = ls_talk_receive_lobby(&match->talk, match, slot, lobby);
    ls_conduct_start_when_due(match);
    return status;
}

static ls_status receive_joined(ls_match *match, uint32_t slot, const ls_joined *joined)
{
    ls_departure departure = {LS_OK, NULL};
    ls_playing_from from = {0};
    ls_status status =
        ls_join_service_receive_joined(match->joins, slot, joined, &from, &departure);
    if (departure.status != LS_OK) {
        ls_conduct_drop(match, slot, departure.status, departure.why);
    }
    if (status != LS_OK || departure.status != LS_OK) {
        return status;
    }
    ls_desync_service_begin(match->desync, slot, from.agreed);
    ls_conduct_play_from(match, slot, from.input);
    ls_outbox_push_event(match->outbox, LS_MATCH_PLAYER_JOINED, slot, from.input);
    return LS_OK;
}

static ls_status receive_finished(ls_match *match, uint32_t slot, const ls_finished *finished)
{
    ls_tick next = match->log->next;
    if (match->state != LS_MATCH_ENDING || match->seats->rows[slot].state != LS_SEAT_PLAYING ||
        finished->tick != next || finished->chain_tick != match->log->hashes.newest_tick) {
        return LS_MISBEHAVED; /* a client that reached the end has hashed all there is to hash */
    }
    match->links[slot].peer.downlink.next = next;
    ls_seat_table_set_finished(match->seats, slot, finished);
    ls_desync_service_receive_finished(match->desync, slot, finished);
    ls_conduct_announce_desyncs(match, false);
    return LS_OK;
}

static ls_status receive_evidence(ls_match *match, uint32_t slot, const ls_message *message)
{
    ls_desync_drop found = {0, NULL};
    bool was_sent = ls_desync_service_is_sent(match->desync, slot);
    ls_status status = ls_desync_service_receive(match->desync, slot, message, &found);
    if (was_sent && !ls_desync_service_is_sent(match->desync, slot)) {
        ls_join_service_end_healing(match->joins, slot);
    }
    ls_conduct_drop_desynced(match, found);
    ls_conduct_announce_desyncs(match, false);
    return status;
}

static ls_status receive_tick_part(ls_match *match, uint32_t slot, const ls_tick_part *part)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    if (!match->vote) {
        return LS_MISBEHAVED;
    }
    ls_status status = ls_resume_vote_receive_part(
        match->vote, slot, part, &match->links[slot].peer, match->incoming.cursor);
    while (ls_resume_vote_next_tick(match->vote, slots, &inputs)) {
        ls_conduct_repeat_tick(match, &inputs);
    }
    return status;
}

static ls_status receive_goodbye(ls_match *match, uint32_t slot, const ls_close_reason *said)
{
    ls_peer_id peer = match->seats->peers[slot];
    ls_departure departure = ls_peer_link_goodbye(said);
    ls_conduct_depart(match, slot, false, departure.status, departure.why);
    ls_outbox_disconnect(match->outbox, peer);
    return LS_OK;
}

static ls_status receive_reliable(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size)
{
    ls_message *message = &match->incoming.message;
    ls_status status = ls_message_read(bytes, size, match->config.sim.players, message);
    if (status != LS_OK) {
        return status;
    }
    match->links[slot].peer.heard_ns = match->now_ns;
    switch (message->kind) {
    case LS_MESSAGE_READY:
        return receive_ready(match, slot, &message->body.ready);
    case LS_MESSAGE_HASHES:
    case LS_MESSAGE_TREE_ANSWER:
    case LS_MESSAGE_EVIDENCE:
    case LS_MESSAGE_BUILD_FINGERPRINT:
    case LS_MESSAGE_HEALED:
        return receive_evidence(match, slot, message);
    case LS_MESSAGE_CLOSED_TICK:
        return receive_tick_part(match, slot, &message->body.closed_tick);
    case LS_MESSAGE_JOINED:
        return receive_joined(match, slot, &message->body.joined);
    case LS_MESSAGE_FINISHED:
        return receive_finished(match, slot, &message->body.finished);
    case LS_MESSAGE_CHAT:
        return receive_chat(match, slot, &message->body.chat);
    case LS_MESSAGE_LOBBY:
        return receive_lobby(match, slot, &message->body.lobby);
    case LS_MESSAGE_GOODBYE:
        return receive_goodbye(match, slot, &message->body.close_reason);
    default:
        return LS_MISBEHAVED;
    }
}

static ls_status receive_inputs(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size)
{
    ls_player_link *link = &match->links[slot];
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_status status = ls_peer_link_read_header(&link->peer, match->log, &stream, &header);
    if (status == LS_OK) {
        status = ls_player_link_read_inputs(link, match, &header, &stream, match->incoming.cursor);
    }
    if (status != LS_OK) {
        return status;
    }
    const ls_downlink *downlink = &link->peer.downlink;
    if (downlink->loss != LS_SEND_LOSS_FEW || downlink->health.downlink.loss > 0 ||
        ls_downlink_has_new_loss(downlink, match)) {
        match->sent.easy_ns = match->now_ns + LS_SEND_EASY_NS;
    }
    if (match->seats->rows[slot].state == LS_SEAT_JOINING) {
        ls_join_service_note_progress(match->joins, slot, header.chain_tick);
        return LS_OK;
    }
    if (header.chain_tick != link->chain_tick ||
        header.chain_tick == match->log->hashes.newest_tick) {
        link->peer.progress_ns = match->now_ns;
    }
    link->chain_tick = header.chain_tick;
    ls_desync_service_compare(match->desync, slot, header.chain_tick, header.chain);
    if (ls_tick_closer_is_waiting(match->closer)) {
        ls_conduct_close_due(match);
        ls_conduct_send_due(match);
    }
    return LS_OK;
}

static ls_status receive_unreliable(ls_match *match, uint32_t slot, const uint8_t *bytes,
                                    size_t size)
{
    uint32_t kind = ls_message_peek(bytes, size);
    if (kind == LS_MESSAGE_BLOB_ACK) {
        return ls_join_service_receive_ack(match->joins, slot, bytes, size);
    }
    if (kind != LS_MESSAGE_INPUTS) {
        return LS_MALFORMED;
    }
    if (match->seats->rows[slot].state == LS_SEAT_READY) {
        match->links[slot].peer.heard_ns = match->now_ns; /* the lobby's sign of life */
    }
    /* A player that has been offered a seat has to say READY in time, nothing else. */
    return ls_seat_table_follows(match->seats, slot) ? receive_inputs(match, slot, bytes, size)
                                                     : LS_OK;
}

static void receive_from_player(ls_match *match, uint32_t slot, ls_channel channel,
                                const uint8_t *bytes, size_t size)
{
    ls_player_link *link = &match->links[slot];
    if (!ls_peer_link_count_packet(&link->peer, match, match->sent.sent_ns)) {
        ls_conduct_drop(match, slot, LS_MISBEHAVED, LS_PEER_LINK_FLOOD);
        return;
    }
    ls_status status = channel == LS_CHANNEL_RELIABLE
                           ? receive_reliable(match, slot, bytes, size)
                           : receive_unreliable(match, slot, bytes, size);
    if (status == LS_OK) {
        return;
    }
    match->rejected += !LS_FAULT(REJECTION_UNCOUNTED);
    link->figures.packets_rejected++;
    if (LS_FAULT(REJECTION_ALLOCATES)) {
        ls_release(match->allocator, ls_allocate(match->allocator, 1));
    }
    ls_departure departure = ls_peer_link_judge(&link->peer, status);
    if (departure.status != LS_OK && ls_seat_table_is_taken(match->seats, slot)) {
        ls_conduct_drop(match, slot, departure.status, departure.why);
    }
}

/* ---- pending connections ---- */

/* A name that somebody asks for, and what does not stand in its way: the own seat, and the
 * spectators of the own origin. */
typedef struct asked_name {
    char text[LS_PLAYER_NAME_BYTES_MAX];
    uint32_t own_slot;
    uint64_t own_origin;
} asked_name;

/* Writes the name with this number behind it, none for 1. False when it looks like another one. */
static bool try_number(const ls_match *match, const asked_name *asked, uint32_t number,
                       char out[LS_PLAYER_NAME_BYTES_MAX])
{
    memcpy(out, asked->text, LS_PLAYER_NAME_BYTES_MAX);
    const ls_name_look look = match->config.clean_name(out, number);
    return !ls_seat_table_has_look(match->seats, &look, asked->own_slot) &&
           !ls_spectators_have_look(match->spectators, &look, asked->own_origin);
}

/* A thousand spectators may have one name, so a number that is free is looked for by halves. */
static void give_name(const ls_match *match, const ls_match_pass *pass, uint32_t slot,
                      ls_hello *hello)
{
    bool is_back_to_watch = hello->is_spectator && hello->back.match_id != 0;
    asked_name asked = {.own_slot = slot, .own_origin = is_back_to_watch ? pass->origin : 0};
    ls_hello_player_name(hello, asked.text);
    if (!match->config.clean_name) {
        return;
    }
    uint32_t taken = 0;
    uint32_t open = 1;
    while (open < NAME_NUMBERS_MAX && !try_number(match, &asked, open, hello->name)) {
        taken = open;
        open *= 2;
    }
    while (open - taken > 1) {
        uint32_t middle = (open + taken) / 2;
        bool is_open = try_number(match, &asked, middle, hello->name);
        taken = is_open ? taken : middle;
        open = is_open ? middle : open;
    }
    (void)try_number(match, &asked, open, hello->name);
}

/* The host of the match decides, if it wants to. */
static ls_status ask_host(const ls_match *match, ls_peer_id peer, const ls_hello *hello,
                          uint32_t slot, ls_text *why)
{
    const ls_match_config *config = &match->config;
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_text said = {{0}};
    if (!config->may_join) {
        return LS_OK;
    }
    ls_hello_player_name(hello, name);
    const ls_match_newcomer newcomer = {.peer = peer,
                                        .name = name,
                                        .token = hello->token,
                                        .is_spectator = hello->is_spectator,
                                        .is_returning = hello->back.match_id != 0,
                                        .slot = slot};
    if (config->may_join(config->may_join_user, &newcomer, &said)) {
        return LS_OK;
    }
    const char *words = said.bytes[0] != '\0' ? said.bytes : ls_status_text(LS_NOT_ADMITTED);
    return ls_fail(LS_NOT_ADMITTED, why, "%s", words);
}

/* The seat that a player gets. */
static ls_status find_seat(ls_match *match, ls_hello *hello, const ls_match_pass *pass,
                           uint32_t *slot, ls_text *why)
{
    uint32_t wanted = pass->place == LS_MATCH_PLACE_SEAT ? pass->slot : MATCH_NO_SLOT;
    ls_status status = ls_seat_table_find(match->seats, hello, wanted, slot, why);
    if (status == LS_NOT_FOUND && hello->back.is_optional && !pass->is_return) {
        hello->back = (ls_return){.match_id = 0};
        status = ls_seat_table_find(match->seats, hello, wanted, slot, why);
    }
    if (status == LS_OK && ls_seat_table_has_newcomer(match->seats, *slot)) {
        hello->back = (ls_return){.match_id = 0}; /* it knows OFFER, and was never READY */
    }
    if (status == LS_MATCH_FULL && ls_conduct_make_room(match, wanted, pass->origin)) {
        status = ls_seat_table_find(match->seats, hello, wanted, slot, why);
    }
    if (status == LS_OK && wanted != MATCH_NO_SLOT && *slot != wanted) {
        return ls_fail(LS_NOT_ADMITTED, why, "the seat that it comes back to is not its pass's");
    }
    return status;
}

static ls_status admit_spectator(ls_match *match, ls_peer_id peer, const ls_hello *hello,
                                 const ls_match_pass *pass, ls_text *why)
{
    ls_status status = ask_host(match, peer, hello, 0, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_spectators_admit(match->spectators, match, peer, hello, pass, why);
    if (status == LS_OK) {
        ls_conduct_greet(match, peer);
    }
    return status;
}

/* A pass that does not let the peer in for what it asks. */
static ls_status check_pass(const ls_match_pass *pass, const ls_hello *hello, ls_text *why)
{
    if (pass->place == LS_MATCH_PLACE_SPECTATOR && !hello->is_spectator) {
        return ls_fail(LS_NOT_ADMITTED, why, "it is let in to watch, and asks for a seat");
    }
    if (pass->place == LS_MATCH_PLACE_SEAT && hello->is_spectator) {
        return ls_fail(LS_NOT_ADMITTED, why, "it is let in to seat %" PRIu32 ", and asks to watch",
                       pass->slot);
    }
    return LS_OK;
}

static bool asks_for_any_match(const ls_match *match, const ls_hello *hello,
                               const ls_match_pass *pass)
{
    return match->config.has_others && !pass->is_for_this_match && hello->token[0] == '\0' &&
           hello->back.match_id == 0;
}

static ls_status admit(ls_match *match, ls_peer_id peer, ls_hello *hello, const ls_match_pass *pass,
                       uint32_t *slot, ls_text *why)
{
    ls_status status = ls_hello_check(hello, match->config.maths_check, why);
    if (status == LS_ARITHMETIC_MISMATCH) {
        ls_match_refusal refusal = {.status = status,
                                    .slot = match->config.sim.players,
                                    .server_hash =
                                        ls_arithmetic_check_with(match->config.maths_check),
                                    .client_hash = hello->arithmetic};
        ls_hello_player_name(hello, refusal.name);
        ls_outbox_note_refusal(match->outbox, &refusal);
    }
    if (status == LS_ARITHMETIC_MISMATCH && match->config.print) {
        ls_text_add(why, "; the server has %s", match->config.print->items[LS_PRINT_FLOAT]);
    }
    status = status == LS_OK ? check_pass(pass, hello, why) : status;
    if (status != LS_OK) {
        return status;
    }
    status = ls_conduct_open(match);
    if (status == LS_NO_MEMORY) {
        return ls_fail(status, why, "the server has no memory left for this match");
    }
    if (status != LS_OK) {
        return ls_fail(status, why, "the simulation does not make its first state a second time");
    }
    if (pass->name[0] != '\0') {
        memcpy(hello->name, pass->name, sizeof hello->name);
    }
    if (hello->is_spectator) {
        give_name(match, pass, MATCH_NO_SLOT, hello);
        return admit_spectator(match, peer, hello, pass, why);
    }
    status = find_seat(match, hello, pass, slot, why);
    bool has_no_seat = status == LS_MATCH_FULL || status == LS_ALREADY_OVER;
    if (has_no_seat && asks_for_any_match(match, hello, pass)) {
        const char *text = match->full_text.bytes;
        return ls_fail(LS_FULL, why, "%s",
                       text[0] != '\0' ? text
                                       : "every seat of every match here is taken at the moment");
    }
    if (status == LS_OK) {
        give_name(match, pass, *slot, hello);
        status = ask_host(match, peer, hello, *slot, why);
    }
    return status;
}

/* Why a pass is good for nothing, whatever its peer asks for; NULL: it is good for something. */
static const char *refusal_of(const ls_match *match, const ls_match_pass *pass,
                              const ls_hello *hello)
{
    if (pass->refusal || !pass->is_return) {
        return pass->refusal;
    }
    bool is_back = hello->is_spectator
                       ? ls_spectators_of_holder(match->spectators, pass->holder) != 0
                       : hello->back.match_id != 0;
    return is_back ? NULL : "its connect token was used before, and it comes back to no place";
}

static void receive_from_pending(ls_match *match, ls_peer_id peer, ls_channel channel,
                                 const uint8_t *bytes, size_t size)
{
    ls_text why = {{0}};
    uint32_t slot = MATCH_NO_SLOT;
    ls_message *message = &match->incoming.message;
    ls_status status =
        channel == LS_CHANNEL_RELIABLE ? ls_message_read(bytes, size, 0, message) : LS_MALFORMED;
    if (status != LS_OK || message->kind != LS_MESSAGE_HELLO) {
        match->rejected++;
        ls_conduct_refuse_pending(match, peer, LS_MALFORMED, "the first message was no HELLO");
        return;
    }
    ls_hello *hello = &message->body.hello;
    const ls_match_pass pass = ls_pending_connections_pass(&match->pending, peer);
    const char *refusal = refusal_of(match, &pass, hello);
    if (refusal) {
        ls_conduct_turn_away(match, peer, refusal);
        return;
    }
    status = admit(match, peer, hello, &pass, &slot, &why);
    if (status != LS_OK) {
        ls_conduct_refuse_pending(match, peer, status, why.bytes);
    } else if (slot != MATCH_NO_SLOT) {
        ls_conduct_sit_down(match, slot, peer, hello);
    } else {
        ls_pending_connections_forget(&match->pending, peer);
    }
}

/* ---- what a program or a game hands over ---- */

static void receive(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    uint32_t slot = ls_seat_table_slot_of(match->seats, peer);
    if (slot != MATCH_NO_SLOT) {
        receive_from_player(match, slot, channel, bytes, size);
    } else if (ls_pending_connections_has(&match->pending, peer)) {
        receive_from_pending(match, peer, channel, bytes, size);
    } else {
        ls_spectators_receive(match->spectators, peer, channel, bytes, size, &match->incoming);
    }
}

void ls_match_receive(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size, uint64_t now_ns)
{
    match->now_ns = now_ns;
    match->arrived_ns = now_ns;
    receive(match, peer, channel, bytes, size);
}

void ls_match_receive_event(ls_match *match, const ls_transport_event *event, uint64_t now_ns)
{
    uint64_t arrived_ns = event->arrived_ns;
    uint64_t closed_ns = match->log->closed_ns;
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        ls_match_peer_admitted(match, event->peer, &(const ls_match_pass){.origin = event->origin},
                               now_ns);
        return;
    }
    if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        ls_match_peer_disconnected(match, event->peer, event->reason, now_ns);
        return;
    }
    match->now_ns = now_ns;
    /* A tick that was closed before the packet was taken was closed without it. */
    arrived_ns = LS_MAX(arrived_ns, closed_ns);
    match->arrived_ns = LS_MIN(arrived_ns, now_ns);
    receive(match, event->peer, event->channel, event->bytes, event->size);
    if (event->path_room > 0) {
        ls_conduct_answer_moved(match, event->peer, event->path_room);
    }
}

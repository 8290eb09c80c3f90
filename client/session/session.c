#include "lockstep/client/session/session.h"

#include "lockstep/client/session/gameplay.h"
#include "lockstep/client/session/stepper.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/handshake.h"

#include <string.h>

#define PAUSE_MIN_NS (UINT64_C(250) * LS_NS_PER_MS)
#define PAUSE_MAX_NS (UINT64_C(4) * LS_NS_PER_SECOND)

enum {
    MALFORMED_MAX = 64,
    SILENCE_SHARE = 5, /* of the timeout */
};

#define HANDSHAKE_NS (UINT64_C(10) * LS_NS_PER_SECOND)
#define GOODBYE_NS (UINT64_C(6) * LS_NS_PER_SECOND) /* longer than the server waits */
#define SILENCE_MIN_NS LS_NS_PER_SECOND

static const char *const MATCH_IS_COMPLETE = "the match is complete";

/* ---- life ---- */

ls_status ls_session_create(const ls_session_config *config, const ls_packet_sink *sink,
                            const ls_allocator *allocator, ls_session **out, ls_text *why)
{
    ls_status status = ls_session_config_check(config, why);
    if (status != LS_OK) {
        return status;
    }
    ls_session *session = ls_allocate(allocator, sizeof *session);
    if (!session) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    session->allocator = allocator;
    session->config = *config;
    session->is_ready = !config->asks_when_ready;
    session->outbox = &session->own_outbox;
    session->outbox->sink = *sink;
    *out = session;
    return LS_OK;
}

void ls_session_destroy(ls_session *session)
{
    if (session) {
        ls_gameplay_destroy(session);
        ls_release(session->allocator, session);
    }
}

/* ---- ending ---- */

static bool is_in(const ls_session *session, ls_session_state state)
{
    return session->state == state;
}

/* Ends the session; LS_OK after a complete match. */
static void end(ls_session *session, ls_status status, const char *why)
{
    if (is_in(session, LS_SESSION_OVER)) {
        return;
    }
    session->state = LS_SESSION_OVER;
    session->status = status;
    if (session->has_gameplay) {
        ls_stepper_drop_guesses(session->stepper);
    }
    ls_session_event *event = ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_OVER);
    event->status = status;
    ls_text_set(&event->text, "%s", why);
    ls_session_outbox_disconnect(session->outbox);
}

static void send_goodbye(ls_session *session, ls_status status, const char *why)
{
    if (session->outbox->server == 0) {
        return;
    }
    ls_close_reason *reason =
        &ls_session_outbox_begin(session->outbox, LS_MESSAGE_GOODBYE)->body.close_reason;
    reason->negated_status = (uint32_t)-status;
    ls_text_set(&reason->text, "%s", why);
    ls_session_outbox_send(session->outbox);
}

/* Tells the server why, and ends with that status. */
static void give_up(ls_session *session, ls_status status, const char *why)
{
    send_goodbye(session, status, why);
    end(session, status, why);
}

static void leave_as_planned(ls_session *session, const char *why)
{
    send_goodbye(session, LS_DISCONNECTED, why);
    end(session, LS_OK, why);
}

void ls_session_leave(ls_session *session, uint64_t now_ns)
{
    session->now_ns = now_ns;
    if (!is_in(session, LS_SESSION_OVER)) {
        leave_as_planned(session, "the player left");
    }
}

/* ---- how the match goes on ---- */

static void begin_playing(ls_session *session)
{
    session->state = LS_SESSION_PLAYING;
    session->rejoins += session->lost_ns > 0;
    session->lost_ns = 0;
}

LS_TICK_CODE static void apply_outcome(ls_session *session, ls_gameplay_outcome outcome)
{
    switch (outcome) {
    case LS_GAMEPLAY_GOES_ON:
        return;
    case LS_GAMEPLAY_ARRIVED:
        begin_playing(session);
        ls_uplink_send_due(session->uplink);
        ls_uplink_send_in_time(session->uplink);
        return;
    case LS_GAMEPLAY_FINISHED:
        session->state = LS_SESSION_FINISHED;
        session->finished_ns = session->now_ns;
        return;
    case LS_GAMEPLAY_ENOUGH:
        leave_as_planned(session, "the player has played as long as planned");
        return;
    case LS_GAMEPLAY_FAILED:
        give_up(session, session->failure.status, session->failure.why.bytes);
        return;
    }
}

/* ---- losing the link ---- */

/* A firm claim would tell the lobby of a server that was restarted that the match had begun.
 * `in_lobby`: this client was there when the link was lost. */
static ls_seat_claim claim_of(const ls_session *session, bool in_lobby)
{
    if (!in_lobby) {
        return LS_CLAIM_FIRM;
    }
    if (session->config.is_spectator) {
        return LS_CLAIM_NONE;
    }
    return session->offer.is_running ? LS_CLAIM_FIRM : LS_CLAIM_OPTIONAL;
}

static void begin_returning(ls_session *session, ls_status status)
{
    bool in_lobby = session->state == LS_SESSION_SEATED;
    session->lost = (ls_lost_link){.status = status,
                                   .pause_ns = PAUSE_MIN_NS,
                                   .was_in_lobby = in_lobby,
                                   .claim = claim_of(session, in_lobby)};
    session->lost_ns = session->lost_ns > 0 ? session->lost_ns : session->now_ns;
    session->state = LS_SESSION_RECONNECTING;
    ls_gameplay_lose_link(session);
}

/* Each attempt is made after a longer pause than the one before. */
static void plan_attempt(ls_session *session, ls_status status, const char *why)
{
    ls_lost_link *lost = &session->lost;
    ls_return held = {0};
    ls_session_event *event = ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_LOST);
    ls_gameplay_claim(session, &held);
    event->status = status;
    event->tick = held.confirmed;
    event->tick_chain = held.tick_chain;
    event->retry_in_ns = lost->pause_ns;
    event->away_ns = session->now_ns - session->lost_ns;
    ls_text_set(&event->text, "%s", why);
    lost->attempt = LS_RECONNECT_NONE;
    lost->retry_ns = session->now_ns + lost->pause_ns;
    lost->pause_ns = LS_MIN(2 * lost->pause_ns, PAUSE_MAX_NS);
}

/* The link is lost, or the attempt to make it anew has failed: true when the session goes on
 * without, false when it cannot. */
static bool lose_link(ls_session *session, ls_status status, const char *why)
{
    bool is_attempt = is_in(session, LS_SESSION_RECONNECTING);
    bool is_in_match = is_in(session, LS_SESSION_SEATED) || is_in(session, LS_SESSION_PLAYING) ||
                       is_in(session, LS_SESSION_JOINING);
    if (session->config.reconnect_ms == 0 || (!is_attempt && !is_in_match)) {
        return false;
    }
    if (is_attempt && session->now_ns < session->lost.retry_ns) {
        return true; /* it was the connection that was given up already */
    }
    if (is_attempt && status == LS_NOT_FOUND) {
        session->lost.claim = LS_CLAIM_NONE;
    }
    if (is_in_match) {
        begin_returning(session, status);
    }
    ls_session_outbox_disconnect(session->outbox);
    plan_attempt(session, status, why);
    return true;
}

/* The link was lost when nothing of the match was missing but the goodbye. */
static bool is_complete_without_link(const ls_session *session)
{
    return is_in(session, LS_SESSION_RECONNECTING) && ls_gameplay_is_complete(session);
}

/* Whether the session goes on after REFUSE with this status. */
static bool outlives_refusal(const ls_session *session, ls_status refusal)
{
    bool is_attempt = is_in(session, LS_SESSION_RECONNECTING);
    /* Without the claim it may come as a new player. */
    bool may_come_anew =
        is_attempt && session->lost.was_in_lobby && session->lost.claim != LS_CLAIM_NONE;
    return refusal == LS_TIMED_OUT ||
           (is_attempt && (refusal == LS_MATCH_FULL || refusal == LS_FULL)) ||
           (may_come_anew && refusal == LS_NOT_FOUND) ||
           (session->config.is_spectator && refusal == LS_FELL_BEHIND);
}

/* How long the server may be silent before the link counts as lost. */
static uint64_t silence_max_ns(const ls_session *session)
{
    if (is_in(session, LS_SESSION_HANDSHAKING)) {
        return HANDSHAKE_NS;
    }
    uint64_t timeout_ns = session->offer.timeout_ms * LS_NS_PER_MS;
    bool is_to_return = session->config.reconnect_ms > 0 &&
                        (is_in(session, LS_SESSION_PLAYING) || is_in(session, LS_SESSION_JOINING) ||
                         is_in(session, LS_SESSION_RECONNECTING));
    if (!is_to_return) {
        return timeout_ns;
    }
    uint64_t silence_ns = timeout_ns / SILENCE_SHARE;
    return LS_MAX(silence_ns, SILENCE_MIN_NS);
}

static bool is_server_silent(const ls_session *session)
{
    return session->outbox->server != 0 &&
           session->now_ns - session->heard_ns >= silence_max_ns(session);
}

/* The server may let it in later, or another match may: the session may be connected again. */
static void ask_again(ls_session *session, ls_status status, const ls_text *why)
{
    session->state = LS_SESSION_CONNECTING;
    session->turned_away = *why;
    session->turned_away_status = status;
    ls_session_outbox_disconnect(session->outbox);
}

static void end_when_silent(ls_session *session)
{
    if (!is_server_silent(session)) {
        return;
    }
    ls_text why = {{0}};
    ls_text_set(&why, "nothing came from the server for %.1f s",
                (double)silence_max_ns(session) / LS_NS_PER_SECOND);
    if (is_in(session, LS_SESSION_HANDSHAKING)) {
        ask_again(session, LS_TIMED_OUT, &why); /* either side may have been held up */
        return;
    }
    if (!lose_link(session, LS_TIMED_OUT, why.bytes)) {
        give_up(session, LS_TIMED_OUT, why.bytes);
    }
}

/* ---- the connection ---- */

/* Of a process that is gone; this one has nothing of the match. */
static void claim_seat(const ls_session_config *config, ls_return *back)
{
    const ls_session_seat *seat = &config->seat;
    if (seat->match_id != 0 && !config->is_spectator) {
        *back = (ls_return){
            .match_id = seat->match_id, .tick_chain = LS_TICK_CHAIN_START, .is_optional = true};
        memcpy(back->secret, seat->secret, sizeof back->secret);
    }
}

void ls_session_connected(ls_session *session, ls_peer_id server, uint64_t now_ns)
{
    LS_ASSERT(session->outbox->server == 0);
    session->now_ns = now_ns;
    session->outbox->server = server;
    if (is_in(session, LS_SESSION_OVER)) {
        ls_session_outbox_disconnect(session->outbox); /* the player left before it connected */
        return;
    }
    session->heard_ns = now_ns;
    session->asked_ns = now_ns;
    ls_hello *hello = &ls_session_outbox_begin(session->outbox, LS_MESSAGE_HELLO)->body.hello;
    *hello = ls_hello_make(session->config.name);
    ls_name_copy(hello->token, sizeof hello->token, session->config.room);
    ls_hello_cover_maths(hello, session->config.maths_check);
    hello->is_spectator = session->config.is_spectator;
    if (is_in(session, LS_SESSION_CONNECTING)) {
        claim_seat(&session->config, &hello->back);
        session->state = LS_SESSION_HANDSHAKING;
    } else {
        LS_ASSERT(is_in(session, LS_SESSION_RECONNECTING));
        ls_uplink_connect(session->uplink);
        ls_confirmed_ticks_connect(session->ticks);
        session->lost.attempt = LS_RECONNECT_GREETED;
        if (session->lost.claim != LS_CLAIM_NONE) {
            ls_gameplay_claim(session, &hello->back);
            hello->back.is_optional = session->lost.claim == LS_CLAIM_OPTIONAL;
        }
    }
    ls_session_outbox_send(session->outbox);
}

void ls_session_disconnected(ls_session *session, ls_status reason, uint64_t now_ns)
{
    session->now_ns = now_ns;
    session->outbox->server = 0;
    if (is_in(session, LS_SESSION_FINISHED)) {
        end(session, LS_OK, MATCH_IS_COMPLETE);
    } else if (is_in(session, LS_SESSION_CONNECTING) && session->turned_away_status != LS_OK) {
        end(session, session->turned_away_status, session->turned_away.bytes);
    } else if (!lose_link(session, reason, ls_status_text(reason))) {
        end(session, reason, ls_status_text(reason));
    }
}

/* ---- receiving, before the match ---- */

static ls_status handle_offer(ls_session *session, const ls_offer *offer, ls_text *why)
{
    if (offer->is_spectator != session->config.is_spectator) {
        return ls_fail(LS_MISBEHAVED, why, "the server takes this client for %s",
                       offer->is_spectator ? "a spectator" : "a player");
    }
    if (session->has_gameplay) {
        return ls_gameplay_receive_offer(session, offer, why);
    }
    return ls_gameplay_create(session, offer, why);
}

/* HELLO or OFFER may have been lost and sent again, which takes seconds. */
static void add_offer_rtt(ls_session *session)
{
    uint64_t rtt_ns = session->now_ns - session->asked_ns;
    if (session->connect_rtt_ns != 0) {
        rtt_ns = LS_MIN(rtt_ns, session->connect_rtt_ns);
    }
    ls_tick_sync_add_rtt(session->sync, rtt_ns);
}

static void receive_offer(ls_session *session, const ls_offer *offer)
{
    ls_text why = {{0}};
    ls_status status = handle_offer(session, offer, &why);
    if (status != LS_OK) {
        give_up(session, status, why.bytes);
        return;
    }
    add_offer_rtt(session);
    session->asked_ns = session->now_ns;
    ls_session_outbox_begin(session->outbox, LS_MESSAGE_READY)->body.ready =
        ls_ready_make(session->instance);
    ls_session_outbox_send(session->outbox);
    bool is_attempt = is_in(session, LS_SESSION_RECONNECTING);
    if (is_attempt) {
        session->lost.attempt = LS_RECONNECT_SEATED;
        session->lost.claim = claim_of(session, session->lost.was_in_lobby);
    } else {
        session->state = LS_SESSION_SEATED;
    }
    bool is_new = !is_attempt || session->lost.was_in_lobby;
    ls_session_outbox_push_event(session->outbox,
                                 is_new ? LS_SESSION_EVENT_SEATED : LS_SESSION_EVENT_SECRET);
}

static void receive_start(ls_session *session, const ls_start *start)
{
    session->lobby = (ls_session_lobby){0};
    memcpy(session->names, start->names, sizeof start->names);
    session->lost_ns = 0;
    begin_playing(session);
    ls_tick_sync_limit_rtt(session->sync, session->now_ns - session->asked_ns);
    ls_gameplay_start(session, start);
}

static void receive_join(ls_session *session, const ls_join *join)
{
    ls_gameplay_outcome outcome =
        ls_gameplay_join(session, join, session->now_ns - session->asked_ns);
    if (outcome == LS_GAMEPLAY_GOES_ON) {
        memcpy(session->names, join->names, sizeof join->names);
        session->lobby = (ls_session_lobby){0};
        session->lost.attempt = LS_RECONNECT_NONE;
        session->state = LS_SESSION_JOINING;
    }
    apply_outcome(session, outcome);
}

static void receive_notice(ls_session *session, const ls_notice *notice)
{
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_NOTICE)->notice = *notice;
    if (notice->kind == LS_NOTICE_PAUSED || notice->kind == LS_NOTICE_UNPAUSED) {
        ls_uplink_pause(session->uplink, notice->kind == LS_NOTICE_PAUSED);
    }
}

static void receive_chat(ls_session *session, const ls_chat *chat)
{
    ls_session_event *event = ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_CHAT);
    event->chat = *chat;
    if (chat->quick_line > 0) {
        ls_name_copy(event->chat.text, sizeof event->chat.text,
                     ls_quick_line_words(chat->quick_line));
    }
    memcpy(session->names[chat->slot], chat->name, sizeof session->names[chat->slot]);
}

static void send_ready(ls_session *session)
{
    if (ls_slot_set_is_empty(session->lobby.here) || session->lobby.asks_nobody) {
        return;
    }
    ls_message *message = ls_session_outbox_begin(session->outbox, LS_MESSAGE_LOBBY);
    ls_lobby *lobby = &message->body.lobby;
    message->players = session->offer.config.players;
    lobby->players = (ls_session_lobby){0};
    ls_slot_set_put(&lobby->players.ready, session->offer.slot, session->is_ready);
    ls_session_outbox_send(session->outbox);
}

static void receive_lobby(ls_session *session, const ls_lobby *lobby)
{
    bool is_known = ls_slot_set_has(&lobby->players.ready, session->offer.slot);
    session->lobby = lobby->players;
    memcpy(session->names, lobby->names, sizeof lobby->names);
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_LOBBY);
    if (is_known != session->is_ready) {
        send_ready(session);
    }
}

static void receive_refuse(ls_session *session, const ls_close_reason *reason)
{
    ls_text why = reason->text;
    ls_status status = (ls_status) - (int)reason->negated_status;
    if (session->instance && ls_sim_instance_tick(session->instance) == 0) {
        ls_ready_parts_name(session->instance, status, &why);
    }
    status = status == LS_OK ? LS_DISCONNECTED : status;
    if (status == LS_ALREADY_OVER && is_complete_without_link(session)) {
        end(session, LS_OK, MATCH_IS_COMPLETE);
        return;
    }
    bool may_be_let_in = status == LS_FULL || status == LS_MATCH_FULL || status == LS_TIMED_OUT;
    if (may_be_let_in && is_in(session, LS_SESSION_HANDSHAKING)) {
        ask_again(session, status, &reason->text);
        return;
    }
    const char *own = session->config.print ? session->config.print->items[LS_PRINT_FLOAT] : "";
    if (status == LS_ARITHMETIC_MISMATCH && own[0] != '\0' && !strstr(why.bytes, own)) {
        ls_text_add(&why, "; this client has %s", own);
    }
    if (!outlives_refusal(session, status) || !lose_link(session, status, why.bytes)) {
        end(session, status, why.bytes);
    }
}

/* Messages of the handshake and of the lobby. MALFORMED when one does not belong here. */
static ls_status receive_before_match(ls_session *session, const ls_message *message)
{
    bool is_attempt = is_in(session, LS_SESSION_RECONNECTING);
    bool expects_offer = is_attempt ? session->lost.attempt == LS_RECONNECT_GREETED
                                    : is_in(session, LS_SESSION_HANDSHAKING);
    bool is_seated = is_attempt ? session->lost.attempt == LS_RECONNECT_SEATED
                                : is_in(session, LS_SESSION_SEATED);
    bool may_start = !is_attempt || session->lost.was_in_lobby;
    if (message->kind == LS_MESSAGE_OFFER && expects_offer) {
        receive_offer(session, &message->body.offer);
    } else if (message->kind == LS_MESSAGE_START && is_seated && may_start) {
        receive_start(session, &message->body.start);
    } else if (message->kind == LS_MESSAGE_JOIN && is_seated) {
        receive_join(session, &message->body.join);
    } else if (message->kind == LS_MESSAGE_LOBBY && is_seated && !session->config.is_spectator) {
        receive_lobby(session, &message->body.lobby);
    } else if (message->kind == LS_MESSAGE_NAMES && is_seated) {
        const ls_names *more = &message->body.names;
        memcpy(session->names[more->first], more->names, sizeof more->names);
    } else if (message->kind == LS_MESSAGE_RESUMING && is_seated) {
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_RESUMING)->resuming =
            message->body.resuming;
    } else if (message->kind == LS_MESSAGE_TICKS_REQUEST && is_seated) {
        ls_confirmed_ticks_send(session->ticks, &message->body.ticks_request);
    } else {
        return LS_MALFORMED;
    }
    return LS_OK;
}

/* ---- receiving ---- */

/* Messages that only make sense in some states are MALFORMED in the others. */
static ls_status receive_reliable(ls_session *session, const uint8_t *bytes, size_t size)
{
    ls_message *message = &session->message;
    uint32_t players = session->has_gameplay ? session->offer.config.players : 0;
    ls_status status = ls_message_read(bytes, size, players, message);
    if (status != LS_OK) {
        return status;
    }
    if (message->kind == LS_MESSAGE_REFUSE) {
        receive_refuse(session, &message->body.close_reason);
        return LS_OK;
    }
    if (message->kind == LS_MESSAGE_NOTICE && session->has_gameplay) {
        receive_notice(session, &message->body.notice);
        return LS_OK;
    }
    if (message->kind == LS_MESSAGE_CHAT && session->has_gameplay) {
        receive_chat(session, &message->body.chat);
        return LS_OK;
    }
    return ls_session_is_in_match(session) ? ls_gameplay_receive(session, message)
                                           : receive_before_match(session, message);
}

static ls_status receive_unreliable(ls_session *session, const uint8_t *bytes, size_t size)
{
    uint32_t kind = ls_message_peek(bytes, size);
    if (kind != LS_MESSAGE_TICKS && kind != LS_MESSAGE_TICK_PART && kind != LS_MESSAGE_BLOB_PART) {
        return LS_MALFORMED;
    }
    if (!is_in(session, LS_SESSION_PLAYING) && !is_in(session, LS_SESSION_JOINING)) {
        /* The lobby's sign of life, a tick that overtook START and comes again, or one after the
         * end. */
        return LS_OK;
    }
    ls_status status = LS_OK;
    apply_outcome(session, ls_gameplay_receive_packet(session, kind, bytes, size, &status));
    return status;
}

void ls_session_receive(ls_session *session, ls_channel channel, const uint8_t *bytes, size_t size,
                        uint64_t now_ns)
{
    session->now_ns = now_ns;
    if (is_in(session, LS_SESSION_OVER)) {
        return;
    }
    ls_status status = channel == LS_CHANNEL_RELIABLE ? receive_reliable(session, bytes, size)
                                                      : receive_unreliable(session, bytes, size);
    if (status == LS_OK) {
        session->heard_ns = now_ns;
        return;
    }
    session->packets_rejected++;
    if (status == LS_MALFORMED && ++session->malformed >= MALFORMED_MAX) {
        give_up(session, LS_MISBEHAVED, "too many malformed packets");
    }
}

LS_TICK_CODE void ls_session_receive_event(ls_session *session, const ls_transport_event *event,
                                           uint64_t now_ns)
{
    switch (event->kind) {
    case LS_TRANSPORT_CONNECTED:
        session->connect_rtt_ns = event->rtt_ns;
        ls_session_connected(session, event->peer, now_ns);
        return;
    case LS_TRANSPORT_DISCONNECTED:
        ls_session_disconnected(session, event->reason, now_ns);
        return;
    case LS_TRANSPORT_RECEIVED:
        ls_session_receive(session, event->channel, event->bytes, event->size, now_ns);
        return;
    }
}

/* ---- frames ---- */

static void give_up_returning(ls_session *session)
{
    ls_status status = session->lost.status;
    ls_text why = {{0}};
    if (is_complete_without_link(session)) {
        end(session, LS_OK, MATCH_IS_COMPLETE);
        return;
    }
    ls_text_set(&why, "the link was lost (%s) and could not be made again within %u s",
                ls_status_name(status), session->config.reconnect_ms / 1000);
    end(session, status, why.bytes);
}

LS_TICK_CODE static void play_frame(ls_session *session)
{
    apply_outcome(session, ls_gameplay_frame(session));
}

static void reconnecting_frame(ls_session *session)
{
    if (!session->lost.was_in_lobby) {
        play_frame(session);
    }
    if (session->state != LS_SESSION_RECONNECTING) {
        return;
    }
    if (session->now_ns - session->lost_ns >= session->config.reconnect_ms * LS_NS_PER_MS) {
        give_up_returning(session);
        return;
    }
    if (is_server_silent(session)) {
        (void)lose_link(session, LS_TIMED_OUT, "the server does not answer");
    }
    if (session->outbox->server != 0 && session->lost.attempt == LS_RECONNECT_SEATED) {
        ls_uplink_send_in_time(session->uplink);
    }
}

static void frame(ls_session *session)
{
    switch (session->state) {
    case LS_SESSION_CONNECTING:
    case LS_SESSION_OVER:
        return;
    case LS_SESSION_RECONNECTING:
        reconnecting_frame(session);
        return;
    case LS_SESSION_FINISHED:
        play_frame(session);
        /* When the server's goodbye gets lost, the session is over all the same. One that is heard
         * looks into a desync. */
        if (session->now_ns - LS_MAX(session->finished_ns, session->heard_ns) >= GOODBYE_NS) {
            end(session, LS_OK, MATCH_IS_COMPLETE);
        }
        return;
    case LS_SESSION_HANDSHAKING:
        break;
    case LS_SESSION_SEATED:
        ls_uplink_send_in_time(session->uplink);
        break;
    case LS_SESSION_JOINING:
    case LS_SESSION_PLAYING:
        play_frame(session);
        break;
    }
    if (!is_in(session, LS_SESSION_FINISHED)) {
        end_when_silent(session);
    }
}

LS_TICK_CODE void ls_session_frame(ls_session *session, uint64_t now_ns)
{
    LS_ASSERT(now_ns >= session->now_ns);
    if (session->frames > 0 && session->has_gameplay) {
        ls_uplink_add_frame(session->uplink, now_ns - session->drawn_ns);
    }
    session->now_ns = now_ns;
    session->drawn_ns = now_ns;
    session->frames++;
    frame(session);
}

/* ---- between frames ---- */

void ls_session_update(ls_session *session, uint64_t now_ns)
{
    LS_ASSERT(now_ns >= session->now_ns);
    session->now_ns = now_ns;
    if (now_ns >= ls_session_next_ns(session)) {
        ls_gameplay_update(session);
    }
}

LS_TICK_CODE uint64_t ls_session_next_ns(const ls_session *session)
{
    bool is_in_match = is_in(session, LS_SESSION_JOINING) || is_in(session, LS_SESSION_PLAYING);
    return session->config.makes_inputs_between_frames && is_in_match ? ls_gameplay_next_ns(session)
                                                                      : UINT64_MAX;
}

bool ls_session_may_packets_wait(const ls_session *session)
{
    return is_in(session, LS_SESSION_PLAYING) && ls_gameplay_may_packets_wait(session);
}

uint64_t ls_session_reconnect_ns(const ls_session *session)
{
    bool is_waiting = is_in(session, LS_SESSION_RECONNECTING) && session->outbox->server == 0;
    return is_waiting ? session->lost.retry_ns : UINT64_MAX;
}

void ls_session_set_input_delay(ls_session *session, uint32_t ticks)
{
    LS_ASSERT(ticks <= LS_INPUT_DELAY_TICKS_MAX);
    if (session->has_gameplay) {
        ls_tick_sync_set_input_delay(session->sync, ticks);
    }
}

/* ---- talk ---- */

ls_status ls_session_chat(ls_session *session, uint32_t quick_line, const char *text)
{
    LS_ASSERT(quick_line <= LS_QUICK_LINES);
    bool is_heard = is_in(session, LS_SESSION_SEATED) || ls_session_is_in_match(session);
    if (session->config.is_spectator) {
        return LS_UNSUPPORTED;
    }
    if (!is_heard || session->outbox->server == 0) {
        return LS_NOT_FOUND;
    }
    ls_chat *chat = &ls_session_outbox_begin(session->outbox, LS_MESSAGE_CHAT)->body.chat;
    *chat = (ls_chat){.slot = session->offer.slot, .quick_line = quick_line};
    ls_name_copy(chat->text, sizeof chat->text, quick_line == 0 ? text : "");
    if (quick_line == 0 && chat->text[0] == '\0') {
        return LS_BAD_ARGUMENT;
    }
    ls_session_outbox_send(session->outbox);
    return LS_OK;
}

void ls_session_set_ready(ls_session *session, bool is_ready)
{
    session->is_ready = is_ready;
    if (is_in(session, LS_SESSION_SEATED)) {
        send_ready(session);
    }
}

ls_session_lobby ls_session_lobby_of(const ls_session *session)
{
    return is_in(session, LS_SESSION_SEATED) ? session->lobby : (ls_session_lobby){0};
}

/* ---- what can be seen from outside ---- */

bool ls_session_next_event(ls_session *session, ls_session_event *event)
{
    return ls_session_outbox_next_event(session->outbox, event);
}

ls_session_report ls_session_report_of(const ls_session *session)
{
    ls_session_report report = {.state = session->state,
                                .status = session->status,
                                .rejoins = session->rejoins,
                                .frames = session->frames,
                                .silence_ns = session->now_ns - session->heard_ns,
                                .packets_rejected = session->packets_rejected};
    if (session->has_gameplay) {
        ls_gameplay_report(session, &report);
    }
    return report;
}

ls_session_state ls_session_state_of(const ls_session *session)
{
    return session->state;
}

void ls_session_lag_text(const ls_session *session, const ls_lag *lag, ls_text *text)
{
    ls_text whom = {{0}};
    ls_session_add_names(session, ls_slot_set_of(lag->whom), &whom);
    ls_lag_text(lag, LS_LAG_TO_PLAYER, whom.bytes, text);
}

const char *ls_session_state_words(ls_session_state state)
{
    static const char *const words[] = {
        [LS_SESSION_CONNECTING] = "connecting",
        [LS_SESSION_HANDSHAKING] = "handshake",
        [LS_SESSION_SEATED] = "waiting for the others",
        [LS_SESSION_JOINING] = "joining",
        [LS_SESSION_PLAYING] = "playing",
        [LS_SESSION_RECONNECTING] = "link lost",
        [LS_SESSION_FINISHED] = "finished",
        [LS_SESSION_OVER] = "over",
    };
    return words[state];
}

ls_tick ls_session_tick(const ls_session *session)
{
    return session->has_gameplay ? ls_stepper_tick(session->stepper) : 0;
}

ls_sim_instance *ls_session_instance(ls_session *session)
{
    return session->has_gameplay ? session->instance : NULL;
}

const ls_offer *ls_session_offer(const ls_session *session)
{
    return session->has_gameplay ? &session->offer : NULL;
}

const char *ls_session_player_name(const ls_session *session, uint32_t slot)
{
    LS_ASSERT(slot < LS_PLAYERS_MAX);
    return session->names[slot];
}

/* A player who came later than this client has no name here. */
static void add_player(const ls_session *session, uint32_t slot, const char *between,
                       ls_text *names)
{
    if (session->names[slot][0] != '\0') {
        ls_text_add(names, "%s%s (slot %u)", between, session->names[slot], slot);
    } else {
        ls_text_add(names, "%sslot %u", between, slot);
    }
}

void ls_session_add_names(const ls_session *session, ls_slot_set slots, ls_text *names)
{
    const char *between = "";
    uint32_t left = ls_slot_set_count(slots);
    uint32_t named = 0;
    LS_EACH_SLOT (slot, slots) {
        if (named++ == LS_NAMES_PER_LINE) {
            ls_text_add(names, " and %u more", left);
            return;
        }
        add_player(session, slot, between, names);
        between = ", ";
        left--;
    }
}

ls_fixed ls_session_alpha(const ls_session *session)
{
    return session->has_gameplay ? ls_stepper_alpha(session->stepper) : 0;
}

const void *ls_session_previous(const ls_session *session)
{
    return session->has_gameplay ? ls_stepper_previous(session->stepper) : NULL;
}

void ls_session_draw(ls_session *session, ls_fixed alpha, ls_draw_list *list)
{
    if (session->has_gameplay) {
        ls_stepper_draw(session->stepper, alpha, list);
    }
}

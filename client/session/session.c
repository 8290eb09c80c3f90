#include "lockstep/client/session/session.h"

#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/handshake.h"

#include <string.h>

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
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    session->config = *config;
    session->allocator = allocator;
    status = ls_session_outbox_create(sink, allocator, &session->outbox);
    if (status != LS_OK) {
        ls_text_set(why, "%s", ls_status_text(status));
        ls_session_destroy(session);
        return status;
    }
    *out = session;
    return LS_OK;
}

void ls_session_destroy(ls_session *session)
{
    if (!session) {
        return;
    }
    ls_session_join_deinit(session);
    ls_session_play_deinit(session);
    ls_session_outbox_destroy(session->outbox);
    ls_release(session->allocator, session);
}

/* ---- events and messages ---- */

bool ls_session_next_event(ls_session *session, ls_session_event *event)
{
    return ls_session_outbox_next_event(session->outbox, event);
}

void ls_session_end(ls_session *session, ls_status status, const char *why)
{
    if (session->report.state == LS_SESSION_OVER) {
        return;
    }
    session->report.state = LS_SESSION_OVER;
    session->report.status = status;
    ls_session_predict_end(session);
    ls_session_event *event = ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_OVER);
    event->status = status;
    ls_text_set(&event->text, "%s", why);
    ls_session_outbox_disconnect(session->outbox);
}

static void send_goodbye(ls_session *session, ls_status status, const char *why)
{
    if (!ls_session_outbox_is_connected(session->outbox)) {
        return;
    }
    ls_close_reason *close_reason =
        &ls_session_outbox_begin(session->outbox, LS_MESSAGE_GOODBYE)->body.close_reason;
    close_reason->negated_status = (uint32_t)-status;
    ls_text_set(&close_reason->text, "%s", why);
    ls_session_outbox_send(session->outbox);
}

void ls_session_give_up(ls_session *session, ls_status status, const char *why)
{
    send_goodbye(session, status, why);
    ls_session_end(session, status, why);
}

void ls_session_leave_as_planned(ls_session *session, const char *why)
{
    send_goodbye(session, LS_DISCONNECTED, why);
    ls_session_end(session, LS_OK, why);
}

void ls_session_leave(ls_session *session, uint64_t now_ns)
{
    session->now_ns = now_ns;
    if (session->report.state != LS_SESSION_OVER) {
        ls_session_leave_as_planned(session, "the player left");
    }
}

/* ---- getting in ---- */

void ls_session_connected(ls_session *session, ls_peer_id server, uint64_t now_ns)
{
    session->now_ns = now_ns;
    if (session->report.state == LS_SESSION_OVER) {
        ls_session_outbox_connect(session->outbox, server);
        ls_session_outbox_disconnect(session->outbox); /* the player left before it connected */
        return;
    }
    bool is_return = session->report.state == LS_SESSION_RECONNECTING;
    LS_ASSERT(!ls_session_outbox_is_connected(session->outbox));
    LS_ASSERT(is_return || session->report.state == LS_SESSION_CONNECTING);
    ls_session_outbox_connect(session->outbox, server);
    session->heard_ns = now_ns;
    session->asked_ns = now_ns;
    if (session->uplink) {
        ls_uplink_connect(session->uplink);
        ls_confirmed_ticks_connect(session->ticks);
    }
    session->back.is_greeted = is_return;
    session->report.state = is_return ? LS_SESSION_RECONNECTING : LS_SESSION_HANDSHAKING;
    ls_hello *hello = &ls_session_outbox_begin(session->outbox, LS_MESSAGE_HELLO)->body.hello;
    *hello = ls_hello_make(session->config.name);
    hello->is_spectator = session->config.is_spectator;
    hello->back = ls_session_return_claim(session);
    ls_session_outbox_send(session->outbox);
}

void ls_session_disconnected(ls_session *session, ls_status reason, uint64_t now_ns)
{
    session->now_ns = now_ns;
    ls_session_outbox_forget_peer(session->outbox);
    if (session->report.state == LS_SESSION_FINISHED) {
        ls_session_end(session, LS_OK, "the match is complete");
    } else if (!ls_session_return_lose(session, reason, ls_status_text(reason))) {
        ls_session_end(session, reason, ls_status_text(reason));
    }
}

static ls_status take_offer(ls_session *session, const ls_offer *offer, ls_text *why)
{
    if (offer->is_spectator != session->config.is_spectator) {
        ls_text_set(why, "the server takes this client for %s",
                    offer->is_spectator ? "one who watches" : "a player");
        return LS_MISBEHAVED;
    }
    if (session->instance) {
        return ls_session_return_take_offer(session, offer, why);
    }
    session->offer = *offer;
    session->report.slot = offer->slot;
    session->simulation = session->config.find_simulation(session->config.user, offer->simulation);
    if (!session->simulation) {
        ls_text_set(why, "simulation: the server plays '%s', which this client does not have",
                    offer->simulation);
        return LS_SIMULATION_MISMATCH;
    }
    if (session->simulation->version != offer->simulation_version) {
        ls_text_set(why, "simulation version: client %u, server %u", session->simulation->version,
                    offer->simulation_version);
        return LS_SIMULATION_VERSION_MISMATCH;
    }
    ls_text fault = {{0}};
    if (ls_sim_config_check(session->simulation, &offer->config, &fault) != LS_OK) {
        ls_text_set(why, "simulation parameters: the client cannot take the server's: %s",
                    fault.bytes);
        return LS_PARAMETER_MISMATCH;
    }
    ls_status status = ls_sim_instance_create(session->simulation, &offer->config,
                                              session->allocator, &session->instance, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_session_play_init(session);
    if (status != LS_OK) {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    return status;
}

static void receive_offer(ls_session *session, const ls_offer *offer)
{
    ls_text why = {{0}};
    ls_status status = take_offer(session, offer, &why);
    if (status != LS_OK) {
        ls_session_give_up(session, status, why.bytes);
        return;
    }
    ls_uplink_add_rtt(session->uplink, session->now_ns - session->asked_ns);
    session->asked_ns = session->now_ns;
    ls_session_outbox_begin(session->outbox, LS_MESSAGE_READY)->body.ready =
        ls_ready_make(session->instance);
    ls_session_outbox_send(session->outbox);
    if (session->report.state == LS_SESSION_RECONNECTING) {
        session->back.is_greeted = false;
        session->back.is_seated = true;
        if (session->back.is_unstarted) {
            ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_SEATED);
        }
        return;
    }
    session->report.state = LS_SESSION_SEATED;
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_SEATED);
}

/* ---- receiving ---- */

static void receive_desync(ls_session *session, const ls_desync_notice *desync)
{
    session->report.desyncs++;
    if (desync->slot == session->report.slot && !session->config.is_spectator) {
        session->report.is_desynced = true;
        session->report.own_desyncs++;
        session->report.own_desync = *desync;
    }
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_DESYNC)->desync = *desync;
}

static void receive_cause(ls_session *session, const ls_desync_cause *cause)
{
    if (cause->slot == session->report.slot && !session->config.is_spectator) {
        session->report.has_own_cause = true;
        session->report.own_cause = *cause;
    }
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_CAUSE)->cause = *cause;
}

/* What the server asks and sends once a slot differs. */
static ls_status receive_of_desync(ls_session *session)
{
    const ls_message *message = &session->message;
    if (session->joining && message->kind != LS_MESSAGE_DESYNC_CAUSE) {
        return LS_MALFORMED; /* nothing of this session was compared yet */
    }
    switch (message->kind) {
    case LS_MESSAGE_TREE_QUERY: {
        ls_wire_query query = message->body.tree_query;
        ls_session_desync_answer(session, &query);
        return LS_OK;
    }
    case LS_MESSAGE_EVIDENCE_REQUEST:
        ls_session_desync_look(session, message->body.evidence_tick);
        return LS_OK;
    case LS_MESSAGE_DESYNC_CAUSE:
        receive_cause(session, &message->body.cause);
        return LS_OK;
    case LS_MESSAGE_HEAL_LEAF:
        return ls_session_desync_take_leaf(session, &message->body.heal_leaf);
    case LS_MESSAGE_HEAL: {
        ls_heal heal = message->body.heal;
        ls_session_desync_heal(session, &heal);
        return LS_OK;
    }
    default:
        return LS_MALFORMED;
    }
}

static void receive_refuse(ls_session *session, const ls_close_reason *close_reason)
{
    ls_status status = (ls_status) - (int)close_reason->negated_status;
    ls_text why = close_reason->text;
    status = status == LS_OK ? LS_DISCONNECTED : status;
    if (status == LS_ALREADY_OVER && ls_session_return_is_complete(session)) {
        ls_session_end(session, LS_OK, "the match is complete");
        return;
    }
    if (!ls_session_return_outlives(session, status) ||
        !ls_session_return_lose(session, status, why.bytes)) {
        ls_session_end(session, status, why.bytes);
    }
}

/* What comes before the match is played; MALFORMED when it does not belong here. */
static ls_status receive_of_getting_in(ls_session *session)
{
    const ls_message *message = &session->message;
    ls_session_state state = session->report.state;
    bool is_seated =
        state == LS_SESSION_SEATED || (state == LS_SESSION_RECONNECTING && session->back.is_seated);
    bool is_greeted = state == LS_SESSION_HANDSHAKING ||
                      (state == LS_SESSION_RECONNECTING && session->back.is_greeted);
    if (message->kind == LS_MESSAGE_OFFER && is_greeted) {
        ls_offer offer = message->body.offer;
        receive_offer(session, &offer);
    } else if (message->kind == LS_MESSAGE_START && is_seated &&
               (state == LS_SESSION_SEATED || session->back.is_unstarted)) {
        ls_session_play_start(session, &message->body.start);
    } else if (message->kind == LS_MESSAGE_JOIN && is_seated) {
        ls_join join = message->body.join;
        ls_session_join(session, &join);
    } else if (message->kind == LS_MESSAGE_RESUMING && is_seated) {
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_RESUMING)->resuming =
            message->body.resuming;
    } else if (message->kind == LS_MESSAGE_TICKS_REQUEST && is_seated) {
        ls_ticks_request request = message->body.ticks_request;
        ls_confirmed_ticks_send(session->ticks, &request, session->outbox);
    } else {
        return LS_MALFORMED;
    }
    return LS_OK;
}

/* Messages that only make sense in some states are MALFORMED in the others. */
static ls_status receive_reliable(ls_session *session, const uint8_t *bytes, size_t size)
{
    ls_message *message = &session->message;
    ls_status status = ls_message_read(bytes, size, session->offer.config.players, message);
    if (status != LS_OK) {
        return status;
    }
    ls_session_state state = session->report.state;
    if (message->kind == LS_MESSAGE_REFUSE) {
        receive_refuse(session, &message->body.close_reason);
        return LS_OK;
    }
    if (state != LS_SESSION_JOINING && state != LS_SESSION_PLAYING &&
        state != LS_SESSION_FINISHED) {
        return receive_of_getting_in(session);
    }
    switch (message->kind) {
    case LS_MESSAGE_HASH_REQUEST: {
        ls_hash_request request = message->body.hash_request;
        ls_session_play_send_hashes(session, &request);
        return LS_OK;
    }
    case LS_MESSAGE_DESYNC:
        receive_desync(session, &message->body.desync);
        return LS_OK;
    case LS_MESSAGE_END:
        session->report.has_end = true;
        session->report.end = message->body.end;
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_ENDED)->end =
            message->body.end;
        return LS_OK;
    case LS_MESSAGE_INPUT_DELAY:
        session->offer.input_delay_ticks = message->body.input_delay_ticks;
        ls_session_set_input_delay(session, message->body.input_delay_ticks);
        return LS_OK;
    case LS_MESSAGE_WAITING:
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_WAITING)->waiting =
            message->body.waiting;
        return LS_OK;
    default:
        return receive_of_desync(session);
    }
}

static ls_status receive_unreliable(ls_session *session, const uint8_t *bytes, size_t size)
{
    uint32_t kind = ls_message_peek(bytes, size);
    if (kind != LS_MESSAGE_TICKS && kind != LS_MESSAGE_TICK_PART && kind != LS_MESSAGE_BLOB_PART) {
        return LS_MALFORMED;
    }
    ls_session_state state = session->report.state;
    if (state != LS_SESSION_PLAYING && state != LS_SESSION_JOINING) {
        /* The lobby's sign of life, a tick that overtook START and comes again, or one after the
         * end. */
        return LS_OK;
    }
    if (kind == LS_MESSAGE_BLOB_PART) {
        return ls_session_join_part(session, bytes, size);
    }
    return kind == LS_MESSAGE_TICKS ? ls_session_play_ticks(session, bytes, size)
                                    : ls_session_play_part(session, bytes, size);
}

void ls_session_receive(ls_session *session, ls_channel channel, const uint8_t *bytes, size_t size,
                        uint64_t now_ns)
{
    session->now_ns = now_ns;
    if (session->report.state == LS_SESSION_OVER) {
        return;
    }
    ls_status status = channel == LS_CHANNEL_RELIABLE ? receive_reliable(session, bytes, size)
                                                      : receive_unreliable(session, bytes, size);
    if (status == LS_OK) {
        session->heard_ns = now_ns;
        return;
    }
    session->report.packets_rejected++;
    if (status == LS_MALFORMED && ++session->malformed >= SESSION_MALFORMED_MAX) {
        ls_session_give_up(session, LS_MISBEHAVED, "too many malformed packets");
    }
}

/* ---- time ---- */

static void end_when_silent(ls_session *session)
{
    static const char *const why = "nothing was heard from the server within the timeout";
    ls_session_state state = session->report.state;
    uint64_t timeout_ns = state == LS_SESSION_HANDSHAKING ? SESSION_HANDSHAKE_NS
                                                          : ls_session_return_silence_ns(session);
    bool is_connected = state != LS_SESSION_CONNECTING && state != LS_SESSION_RECONNECTING;
    if (is_connected && session->now_ns - session->heard_ns >= timeout_ns &&
        !ls_session_return_lose(session, LS_TIMED_OUT, why)) {
        ls_session_give_up(session, LS_TIMED_OUT, why);
    }
}

void ls_session_frame(ls_session *session, uint64_t now_ns)
{
    LS_ASSERT(now_ns >= session->now_ns);
    session->now_ns = now_ns;
    if (session->report.frames > 0 && session->uplink) {
        ls_uplink_add_frame(session->uplink, now_ns - session->drawn_ns);
    }
    session->drawn_ns = now_ns;
    session->report.frames++;
    switch (session->report.state) {
    case LS_SESSION_SEATED:
        ls_session_play_send_in_time(session);
        break;
    case LS_SESSION_JOINING:
        ls_session_join_frame(session);
        break;
    case LS_SESSION_PLAYING:
        ls_session_play_frame(session);
        ls_session_desync_advance(session);
        break;
    case LS_SESSION_RECONNECTING:
        ls_session_return_frame(session);
        break;
    case LS_SESSION_FINISHED:
        ls_session_desync_advance(session);
        ls_session_play_send_in_time(session); /* a bad moment of the link passes with packets */
        /* The server closes the connection; if that gets lost, it is over all the same. */
        if (now_ns - session->finished_ns >= SESSION_GOODBYE_NS) {
            ls_session_end(session, LS_OK, "the match is complete");
        }
        break;
    case LS_SESSION_CONNECTING:
    case LS_SESSION_HANDSHAKING:
    case LS_SESSION_OVER:
        break;
    }
    bool is_finished =
        session->report.state == LS_SESSION_FINISHED || session->report.state == LS_SESSION_OVER;
    if (!is_finished) {
        end_when_silent(session);
    }
}

void ls_session_update(ls_session *session, uint64_t now_ns)
{
    LS_ASSERT(now_ns >= session->now_ns);
    session->now_ns = now_ns;
    if (now_ns < ls_session_next_ns(session)) {
        return;
    }
    if (session->report.state == LS_SESSION_JOINING) {
        ls_session_join_update(session);
    } else {
        ls_session_play_update(session);
    }
}

uint64_t ls_session_next_ns(const ls_session *session)
{
    if (!session->config.makes_inputs_between_frames) {
        return UINT64_MAX;
    }
    if (session->report.state == LS_SESSION_JOINING) {
        return ls_session_join_next_ns(session);
    }
    return session->report.state == LS_SESSION_PLAYING ? ls_session_play_next_ns(session)
                                                       : UINT64_MAX;
}

void ls_session_set_input_delay(ls_session *session, uint32_t ticks)
{
    LS_ASSERT(ticks <= LS_INPUT_DELAY_TICKS_MAX);
    if (session->uplink) {
        ls_uplink_set_input_delay(session->uplink, ticks);
    }
}

/* ---- what can be seen from outside ---- */

ls_session_report ls_session_report_of(const ls_session *session)
{
    ls_session_report report = session->report;
    if (session->uplink) {
        ls_uplink_report(session->uplink, &report);
        report.confirmed = ls_confirmed_ticks_end(session->ticks);
        report.downlink = ls_confirmed_ticks_downlink(session->ticks);
    }
    if (session->joining) {
        ls_session_join_report(session, &report);
    }
    if (session->instance) {
        report.tick = ls_session_tick(session);
        report.shown_tick = ls_sim_instance_tick(session->instance);
    }
    if (session->prediction) {
        ls_prediction_figures figures = ls_prediction_figures_of(session->prediction);
        report.has_prediction = true;
        report.rollbacks = figures.rollbacks;
        report.rollback_ticks = figures.rollback_ticks;
        report.rollback_depth_p99 = figures.rollback_depth_p99;
        report.rollback_depth_max = figures.rollback_depth_max;
    }
    report.jitter_buffer_delay_ns = ls_jitter_buffer_delay_ns(&session->jitter_buffer);
    report.jitter_buffer_speed_ppm = session->jitter_buffer.speed_ppm;
    return report;
}

ls_session_state ls_session_state_of(const ls_session *session)
{
    return session->report.state;
}

const char *ls_session_state_words(ls_session_state state)
{
    static const char *const words[] = {
        [LS_SESSION_CONNECTING] = "connecting",
        [LS_SESSION_HANDSHAKING] = "greeting",
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
    return session->instance ? ls_session_settled_tick(session) : 0;
}

ls_sim_instance *ls_session_instance(ls_session *session)
{
    return session->instance;
}

const ls_offer *ls_session_offer(const ls_session *session)
{
    return session->instance ? &session->offer : NULL;
}

const char *ls_session_player_name(const ls_session *session, uint32_t slot)
{
    LS_ASSERT(slot < LS_PLAYERS_MAX);
    return session->names[slot];
}

ls_fixed ls_session_alpha(const ls_session *session)
{
    return session->alpha;
}

void ls_session_add_names(const ls_session *session, uint32_t slot_mask, ls_text *names)
{
    const char *between = "";
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        if (slot_mask >> slot & 1u) {
            ls_text_add(names, "%s%s (slot %u)", between, session->names[slot], slot);
            between = ", ";
        }
    }
}

void ls_session_draw(ls_session *session, ls_fixed alpha, ls_draw_list *list)
{
    bool has_begun = session->instance && ls_sim_instance_tick(session->instance) > 0;
    if (!has_begun || !session->simulation->draw) {
        return;
    }
    const void *current = ls_sim_instance_state(session->instance);
    const void *previous = session->previous ? session->previous : current;
    session->simulation->draw(&session->offer.config, previous, current, alpha, list);
}

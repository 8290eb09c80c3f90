#include "lockstep/server/match/match_conduct.h"

#include "lockstep/common/base/fault.h"

#include <string.h>

/* ---- leaving ---- */

static void announce_desync(ls_match_parts *parts, uint32_t slot)
{
    if (ls_desync_service_announce(parts->desync, slot)) {
        ls_conduct_end(parts);
    }
}

void ls_conduct_drop(ls_match_parts *parts, uint32_t slot, ls_status status, const char *why)
{
    ls_outbox_refuse(parts->outbox, ls_seat_table_peer(parts->seats, slot), status, why);
    ls_conduct_depart(parts, slot, false, status, why);
}

void ls_conduct_lose(ls_match_parts *parts, uint32_t slot, ls_status status, const char *why)
{
    ls_outbox_refuse(parts->outbox, ls_seat_table_peer(parts->seats, slot), status, why);
    ls_conduct_depart(parts, slot, true, status, why);
}

void ls_conduct_depart(ls_match_parts *parts, uint32_t slot, bool is_lost, ls_status status,
                       const char *why)
{
    bool is_kept = is_lost && ls_seat_table_would_keep(parts->seats, slot);
    if (ls_desync_service_settle(parts->desync, slot)) {
        announce_desync(parts, slot);
    }
    ls_desync_service_leave(parts->desync, slot);
    ls_join_service_leave(parts->joins, slot);
    if (parts->vote) {
        ls_resume_vote_leave(parts->vote, slot, is_kept);
    }
    ls_player_link_change(&parts->links[slot],
                          ls_seat_table_leave(parts->seats, slot, is_kept, status, why));
}

void ls_conduct_refuse_pending(ls_match_parts *parts, ls_peer_id peer, ls_status status,
                               const char *why)
{
    ls_match_event *event = ls_outbox_push_event(parts->outbox, LS_MATCH_PEER_REFUSED);
    event->peer = peer;
    event->status = status;
    ls_text_set(&event->text, "%s", why);
    ls_outbox_refuse(parts->outbox, peer, status, why);
    ls_pending_connections_forget(&parts->pending, peer);
}

/* ---- the end ---- */

static void send_end(ls_match_parts *parts, uint32_t slot)
{
    ls_outbox_message(parts->outbox, LS_MESSAGE_END)->body.end = (ls_end){
        .final_tick = ls_tick_log_next(parts->log), .final_hash = parts->context.final_hash};
    ls_outbox_send(parts->outbox, ls_seat_table_peer(parts->seats, slot));
}

/* The newest tick was the last one. Players who were sent JOIN may still get to the final state,
 * and so may those who come back; a newcomer would only come for it. */
void ls_conduct_end(ls_match_parts *parts)
{
    parts->context.final_hash = ls_tick_log_live_hash(parts->log);
    parts->context.state = LS_MATCH_ENDING;
    parts->context.ending_ns = parts->context.now_ns;
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        if (ls_seat_table_follows(parts->seats, slot)) {
            send_end(parts, slot);
        } else if (ls_seat_table_is_taken(parts->seats, slot) &&
                   ls_seat_table_return(parts->seats, slot)->match_id == 0) {
            ls_conduct_drop(parts, slot, LS_ALREADY_OVER, "the match has ended meanwhile");
        }
    }
    ls_outbox_push_event(parts->outbox, LS_MATCH_ENDED)->tick = ls_tick_log_next(parts->log);
}

void ls_conduct_close(ls_match_parts *parts)
{
    parts->context.state = LS_MATCH_OVER;
    ls_peer_id peer = 0;
    while ((peer = ls_pending_connections_overdue(&parts->pending, UINT64_MAX)) != 0) {
        ls_conduct_refuse_pending(parts, peer, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
    }
    ls_spectators_close(parts->spectators);
    ls_outbox_push_event(parts->outbox, LS_MATCH_FINISHED);
}

/* ---- desyncs ---- */

void ls_conduct_drop_desynced(ls_match_parts *parts, ls_desync_drop found)
{
    if (found.why && ls_seat_table_is_in_play(parts->seats, found.slot)) {
        ls_conduct_drop(parts, found.slot, LS_DESYNCED, found.why);
    }
}

void ls_conduct_report_desync(ls_match_parts *parts, uint32_t slot)
{
    announce_desync(parts, slot);
    ls_conduct_drop_desynced(parts, ls_desync_service_investigate(parts->desync, slot));
}

static void drop_overdue(ls_match_parts *parts, uint64_t limit_ns)
{
    uint32_t slot = 0;
    while ((slot = ls_desync_service_next_overdue(parts->desync, slot, limit_ns)) !=
           MATCH_NO_SLOT) {
        ls_conduct_drop(parts, slot, LS_MISBEHAVED, "did not say which of its states differs");
        slot++;
    }
}

/* ---- coming ---- */

void ls_conduct_await_players(ls_match_parts *parts, bool is_known)
{
    parts->context.state = LS_MATCH_RESUMING;
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_lag_meter_init(&parts->links[slot].figures.lag.meter, parts->context.dt_ns);
    }
    ls_resume_vote_begin(parts->vote, ls_seat_table_await_players(parts->seats, is_known));
}

void ls_conduct_sit_down(ls_match_parts *parts, uint32_t slot, ls_peer_id peer,
                         const ls_hello *hello)
{
    if (ls_seat_table_is_taken(parts->seats, slot)) {
        ls_peer_id old = ls_seat_table_peer(parts->seats, slot);
        ls_conduct_depart(parts, slot, true, LS_DISCONNECTED,
                          "its player has come back on another connection");
        ls_outbox_disconnect(parts->outbox, old);
    }
    /* A player is back who knows that the match had begun, if the journal does not. */
    if (hello->back.match_id != 0 && parts->vote && parts->context.state == LS_MATCH_LOBBY) {
        ls_conduct_await_players(parts, false);
    }
    ls_player_link_change(&parts->links[slot],
                          ls_seat_table_sit_down(parts->seats, slot, peer, hello));
    ls_peer_link_start_waiting(&parts->links[slot].peer, parts->context.now_ns);
    ls_pending_connections_forget(&parts->pending, peer);
    ls_offer *offer = ls_handover_begin_offer(parts->outbox, &parts->context);
    offer->slot = slot;
    ls_seat_table_secret(parts->seats, slot, offer->secret);
    ls_outbox_send(parts->outbox, peer);
}

void ls_conduct_play_from(ls_match_parts *parts, uint32_t slot, ls_tick tick)
{
    ls_seat_table_set_playing(parts->seats, slot, tick);
    parts->links[slot].peer.heard_ns = parts->context.now_ns;
}

static void begin_lag(ls_match_parts *parts, uint32_t slot)
{
    ls_player_lag_begin(&parts->links[slot].figures.lag, &parts->context,
                        ls_seat_table_has_played(parts->seats, slot));
}

void ls_conduct_start(ls_match_parts *parts)
{
    uint64_t delay_ns = ls_tick_closer_schedule(parts->closer);
    ls_start *start = &ls_outbox_message(parts->outbox, LS_MESSAGE_START)->body.start;
    memset(start, 0, sizeof *start);
    start->delay_us = (uint32_t)(delay_ns / LS_NS_PER_US);
    start->players = ls_match_parts_players(parts);
    for (uint32_t slot = 0; slot < start->players; slot++) {
        memcpy(start->names[slot], ls_seat_table_name(parts->seats, slot),
               sizeof start->names[slot]);
        if (ls_seat_table_state(parts->seats, slot) == LS_SEAT_READY) {
            parts->links[slot].peer.downlink.is_losing = true; /* until the client knows better */
            begin_lag(parts, slot);
            ls_conduct_play_from(parts, slot, 0);
        }
    }
    ls_seat_table_send_all(parts->seats);
    parts->context.state = LS_MATCH_RUNNING;
    ls_outbox_push_event(parts->outbox, LS_MATCH_STARTED);
}

/* A READY player gets into a running parts, or waits for its turn. */
void ls_conduct_begin_joining(ls_match_parts *parts, uint32_t slot)
{
    bool is_trusted = !ls_desync_service_differs(parts->desync, slot);
    ls_status status = ls_join_service_begin(parts->joins, slot, is_trusted);
    if (status == LS_OK) {
        ls_seat_table_set_joining(parts->seats, slot);
        begin_lag(parts, slot); /* its inputs may arrive before it says that it is there */
        if (parts->context.state == LS_MATCH_ENDING) {
            send_end(parts, slot);
        }
    } else if (status != LS_STALE) {
        ls_conduct_drop(parts, slot, status, LS_NOT_HANDED_ON);
    }
}

static void advance_joining(ls_match_parts *parts)
{
    uint64_t limit_ns = ls_peer_link_join_limit_ns(&parts->context);
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_slot_state state = ls_seat_table_state(parts->seats, slot);
        if (state == LS_SEAT_KEPT && parts->context.state == LS_MATCH_RUNNING) {
            ls_seat_table_expire(parts->seats, slot);
        } else if (state == LS_SEAT_READY) {
            ls_conduct_begin_joining(parts, slot);
        } else if (state == LS_SEAT_JOINING &&
                   ls_peer_link_is_stuck(&parts->links[slot].peer, &parts->context, limit_ns)) {
            ls_conduct_lose(parts, slot, LS_TIMED_OUT, "it got no further with joining");
        }
    }
    ls_join_service_advance(parts->joins);
}

/* ---- ticks ---- */

static void count_lag(ls_match_parts *parts, const ls_closing *closing)
{
    uint32_t interval = parts->context.config.hash_interval_ticks;
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_player_link *link = &parts->links[slot];
        bool was_waited_for = (closing->waited_slots >> slot & 1u) != 0;
        if ((closing->slots >> slot & 1u) == 0) {
            continue;
        }
        ls_lag_tick tick = {.is_late = (closing->late_slots >> slot & 1u) != 0,
                            /* Ticks that are stepped and not in the chain yet are no backlog. */
                            .backlog = link->unstepped_ticks > interval - 1
                                           ? link->unstepped_ticks - interval + 1
                                           : 0,
                            .excused = was_waited_for ? 0 : closing->excused_ticks,
                            .quiet_ns = parts->context.now_ns - link->peer.heard_ns,
                            .uplink = &link->peer.downlink.uplink};
        ls_player_name who = {slot, ls_seat_table_peer(parts->seats, slot)};
        ls_player_lag_count(&link->figures.lag, &parts->context, parts->outbox, who, &tick);
    }
}

void ls_conduct_close_due(ls_match_parts *parts)
{
    ls_closing closing;
    ls_closing_kind kind;
    while ((kind = ls_tick_closer_next(parts->closer, &closing)) != LS_CLOSING_NOTHING) {
        if (kind == LS_CLOSING_TICK) {
            count_lag(parts, &closing);
            continue;
        }
        for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
            if (closing.slots >> slot & 1u) {
                ls_conduct_lose(parts, slot, LS_TIMED_OUT,
                                "no input arrived within the longest wait of the rule 'wait'");
            }
        }
    }
}

void ls_conduct_send_due(ls_match_parts *parts)
{
    ls_tick_sender_advance(&parts->sender, ls_tick_closer_is_waiting(parts->closer));
}

static void drop_who_fell_behind(ls_match_parts *parts)
{
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_player_link *link = &parts->links[slot];
        if (!ls_seat_table_follows(parts->seats, slot)) {
            continue;
        }
        link->figures.ticks_behind = ls_tick_log_next(parts->log) - link->peer.downlink.next;
        if (ls_peer_link_fell_behind(&link->peer, parts->log)) {
            ls_conduct_lose(parts, slot, LS_FELL_BEHIND, LS_PEER_LINK_FELL_BEHIND);
        }
    }
}

static void advance_running(ls_match_parts *parts)
{
    ls_tick_closer_advance(parts->closer);
    ls_conduct_close_due(parts);
    drop_who_fell_behind(parts);
    drop_overdue(parts, ls_match_timeout_ns(&parts->context));
    ls_conduct_send_due(parts);
    advance_joining(parts);
    bool is_deserted = !ls_seat_table_has_state(parts->seats, LS_SEAT_OFFERED, LS_SEAT_KEPT);
    if (parts->context.state == LS_MATCH_RUNNING &&
        (is_deserted || ls_tick_closer_is_last_closed(parts->closer))) {
        ls_conduct_end(parts);
    }
}

/* A player whose hashes have been asked for is not finished until it has answered, nor is one that
 * may still come back for the end. */
static bool are_all_finished(const ls_match_parts *parts)
{
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_slot_state state = ls_seat_table_state(parts->seats, slot);
        bool is_done =
            state == LS_SEAT_EMPTY || state == LS_SEAT_LEFT ||
            (state == LS_SEAT_FINISHED && !ls_desync_service_is_asking(parts->desync, slot));
        if (!is_done) {
            return false;
        }
    }
    return !ls_desync_service_is_open(parts->desync);
}

static void release_players(ls_match_parts *parts)
{
    drop_overdue(parts, 0);
    ls_desync_drop found;
    while ((found = ls_desync_service_finish(parts->desync)).why) {
        ls_conduct_drop_desynced(parts, found);
    }
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        if (ls_seat_table_state(parts->seats, slot) == LS_SEAT_FINISHED) {
            ls_outbox_disconnect(parts->outbox, ls_seat_table_peer(parts->seats, slot));
        } else if (ls_seat_table_is_taken(parts->seats, slot)) {
            ls_conduct_drop(parts, slot, LS_TIMED_OUT, "the final state was not reached in time");
        }
    }
    parts->context.has_released_players = true;
}

void ls_conduct_advance(ls_match_parts *parts)
{
    ls_match_context *context = &parts->context;
    if (context->state == LS_MATCH_RUNNING) {
        advance_running(parts);
    }
    ls_conduct_drop_desynced(parts, ls_desync_service_advance(parts->desync));
    if (context->state != LS_MATCH_ENDING) {
        return;
    }
    bool is_time_up = context->now_ns - context->ending_ns >= MATCH_ENDING_NS;
    if (!context->has_released_players && (are_all_finished(parts) || is_time_up)) {
        release_players(parts);
    }
    if (!context->has_released_players) {
        ls_conduct_send_due(parts);
        advance_joining(parts);
    }
}

/* ---- after a restart ---- */

void ls_conduct_repeat_tick(ls_match_parts *parts, const ls_tick_inputs *inputs)
{
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        ls_seat_table_note_events(parts->seats, slot, inputs->slots[slot].events, inputs->tick);
    }
    ls_tick_log_append(parts->log, inputs->slots, parts->context.now_ns);
}

void ls_conduct_go_on(ls_match_parts *parts)
{
    uint32_t waited_mask = ls_resume_vote_waited_mask(parts->vote);
    ls_match_event *event = ls_outbox_push_event(parts->outbox, LS_MATCH_RESUMED);
    event->tick = ls_tick_log_next(parts->log);
    ls_resume_vote_describe(parts->vote, ls_seat_table_resume(parts->seats, waited_mask),
                            &event->text);
    parts->context.state = LS_MATCH_RUNNING;
    ls_tick_closer_schedule(parts->closer);
    advance_joining(parts);
}

/* ---- silence ---- */

void ls_conduct_drop_silent(ls_match_parts *parts)
{
    ls_match_context *context = &parts->context;
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        const ls_peer_link *link = &parts->links[slot].peer;
        ls_slot_state state = ls_seat_table_state(parts->seats, slot);
        if (!ls_seat_table_is_taken(parts->seats, slot) || state == LS_SEAT_FINISHED) {
            continue;
        }
        if (ls_peer_link_is_silent(link, context)) {
            ls_conduct_lose(parts, slot, LS_TIMED_OUT, "nothing was heard within the timeout");
        } else if (state == LS_SEAT_OFFERED &&
                   ls_peer_link_is_stuck(link, context, MATCH_HANDSHAKE_NS)) {
            ls_conduct_lose(parts, slot, LS_TIMED_OUT, "no READY came");
        }
    }
    ls_peer_id peer = 0;
    while (context->now_ns >= MATCH_HANDSHAKE_NS &&
           (peer = ls_pending_connections_overdue(&parts->pending,
                                                  context->now_ns - MATCH_HANDSHAKE_NS)) != 0) {
        ls_conduct_refuse_pending(parts, peer, LS_TIMED_OUT, "no HELLO came");
    }
}

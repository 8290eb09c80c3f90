#include "lockstep/server/match/match_conduct.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/investigation/investigation.h"

#include <string.h>

/* ---- TICKS ---- */

#define RESEND_NS (UINT64_C(100) * LS_NS_PER_MS) /* heartbeat once ticks are closed */
#define UNHEARD_NS (UINT64_C(500) * LS_NS_PER_MS)

/* Returns the first closed tick that did not fit. */
static ls_tick send_packet(const ls_match *match, uint32_t slot)
{
    ls_player_link *link = &match->links[slot];
    bool follows = ls_seat_table_follows(match->seats, slot);
    ls_tick end = follows ? match->log->next : link->peer.downlink.next;
    size_t size = ls_player_link_write_ticks(link, match, &end, ls_outbox_packet(match->outbox));
    ls_outbox_send_packet(match->outbox, match->seats->peers[slot], size);
    return end;
}

/* The longest time between two TICKS when nothing is closed. */
static uint64_t heartbeat_ns_of(const ls_match *match)
{
    uint64_t heartbeat_ns = match->log->next == 0 ? MATCH_HEARTBEAT_NS : RESEND_NS;
    if (match->state == LS_MATCH_ENDING) {
        heartbeat_ns = LS_MIN(heartbeat_ns, match->dt_ns);
    }
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    return LS_MIN(heartbeat_ns, silence_max_ns);
}

static bool is_sent_twice(const ls_match *match, uint32_t slot)
{
    const ls_downlink *downlink = &match->links[slot].peer.downlink;
    return ls_seat_table_is_in_play(match->seats, slot) && downlink->next < match->log->next &&
           ls_send_rate_doubles_tick(match->config.send_rate, downlink->loss,
                                     match->config.sim.players, match->sent.end);
}

/* A TICKS to a player of whom nothing comes carries all since it last answered, and may reach
 * nobody. Once something has come it gets the next one. */
static bool is_spared(const ls_match *match, uint32_t slot)
{
    const ls_peer_link *link = &match->links[slot].peer;
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    return ls_seat_table_is_in_play(match->seats, slot) &&
           match->now_ns - link->heard_ns >= UNHEARD_NS &&
           match->now_ns - link->told_ns < LS_MIN(RESEND_NS, silence_max_ns);
}

static void send_all(ls_match *match)
{
    ls_tick next = match->log->next;
    match->sent.sent_ns = match->now_ns;
    match->sent.end = next;
    match->sent.again_ns = 0;
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        ls_peer_link *link = &match->links[slot].peer;
        link->packets = 0;
        if (!ls_seat_table_is_taken(match->seats, slot) || is_spared(match, slot)) {
            continue;
        }
        link->told_ns = match->now_ns;
        ls_tick end = send_packet(match, slot);
        if (ls_seat_table_follows(match->seats, slot)) {
            ls_peer_link_send_parts(link, match, match->seats->peers[slot], end, next);
        }
        if (is_sent_twice(match, slot)) {
            match->sent.again_ns = match->now_ns + match->dt_ns / 2;
        }
    }
}

/* The second TICKS between two ticks, to players that lose many and lack something. */
static void send_again(ls_match *match)
{
    match->sent.again_ns = 0;
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        if (is_sent_twice(match, slot)) {
            send_packet(match, slot);
        }
    }
}

void ls_conduct_answer_moved(ls_match *match, ls_peer_id peer, size_t room_bytes)
{
    uint32_t slot = ls_seat_table_slot_of(match->seats, peer);
    if (slot == MATCH_NO_SLOT || !ls_seat_table_follows(match->seats, slot)) {
        return;
    }
    size_t size = ls_player_link_write_answer(&match->links[slot], match, room_bytes,
                                              ls_outbox_packet(match->outbox));
    if (size > 0) {
        ls_outbox_answer_packet(match->outbox, peer, size);
    }
}

/* A tick that is closed is not kept back while none follows. */
static bool is_packet_full(const ls_match *match)
{
    bool is_last = match->state != LS_MATCH_RUNNING || ls_tick_closer_is_waiting(match->closer);
    uint32_t ticks =
        ls_send_rate_ticks(match->config.send_rate, match->now_ns >= match->sent.easy_ns,
                           match->config.input_delay_ticks, match->dt_ns);
    return match->log->next - match->sent.end >= (is_last ? 1 : ticks);
}

void ls_conduct_send_due(ls_match *match)
{
    uint64_t now_ns = match->now_ns;
    if (is_packet_full(match) || LS_FAULT(TICKS_UNPACED) ||
        now_ns - match->sent.sent_ns >= heartbeat_ns_of(match)) {
        send_all(match);
    } else if (match->sent.again_ns != 0 && now_ns >= match->sent.again_ns) {
        send_again(match);
    }
}

/* UINT64_MAX: there is nobody to send to, as in an empty lobby, of which a server may have many. */
static uint64_t next_send_ns(const ls_match *match)
{
    if (match->state == LS_MATCH_LOBBY && match->pending.count == 0 &&
        ls_match_players_here(match) == 0) {
        return UINT64_MAX;
    }
    uint64_t heartbeat_ns = match->sent.sent_ns + heartbeat_ns_of(match);
    return match->sent.again_ns != 0 && match->sent.again_ns < heartbeat_ns ? match->sent.again_ns
                                                                            : heartbeat_ns;
}

/* ---- what the host says ---- */

static void begin_notice(const ls_match *match, ls_notice_kind kind, const char *text)
{
    ls_notice *notice = &ls_outbox_message(match->outbox, LS_MESSAGE_NOTICE)->body.notice;
    *notice = (ls_notice){.kind = kind, .tick = match->log->next};
    ls_text_set(&notice->text, "%s", text);
}

static void notify_all(ls_match *match, ls_notice_kind kind, const char *text)
{
    begin_notice(match, kind, text);
    ls_seat_table_send_all(match->seats);
    ls_spectators_send_all(match->spectators);
}

/* One that was restored may be paused before its players are back, and before the first who comes
 * says that it had begun. */
static bool can_be_paused(const ls_match *match)
{
    return match->state == LS_MATCH_RUNNING ||
           (match->is_restored && match->state < LS_MATCH_RUNNING);
}

static ls_status set_paused(ls_match *match, bool is_paused, const char *why, uint64_t now_ns)
{
    match->now_ns = now_ns;
    if (!can_be_paused(match) || !(is_paused || match->is_paused)) {
        return LS_NOT_FOUND;
    }
    match->is_paused = is_paused;
    ls_text_set(&match->pause_why, "%s", why);
    notify_all(match, is_paused ? LS_NOTICE_PAUSED : LS_NOTICE_UNPAUSED, why);
    ls_match_event *event = ls_outbox_push_event(
        match->outbox, is_paused ? LS_MATCH_PAUSED : LS_MATCH_UNPAUSED, 0, match->log->next);
    ls_text_set(&event->text, "%s", why);
    return LS_OK;
}

ls_status ls_match_pause(ls_match *match, const char *why, uint64_t now_ns)
{
    return set_paused(match, true, why, now_ns);
}

ls_status ls_match_unpause(ls_match *match, const char *why, uint64_t now_ns)
{
    return set_paused(match, false, why, now_ns);
}

ls_status ls_match_say(ls_match *match, uint32_t slot, const char *text, uint64_t now_ns)
{
    match->now_ns = now_ns;
    if (match->state == LS_MATCH_OVER) {
        return LS_NOT_FOUND;
    }
    if (slot == LS_PLAYERS_MAX) {
        notify_all(match, LS_NOTICE_TEXT, text);
        return LS_OK;
    }
    if (slot >= match->config.sim.players || !ls_seat_table_is_taken(match->seats, slot)) {
        return LS_NOT_FOUND;
    }
    begin_notice(match, LS_NOTICE_TEXT, text);
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
    return LS_OK;
}

void ls_match_say_next(ls_match *match, const char *what, uint64_t now_ns)
{
    match->now_ns = now_ns;
    notify_all(match, LS_NOTICE_NEXT, what);
}

void ls_conduct_greet(const ls_match *match, ls_peer_id peer)
{
    if (match->is_paused && can_be_paused(match)) {
        begin_notice(match, LS_NOTICE_PAUSED, match->pause_why.bytes);
        ls_outbox_send(match->outbox, peer);
    }
}

/* ---- memory ---- */

enum {
    LATE_STATE_BYTES_MAX = 1 << 20, /* its memory is taken within a millisecond */
};

static bool has_state_of(const ls_match *match, size_t bytes_max)
{
    const ls_sim_instance *instance = match->log->instance;
    size_t bytes = ls_sim_instance_image_bytes(instance);
    return LS_MAX(bytes, ls_sim_instance_save_bytes(instance)) <= bytes_max;
}

bool ls_conduct_opens_late(const ls_match *match)
{
    return has_state_of(match, LATE_STATE_BYTES_MAX);
}

/* A tick of a running match would wait for the memory of an investigation of a larger state. */
static bool investigates_late(const ls_match *match)
{
    return has_state_of(match, LS_REPLAY_SMALL_STATE_BYTES);
}

static ls_status open_links(ls_match *match)
{
    uint32_t players = match->config.sim.players;
    ls_status status = LS_OK;
    if (!match->links) {
        match->links = ls_allocate_array(match->allocator, players, sizeof *match->links);
        for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
            ls_player_link_init(&match->links[slot], slot,
                                match->config.simulation->input_bytes_max);
        }
        status = match->links ? LS_OK : LS_NO_MEMORY;
    }
    for (uint32_t slot = 0; status == LS_OK && slot < players; slot++) {
        ls_player_link *link = &match->links[slot];
        status = link->received ? LS_OK : ls_player_link_open(link, match->allocator);
    }
    return status;
}

ls_status ls_conduct_open(ls_match *match)
{
    uint32_t players = match->config.sim.players;
    ls_status status = LS_OK;
    if (match->incoming.cursor) {
        return LS_OK;
    }
    if (!ls_tick_log_is_open(match->log)) {
        status = ls_tick_log_open(match->log, &match->config);
    }
    if (status == LS_OK && !match->spectators) {
        status = ls_spectators_create(match, &match->spectators);
    }
    if (status == LS_OK) {
        status = open_links(match);
    }
    if (status == LS_OK && !investigates_late(match)) {
        status = ls_desync_service_open(match->desync);
    }
    if (status == LS_OK) {
        match->incoming.cursor = ls_allocate(match->allocator, ls_tick_cursor_bytes(players));
        status = match->incoming.cursor ? LS_OK : LS_NO_MEMORY;
    }
    return status;
}

/* ---- leaving ---- */

static ls_desync_drop announce_desync(ls_match *match, uint32_t slot)
{
    ls_desync_drop drop = {0, NULL};
    if (ls_desync_service_announce(match->desync, slot, &drop)) {
        ls_conduct_end(match);
    }
    return drop;
}

void ls_conduct_drop(ls_match *match, uint32_t slot, ls_status status, const char *why)
{
    ls_text text = ls_ready_parts_with(&match->own_parts, status, why);
    ls_outbox_refuse(match->outbox, match->seats->peers[slot], status, text.bytes);
    ls_conduct_depart(match, slot, false, status, why);
}

void ls_conduct_lose(ls_match *match, uint32_t slot, ls_status status, const char *why)
{
    ls_outbox_refuse(match->outbox, match->seats->peers[slot], status, why);
    ls_conduct_depart(match, slot, true, status, why);
}

/* Where one side is another build than it should be the player can come back with the right one. */
static void leave(ls_match *match, uint32_t slot, bool is_lost, ls_status status, const char *why)
{
    bool is_mismatch = status <= LS_PROTOCOL_MISMATCH && status >= LS_INITIAL_STATE_MISMATCH;
    bool is_kept = (is_lost || is_mismatch) && ls_seat_table_would_keep(match->seats, slot);
    if (ls_desync_service_settle(match->desync, slot)) {
        (void)announce_desync(match, slot); /* it leaves as it is */
    }
    ls_desync_service_leave(match->desync, slot);
    ls_join_service_leave(match->joins, slot);
    ls_talk_leave(&match->talk, slot);
    if (match->vote) {
        ls_resume_vote_leave(match->vote, slot, is_kept);
    }
    ls_player_link_change(&match->links[slot],
                          ls_seat_table_leave(match->seats, slot, is_kept, status, why));
}

/* A newcomer who has not come to play yet. */
static bool is_coming(const ls_match *match, uint32_t slot)
{
    return ls_seat_table_has_newcomer(match->seats, slot) ||
           ls_seat_table_has_joiner(match->seats, slot);
}

void ls_conduct_depart(ls_match *match, uint32_t slot, bool is_lost, ls_status status,
                       const char *why)
{
    if (is_coming(match, slot)) {
        ls_lapsed_offers_note(&match->lapsed, match->seats->rows[slot].origin, match->now_ns);
    }
    leave(match, slot, is_lost, status, why);
}

static ls_match_event *forget_pending(ls_match *match, ls_peer_id peer, ls_status status,
                                      const char *why)
{
    ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_PEER_REFUSED, 0, 0);
    event->peer = peer;
    event->status = status;
    ls_text_set(&event->text, "%s", why);
    ls_pending_connections_forget(&match->pending, peer);
    return event;
}

void ls_conduct_refuse_pending(ls_match *match, ls_peer_id peer, ls_status status, const char *why)
{
    (void)forget_pending(match, peer, status, why);
    ls_outbox_refuse(match->outbox, peer, status, why);
}

void ls_match_disown(ls_match *match, ls_peer_id peer, const char *why, uint64_t now_ns)
{
    match->now_ns = now_ns;
    forget_pending(match, peer, LS_NOT_ADMITTED, why)->is_for_another = true;
    ls_outbox_refuse(match->outbox, peer, LS_NOT_ADMITTED, why);
}

void ls_conduct_turn_away(ls_match *match, ls_peer_id peer, const char *why)
{
    (void)forget_pending(match, peer, LS_NOT_ADMITTED, why);
    ls_outbox_disconnect(match->outbox, peer);
}

/* ---- the end ---- */

/* The newest tick was the last one. Players who were sent JOIN may still get to the final state,
 * and so may those who come back; a newcomer would only come for it. */
void ls_conduct_end(ls_match *match)
{
    match->final_hash = ls_tick_log_state_hash(match->log);
    match->state = LS_MATCH_ENDING;
    match->ending_ns = match->now_ns;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (ls_seat_table_follows(match->seats, slot)) {
            ls_handover_send_end(match, match->seats->peers[slot]);
        } else if (ls_seat_table_is_taken(match->seats, slot) &&
                   match->seats->rows[slot].back.match_id == 0) {
            ls_conduct_drop(match, slot, LS_ALREADY_OVER, "the match has ended meanwhile");
        }
    }
    ls_outbox_push_event(match->outbox, LS_MATCH_ENDED, 0, match->log->next);
}

void ls_conduct_refuse_late(ls_match *match, ls_peer_id peer)
{
    ls_status status = match->config.has_others ? LS_FULL : LS_ALREADY_OVER;
    ls_conduct_refuse_pending(match, peer, status, ls_status_text(LS_ALREADY_OVER));
}

void ls_conduct_close(ls_match *match, ls_status status, const char *why)
{
    match->state = LS_MATCH_OVER;
    ls_peer_id peer = 0;
    while ((peer = ls_pending_connections_overdue(&match->pending, UINT64_MAX)) != 0) {
        ls_conduct_refuse_late(match, peer);
    }
    ls_spectators_close(match->spectators, status, why);
    ls_outbox_push_event(match->outbox, LS_MATCH_FINISHED, 0, 0);
}

/* ---- desyncs ---- */

void ls_conduct_drop_desynced(ls_match *match, ls_desync_drop found)
{
    if (found.why && found.slot == match->config.sim.players) {
        ls_spectators_drop_watched(match->spectators, found.why);
    } else if (found.why && ls_seat_table_is_in_play(match->seats, found.slot)) {
        ls_conduct_drop(match, found.slot, LS_DESYNCED, found.why);
    }
}

void ls_conduct_announce_desyncs(ls_match *match, bool is_time_up)
{
    uint32_t slot = 0;
    while ((slot = ls_desync_service_next_settled(match->desync, is_time_up)) != MATCH_NO_SLOT) {
        ls_conduct_drop_desynced(match, announce_desync(match, slot));
    }
}

/* Players whom values alone do not heal are sent the whole state. */
static void heal_with_states(ls_match *match)
{
    uint32_t slot = 0;
    while ((slot = ls_desync_service_next_unsent(match->desync, slot)) != MATCH_NO_SLOT) {
        ls_tick tick = 0;
        ls_status status = ls_join_service_heal(match->joins, slot, &tick);
        if (status == LS_OK) {
            ls_desync_service_note_sent(match->desync, slot, tick);
        } else if (status != LS_STALE) {
            ls_conduct_drop(match, slot, LS_DESYNCED, ls_handover_refusal(status));
        }
        slot++;
    }
    for (slot = 0; slot < match->config.sim.players; slot++) {
        if (ls_desync_service_is_sent(match->desync, slot) &&
            ls_join_service_is_healing_stuck(match->joins, slot)) {
            ls_conduct_drop(match, slot, LS_DESYNCED,
                            "its state differs, and it got no further with its healing");
        }
    }
}

static void drop_overdue(ls_match *match, uint64_t limit_ns)
{
    uint32_t slot = 0;
    while ((slot = ls_desync_service_next_overdue(match->desync, slot, limit_ns)) !=
           MATCH_NO_SLOT) {
        ls_conduct_drop(match, slot, LS_MISBEHAVED, "did not say which of its states differs");
        slot++;
    }
}

/* ---- coming ---- */

void ls_conduct_await_players(ls_match *match, bool is_known)
{
    match->state = LS_MATCH_RESUMING;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_lag_meter_init(&match->links[slot].figures.lag.meter, match->dt_ns);
    }
    ls_resume_vote_begin(match->vote, ls_seat_table_await_players(match->seats, is_known));
}

/* Why a newcomer that does not play yet makes room for another, the better reason last. */
typedef enum yielding {
    KEEPS_SEAT,
    YIELDS_TO_OTHERS, /* its origin has been offered other seats as well */
    YIELDS_IN_TIME,   /* it is not READY yet, or takes hardly anything of its state */
    YIELDS_AS_BEFORE, /* its origin let an offer or a state go, and that of the other did not */
} yielding;

static yielding yielding_of(const ls_match *match, uint32_t slot, uint64_t for_origin)
{
    uint64_t origin = match->seats->rows[slot].origin;
    bool is_trusted = !ls_lapsed_offers_has(&match->lapsed, for_origin, match->now_ns);
    if (!is_coming(match, slot)) {
        return KEEPS_SEAT;
    }
    if (is_trusted && ls_lapsed_offers_has(&match->lapsed, origin, match->now_ns)) {
        return YIELDS_AS_BEFORE;
    }
    if (ls_seat_table_has_joiner(match->seats, slot)) {
        return ls_join_service_is_slow(match->joins, slot) ? YIELDS_IN_TIME : KEEPS_SEAT;
    }
    if (ls_peer_link_is_stuck(&match->links[slot].peer, match,
                              match->config.ready_ms * LS_NS_PER_MS)) {
        return YIELDS_IN_TIME;
    }
    bool is_crowd = origin != 0 && origin != for_origin &&
                    ls_seat_table_count_offered(match->seats, origin) > 1;
    return is_trusted && is_crowd ? YIELDS_TO_OTHERS : KEEPS_SEAT;
}

bool ls_conduct_make_room(ls_match *match, uint32_t wanted, uint64_t for_origin)
{
    static const char no_ready[] = "no READY came, and others want the seat";
    static const char no_state[] = "it took too little of its state, and others want the seat";
    uint32_t best = MATCH_NO_SLOT;
    yielding most = KEEPS_SEAT;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        bool is_meant = wanted == MATCH_NO_SLOT || wanted == slot;
        yielding each = is_meant ? yielding_of(match, slot, for_origin) : KEEPS_SEAT;
        bool is_longer = best != MATCH_NO_SLOT && each == most && each != KEEPS_SEAT &&
                         match->links[slot].peer.progress_ns < match->links[best].peer.progress_ns;
        best = each > most || is_longer ? slot : best;
        most = LS_MAX(each, most);
    }
    if (most == YIELDS_TO_OTHERS) { /* it had no time, which is not held against its origin */
        ls_outbox_refuse(match->outbox, match->seats->peers[best], LS_TIMED_OUT, no_ready);
        leave(match, best, false, LS_TIMED_OUT, no_ready);
    } else if (most != KEEPS_SEAT) {
        bool is_offered = ls_seat_table_has_newcomer(match->seats, best);
        ls_conduct_drop(match, best, LS_TIMED_OUT, is_offered ? no_ready : no_state);
    }
    return most != KEEPS_SEAT;
}

void ls_conduct_sit_down(ls_match *match, uint32_t slot, ls_peer_id peer, const ls_hello *hello)
{
    if (ls_seat_table_is_taken(match->seats, slot)) {
        ls_peer_id old = match->seats->peers[slot];
        ls_conduct_depart(match, slot, true, LS_DISCONNECTED,
                          "its player has come back on another connection");
        ls_outbox_disconnect(match->outbox, old);
    }
    if (hello->back.match_id == 0) {
        ls_desync_service_forget(match->desync, slot);
    }
    /* A player is back who knows that the match had begun, if the journal does not. */
    if (hello->back.match_id != 0 && !hello->back.is_optional && match->vote &&
        match->state == LS_MATCH_LOBBY) {
        ls_conduct_await_players(match, false);
    }
    ls_player_link_change(&match->links[slot],
                          ls_seat_table_sit_down(match->seats, slot, peer, hello));
    ls_peer_link_start_waiting(&match->links[slot].peer, match->now_ns);
    ls_pending_connections_forget(&match->pending, peer);
    ls_offer *offer = ls_handover_begin_offer(match);
    offer->slot = slot;
    ls_seat_table_secret(match->seats, slot, offer->secret);
    ls_outbox_send(match->outbox, peer);
    ls_conduct_greet(match, peer);
}

void ls_conduct_play_from(ls_match *match, uint32_t slot, ls_tick tick)
{
    ls_seat_table_set_playing(match->seats, slot, tick);
    ls_peer_link_start_waiting(&match->links[slot].peer, match->now_ns);
}

static void begin_lag(ls_match *match, uint32_t slot)
{
    ls_player_lag_begin(&match->links[slot].figures.lag, match,
                        match->seats->rows[slot].player.has_played);
}

static void start(ls_match *match)
{
    uint64_t delay_ns = ls_tick_closer_schedule(match->closer);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->seats->rows[slot].state == LS_SEAT_READY) {
            ls_seat_table_send_names(match->seats, match->seats->peers[slot]);
        }
    }
    ls_start *start = &ls_outbox_message(match->outbox, LS_MESSAGE_START)->body.start;
    memset(start, 0, sizeof *start);
    start->delay_us = (uint32_t)(delay_ns / LS_NS_PER_US);
    ls_seat_table_names(match->seats, 0, start->names);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->seats->rows[slot].state == LS_SEAT_READY) {
            match->links[slot].peer.downlink.loss = LS_SEND_LOSS_MANY; /* until it is known */
            begin_lag(match, slot);
            ls_conduct_play_from(match, slot, 0);
        }
    }
    ls_seat_table_send_all(match->seats);
    match->state = LS_MATCH_RUNNING;
    ls_outbox_push_event(match->outbox, LS_MATCH_STARTED, 0, 0);
}

void ls_conduct_start_when_due(ls_match *match)
{
    if (ls_talk_may_start(&match->talk, match)) {
        start(match);
    }
}

void ls_conduct_begin_joining(ls_match *match, uint32_t slot)
{
    bool is_trusted = !ls_desync_service_differs(match->desync, slot);
    ls_status status = ls_join_service_begin(match->joins, slot, is_trusted);
    if (status == LS_OK) {
        ls_seat_table_set_joining(match->seats, slot);
        begin_lag(match, slot); /* its inputs may arrive before it says that it is there */
        if (match->state == LS_MATCH_ENDING) {
            ls_handover_send_end(match, match->seats->peers[slot]);
        }
    } else if (status != LS_STALE) {
        ls_conduct_drop(match, slot, status, ls_handover_refusal(status));
    }
}

/* A joiner that takes its state at a trickle may not hold up others, nor be sent it for ever. */
static void let_slowest_go(ls_match *match, bool is_anybody_waiting)
{
    uint32_t slot = ls_join_service_slowest(match->joins, is_anybody_waiting);
    if (slot != MATCH_NO_SLOT && match->seats->rows[slot].state == LS_SEAT_JOINING) {
        ls_conduct_lose(match, slot, LS_TIMED_OUT,
                        is_anybody_waiting ? LS_TAKEN_TOO_SLOWLY : LS_NOT_TAKEN);
    } else if (slot != MATCH_NO_SLOT) {
        ls_conduct_drop(match, slot, LS_DESYNCED,
                        is_anybody_waiting
                            ? "its state differs, it was healed too slowly, and others wait"
                            : "its state differs, and it was sent the right one many times over");
    }
}

/* In the order in which they came: a player that comes again waits behind those that wait. */
static bool begin_waiting(ls_match *match)
{
    ls_slot_set tried = {{0}};
    bool is_anybody_waiting = false;
    for (;;) {
        uint32_t first = MATCH_NO_SLOT;
        for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
            bool is_due =
                match->seats->rows[slot].state == LS_SEAT_READY && !ls_slot_set_has(&tried, slot);
            bool is_earlier = first == MATCH_NO_SLOT || match->links[slot].peer.progress_ns <
                                                            match->links[first].peer.progress_ns;
            first = is_due && is_earlier ? slot : first;
        }
        if (first == MATCH_NO_SLOT) {
            return is_anybody_waiting;
        }
        ls_slot_set_add(&tried, first);
        ls_conduct_begin_joining(match, first);
        is_anybody_waiting = is_anybody_waiting || match->seats->rows[first].state == LS_SEAT_READY;
    }
}

static void advance_joining(ls_match *match)
{
    uint64_t limit_ns = ls_peer_link_join_limit_ns(match);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_slot_state state = match->seats->rows[slot].state;
        if (state == LS_SEAT_KEPT && match->state == LS_MATCH_RUNNING) {
            ls_seat_table_expire(match->seats, slot);
        } else if (state == LS_SEAT_JOINING &&
                   ls_peer_link_is_stuck(&match->links[slot].peer, match, limit_ns)) {
            ls_conduct_lose(match, slot, LS_TIMED_OUT, "it got no further with joining");
        }
    }
    if (begin_waiting(match)) {
        let_slowest_go(match, true);
    }
    ls_join_service_advance(match->joins);
    let_slowest_go(match, false);
}

/* ---- ticks ---- */

/* The host reads of a player who holds up the match under that player's name alone, and of its own
 * server once. */
static bool is_known_to_host(const ls_match *match, const ls_closing *closing, uint32_t of_slot,
                             ls_lag_cause cause)
{
    bool is_known = cause == LS_LAG_PLAYER;
    for (uint32_t slot = 0; slot < match->config.sim.players && cause == LS_LAG_SERVER; slot++) {
        bool plays = ls_slot_set_has(&closing->slots, slot) && slot != of_slot;
        is_known = is_known || (plays && match->links[slot].figures.lag.said.cause == cause);
    }
    return is_known;
}

static void say_lag(const ls_match *match, const ls_closing *closing, ls_player_name who,
                    ls_lag_cause before)
{
    const ls_lag *lag = &match->links[who.slot].figures.lag.lag;
    ls_lag_cause about = lag->cause == LS_LAG_FINE ? before : lag->cause;
    if (!is_known_to_host(match, closing, who.slot, about)) {
        ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_LAG, who.slot, 0);
        const char *whom = match->seats->rows[lag->whom].player.name;
        ls_lag_text(lag, LS_LAG_TO_HOST, whom, &event->text);
    }
    ls_outbox_message(match->outbox, LS_MESSAGE_LAG)->body.lag = *lag;
    ls_outbox_send(match->outbox, who.peer);
}

static void count_lag(ls_match *match, const ls_closing *closing)
{
    uint32_t interval = match->config.hash_interval_ticks;
    uint32_t waited_slot = ls_slot_set_next(closing->waited_slots, 0) % LS_PLAYERS_MAX;
    bool is_quiet = (closing->waited_ticks | closing->overdue_ticks) == 0;
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        ls_player_link *link = &match->links[slot];
        bool was_waited_for = ls_slot_set_has(&closing->waited_slots, slot);
        if (!ls_slot_set_has(&closing->slots, slot)) {
            ls_lag_meter_add_outage(&link->figures.lag.meter, closing->overdue_ticks);
            continue;
        }
        if (is_quiet && !ls_slot_set_has(&closing->late_slots, slot) &&
            link->unstepped_ticks < LS_LAG_BACKLOG_TICKS &&
            ls_lag_meter_add_quiet_tick(&link->figures.lag.meter, closing->was_behind,
                                        closing->uneven_ns)) {
            continue;
        }
        ls_lag_tick tick = {.tick = match->log->next - 1,
                            .is_late = ls_slot_set_has(&closing->late_slots, slot),
                            /* Ticks that are stepped and not in the chain yet are no backlog. */
                            .backlog = link->unstepped_ticks > interval - 1
                                           ? link->unstepped_ticks - interval + 1
                                           : 0,
                            .held_up = was_waited_for ? closing->waited_ticks : 0,
                            .waited = was_waited_for ? 0 : closing->waited_ticks,
                            .waited_slot = waited_slot,
                            .overdue = closing->overdue_ticks,
                            .was_behind = closing->was_behind,
                            .uneven_ns = closing->uneven_ns,
                            .quiet_ns = match->now_ns - link->peer.heard_ns};
        ls_player_name who = {slot, match->seats->peers[slot]};
        ls_lag_cause before = link->figures.lag.said.cause;
        if (ls_player_lag_count(&link->figures.lag, match, who, &tick)) {
            say_lag(match, closing, who, before);
        }
    }
}

void ls_conduct_close_due(ls_match *match)
{
    ls_closing closing;
    ls_closing_kind kind;
    while ((kind = ls_tick_closer_next(match->closer, &closing)) != LS_CLOSING_NOTHING) {
        if (kind == LS_CLOSING_TICK) {
            bool is_late = closing.waited_ticks != 0 || !ls_slot_set_is_empty(closing.late_slots);
            match->sent.easy_ns = is_late ? match->now_ns + LS_SEND_EASY_NS : match->sent.easy_ns;
            count_lag(match, &closing);
            continue;
        }
        LS_EACH_SLOT (slot, closing.slots) {
            ls_conduct_lose(match, slot, LS_TIMED_OUT,
                            "no input arrived within the longest wait of the rule 'wait'");
        }
    }
}

static void drop_who_fell_behind(ls_match *match)
{
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        ls_player_link *link = &match->links[slot];
        if (!ls_seat_table_follows(match->seats, slot)) {
            continue;
        }
        link->figures.ticks_behind = match->log->next - link->peer.downlink.next;
        if (ls_peer_link_fell_behind(&link->peer, match->log)) {
            ls_conduct_lose(match, slot, LS_FELL_BEHIND, LS_PEER_LINK_FELL_BEHIND);
        }
    }
}

static void advance_running(ls_match *match)
{
    ls_tick_closer_advance(match->closer);
    ls_conduct_close_due(match);
    drop_who_fell_behind(match);
    drop_overdue(match, ls_match_timeout_ns(match));
    ls_conduct_send_due(match);
    heal_with_states(match);
    advance_joining(match);
    bool is_deserted = !ls_seat_table_has_state(match->seats, LS_SEAT_OFFERED, LS_SEAT_KEPT);
    if (match->state == LS_MATCH_RUNNING &&
        (is_deserted || ls_tick_closer_is_last_closed(match->closer))) {
        ls_conduct_end(match);
    }
}

/* A player whose hashes have been asked for is not finished until it has answered, nor is one that
 * may still come back for the end. */
static bool are_all_finished(const ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_slot_state state = match->seats->rows[slot].state;
        bool is_done =
            state == LS_SEAT_EMPTY || state == LS_SEAT_LEFT ||
            (state == LS_SEAT_FINISHED && !ls_desync_service_is_asking(match->desync, slot));
        if (!is_done) {
            return false;
        }
    }
    return !ls_desync_service_is_open(match->desync);
}

static void release_players(ls_match *match)
{
    drop_overdue(match, 0);
    ls_conduct_announce_desyncs(match, true);
    ls_desync_drop found;
    while ((found = ls_desync_service_finish(match->desync)).why) {
        ls_conduct_drop_desynced(match, found);
    }
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->seats->rows[slot].state == LS_SEAT_FINISHED) {
            ls_outbox_disconnect(match->outbox, match->seats->peers[slot]);
        } else if (ls_seat_table_is_taken(match->seats, slot)) {
            ls_conduct_drop(match, slot, LS_TIMED_OUT, "the final state was not reached in time");
        }
    }
    match->has_released_players = true;
}

static void advance_match(ls_match *match)
{
    if (match->state == LS_MATCH_RUNNING) {
        advance_running(match);
    }
    ls_conduct_announce_desyncs(match, false);
    ls_conduct_drop_desynced(match, ls_desync_service_advance(match->desync));
    if (match->state != LS_MATCH_ENDING) {
        return;
    }
    uint64_t ending_ns = match->now_ns - match->ending_ns;
    bool is_open = ls_desync_service_is_open(match->desync);
    uint64_t looking_ms = LS_INVESTIGATION_TIMES_MAX * match->config.investigation_timeout_ms;
    uint64_t looking_ns = is_open ? looking_ms * LS_NS_PER_MS : 0;
    bool is_time_up = ending_ns >= ls_match_ending_limit_ns(match) + looking_ns;
    if (!match->has_released_players && (are_all_finished(match) || is_time_up)) {
        release_players(match);
    }
    if (!match->has_released_players) {
        ls_conduct_send_due(match);
        advance_joining(match);
    }
}

/* ---- after a restart ---- */

void ls_conduct_repeat_tick(ls_match *match, const ls_tick_inputs *inputs)
{
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        ls_seat_table_note_events(match->seats, slot, inputs->slots[slot].events, inputs->tick);
    }
    ls_tick_log_append(match->log, inputs->slots, match->now_ns);
}

static void resume_gameplay(ls_match *match)
{
    ls_slot_set waited = ls_resume_vote_waited(match->vote);
    ls_match_event *event =
        ls_outbox_push_event(match->outbox, LS_MATCH_RESUMED, 0, match->log->next);
    ls_resume_vote_describe(match->vote, ls_seat_table_resume(match->seats, waited), &event->text);
    match->state = LS_MATCH_RUNNING;
    ls_tick_closer_schedule(match->closer);
    advance_joining(match);
}

/* ---- silence ---- */

/* A player that says for long that it has hashed no further state, though there are some, may be
 * one that hides what it plays with. One that differs has other limits. */
static bool is_standing_still(const ls_match *match, uint32_t slot)
{
    return match->state == LS_MATCH_RUNNING && match->seats->rows[slot].state == LS_SEAT_PLAYING &&
           ls_peer_link_is_stuck(&match->links[slot].peer, match,
                                 ls_peer_link_join_limit_ns(match)) &&
           !ls_desync_service_differs(match->desync, slot) &&
           !ls_desync_service_is_asking(match->desync, slot);
}

static void drop_silent(ls_match *match)
{
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        const ls_peer_link *link = &match->links[slot].peer;
        ls_slot_state state = match->seats->rows[slot].state;
        if (!ls_seat_table_is_taken(match->seats, slot) || state == LS_SEAT_FINISHED) {
            continue;
        }
        if (ls_peer_link_is_silent(link, match)) {
            ls_conduct_lose(match, slot, LS_TIMED_OUT, LS_PEER_LINK_SILENT);
        } else if (is_standing_still(match, slot)) {
            ls_conduct_lose(match, slot, LS_TIMED_OUT, "it has hashed no state for too long");
        } else if (state == LS_SEAT_OFFERED &&
                   ls_peer_link_is_stuck(link, match, MATCH_HANDSHAKE_NS)) {
            ls_conduct_lose(match, slot, LS_TIMED_OUT, "no READY came");
        }
    }
    ls_peer_id peer = 0;
    while (match->now_ns >= MATCH_HANDSHAKE_NS &&
           (peer = ls_pending_connections_overdue(&match->pending,
                                                  match->now_ns - MATCH_HANDSHAKE_NS)) != 0) {
        ls_conduct_refuse_pending(match, peer, LS_TIMED_OUT, "no HELLO came");
    }
}

/* ---- time ---- */

void ls_match_suspend(ls_match *match, const char *why, uint64_t now_ns)
{
    match->now_ns = now_ns;
    if (match->state >= LS_MATCH_ENDING) {
        return;
    }
    ls_match_event *event =
        ls_outbox_push_event(match->outbox, LS_MATCH_SUSPENDED, 0, match->log->next);
    ls_text_set(&event->text, "%s", why);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (ls_seat_table_is_taken(match->seats, slot)) {
            ls_conduct_drop(match, slot, LS_SAVED, why);
        }
    }
    ls_conduct_close(match, LS_SAVED, why);
}

uint32_t ls_match_players_here(const ls_match *match)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        count += match->seats->peers[slot] != 0 ? 1 : 0;
    }
    return count;
}

/* Without anybody the match stays in its journal, from where it can be resumed. */
static void go_on(ls_match *match)
{
    if (ls_match_players_here(match) > 0) {
        resume_gameplay(match);
    } else {
        ls_match_suspend(match, "nobody came back", match->now_ns);
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
    if (match->state == LS_MATCH_RESUMING && ls_resume_vote_advance(match->vote)) {
        go_on(match);
    }
    if (match->state >= LS_MATCH_RUNNING) {
        advance_match(match);
    } else {
        ls_conduct_start_when_due(match); /* the one who was waited for may have left */
        ls_talk_advance(&match->talk, match);
        ls_conduct_send_due(match);
    }
    ls_spectators_advance(match->spectators);
    if (match->state == LS_MATCH_ENDING && match->has_released_players &&
        ls_spectators_are_done(match->spectators)) {
        ls_conduct_close(match, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
    }
}

uint64_t ls_match_next_ns(const ls_match *match)
{
    uint64_t next_ns = ls_spectators_next_ns(match->spectators);
    if (match->state == LS_MATCH_OVER || match->has_released_players) {
        return next_ns;
    }
    next_ns = LS_MIN(next_ns, next_send_ns(match));
    if (match->state == LS_MATCH_RESUMING) {
        return LS_MIN(next_ns, ls_resume_vote_next_ns(match->vote));
    }
    next_ns = LS_MIN(next_ns, ls_join_service_next_ns(match->joins));
    next_ns = LS_MIN(next_ns, ls_talk_next_ns(&match->talk, match));
    return match->state == LS_MATCH_RUNNING ? LS_MIN(next_ns, ls_tick_closer_next_ns(match->closer))
                                            : next_ns;
}

#include "lockstep/server/match/spectators.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/desync_service.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/match/spectator_table.h"

#include <inttypes.h>

/* ---- states to begin with ---- */

typedef struct spectator_states {
    const ls_match *match;
    ls_send_budget budget;
    ls_aged_state aged; /* ready.tick 0: spectators begin with state 0, which they can make */
    ls_handover handover;
    uint32_t first_stream; /* that is sent before the others, of a turn: modulo their number */
} spectator_states;

enum {
    STREAMS_MAX = 8,  /* spectators that are sent a blob at a time */
    SPARE_TICKS = 64, /* of the window, left to a spectator that begins with an old state */
};

/* Many spectators begin with the same state. A larger blob is not kept while nobody is sent it: it
 * would be as much memory as two states. */
#define KEPT_BYTES_MAX ((uint32_t)4 << 20)

static bool is_copy_due(const spectator_states *states)
{
    return states->match->state == LS_MATCH_RUNNING &&
           ls_aged_state_is_due(&states->aged, states->match->log->next);
}

/* Enough ticks behind `tick` are held for a spectator that begins there. */
static bool states_is_young(const spectator_states *states, ls_tick tick)
{
    return states->match->log->next - tick < LS_WINDOW_TICKS - SPARE_TICKS;
}

static bool is_good(const spectator_states *states, const ls_state_copy *copy)
{
    return copy->size > 0 && states_is_young(states, copy->tick);
}

/* A blob that others are being sent is kept as long as it is any good, or it would never be renewed
 * while spectators keep coming. */
static ls_status provide_blob(spectator_states *states)
{
    const ls_aged_state *aged = &states->aged;
    ls_handover *handover = &states->handover;
    bool is_newest = handover->in_blob.size > 0 && handover->in_blob.tick == aged->ready.tick;
    bool is_kept = is_newest || handover->busy_count > 0;
    if (is_good(states, is_kept ? &handover->in_blob : &aged->ready)) {
        return is_kept ? LS_OK : ls_handover_fill(handover, &aged->ready);
    }
    bool is_one_to_come = aged->has_copies || aged->is_coming || is_good(states, &aged->ready);
    return is_one_to_come ? LS_STALE : LS_UNSUPPORTED;
}

/* A blob with a state to begin with, and a free stream, are there. STALE: not at the moment.
 * UNSUPPORTED: there will be none. */
static ls_status states_provide(spectator_states *states)
{
    ls_status status = provide_blob(states);
    return status == LS_OK ? ls_handover_prepare(&states->handover) : status;
}

static bool is_blob_unfinished(const spectator_states *states)
{
    const ls_handover *handover = &states->handover;
    return handover->in_blob.size > 0 && !ls_blob_is_compressed(handover->blob);
}

/* Whether states_advance has something to do that does not wait for a stream. */
static bool states_is_due(const spectator_states *states)
{
    return is_copy_due(states) || is_blob_unfinished(states);
}

/* Copies, compresses and sends what is due. */
static void states_advance(spectator_states *states)
{
    ls_send_budget_fill(&states->budget, states->match->now_ns);
    if (is_copy_due(states)) {
        ls_state_copy live = ls_tick_log_live(states->match->log);
        ls_aged_state_advance(&states->aged, &live);
    }
    if (is_blob_unfinished(states)) {
        ls_blob_advance(states->handover.blob, 1);
    }
    /* Another stream begins each time, or the first ones would take all of the rate. */
    uint32_t count = states->handover.stream_count;
    states->first_stream++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stream = (states->first_stream + i) % count;
        ls_handover_send(&states->handover, &states->handover.streams[stream], &states->budget);
    }
}

/* Packets leave once a tick, so many at a time that the rate is kept. */
static uint32_t burst_packets(const ls_match *match)
{
    uint64_t bytes = match->config.join_bytes_per_s * match->dt_ns / LS_NS_PER_SECOND;
    uint64_t packets = bytes / LS_PACKET_BYTES_MAX + 1;
    return (uint32_t)LS_MIN(packets, LS_BLOB_BURST_PACKETS_MAX);
}

/* All zero before. bytes_per_s: of all streams together. NO_MEMORY; deinit may follow either way.
 */
static ls_status states_init(spectator_states *states, const ls_match *match, uint32_t bytes_per_s)
{
    uint32_t rate_hz = match->config.sim.tick_rate_hz;
    ls_aged_state_config aged = {.instance = match->log->instance,
                                 .history = match->log->history,
                                 .age_ticks = match->config.spectator_delay_ticks,
                                 .pause_min_ticks = LS_MIN(rate_hz, 128)};
    ls_handover_config handover = {.streams = STREAMS_MAX,
                                   .burst_packets = burst_packets(match),
                                   .kept_bytes_max = KEPT_BYTES_MAX};
    states->match = match;
    states->budget = ls_send_budget_make(bytes_per_s, 0);
    ls_status status = ls_aged_state_init(&states->aged, &aged, match->allocator);
    ls_handover_init(&states->handover, match, &handover, states->aged.bytes);
    return status;
}

/* ---- the spectators of a match ---- */

enum {
    PERIOD_TICKS = 6, /* between two TICKS to a spectator, or PERIOD_NS if that is longer */
    BLOBS_SHARE = 4,  /* one part in so many of all that spectators are sent is blobs */
};

#define PERIOD_NS (UINT64_C(100) * LS_NS_PER_MS)

struct ls_spectators {
    const ls_match *match;
    spectator_states states;
    ls_spectator_table table;
    ls_send_budget budget; /* for TICKS and TICK_PARTs */
    ls_origin_budget origins;
    bool are_some_waiting; /* for a stream, or were when that was last looked at */
    uint64_t turn_ns;      /* the next turn; UINT64_MAX: nothing to do */
    uint64_t closed_ns;    /* of the newest closed tick that was taken note of */
    uint64_t rejected;
    ls_match_spectating figures;
};

/* ---- time ---- */

/* The first tick that spectators may not have yet, but for a spectator whose JOIN was ahead. */
static ls_tick shown_end(const ls_spectators *spectators)
{
    const ls_match *match = spectators->match;
    ls_tick next = match->log->next;
    uint64_t shown = next;
    uint64_t delay = match->config.spectator_delay_ticks;
    if (match->state == LS_MATCH_ENDING) {
        shown += (match->now_ns - match->ending_ns) / match->dt_ns;
    }
    shown = shown > delay ? shown - delay : 0;
    return (ls_tick)LS_MIN(shown, next);
}

static uint64_t period_ns_of(const ls_match *match)
{
    uint64_t period_ns = PERIOD_TICKS * match->dt_ns;
    period_ns = LS_MAX(period_ns, PERIOD_NS);
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    return LS_MIN(period_ns, silence_max_ns);
}

/* ---- coming and going ---- */

/* Only those who go soon pay for it: a crowd behind one address comes and stays. */
static void pay_for_state(ls_spectators *spectators, const ls_spectator *spectator)
{
    uint64_t now_ns = spectators->match->now_ns;
    if (spectator->state_ns != 0 && now_ns - spectator->state_ns < LS_STATE_WATCHED_NS) {
        ls_origin_budget_spend(&spectators->origins, spectator->origin, now_ns);
    }
}

static bool is_watched(const ls_spectators *spectators, const ls_spectator *spectator)
{
    return ls_desync_service_watches(spectators->match->desync, spectator->peer);
}

/* The service reports what it knows of the difference. */
static void end_watching(const ls_spectators *spectators)
{
    ls_desync_drop drop = {0, NULL}; /* it goes anyway */
    uint32_t slot = spectators->match->config.sim.players;
    if (ls_desync_service_settle(spectators->match->desync, slot)) {
        (void)ls_desync_service_announce(spectators->match->desync, slot, &drop);
    }
    ls_desync_service_leave(spectators->match->desync, slot);
}

static void leave(ls_spectators *spectators, ls_spectator *spectator, ls_status status,
                  const char *why)
{
    if (is_watched(spectators, spectator)) {
        end_watching(spectators);
    }
    bool has_watched = spectator->state >= LS_SPECTATOR_JOINING;
    ls_match_event *event = ls_outbox_push_event(
        spectators->match->outbox, has_watched ? LS_MATCH_SPECTATOR_LEFT : LS_MATCH_PEER_REFUSED, 0,
        spectator->link.downlink.next);
    event->peer = spectator->peer;
    event->status = status;
    ls_text_set(&event->text, "%s: %s", spectator->name, why);
    ls_handover_stop(&spectators->states.handover, spectator->peer);
    pay_for_state(spectators, spectator);
    spectators->figures.desynced += status == LS_DESYNCED ? 1 : 0;
    spectators->figures.fell_behind += status == LS_FELL_BEHIND ? 1 : 0;
    ls_spectator_table_remove(&spectators->table, spectator);
}

static void refuse(ls_spectators *spectators, ls_spectator *spectator, ls_status status,
                   const char *why)
{
    ls_text text = ls_ready_parts_with(&spectators->match->own_parts, status, why);
    ls_outbox_refuse(spectators->match->outbox, spectator->peer, status, text.bytes);
    leave(spectators, spectator, status, why);
}

static ls_spectator *find(const ls_spectators *spectators, ls_peer_id peer)
{
    return spectators ? ls_spectator_table_find(&spectators->table, peer) : NULL;
}

void ls_spectators_drop_watched(ls_spectators *spectators, const char *why)
{
    for (uint32_t row = 0; row < spectators->table.end; row++) {
        if (is_watched(spectators, &spectators->table.rows[row])) {
            refuse(spectators, &spectators->table.rows[row], LS_DESYNCED, why);
            return;
        }
    }
}

ls_peer_id ls_spectators_of_holder(const ls_spectators *spectators, uint64_t holder)
{
    return spectators ? ls_spectator_table_holder(&spectators->table, holder) : 0;
}

bool ls_spectators_have_look(const ls_spectators *spectators, const ls_name_look *look,
                             uint64_t except_origin)
{
    for (uint32_t row = 0; spectators && row < spectators->table.end; row++) {
        const ls_spectator *spectator = &spectators->table.rows[row];
        bool is_other = except_origin == 0 || spectator->origin != except_origin;
        if (spectator->peer != 0 && is_other && ls_name_look_is_like(&spectator->look, look)) {
            return true;
        }
    }
    return false;
}

static void make_room(ls_spectators *spectators, const ls_match_pass *pass)
{
    ls_peer_id old = pass->is_return ? ls_spectators_of_holder(spectators, pass->holder) : 0;
    if (old != 0) {
        ls_outbox_disconnect(spectators->match->outbox, old);
        leave(spectators, find(spectators, old), LS_DISCONNECTED,
              "has come back on another connection");
    }
    ls_spectator *last = ls_spectator_table_yielding(&spectators->table, pass->origin);
    if (last) {
        refuse(spectators, last, LS_MATCH_FULL, "its address has more than half of the places");
    }
}

ls_status ls_spectators_admit(ls_spectators *spectators, const ls_match *match, ls_peer_id peer,
                              const ls_hello *hello, const ls_match_pass *pass, ls_text *why)
{
    if (spectators) {
        make_room(spectators, pass);
    }
    if (match->state >= LS_MATCH_ENDING) {
        return ls_fail(LS_ALREADY_OVER, why, "%s", ls_status_text(LS_ALREADY_OVER));
    }
    ls_spectator *spectator = spectators ? ls_spectator_table_add(&spectators->table, peer) : NULL;
    if (!spectator && spectators && spectators->table.count < spectators->table.rows_max) {
        return ls_fail(LS_MATCH_FULL, why, "all places for spectators of this server are taken");
    }
    if (!spectator) {
        return ls_fail(LS_MATCH_FULL, why, "the %" PRIu32 " places for spectators are taken",
                       match->config.spectators_max);
    }
    ls_peer_link_start_waiting(&spectator->link, match->now_ns);
    spectator->sent_ns = match->now_ns;
    spectator->is_back = hello->back.match_id == match->config.match_id;
    spectator->confirmed = hello->back.confirmed;
    spectator->tick_chain = hello->back.tick_chain;
    spectator->origin = pass->origin;
    spectator->has_holder = pass->has_holder;
    spectator->holder = pass->holder;
    ls_hello_player_name(hello, spectator->name);
    spectator->look = ls_match_config_look(&match->config, spectator->name);
    ls_offer *offer = ls_handover_begin_offer(match);
    offer->is_spectator = true;
    offer->is_running = true; /* JOIN comes, even to a spectator who comes before START */
    ls_outbox_send(spectators->match->outbox, peer);
    if (spectators->turn_ns == UINT64_MAX) {
        spectators->turn_ns = match->now_ns;
    }
    return LS_OK;
}

void ls_spectators_send_all(const ls_spectators *spectators)
{
    if (spectators) {
        ls_spectator_table_send(&spectators->table, spectators->match->outbox);
    }
}

void ls_spectators_disconnected(ls_spectators *spectators, ls_peer_id peer, ls_status reason)
{
    ls_spectator *spectator = find(spectators, peer);
    if (spectator) {
        leave(spectators, spectator, reason, ls_status_text(reason));
    }
}

void ls_spectators_close(ls_spectators *spectators, ls_status status, const char *why)
{
    if (!spectators) {
        return;
    }
    for (uint32_t row = 0; row < spectators->table.rows_max; row++) {
        if (spectators->table.rows[row].peer != 0) {
            refuse(spectators, &spectators->table.rows[row], status, why);
        }
    }
    spectators->turn_ns = UINT64_MAX;
}

bool ls_spectators_are_done(const ls_spectators *spectators)
{
    if (!spectators || spectators->table.count == 0) {
        return true;
    }
    const ls_match *match = spectators->match;
    uint64_t shown_ns = match->config.spectator_delay_ticks * match->dt_ns;
    return match->now_ns - match->ending_ns >= shown_ns + ls_match_ending_limit_ns(match);
}

/* ---- JOIN ---- */

/* Spectators see everything late, and so is what they are told of the match's time. */
static ls_join *begin_join(ls_spectators *spectators, ls_peer_id peer, ls_tick tick)
{
    const ls_match *match = spectators->match;
    ls_join *join = ls_handover_begin_join(match, peer, tick);
    ls_tick end = shown_end(spectators);
    join->next_close = LS_MAX(tick, end);
    uint64_t later_ns = (join->next_close - end) * match->dt_ns;
    join->next_close_us += (uint32_t)(later_ns / LS_NS_PER_US);
    return join;
}

/* A spectator who comes back is not counted again. A match that was restored does not know who came
 * before: there it is at least as many as watch now. */
static void count_who_came(ls_spectators *spectators, const ls_spectator *spectator)
{
    ls_match_spectating *figures = &spectators->figures;
    bool is_known = !spectators->match->is_restored || figures->ever >= spectators->table.count;
    figures->ever += spectator->is_back && is_known ? 0 : 1;
}

/* Sends the JOIN that has been begun. */
static void send_join(ls_spectators *spectators, ls_spectator *spectator, ls_tick tick,
                      bool is_keyframe, const char *how)
{
    ls_outbox_send(spectators->match->outbox, spectator->peer);
    spectator->state = LS_SPECTATOR_JOINING;
    spectator->join_tick = tick;
    spectator->sent_end = tick;
    ls_peer_link_start_ticks(&spectator->link, tick, is_keyframe);
    ls_peer_link_start_waiting(&spectator->link, spectators->match->now_ns);
    count_who_came(spectators, spectator);
    ls_match_event *event =
        ls_outbox_push_event(spectators->match->outbox, LS_MATCH_SPECTATOR_CAME, 0, tick);
    event->peer = spectator->peer;
    ls_text_set(&event->text, "%s, %s", spectator->name, how);
}

/* Every closed tick from `tick` on, and the one before it, against which it is coded, are held. A
 * match that was restored may hold fewer than the window has room for. */
static bool has_ticks_from(const ls_spectators *spectators, ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_tick next = spectators->match->log->next;
    ls_tick oldest = tick > 0 ? tick - 1 : 0;
    return tick <= next && states_is_young(&spectators->states, tick) &&
           (next == 0 || ls_tick_log_at(spectators->match->log, oldest, slots, &inputs) == LS_OK);
}

/* The ticks that the spectator said it has are what the server closed, and the log holds all that
 * it lacks. */
static bool is_held(const ls_spectators *spectators, const ls_spectator *spectator)
{
    return spectator->is_back && has_ticks_from(spectators, spectator->confirmed) &&
           ls_tick_log_chain(spectators->match->log, spectator->confirmed) == spectator->tick_chain;
}

static void join_held(ls_spectators *spectators, ls_spectator *spectator, ls_tick tick)
{
    (void)begin_join(spectators, spectator->peer, tick);
    send_join(spectators, spectator, tick, false, "with the state that it has");
}

static void join_with_blob(ls_spectators *spectators, ls_spectator *spectator)
{
    ls_tick tick = spectators->states.handover.in_blob.tick;
    ls_text how;
    ls_handover_start(&spectators->states.handover, spectator->peer,
                      begin_join(spectators, spectator->peer, tick), 0, &how);
    spectator->state_ns = spectators->match->now_ns;
    spectator->waiting_ns = 0;
    send_join(spectators, spectator, tick, true, how.bytes);
}

/* One that was sent all that it may be of its state. */
static void let_spent_go(ls_spectators *spectators)
{
    ls_peer_id spent = ls_handover_slowest(&spectators->states.handover, 0);
    if (spent != 0) {
        refuse(spectators, find(spectators, spent), LS_TIMED_OUT, LS_NOT_TAKEN);
    }
}

/* Where a stream is needed that is taken at a trickle. All spectators share one rate: half of what
 * is each one's share of it is not too slow. */
static void let_slowest_go(ls_spectators *spectators)
{
    const spectator_states *states = &spectators->states;
    uint64_t share = states->budget.bytes_per_s / LS_MAX(states->handover.busy_count, 1u);
    uint64_t least = LS_MIN(share, LS_BLOB_RATE_MIN) / 2;
    ls_peer_id slowest = ls_handover_slowest(&states->handover, least);
    if (slowest != 0 && !LS_FAULT(SLOW_SPECTATOR_KEPT)) {
        refuse(spectators, find(spectators, slowest), LS_TIMED_OUT, LS_TAKEN_TOO_SLOWLY);
    }
}

/* ---- who waits for a stream ---- */

static bool has_had_its_share(const ls_spectators *spectators, const ls_spectator *spectator)
{
    return ls_origin_budget_is_spent(&spectators->origins, spectator->origin,
                                     spectators->match->now_ns);
}

/* False when it is refused. */
static bool provide_state(ls_spectators *spectators, ls_spectator *spectator)
{
    ls_status status = states_provide(&spectators->states);
    if (status == LS_OK) {
        join_with_blob(spectators, spectator);
    } else if (status == LS_STALE) {
        let_slowest_go(spectators);
    } else {
        refuse(spectators, spectator, status, ls_handover_refusal(status));
        return false;
    }
    return true;
}

/* A free stream is given to the next one that waits. */
static void serve_waiting(ls_spectators *spectators)
{
    bool has_state = spectators->match->state == LS_MATCH_RUNNING;
    while (has_state && spectators->are_some_waiting &&
           ls_handover_find(&spectators->states.handover, 0)) {
        ls_spectator *next =
            ls_spectator_table_waiting(&spectators->table, &spectators->states.handover,
                                       &spectators->origins, spectators->match->now_ns);
        spectators->are_some_waiting = next != NULL;
        has_state = next && (!provide_state(spectators, next) || next->waiting_ns == 0);
    }
}

/* A READY spectator is sent JOIN, or waits for a state. False when it is refused. */
static bool join(ls_spectators *spectators, ls_spectator *spectator)
{
    if (is_held(spectators, spectator)) {
        join_held(spectators, spectator, spectator->confirmed);
        return true;
    }
    bool is_beyond = spectator->is_back && spectator->confirmed > 0; /* state 0 is behind it */
    if (spectators->states.aged.ready.tick == 0 && !is_beyond && has_ticks_from(spectators, 0)) {
        join_held(spectators, spectator, 0); /* everybody can make state 0 */
        return true;
    }
    if (has_had_its_share(spectators, spectator)) {
        return true; /* its turn comes */
    }
    bool is_free = ls_handover_find(&spectators->states.handover, 0) != NULL;
    if (is_free && !spectators->are_some_waiting) {
        return provide_state(spectators, spectator);
    }
    spectators->are_some_waiting = true;
    spectator->waiting_ns =
        spectator->waiting_ns != 0 ? spectator->waiting_ns : spectators->match->now_ns;
    if (!is_free) {
        let_slowest_go(spectators);
    }
    return true;
}

/* ---- what they are sent ---- */

static void send_ticks(ls_spectators *spectators, ls_spectator *spectator)
{
    uint64_t now_ns = spectators->match->now_ns;
    ls_downlink *downlink = &spectator->link.downlink;
    /* One that waits for its state holds no tick yet, and would be sent those of the beginning. */
    ls_tick shown = spectator->state >= LS_SPECTATOR_JOINING ? shown_end(spectators) : 0;
    ls_tick end = LS_MAX(shown, downlink->next);
    if (end > spectator->sent_end) {
        spectator->sent_end = end;
        spectator->sent_end_ns = now_ns;
    }
    ls_bit_stream stream =
        ls_bit_writer(ls_outbox_packet(spectators->match->outbox), LS_PACKET_BYTES_MAX);
    ls_ticks_header header;
    ls_downlink_header(downlink, spectators->match, &header);
    if (!spectator->has_answered) {
        uint32_t packets = ls_send_packets_watched(downlink->loss);
        header.first = ls_sent_ends_first(&downlink->sent, packets, downlink->next, end);
    }
    spectator->has_answered = false;
    ls_tick rest = ls_downlink_write(downlink, spectators->match->log, end, &header, &stream);
    size_t size = ls_bits_size_bytes(&stream);
    ls_outbox_send_packet(spectators->match->outbox, spectator->peer, size);
    size += LS_PEER_LINK_HEADER_BYTES;
    size +=
        ls_peer_link_send_parts(&spectator->link, spectators->match, spectator->peer, rest, end);
    ls_send_budget_spend(&spectators->budget, size);
    spectator->sent_ns = now_ns;
    spectator->link.packets = 0;
}

static void send_end(ls_spectators *spectators, ls_spectator *spectator)
{
    const ls_match *match = spectators->match;
    bool is_shown = match->state == LS_MATCH_ENDING && shown_end(spectators) == match->log->next;
    if (is_shown && !spectator->is_end_told && spectator->state >= LS_SPECTATOR_JOINING) {
        spectator->is_end_told = true;
        ls_handover_send_end(match, spectator->peer);
    }
}

/* ---- who stays ---- */

/* A spectator who does not watch yet has to get further; every one has to be heard. */
static bool is_silent(const ls_match *match, const ls_spectator *spectator)
{
    bool is_stuck =
        spectator->state == LS_SPECTATOR_OFFERED
            ? ls_peer_link_is_stuck(&spectator->link, match, MATCH_HANDSHAKE_NS)
            : spectator->state == LS_SPECTATOR_JOINING &&
                  ls_peer_link_is_stuck(&spectator->link, match, ls_peer_link_join_limit_ns(match));
    return is_stuck || ls_peer_link_is_silent(&spectator->link, match);
}

/* False when it is refused. */
static bool stays(ls_spectators *spectators, ls_spectator *spectator)
{
    const ls_match *match = spectators->match;
    bool has_joined = spectator->state >= LS_SPECTATOR_JOINING;
    if (is_silent(match, spectator)) {
        refuse(spectators, spectator, LS_TIMED_OUT, LS_PEER_LINK_SILENT);
        return false;
    }
    if (is_watched(spectators, spectator) &&
        ls_desync_service_is_overdue(match->desync, spectators->match->config.sim.players,
                                     ls_match_timeout_ns(match))) {
        refuse(spectators, spectator, LS_DESYNCED, "did not say which of its states differs");
        return false;
    }
    if (has_joined && ls_peer_link_fell_behind(&spectator->link, match->log)) {
        refuse(spectators, spectator, LS_FELL_BEHIND, LS_PEER_LINK_FELL_BEHIND);
        return false;
    }
    if (!has_joined && match->state == LS_MATCH_ENDING) {
        refuse(spectators, spectator, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
        return false;
    }
    return true;
}

/* The spectator's time has come, or will have before the next turn. One who waits for START is only
 * told that the server is there. */
static bool is_due(const ls_match *match, const ls_spectator *spectator)
{
    uint64_t early_ns = match->dt_ns / 2;
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    uint64_t wait_ns = LS_MIN(MATCH_HEARTBEAT_NS, silence_max_ns);
    uint64_t pause_ns = match->state == LS_MATCH_RUNNING || match->state == LS_MATCH_ENDING
                            ? period_ns_of(match)
                            : wait_ns;
    return match->now_ns - spectator->sent_ns + early_ns >= pause_ns;
}

/* True when the spectator was sent something. */
static bool serve(ls_spectators *spectators, ls_spectator *spectator)
{
    if (!stays(spectators, spectator) || !is_due(spectators->match, spectator)) {
        return false;
    }
    if (spectator->state == LS_SPECTATOR_READY && spectators->match->state == LS_MATCH_RUNNING &&
        !join(spectators, spectator)) {
        return false;
    }
    if (spectator->state == LS_SPECTATOR_OFFERED) {
        return false;
    }
    send_ticks(spectators, spectator);
    send_end(spectators, spectator);
    return true;
}

/* ---- turns ---- */

/* Goes on round all spectators where the last turn ended, as far as each one's period allows: so
 * they are spread over the ticks. When the budget is spent they have to wait longer for their turn,
 * all alike. */
static void serve_some(ls_spectators *spectators)
{
    ls_spectator_table *table = &spectators->table;
    uint64_t period_ns = period_ns_of(spectators->match);
    uint64_t due = (table->count * spectators->match->dt_ns + period_ns - 1) / period_ns;
    uint64_t served = 0;
    for (uint32_t i = table->end; i > 0 && served < due; i--) {
        if (ls_send_budget_is_spent(&spectators->budget)) {
            spectators->figures.throttled_rounds++;
            return;
        }
        ls_spectator *spectator = ls_spectator_table_next(table);
        served += spectator && serve(spectators, spectator) ? 1 : 0;
    }
}

/* Half a tick after the newest one was closed, when what goes to players is long on its way. */
static uint64_t after_closing_ns(const ls_spectators *spectators)
{
    return spectators->match->log->closed_ns + spectators->match->dt_ns / 2;
}

static bool is_tick_new(const ls_spectators *spectators)
{
    return spectators->match->log->closed_ns != spectators->closed_ns;
}

static uint64_t next_turn_ns(const ls_spectators *spectators)
{
    uint64_t now_ns = spectators->match->now_ns;
    if (spectators->table.count == 0 && !states_is_due(&spectators->states)) {
        return UINT64_MAX;
    }
    uint64_t after_ns = after_closing_ns(spectators);
    if (is_tick_new(spectators) && after_ns > now_ns) {
        return after_ns;
    }
    return spectators->turn_ns != UINT64_MAX && spectators->turn_ns > now_ns
               ? spectators->turn_ns
               : now_ns + spectators->match->dt_ns;
}

void ls_spectators_advance(ls_spectators *spectators)
{
    if (!spectators || spectators->match->state == LS_MATCH_OVER) {
        return;
    }
    uint64_t now_ns = spectators->match->now_ns;
    /* A tick may have been closed between two turns of the match: by an input that came. */
    bool is_after = is_tick_new(spectators) && now_ns >= after_closing_ns(spectators);
    if (now_ns >= spectators->turn_ns || is_after) {
        ls_send_budget_fill(&spectators->budget, now_ns);
        states_advance(&spectators->states);
        let_spent_go(spectators);
        serve_some(spectators);
        serve_waiting(spectators);
    }
    spectators->turn_ns = next_turn_ns(spectators);
    spectators->closed_ns = spectators->match->log->closed_ns;
}

uint64_t ls_spectators_next_ns(const ls_spectators *spectators)
{
    return spectators ? spectators->turn_ns : UINT64_MAX;
}

/* ---- what they say ---- */

static void count_agreement(ls_spectators *spectators, ls_spectator *spectator, ls_tick tick)
{
    if (tick > spectator->agreed_tick) {
        uint32_t interval = spectators->match->config.hash_interval_ticks;
        spectators->figures.hashes_compared += tick / interval - spectator->agreed_tick / interval;
        spectator->agreed_tick = tick;
    }
}

/* False: the difference of another one is looked into. */
static bool watch(const ls_spectators *spectators, const ls_spectator *spectator)
{
    ls_desync_spectator watched = {
        .peer = spectator->peer, .link = &spectator->link, .agreed = spectator->agreed_tick};
    memcpy(watched.name, spectator->name, sizeof watched.name);
    return is_watched(spectators, spectator) ||
           ls_desync_service_watch(spectators->match->desync, &watched);
}

/* One chain that differs may have been altered on its way; the next one tells. */
static ls_status compare_chain(ls_spectators *spectators, ls_spectator *spectator, ls_tick tick,
                               uint32_t chain)
{
    uint64_t own = 0;
    if (!ls_hash_record_chain(&spectators->match->log->hashes, tick, &own)) {
        return LS_OK; /* not held any more */
    }
    bool is_equal = (uint32_t)own == chain;
    if (!is_equal && !spectator->is_chain_doubted) {
        spectator->is_chain_doubted = true;
        return LS_MALFORMED;
    }
    spectator->is_chain_doubted = !is_equal;
    if (is_watched(spectators, spectator) || (!is_equal && watch(spectators, spectator))) {
        ls_desync_service_compare(spectators->match->desync, spectators->match->config.sim.players,
                                  tick, chain);
    } else if (!is_equal) {
        refuse(spectators, spectator, LS_DESYNCED, "the client's state differs from the server's");
        return LS_OK;
    }
    if (is_equal) {
        count_agreement(spectators, spectator, tick);
    }
    return LS_OK;
}

/* An INPUTS of a spectator has a header and no inputs, and acknowledges only what was sent. */
static ls_status receive_inputs(ls_spectators *spectators, ls_spectator *spectator,
                                const uint8_t *bytes, size_t size, ls_tick_cursor *cursor)
{
    const ls_match *match = spectators->match;
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header header = {0};
    ls_status status = ls_peer_link_read_header(&spectator->link, match->log, &stream, &header);
    if (status != LS_OK) {
        return status;
    }
    ls_tick end = shown_end(spectators);
    end = LS_MAX(end, spectator->join_tick);
    ls_tick_cursor_start(cursor, 1, match->config.simulation->input_bytes_max, NULL);
    if (ls_inputs_read_tick(&stream, cursor) || !ls_bits_is_complete(&stream) ||
        header.next > end) {
        return LS_MALFORMED;
    }
    spectator->link.heard_ns = match->now_ns;
    if (spectator->state < LS_SPECTATOR_JOINING) {
        return LS_OK; /* a sign of life */
    }
    uint64_t sent_ns = header.next == spectator->sent_end ? spectator->sent_end_ns : 0;
    int64_t stamp_ns = (int64_t)(header.next * match->dt_ns);
    ls_link_arrival arrival =
        ls_downlink_receive(&spectator->link.downlink, match, &header, sent_ns, stamp_ns);
    spectator->has_answered = spectator->has_answered || arrival == LS_LINK_NEWER;
    if (arrival != LS_LINK_NEWER || spectator->state != LS_SPECTATOR_SEES) {
        return LS_OK;
    }
    return compare_chain(spectators, spectator, header.chain_tick, header.chain);
}

static ls_status receive_ready(ls_spectators *spectators, ls_spectator *spectator,
                               const ls_ready *ready)
{
    ls_text why = {{0}};
    if (spectator->state != LS_SPECTATOR_OFFERED) {
        return LS_MISBEHAVED;
    }
    ls_status status = ls_ready_check(ls_sim_instance_simulation(spectators->match->log->instance),
                                      ready, &spectators->match->own_ready, &why);
    if (status != LS_OK) {
        refuse(spectators, spectator, status, why.bytes);
        return LS_OK;
    }
    spectator->state = LS_SPECTATOR_READY;
    return LS_OK;
}

static ls_status receive_joined(ls_spectators *spectators, ls_spectator *spectator,
                                const ls_joined *joined)
{
    const ls_hash_record *hashes = &spectators->match->log->hashes;
    /* Told with JOIN, and the next chain covers it. */
    bool is_told =
        joined->tick == spectator->join_tick && !ls_hash_record_is_due(hashes, joined->tick);
    ls_status status =
        is_told ? LS_OK : ls_hash_record_compare(hashes, joined->tick, joined->state_hash);
    if (spectator->state != LS_SPECTATOR_JOINING || status == LS_MISBEHAVED) {
        return LS_MISBEHAVED;
    }
    bool has_strayed = status == LS_DESYNCED && joined->tick > spectator->join_tick;
    if (status != LS_OK && !has_strayed) {
        refuse(spectators, spectator, status,
               status == LS_DESYNCED ? "the spectator joined with a state that is not the server's"
                                     : "the spectator joined with a state that is too old");
        return LS_OK;
    }
    ls_handover_stop(&spectators->states.handover, spectator->peer);
    spectator->state = LS_SPECTATOR_SEES;
    /* The state that it was given was the server's: its chain will differ, and be looked into. */
    spectator->agreed_tick = has_strayed ? spectator->join_tick : joined->tick;
    return LS_OK;
}

static ls_status receive_finished(ls_spectators *spectators, ls_spectator *spectator,
                                  const ls_finished *finished)
{
    const ls_hash_record *hashes = &spectators->match->log->hashes;
    uint64_t chain = 0;
    if (spectator->state != LS_SPECTATOR_SEES || !spectator->is_end_told ||
        finished->tick != spectators->match->log->next ||
        finished->chain_tick != hashes->newest_tick) {
        return LS_MISBEHAVED;
    }
    bool is_held = ls_hash_record_chain(hashes, finished->chain_tick, &chain);
    bool is_same = is_held && (uint32_t)chain == finished->chain &&
                   finished->state_hash == spectators->match->final_hash;
    if (!is_same && is_held && watch(spectators, spectator)) {
        ls_desync_service_receive_finished(spectators->match->desync,
                                           spectators->match->config.sim.players, finished);
        return LS_OK;
    }
    if (!is_same) {
        refuse(spectators, spectator, LS_DESYNCED, "its final state is not the server's");
        return LS_OK;
    }
    count_agreement(spectators, spectator, finished->chain_tick);
    spectators->figures.finished++;
    ls_outbox_disconnect(spectators->match->outbox, spectator->peer);
    leave(spectators, spectator, LS_OK, "watched to the end");
    return LS_OK;
}

/* The spectator tells of its state. */
static ls_status receive_evidence(const ls_spectators *spectators, const ls_spectator *spectator,
                                  const ls_message *message)
{
    ls_desync_drop drop = {0, NULL}; /* no spectator is healed */
    return is_watched(spectators, spectator)
               ? ls_desync_service_receive(spectators->match->desync,
                                           spectators->match->config.sim.players, message, &drop)
               : LS_STALE;
}

static void receive_goodbye(ls_spectators *spectators, ls_spectator *spectator,
                            const ls_close_reason *said)
{
    ls_departure departure = ls_peer_link_goodbye(said);
    ls_outbox_disconnect(spectators->match->outbox, spectator->peer);
    leave(spectators, spectator, departure.status, departure.why);
}

static ls_status receive_reliable(ls_spectators *spectators, ls_spectator *spectator,
                                  const uint8_t *bytes, size_t size, ls_message *message)
{
    ls_status status = ls_message_read(bytes, size, 0, message);
    if (status != LS_OK) {
        return status;
    }
    spectator->link.heard_ns = spectators->match->now_ns;
    switch (message->kind) {
    case LS_MESSAGE_READY:
        return receive_ready(spectators, spectator, &message->body.ready);
    case LS_MESSAGE_JOINED:
        return receive_joined(spectators, spectator, &message->body.joined);
    case LS_MESSAGE_FINISHED:
        return receive_finished(spectators, spectator, &message->body.finished);
    case LS_MESSAGE_GOODBYE:
        receive_goodbye(spectators, spectator, &message->body.close_reason);
        return LS_OK;
    case LS_MESSAGE_HASHES:
    case LS_MESSAGE_TREE_ANSWER:
    case LS_MESSAGE_EVIDENCE:
    case LS_MESSAGE_BUILD_FINGERPRINT:
        return receive_evidence(spectators, spectator, message);
    default:
        return LS_MISBEHAVED;
    }
}

static ls_status receive_blob_ack(ls_spectators *spectators, ls_spectator *spectator,
                                  const uint8_t *bytes, size_t size)
{
    ls_status status = ls_handover_receive_ack(&spectators->states.handover, spectator->peer,
                                               &spectator->link, bytes, size);
    /* It was on its way when the last of the blob was acknowledged. */
    return status == LS_NOT_FOUND ? LS_STALE : status;
}

static ls_status receive_packet(ls_spectators *spectators, ls_spectator *spectator,
                                ls_channel channel, const uint8_t *bytes, size_t size,
                                ls_incoming *incoming)
{
    if (channel == LS_CHANNEL_RELIABLE) {
        return receive_reliable(spectators, spectator, bytes, size, &incoming->message);
    }
    switch (ls_message_peek(bytes, size)) {
    case LS_MESSAGE_INPUTS:
        return receive_inputs(spectators, spectator, bytes, size, incoming->cursor);
    case LS_MESSAGE_BLOB_ACK:
        return receive_blob_ack(spectators, spectator, bytes, size);
    default:
        return LS_MALFORMED;
    }
}

void ls_spectators_receive(ls_spectators *spectators, ls_peer_id peer, ls_channel channel,
                           const uint8_t *bytes, size_t size, ls_incoming *incoming)
{
    ls_spectator *spectator = find(spectators, peer);
    if (!spectator) {
        return;
    }
    if (!ls_peer_link_count_packet(&spectator->link, spectators->match, spectator->sent_ns)) {
        refuse(spectators, spectator, LS_MISBEHAVED, LS_PEER_LINK_FLOOD);
        return;
    }
    ls_status status = receive_packet(spectators, spectator, channel, bytes, size, incoming);
    if (status == LS_OK) {
        return;
    }
    spectators->rejected++;
    ls_departure departure = ls_peer_link_judge(&spectator->link, status);
    if (departure.status != LS_OK) {
        refuse(spectators, spectator, departure.status, departure.why);
    }
}

/* ---- life ---- */

ls_status ls_spectators_create(const ls_match *match, ls_spectators **out)
{
    const ls_match_config *config = &match->config;
    uint32_t blobs = config->spectator_bytes_per_s / BLOBS_SHARE;
    if (config->spectators_max == 0) {
        return LS_OK;
    }
    ls_spectators *spectators = ls_allocate(match->allocator, sizeof *spectators);
    if (!spectators) {
        return LS_NO_MEMORY;
    }
    spectators->match = match;
    spectators->turn_ns = UINT64_MAX;
    spectators->budget = ls_send_budget_make(config->spectator_bytes_per_s - blobs, 0);
    ls_status status = ls_spectator_table_init(&spectators->table, config->spectators_max,
                                               config->spectator_pool, match->allocator);
    LS_THEN(status, states_init(&spectators->states, match, blobs));
    *out = status == LS_OK ? spectators : NULL;
    if (status != LS_OK) {
        ls_spectators_destroy(spectators);
    }
    return status;
}

void ls_spectators_destroy(ls_spectators *spectators)
{
    if (spectators) {
        const ls_allocator *allocator = spectators->match->allocator;
        ls_handover_deinit(&spectators->states.handover);
        ls_aged_state_deinit(&spectators->states.aged, allocator);
        ls_spectator_table_deinit(&spectators->table, allocator);
        ls_release(allocator, spectators);
    }
}

ls_match_spectating ls_match_spectating_of(const ls_match *match)
{
    const ls_spectators *spectators = match->spectators;
    if (!spectators) {
        return (ls_match_spectating){0};
    }
    ls_match_spectating figures = spectators->figures;
    figures.now = spectators->table.count;
    return figures;
}

uint64_t ls_spectators_rejected(const ls_spectators *spectators)
{
    return spectators ? spectators->rejected : 0;
}

#include "lockstep/server/match/match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/desync_finding.h"
#include "lockstep/server/match/match_conduct.h"
#include "lockstep/server/match/match_reception.h"

#include <inttypes.h>
#include <stddef.h>

enum {
    PREFETCHED_PACKET_BYTES = 64, /* of what is written: small inputs fill no more */
};

struct ls_match {
    ls_match_context context;
};

/* ---- life ---- */

static ls_status create_links(ls_match_context *match)
{
    uint32_t players = match->config.sim.players;
    match->links = ls_allocate_array(match->allocator, players, sizeof *match->links);
    for (uint32_t slot = 0; match->links && slot < players; slot++) {
        ls_player_link_init(&match->links[slot], slot, match->config.simulation->input_bytes_max);
    }
    return match->links ? LS_OK : LS_NO_MEMORY;
}

static ls_status create_parts(ls_match_context *match, const ls_packet_sink *sink, ls_text *why)
{
    ls_status status =
        ls_outbox_create(sink, match->config.sim.players, match->allocator, &match->outbox);
    if (status == LS_OK) {
        status = ls_tick_log_create(match, &match->log, why);
    }
    if (status == LS_OK) {
        match->own_ready = ls_ready_make(match->log->instance);
        status = create_links(match);
    }
    if (status == LS_OK) {
        status = ls_seat_table_create(match, &match->seats);
    }
    if (status == LS_OK) {
        status = ls_tick_closer_create(match, &match->closer);
    }
    if (status == LS_OK) {
        status = ls_join_service_create(match, &match->joins);
    }
    if (status == LS_OK) {
        status = ls_desync_service_create(match, &match->desync);
    }
    if (status == LS_OK) {
        status = ls_spectators_create(match, &match->spectators);
    }
    return status == LS_OK && !ls_conduct_opens_late(match) ? ls_conduct_open(match) : status;
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
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    match->context.config = *config;
    match->context.allocator = allocator;
    match->context.dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&config->sim)).dt_ns;
    status = create_parts(&match->context, sink, why);
    if (status == LS_OK || status == LS_NO_MEMORY) {
        ls_text_set(why, "%s", status == LS_OK ? "" : ls_status_text(status));
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
    ls_match_context *context = &match->context;
    ls_spectators_destroy(context->spectators);
    ls_resume_vote_destroy(context->vote);
    ls_desync_service_destroy(context->desync);
    ls_join_service_destroy(context->joins);
    ls_tick_closer_destroy(context->closer);
    ls_seat_table_destroy(context->seats);
    for (uint32_t slot = 0; context->links && slot < context->config.sim.players; slot++) {
        ls_player_link_close(&context->links[slot]);
    }
    ls_release(context->allocator, context->incoming.cursor);
    ls_release(context->allocator, context->links);
    ls_tick_log_destroy(context->log);
    ls_outbox_destroy(context->outbox);
    ls_release(context->allocator, match);
}

/* ---- packets and connections ---- */

void ls_match_receive(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    match->context.arrived_ns = now_ns;
    ls_match_reception_receive(&match->context, peer, channel, bytes, size);
}

void ls_match_receive_event(ls_match *match, const ls_transport_event *event, uint64_t now_ns)
{
    uint64_t arrived_ns = event->arrived_ns;
    uint64_t closed_ns = match->context.log->closed_ns;
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        ls_match_peer_admitted(match, event->peer, &(const ls_match_pass){.origin = event->origin},
                               now_ns);
        return;
    }
    if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        ls_match_peer_disconnected(match, event->peer, event->reason, now_ns);
        return;
    }
    match->context.now_ns = now_ns;
    /* A tick that was closed before the packet was taken was closed without it. */
    arrived_ns = LS_MAX(arrived_ns, closed_ns);
    match->context.arrived_ns = LS_MIN(arrived_ns, now_ns);
    ls_match_reception_receive(&match->context, event->peer, event->channel, event->bytes,
                               event->size);
    if (event->path_room > 0) {
        ls_conduct_answer_moved(&match->context, event->peer, event->path_room);
    }
}

void ls_match_peer_connected(ls_match *match, ls_peer_id peer, uint64_t now_ns)
{
    ls_match_peer_admitted(match, peer, &(const ls_match_pass){.refusal = NULL}, now_ns);
}

void ls_match_peer_admitted(ls_match *match, ls_peer_id peer, const ls_match_pass *pass,
                            uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    if (match->context.pending.count == LS_PENDING_MAX) {
        /* Peers that say nothing must not keep others out. */
        match->context.rejected++;
        ls_conduct_refuse_pending(
            &match->context, ls_pending_connections_overdue(&match->context.pending, UINT64_MAX),
            LS_TIMED_OUT, "no HELLO came, and others are waiting");
    }
    ls_pending_connections_add(&match->context.pending, peer, pass, now_ns);
    if (match->context.state == LS_MATCH_OVER) {
        ls_conduct_refuse_late(&match->context, peer);
    }
}

void ls_match_peer_disconnected(ls_match *match, ls_peer_id peer, ls_status reason, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    uint32_t slot = ls_seat_table_slot_of(match->context.seats, peer);
    ls_pending_connections_forget(&match->context.pending, peer);
    if (slot == MATCH_NO_SLOT) {
        ls_spectators_disconnected(match->context.spectators, peer, reason);
    } else if (match->context.seats->rows[slot].state != LS_SEAT_FINISHED) {
        ls_conduct_depart(&match->context, slot, true, reason, ls_status_text(reason));
    }
}

bool ls_match_is_pending(const ls_match *match, ls_peer_id peer)
{
    return ls_pending_connections_has(&match->context.pending, peer);
}

void ls_match_put_off(ls_match *match, ls_peer_id peer, const char *why, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    ls_conduct_refuse_pending(&match->context, peer, LS_FULL, why);
}

void ls_match_disown(ls_match *match, ls_peer_id peer, const char *why, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    ls_conduct_disown_pending(&match->context, peer, why);
}

ls_match_pass ls_match_pass_of(const ls_match *match, ls_peer_id peer)
{
    return ls_pending_connections_pass(&match->context.pending, peer);
}

/* ---- time ---- */

/* Without anybody the match stays in its journal, from where it can be gone on with another time.
 */
static void go_on(ls_match *match)
{
    if (ls_match_players_here(match) > 0) {
        ls_conduct_go_on(&match->context);
    } else {
        ls_match_suspend(match, "nobody came back", match->context.now_ns);
    }
}

void ls_match_advance(ls_match *match, uint64_t now_ns)
{
    ls_match_context *context = &match->context;
    LS_ASSERT(now_ns >= context->now_ns);
    context->now_ns = now_ns;
    if (context->state == LS_MATCH_OVER) {
        return;
    }
    ls_conduct_drop_silent(&match->context);
    if (context->state == LS_MATCH_RESUMING && ls_resume_vote_advance(match->context.vote)) {
        go_on(match);
    }
    if (context->state >= LS_MATCH_RUNNING) {
        ls_conduct_advance(&match->context);
    } else {
        ls_conduct_send_due(&match->context);
    }
    ls_spectators_advance(match->context.spectators);
    if (context->state == LS_MATCH_ENDING && context->has_released_players &&
        ls_spectators_are_done(match->context.spectators)) {
        ls_conduct_close(&match->context, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
    }
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return LS_MIN(a_ns, b_ns);
}

uint64_t ls_match_next_ns(const ls_match *match)
{
    const ls_match_context *context = &match->context;
    uint64_t next_ns = ls_spectators_next_ns(match->context.spectators);
    if (context->state == LS_MATCH_OVER || context->has_released_players) {
        return next_ns;
    }
    next_ns = earlier(next_ns, ls_conduct_next_send_ns(context));
    if (context->state == LS_MATCH_RESUMING) {
        return earlier(next_ns, ls_resume_vote_next_ns(match->context.vote));
    }
    next_ns = earlier(next_ns, ls_join_service_next_ns(match->context.joins));
    return context->state == LS_MATCH_RUNNING
               ? earlier(next_ns, ls_tick_closer_next_ns(match->context.closer))
               : next_ns;
}

ls_status ls_match_kick(ls_match *match, uint32_t slot, const char *why, uint64_t now_ns)
{
    ls_match_context *context = &match->context;
    LS_ASSERT(slot < context->config.sim.players);
    context->now_ns = now_ns;
    if (!ls_seat_table_is_taken(context->seats, slot)) {
        return LS_NOT_FOUND;
    }
    ls_conduct_drop(context, slot, LS_KICKED, why[0] != '\0' ? why : ls_status_text(LS_KICKED));
    return LS_OK;
}

void ls_match_stop(ls_match *match, uint64_t now_ns)
{
    ls_match_context *context = &match->context;
    context->now_ns = now_ns;
    if (context->state == LS_MATCH_RUNNING) {
        ls_conduct_end(&match->context);
        return;
    }
    if (context->state > LS_MATCH_RUNNING) {
        return;
    }
    ls_status status = LS_ALREADY_OVER;
    if (context->state == LS_MATCH_RESUMING) {
        ls_outbox_mute_refusals(match->context.outbox);
        status = LS_DISCONNECTED;
    }
    for (uint32_t slot = 0; slot < match->context.config.sim.players; slot++) {
        if (ls_seat_table_is_taken(match->context.seats, slot)) {
            ls_conduct_drop(&match->context, slot, status, "the server stopped");
        }
    }
    ls_conduct_close(&match->context, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
}

void ls_match_suspend(ls_match *match, const char *why, uint64_t now_ns)
{
    ls_match_context *context = &match->context;
    context->now_ns = now_ns;
    if (context->state >= LS_MATCH_ENDING) {
        return;
    }
    ls_match_event *event =
        ls_outbox_push_event(context->outbox, LS_MATCH_SUSPENDED, 0, context->log->next);
    ls_text_set(&event->text, "%s", why);
    for (uint32_t slot = 0; slot < context->config.sim.players; slot++) {
        if (ls_seat_table_is_taken(context->seats, slot)) {
            ls_conduct_drop(context, slot, LS_SAVED, why);
        }
    }
    ls_conduct_close(context, LS_SAVED, why);
}

ls_status ls_match_pause(ls_match *match, const char *why, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    return ls_conduct_pause(&match->context, why);
}

ls_status ls_match_unpause(ls_match *match, const char *why, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    return ls_conduct_unpause(&match->context, why);
}

bool ls_match_is_paused(const ls_match *match)
{
    return match->context.is_paused && match->context.state <= LS_MATCH_RUNNING;
}

void ls_match_set_full_text(ls_match *match, const char *text)
{
    ls_text_set(&match->context.full_text, "%s", text);
}

ls_status ls_match_say(ls_match *match, uint32_t slot, const char *text, uint64_t now_ns)
{
    match->context.now_ns = now_ns;
    return ls_conduct_say(&match->context, slot, text);
}

/* ---- memory ---- */

static void prefetch_context(const ls_match_context *context)
{
    ls_prefetch(context, offsetof(ls_match_context, config));
    ls_prefetch(&context->config, offsetof(ls_match_config, sim.params));
    ls_prefetch(&context->config.late_rule,
                offsetof(ls_match_config, may_join) - offsetof(ls_match_config, late_rule));
}

void ls_match_prefetch(const ls_match *match)
{
    const ls_match_context *context = &match->context;
    prefetch_context(context);
    ls_seat_table_prefetch(context->seats);
    for (uint32_t slot = 0; slot < context->config.sim.players; slot++) {
        ls_player_link_prefetch(&context->links[slot]);
    }
    ls_tick_closer_prefetch(context->closer);
    ls_tick_log_prefetch(context->log);
    ls_desync_service_prefetch(context->desync);
    ls_join_service_prefetch(context->joins);
    ls_prefetch(context->outbox, offsetof(ls_outbox, packet) + PREFETCHED_PACKET_BYTES);
}

void ls_match_prefetch_more(const ls_match *match)
{
    const ls_match_context *context = &match->context;
    ls_tick_log_prefetch_more(context->log);
    for (uint32_t slot = 0; context->incoming.cursor && slot < context->config.sim.players;
         slot++) {
        ls_player_link_prefetch_more(&context->links[slot], context->log->next);
    }
}

static void prefetch_packet(const ls_match_context *context, uint32_t slot, uint32_t step)
{
    const ls_player_link *link = &context->links[slot];
    if (step == 2) {
        ls_prefetch(&context->seats->rows[slot].state, sizeof context->seats->rows[slot].state);
        ls_player_link_prefetch(link);
        ls_tick_log_prefetch_packet(context->log);
        ls_desync_service_prefetch_slot(context->desync, slot);
    } else if (step == 3) {
        ls_prefetch(link->received, LS_CACHE_LINE_BYTES);
    } else {
        ls_player_link_prefetch_more(link, link->newest);
    }
}

void ls_match_prefetch_packet(const ls_match *match, ls_peer_id peer, uint32_t step)
{
    const ls_match_context *context = &match->context;
    if (step == 0) {
        prefetch_context(context);
        ls_prefetch(&context->incoming.cursor, sizeof context->incoming.cursor);
    } else if (step == 1) {
        ls_prefetch(context->seats, LS_CACHE_LINE_BYTES);
        ls_prefetch(context->log, offsetof(ls_tick_log, newest));
        ls_prefetch(context->desync, LS_CACHE_LINE_BYTES);
        ls_prefetch(context->closer, LS_CACHE_LINE_BYTES);
        ls_prefetch(context->incoming.cursor,
                    offsetof(ls_tick_cursor, bytes) + LS_CACHE_LINE_BYTES);
    } else {
        uint32_t slot = ls_seat_table_slot_of(context->seats, peer);
        if (slot != MATCH_NO_SLOT && context->incoming.cursor) {
            prefetch_packet(context, slot, step);
        }
    }
}

/* ---- from a journal ---- */

ls_status ls_match_restore_start(ls_match *match, const ls_match_restore *from, ls_text *why)
{
    ls_match_context *context = &match->context;
    LS_ASSERT(context->state == LS_MATCH_LOBBY && match->context.log->next == 0);
    LS_ASSERT(from->state ? from->tick > 0 : from->tick == 0);
    ls_status status = ls_conduct_open(context);
    if (status == LS_OK) {
        status = ls_resume_vote_create(context, &context->vote);
    }
    context->is_restored = true;
    if (status != LS_OK || !from->state) {
        return status;
    }
    status = ls_tick_log_restore(match->context.log, from, why);
    if (status == LS_OK) {
        ls_seat_table_restore_in_band(match->context.seats, from->in_band_mask);
        context->sent.end = context->log->next;
    }
    return status;
}

static bool follows_on(const ls_match *match, const ls_tick_inputs *inputs)
{
    uint32_t size_max = match->context.config.simulation->input_bytes_max;
    bool is_fitting = inputs->tick == match->context.log->next &&
                      inputs->slot_count == match->context.config.sim.players;
    for (uint32_t slot = 0; is_fitting && slot < inputs->slot_count; slot++) {
        is_fitting = inputs->slots[slot].size <= size_max;
    }
    return is_fitting;
}

ls_status ls_match_restore_tick(ls_match *match, const ls_tick_inputs *inputs, uint64_t state_hash,
                                ls_text *why)
{
    LS_ASSERT(match->context.state == LS_MATCH_LOBBY && match->context.vote);
    if (!follows_on(match, inputs)) {
        return ls_fail(LS_MALFORMED, why,
                       "tick %" PRIu32 " cannot follow on tick %" PRIu32 " of this match",
                       inputs->tick, match->context.log->next);
    }
    ls_conduct_repeat_tick(&match->context, inputs);
    ls_tick next = match->context.log->next;
    uint64_t own = 0;
    bool is_hashed = ls_hash_record_hash(&match->context.log->hashes, next, &own);
    if (is_hashed && state_hash != 0 && state_hash != own) {
        return ls_fail(LS_DESYNCED, why,
                       "state %" PRIu32 " has state hash %016" PRIx64 " here, and had %016" PRIx64
                       " before: this is not the program that the match was played with",
                       next, own, state_hash);
    }
    return LS_OK;
}

void ls_match_restore_seat(ls_match *match, uint32_t slot, const ls_restored_seat *seat)
{
    const ls_match_context *context = &match->context;
    LS_ASSERT(context->state == LS_MATCH_LOBBY && slot < context->config.sim.players);
    ls_seat_table_restore_seat(context->seats, slot, seat);
}

void ls_match_restore_end(ls_match *match, uint64_t now_ns)
{
    LS_ASSERT(match->context.state == LS_MATCH_LOBBY && match->context.vote);
    match->context.now_ns = now_ns;
    ls_conduct_await_players(&match->context, true);
}

void ls_match_restore_lobby(ls_match *match, const ls_seat_generations generations[LS_PLAYERS_MAX])
{
    LS_ASSERT(match->context.state == LS_MATCH_LOBBY && match->context.vote &&
              match->context.log->next == 0);
    ls_seat_table_restore_generations(match->context.seats, generations);
}

/* ---- what can be seen from outside ---- */

bool ls_match_next_event(ls_match *match, ls_match_event *event)
{
    return ls_outbox_next_event(match->context.outbox, event);
}

ls_match_state ls_match_state_of(const ls_match *match)
{
    return match->context.state;
}

ls_tick ls_match_tick(const ls_match *match)
{
    return match->context.log->next;
}

uint64_t ls_match_hash(ls_match *match)
{
    return ls_sim_instance_hash(match->context.log->instance);
}

uint32_t ls_match_players(const ls_match *match)
{
    return match->context.config.sim.players;
}

uint32_t ls_match_players_here(const ls_match *match)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < match->context.config.sim.players; slot++) {
        count += match->context.seats->peers[slot] != 0 ? 1 : 0;
    }
    return count;
}

uint64_t ls_match_packets_rejected(const ls_match *match)
{
    return match->context.rejected + ls_spectators_rejected(match->context.spectators);
}

ls_match_slot ls_match_slot_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < match->context.config.sim.players);
    const ls_player_figures *figures = &match->context.links[slot].figures;
    ls_match_slot report = {.inputs_on_time = figures->inputs_on_time,
                            .inputs_late = figures->inputs_late,
                            .inputs_substituted = figures->inputs_substituted,
                            .packets_rejected = figures->packets_rejected,
                            .ticks_behind = figures->ticks_behind,
                            .slack_ns = figures->slack_ns,
                            .rtt_ns = match->context.links[slot].peer.downlink.rtt_ns,
                            .lag = figures->lag.lag,
                            .input_delay_ticks = figures->lag.input_delay_ticks};
    ls_seat_table_report(match->context.seats, slot, &report);
    ls_desync_service_report(match->context.desync, slot, &report);
    return report;
}

ls_lag ls_match_lag_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < match->context.config.sim.players);
    ls_lag_figures total = ls_lag_meter_total(&match->context.links[slot].figures.lag.meter);
    return ls_lag_judge(&total);
}

void ls_match_set_input_delay(ls_match *match, uint32_t slot, uint32_t ticks)
{
    LS_ASSERT(slot < match->context.config.sim.players && ticks <= LS_INPUT_DELAY_TICKS_MAX);
    if (match->context.seats->rows[slot].state == LS_SEAT_PLAYING) {
        ls_player_lag_set_delay(&match->context.links[slot].figures.lag, &match->context,
                                match->context.seats->peers[slot], ticks);
    }
}

uint32_t ls_match_seats_open(const ls_match *match)
{
    uint32_t free_seats = ls_seat_table_count(match->context.seats, LS_SEAT_EMPTY) +
                          ls_seat_table_count(match->context.seats, LS_SEAT_LEFT);
    uint32_t pending = match->context.pending.count;
    return match->context.state < LS_MATCH_ENDING && free_seats > pending ? free_seats - pending
                                                                          : 0;
}

bool ls_match_is_awaited(const ls_match *match)
{
    uint32_t open = ls_match_seats_open(match);
    return match->context.state == LS_MATCH_LOBBY && open > 0 &&
           open < match->context.config.sim.players;
}

bool ls_match_is_waiting(const ls_match *match)
{
    return ls_tick_closer_is_waiting(match->context.closer);
}

ls_sim_instance *ls_match_instance(ls_match *match)
{
    return match->context.log->instance;
}

ls_match_spectating ls_match_spectating_of(const ls_match *match)
{
    return ls_spectators_figures(match->context.spectators);
}

const ls_desync_finding *ls_match_desync_of(const ls_match *match, uint32_t slot)
{
    return ls_desync_service_finding(match->context.desync, slot);
}

bool ls_match_bundle_tick_of(const ls_match *match, uint32_t slot, ls_tick *tick)
{
    return ls_desync_service_bundle_tick(match->context.desync, slot, tick);
}

bool ls_match_desync_evidence_of(const ls_match *match, uint32_t slot, ls_desync_evidence_set *out)
{
    return ls_desync_service_evidence(match->context.desync, slot, out);
}

const ls_match_config *ls_match_config_of(const ls_match *match)
{
    return &match->context.config;
}

ls_status ls_match_closed_tick(const ls_match *match, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    return ls_tick_log_at(match->context.log, tick, slots, out);
}

bool ls_match_hash_of_tick(const ls_match *match, ls_tick tick, uint64_t *state_hash)
{
    return ls_hash_record_hash(&match->context.log->hashes, tick, state_hash);
}

uint64_t ls_match_tick_chain(const ls_match *match, ls_tick tick)
{
    return ls_tick_log_chain(match->context.log, tick);
}

uint64_t ls_match_hash_chain(const ls_match *match, ls_tick *tick)
{
    return ls_tick_log_hash_chain(match->context.log, tick);
}

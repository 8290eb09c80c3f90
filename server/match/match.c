#include "lockstep/server/match/match.h"
#include "lockstep/server/investigation/investigation.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/match/match_conduct.h"

#include <inttypes.h>
#include <stddef.h>

enum {
    PREFETCHED_PACKET_BYTES = 64, /* of what is written: small inputs fill no more */
};

/* ---- life ---- */

const ls_match_refusal *ls_match_refusal_of(const ls_match *match)
{
    return ls_outbox_refusal(match->outbox);
}

static ls_status create_parts(ls_match *match, const ls_packet_sink *sink, ls_text *why)
{
    ls_status status =
        ls_outbox_create(sink, match->config.sim.players, match->allocator, &match->outbox);
    if (status == LS_OK) {
        status = ls_pending_connections_init(&match->pending, match->config.sim.players,
                                             match->allocator);
    }
    if (status == LS_OK) {
        status = ls_tick_log_create(match, &match->log, why);
    }
    if (status == LS_OK) {
        match->own_ready = ls_ready_make(match->log->instance);
        match->own_parts = ls_ready_parts_make(match->log->instance);
        match->config.investigation_timeout_ms =
            ls_investigation_time_ms(match->log->instance, match->config.investigation_timeout_ms);
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
    if (status == LS_OK && !ls_conduct_opens_late(match)) {
        status = ls_conduct_open(match);
    } else if (status == LS_OK && match->config.has_others) {
        ls_sim_instance_rest(match->log->instance);
    }
    return status;
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
    match->config = *config;
    match->allocator = allocator;
    match->dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&config->sim)).dt_ns;
    status = create_parts(match, sink, why);
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
    ls_spectators_destroy(match->spectators);
    ls_resume_vote_destroy(match->vote);
    ls_desync_service_destroy(match->desync);
    ls_join_service_destroy(match->joins);
    ls_tick_closer_destroy(match->closer);
    ls_seat_table_destroy(match->seats);
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        ls_player_link_close(&match->links[slot]);
    }
    ls_release(match->allocator, match->incoming.cursor);
    ls_release(match->allocator, match->links);
    ls_tick_log_destroy(match->log);
    ls_outbox_destroy(match->outbox);
    ls_pending_connections_deinit(&match->pending, match->allocator);
    ls_release(match->allocator, match);
}

/* ---- packets and connections ---- */

void ls_match_peer_connected(ls_match *match, ls_peer_id peer, uint64_t now_ns)
{
    ls_match_peer_admitted(match, peer, &(const ls_match_pass){.refusal = NULL}, now_ns);
}

void ls_match_peer_admitted(ls_match *match, ls_peer_id peer, const ls_match_pass *pass,
                            uint64_t now_ns)
{
    match->now_ns = now_ns;
    if (match->pending.count == match->pending.room) {
        /* Peers that say nothing must not keep others out. */
        match->rejected++;
        ls_conduct_refuse_pending(match,
                                  ls_pending_connections_overdue(&match->pending, UINT64_MAX),
                                  LS_TIMED_OUT, "no HELLO came, and others are waiting");
    }
    ls_pending_connections_add(&match->pending, peer, pass, now_ns);
    if (match->state == LS_MATCH_OVER) {
        ls_conduct_refuse_late(match, peer);
    }
}

void ls_match_peer_disconnected(ls_match *match, ls_peer_id peer, ls_status reason, uint64_t now_ns)
{
    match->now_ns = now_ns;
    uint32_t slot = ls_seat_table_slot_of(match->seats, peer);
    ls_pending_connections_forget(&match->pending, peer);
    if (slot == MATCH_NO_SLOT) {
        ls_spectators_disconnected(match->spectators, peer, reason);
    } else if (match->seats->rows[slot].state != LS_SEAT_FINISHED) {
        ls_conduct_depart(match, slot, true, reason, ls_status_text(reason));
    }
}

bool ls_match_is_pending(const ls_match *match, ls_peer_id peer)
{
    return ls_pending_connections_has(&match->pending, peer);
}

void ls_match_put_off(ls_match *match, ls_peer_id peer, const char *why, uint64_t now_ns)
{
    match->now_ns = now_ns;
    ls_conduct_refuse_pending(match, peer, LS_FULL, why);
}

ls_match_pass ls_match_pass_of(const ls_match *match, ls_peer_id peer)
{
    return ls_pending_connections_pass(&match->pending, peer);
}

/* ---- time ---- */

ls_status ls_match_kick(ls_match *match, uint32_t slot, const char *why, uint64_t now_ns)
{
    LS_ASSERT(slot < match->config.sim.players);
    match->now_ns = now_ns;
    if (!ls_seat_table_is_taken(match->seats, slot)) {
        return LS_NOT_FOUND;
    }
    ls_conduct_drop(match, slot, LS_KICKED, why[0] != '\0' ? why : ls_status_text(LS_KICKED));
    return LS_OK;
}

void ls_match_stop(ls_match *match, uint64_t now_ns)
{
    match->now_ns = now_ns;
    if (match->state == LS_MATCH_RUNNING) {
        ls_conduct_end(match);
        return;
    }
    if (match->state > LS_MATCH_RUNNING) {
        return;
    }
    ls_status status = LS_ALREADY_OVER;
    if (match->state == LS_MATCH_RESUMING) {
        ls_outbox_mute_refusals(match->outbox);
        status = LS_DISCONNECTED;
    }
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (ls_seat_table_is_taken(match->seats, slot)) {
            ls_conduct_drop(match, slot, status, "the server stopped");
        }
    }
    ls_conduct_close(match, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
}

bool ls_match_is_paused(const ls_match *match)
{
    return match->is_paused && match->state <= LS_MATCH_RUNNING;
}

void ls_match_set_full_text(ls_match *match, const char *text)
{
    ls_text_set(&match->full_text, "%s", text);
}

/* ---- memory ---- */

static void prefetch_context(const ls_match *match)
{
    ls_prefetch(match, offsetof(ls_match, config));
    ls_prefetch(&match->config, offsetof(ls_match_config, sim.params));
    ls_prefetch(&match->config.late_rule,
                offsetof(ls_match_config, may_join) - offsetof(ls_match_config, late_rule));
}

void ls_match_prefetch(const ls_match *match)
{
    prefetch_context(match);
    ls_seat_table_prefetch(match->seats);
    for (uint32_t slot = 0; slot < ls_match_links(match); slot++) {
        ls_player_link_prefetch(&match->links[slot]);
    }
    ls_tick_closer_prefetch(match->closer);
    ls_tick_log_prefetch(match->log);
    ls_desync_service_prefetch(match->desync);
    ls_join_service_prefetch(match->joins);
    ls_prefetch(match->outbox, offsetof(ls_outbox, packet) + PREFETCHED_PACKET_BYTES);
}

void ls_match_prefetch_more(const ls_match *match)
{
    ls_tick_log_prefetch_more(match->log);
    for (uint32_t slot = 0; match->incoming.cursor && slot < match->config.sim.players; slot++) {
        ls_player_link_prefetch_more(&match->links[slot], match->log->next);
    }
}

static void prefetch_packet(const ls_match *match, uint32_t slot, uint32_t step)
{
    const ls_player_link *link = &match->links[slot];
    if (step == 2) {
        ls_prefetch(&match->seats->rows[slot].state, sizeof match->seats->rows[slot].state);
        ls_player_link_prefetch(link);
        ls_tick_log_prefetch_packet(match->log);
        ls_desync_service_prefetch_slot(match->desync, slot);
    } else if (step == 3) {
        ls_prefetch(link->received, LS_CACHE_LINE_BYTES);
    } else {
        ls_player_link_prefetch_more(link, link->newest);
    }
}

void ls_match_prefetch_packet(const ls_match *match, ls_peer_id peer, uint32_t step)
{
    if (step == 0) {
        prefetch_context(match);
        ls_prefetch(&match->incoming.cursor, sizeof match->incoming.cursor);
    } else if (step == 1) {
        ls_prefetch(match->seats, LS_CACHE_LINE_BYTES);
        ls_prefetch(match->log, offsetof(ls_tick_log, newest));
        ls_prefetch(match->desync, LS_CACHE_LINE_BYTES);
        ls_prefetch(match->closer, LS_CACHE_LINE_BYTES);
        ls_prefetch(match->incoming.cursor, offsetof(ls_tick_cursor, bytes) + LS_CACHE_LINE_BYTES);
    } else {
        uint32_t slot = ls_seat_table_slot_of(match->seats, peer);
        if (slot != MATCH_NO_SLOT && match->incoming.cursor) {
            prefetch_packet(match, slot, step);
        }
    }
}

/* ---- from a journal ---- */

ls_status ls_match_restore_start(ls_match *match, const ls_match_restore *from, ls_text *why)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->log->next == 0);
    LS_ASSERT(from->state ? from->tick > 0 : from->tick == 0);
    ls_status status = ls_conduct_open(match);
    if (status == LS_OK) {
        status = ls_resume_vote_create(match, &match->vote);
    }
    match->is_restored = true;
    if (status != LS_OK || !from->state) {
        return status;
    }
    status = ls_tick_log_restore(match->log, from, why);
    if (status == LS_OK) {
        ls_seat_table_restore_in_band(match->seats, from->in_band);
        match->sent.end = match->log->next;
    }
    return status;
}

static bool follows_on(const ls_match *match, const ls_tick_inputs *inputs)
{
    uint32_t size_max = match->config.simulation->input_bytes_max;
    bool is_fitting =
        inputs->tick == match->log->next && inputs->slot_count == match->config.sim.players;
    for (uint32_t slot = 0; is_fitting && slot < inputs->slot_count; slot++) {
        is_fitting = inputs->slots[slot].size <= size_max;
    }
    return is_fitting;
}

ls_status ls_match_restore_tick(ls_match *match, const ls_tick_inputs *inputs, uint64_t state_hash,
                                ls_text *why)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->vote);
    if (!follows_on(match, inputs)) {
        return ls_fail(LS_MALFORMED, why,
                       "tick %" PRIu32 " cannot follow on tick %" PRIu32 " of this match",
                       inputs->tick, match->log->next);
    }
    ls_conduct_repeat_tick(match, inputs);
    ls_tick next = match->log->next;
    uint64_t own = 0;
    bool is_hashed = ls_hash_record_hash(&match->log->hashes, next, &own);
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
    LS_ASSERT(match->state == LS_MATCH_LOBBY && slot < match->config.sim.players);
    ls_seat_table_restore_seat(match->seats, slot, seat);
}

void ls_match_restore_end(ls_match *match, uint64_t now_ns)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->vote);
    match->now_ns = now_ns;
    ls_conduct_await_players(match, true);
}

void ls_match_restore_lobby(ls_match *match, const ls_seat_generations generations[LS_PLAYERS_MAX])
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->vote && match->log->next == 0);
    ls_seat_table_restore_generations(match->seats, generations);
}

/* ---- what can be seen from outside ---- */

bool ls_match_next_event(ls_match *match, ls_match_event *event)
{
    return ls_outbox_next_event(match->outbox, event);
}

ls_match_state ls_match_state_of(const ls_match *match)
{
    return match->state;
}

ls_tick ls_match_tick(const ls_match *match)
{
    return match->log->next;
}

uint64_t ls_match_hash(ls_match *match)
{
    return ls_tick_log_state_hash(match->log);
}

uint32_t ls_match_players(const ls_match *match)
{
    return match->config.sim.players;
}

uint64_t ls_match_packets_rejected(const ls_match *match)
{
    return match->rejected + ls_spectators_rejected(match->spectators);
}

void ls_match_secret_of(const ls_match *match, uint32_t slot, uint8_t out[LS_SECRET_BYTES])
{
    ls_seat_table_secret(match->seats, slot, out);
}

static ls_match_slot report_link(const ls_player_link *link)
{
    const ls_player_figures *figures = &link->figures;
    return (ls_match_slot){.inputs_on_time = figures->inputs_on_time,
                           .inputs_late = figures->inputs_late,
                           .inputs_substituted = figures->inputs_substituted,
                           .packets_rejected = figures->packets_rejected,
                           .ticks_behind = figures->ticks_behind,
                           .slack_ns = figures->slack_ns,
                           .rtt_ns = link->peer.downlink.rtt_ns,
                           .lag = figures->lag.lag,
                           .input_delay_ticks = figures->lag.input_delay_ticks};
}

ls_match_slot ls_match_slot_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot <= match->config.sim.players);
    if (slot == match->config.sim.players) {
        ls_match_slot spectator = {0};
        ls_desync_service_report(match->desync, slot, &spectator);
        return spectator;
    }
    ls_match_slot report = match->links ? report_link(&match->links[slot]) : (ls_match_slot){0};
    ls_seat_table_report(match->seats, slot, &report);
    ls_desync_service_report(match->desync, slot, &report);
    return report;
}

ls_lag ls_match_lag_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < match->config.sim.players);
    return match->links ? ls_lag_meter_verdict(&match->links[slot].figures.lag.meter)
                        : (ls_lag){.cause = LS_LAG_FINE};
}

void ls_match_lag_text(const ls_match *match, const ls_lag *lag, ls_text *text)
{
    ls_lag_text(lag, LS_LAG_TO_HOST, match->seats->rows[lag->whom].player.name, text);
}

void ls_match_set_input_delay(ls_match *match, uint32_t slot, uint32_t ticks)
{
    LS_ASSERT(slot < match->config.sim.players && ticks <= LS_INPUT_DELAY_TICKS_MAX);
    if (match->seats->rows[slot].state == LS_SEAT_PLAYING) {
        ls_player_lag_set_delay(&match->links[slot].figures.lag, match, match->seats->peers[slot],
                                ticks);
    }
}

uint32_t ls_match_seats_open(const ls_match *match)
{
    uint32_t free_seats = ls_seat_table_count(match->seats, LS_SEAT_EMPTY) +
                          ls_seat_table_count(match->seats, LS_SEAT_LEFT);
    uint32_t pending = match->pending.count;
    return match->state < LS_MATCH_ENDING && free_seats > pending ? free_seats - pending : 0;
}

bool ls_match_is_awaited(const ls_match *match)
{
    uint32_t open = ls_match_seats_open(match);
    return match->state == LS_MATCH_LOBBY && open > 0 && open < match->config.sim.players;
}

bool ls_match_is_waiting(const ls_match *match)
{
    return ls_tick_closer_is_waiting(match->closer);
}

ls_sim_instance *ls_match_instance(ls_match *match)
{
    return ls_sim_instance_wake(match->log->instance) == LS_OK ? match->log->instance : NULL;
}

const ls_sim_instance *ls_match_resting_instance(const ls_match *match)
{
    return match->log->instance;
}

const ls_match_config *ls_match_config_of(const ls_match *match)
{
    return &match->config;
}

ls_status ls_match_closed_tick(const ls_match *match, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    return ls_tick_log_at(match->log, tick, slots, out);
}

bool ls_match_hash_of_tick(const ls_match *match, ls_tick tick, uint64_t *state_hash)
{
    return ls_hash_record_hash(&match->log->hashes, tick, state_hash);
}

uint64_t ls_match_tick_chain(const ls_match *match, ls_tick tick)
{
    return ls_tick_log_chain(match->log, tick);
}

uint64_t ls_match_hash_chain(const ls_match *match, ls_tick *tick)
{
    return ls_tick_log_hash_chain(match->log, tick);
}

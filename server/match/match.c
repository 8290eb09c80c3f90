#include "lockstep/server/match/match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/server/match/match_conduct.h"
#include "lockstep/server/match/match_parts.h"
#include "lockstep/server/match/match_reception.h"

#include <inttypes.h>

struct ls_match {
    ls_match_parts parts;
};

/* ---- life ---- */

ls_status ls_match_create(const ls_match_config *config, const ls_packet_sink *sink,
                          const ls_allocator *allocator, ls_match **out, ls_text *why)
{
    ls_status status = ls_match_config_check(config, why);
    if (status != LS_OK) {
        return status;
    }
    ls_match *match = ls_allocate(allocator, sizeof *match);
    status =
        match ? ls_match_parts_init(&match->parts, config, sink, allocator, why) : LS_NO_MEMORY;
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
    if (match) {
        ls_match_parts_deinit(&match->parts);
        ls_release(match->parts.context.allocator, match);
    }
}

/* ---- packets and connections ---- */

void ls_match_receive(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size, uint64_t now_ns)
{
    match->parts.context.now_ns = now_ns;
    match->parts.context.arrived_ns = now_ns;
    ls_match_reception_take(&match->parts, peer, channel, bytes, size);
}

void ls_match_receive_event(ls_match *match, const ls_transport_event *event, uint64_t now_ns)
{
    uint64_t arrived_ns = event->arrived_ns;
    uint64_t closed_ns = ls_tick_log_closed_ns(match->parts.log);
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        ls_match_peer_connected(match, event->peer, now_ns);
        return;
    }
    if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        ls_match_peer_disconnected(match, event->peer, event->reason, now_ns);
        return;
    }
    match->parts.context.now_ns = now_ns;
    /* A tick that was closed before the packet was taken was closed without it. */
    arrived_ns = arrived_ns < closed_ns ? closed_ns : arrived_ns;
    match->parts.context.arrived_ns = arrived_ns > now_ns ? now_ns : arrived_ns;
    ls_match_reception_take(&match->parts, event->peer, event->channel, event->bytes, event->size);
}

void ls_match_peer_connected(ls_match *match, ls_peer_id peer, uint64_t now_ns)
{
    match->parts.context.now_ns = now_ns;
    if (ls_pending_connections_is_full(&match->parts.pending)) {
        /* Peers that say nothing must not keep others out. */
        match->parts.rejected++;
        ls_conduct_refuse_pending(&match->parts,
                                  ls_pending_connections_oldest(&match->parts.pending),
                                  LS_TIMED_OUT, "no HELLO came, and others are waiting");
    }
    ls_pending_connections_add(&match->parts.pending, peer, now_ns);
    if (match->parts.context.state == LS_MATCH_OVER) {
        ls_conduct_refuse_pending(&match->parts, peer, LS_ALREADY_OVER,
                                  ls_status_text(LS_ALREADY_OVER));
    }
}

void ls_match_peer_disconnected(ls_match *match, ls_peer_id peer, ls_status reason, uint64_t now_ns)
{
    match->parts.context.now_ns = now_ns;
    uint32_t slot = ls_seat_table_slot_of(match->parts.seats, peer);
    ls_pending_connections_forget(&match->parts.pending, peer);
    if (slot == MATCH_NO_SLOT) {
        ls_spectators_disconnected(match->parts.spectators, peer, reason);
    } else if (ls_seat_table_state(match->parts.seats, slot) != LS_SEAT_FINISHED) {
        ls_conduct_depart(&match->parts, slot, true, reason, ls_status_text(reason));
    }
}

bool ls_match_is_pending(const ls_match *match, ls_peer_id peer)
{
    return ls_pending_connections_has(&match->parts.pending, peer);
}

/* ---- time ---- */

void ls_match_advance(ls_match *match, uint64_t now_ns)
{
    ls_match_context *context = &match->parts.context;
    LS_ASSERT(now_ns >= context->now_ns);
    context->now_ns = now_ns;
    if (context->state == LS_MATCH_OVER) {
        return;
    }
    ls_conduct_drop_silent(&match->parts);
    if (context->state == LS_MATCH_RESUMING && ls_resume_vote_advance(match->parts.vote)) {
        ls_conduct_go_on(&match->parts);
    }
    if (context->state >= LS_MATCH_RUNNING) {
        ls_conduct_advance(&match->parts);
    } else {
        ls_conduct_send_due(&match->parts);
    }
    ls_spectators_advance(match->parts.spectators);
    if (context->state == LS_MATCH_ENDING && context->has_released_players &&
        ls_spectators_are_done(match->parts.spectators)) {
        ls_conduct_close(&match->parts);
    }
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t ls_match_next_ns(const ls_match *match)
{
    const ls_match_context *context = &match->parts.context;
    uint64_t next_ns = ls_spectators_next_ns(match->parts.spectators);
    if (context->state == LS_MATCH_OVER || context->has_released_players) {
        return next_ns;
    }
    next_ns = earlier(next_ns, ls_tick_sender_next_ns(&match->parts.sender));
    if (context->state == LS_MATCH_RESUMING) {
        return earlier(next_ns, ls_resume_vote_next_ns(match->parts.vote));
    }
    next_ns = earlier(next_ns, ls_join_service_next_ns(match->parts.joins));
    return context->state == LS_MATCH_RUNNING
               ? earlier(next_ns, ls_tick_closer_next_ns(match->parts.closer))
               : next_ns;
}

void ls_match_stop(ls_match *match, uint64_t now_ns)
{
    ls_match_context *context = &match->parts.context;
    context->now_ns = now_ns;
    if (context->state == LS_MATCH_RUNNING) {
        ls_conduct_end(&match->parts);
        return;
    }
    if (context->state > LS_MATCH_RUNNING) {
        return;
    }
    ls_status status = LS_ALREADY_OVER;
    if (context->state == LS_MATCH_RESUMING) {
        ls_outbox_mute_refusals(match->parts.outbox);
        status = LS_DISCONNECTED;
    }
    for (uint32_t slot = 0; slot < ls_match_parts_players(&match->parts); slot++) {
        if (ls_seat_table_is_taken(match->parts.seats, slot)) {
            ls_conduct_drop(&match->parts, slot, status, "the server stopped");
        }
    }
    ls_conduct_close(&match->parts);
}

void ls_match_prefetch(const ls_match *match)
{
    ls_match_parts_prefetch(&match->parts);
}

void ls_match_prefetch_more(const ls_match *match)
{
    ls_match_parts_prefetch_more(&match->parts);
}

/* ---- from a journal ---- */

ls_status ls_match_restore_start(ls_match *match, const ls_match_restore *from, ls_text *why)
{
    ls_match_context *context = &match->parts.context;
    LS_ASSERT(context->state == LS_MATCH_LOBBY && ls_tick_log_next(match->parts.log) == 0);
    LS_ASSERT(from->state ? from->tick > 0 : from->tick == 0);
    ls_status status = ls_resume_vote_create(context, match->parts.log, match->parts.outbox,
                                             match->parts.seats, &match->parts.vote);
    context->is_restored = true;
    if (status != LS_OK || !from->state) {
        return status;
    }
    status = ls_tick_log_restore(match->parts.log, from, why);
    if (status == LS_OK) {
        ls_seat_table_restore_in_band(match->parts.seats, from->in_band_mask);
        ls_tick_sender_restore(&match->parts.sender);
    }
    return status;
}

static bool follows_on(const ls_match *match, const ls_tick_inputs *inputs)
{
    uint32_t size_max = match->parts.context.config.simulation->input_bytes_max;
    bool is_fitting = inputs->tick == ls_tick_log_next(match->parts.log) &&
                      inputs->slot_count == ls_match_parts_players(&match->parts);
    for (uint32_t slot = 0; is_fitting && slot < inputs->slot_count; slot++) {
        is_fitting = inputs->slots[slot].size <= size_max;
    }
    return is_fitting;
}

ls_status ls_match_restore_tick(ls_match *match, const ls_tick_inputs *inputs, uint64_t state_hash,
                                ls_text *why)
{
    LS_ASSERT(match->parts.context.state == LS_MATCH_LOBBY && match->parts.vote);
    if (!follows_on(match, inputs)) {
        ls_text_set(why, "tick %" PRIu32 " cannot follow on tick %" PRIu32 " of this match",
                    inputs->tick, ls_tick_log_next(match->parts.log));
        return LS_MALFORMED;
    }
    ls_conduct_repeat_tick(&match->parts, inputs);
    ls_tick next = ls_tick_log_next(match->parts.log);
    uint64_t own = 0;
    bool is_hashed = ls_hash_record_hash(ls_tick_log_hashes(match->parts.log), next, &own);
    if (is_hashed && state_hash != 0 && state_hash != own) {
        ls_text_set(why,
                    "state %" PRIu32 " has state hash %016" PRIx64 " here, and had %016" PRIx64
                    " before: this is not the program that the match was played with",
                    next, own, state_hash);
        return LS_DESYNCED;
    }
    return LS_OK;
}

void ls_match_restore_seat(ls_match *match, uint32_t slot, const char *name,
                           ls_seat_generations generations)
{
    LS_ASSERT(match->parts.context.state == LS_MATCH_LOBBY &&
              slot < ls_match_parts_players(&match->parts));
    ls_seat_table_restore_seat(match->parts.seats, slot, name, generations);
}

void ls_match_restore_joined(ls_match *match, uint32_t slot, ls_tick tick)
{
    LS_ASSERT(match->parts.context.state == LS_MATCH_LOBBY &&
              slot < ls_match_parts_players(&match->parts));
    ls_seat_table_restore_joined(match->parts.seats, slot, tick);
}

void ls_match_restore_vacancy(ls_match *match, uint32_t slot)
{
    LS_ASSERT(match->parts.context.state == LS_MATCH_LOBBY &&
              slot < ls_match_parts_players(&match->parts));
    ls_seat_table_restore_vacancy(match->parts.seats, slot);
}

void ls_match_restore_end(ls_match *match, uint64_t now_ns)
{
    LS_ASSERT(match->parts.context.state == LS_MATCH_LOBBY && match->parts.vote);
    match->parts.context.now_ns = now_ns;
    ls_conduct_await_players(&match->parts, true);
}

void ls_match_restore_lobby(ls_match *match, const ls_seat_generations generations[LS_PLAYERS_MAX])
{
    LS_ASSERT(match->parts.context.state == LS_MATCH_LOBBY && match->parts.vote &&
              ls_tick_log_next(match->parts.log) == 0);
    ls_seat_table_restore_generations(match->parts.seats, generations);
}

/* ---- what can be seen from outside ---- */

bool ls_match_next_event(ls_match *match, ls_match_event *event)
{
    return ls_outbox_next_event(match->parts.outbox, event);
}

ls_match_state ls_match_state_of(const ls_match *match)
{
    return match->parts.context.state;
}

ls_tick ls_match_tick(const ls_match *match)
{
    return ls_tick_log_next(match->parts.log);
}

uint64_t ls_match_hash(ls_match *match)
{
    return ls_tick_log_live_hash(match->parts.log);
}

uint32_t ls_match_players(const ls_match *match)
{
    return ls_match_parts_players(&match->parts);
}

uint64_t ls_match_packets_rejected(const ls_match *match)
{
    return match->parts.rejected + ls_spectators_rejected(match->parts.spectators);
}

ls_match_slot ls_match_slot_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < ls_match_parts_players(&match->parts));
    const ls_player_figures *figures = &match->parts.links[slot].figures;
    ls_match_slot report = {.inputs_on_time = figures->inputs_on_time,
                            .inputs_late = figures->inputs_late,
                            .inputs_substituted = figures->inputs_substituted,
                            .packets_rejected = figures->packets_rejected,
                            .ticks_behind = figures->ticks_behind,
                            .slack_ns = figures->slack_ns,
                            .rtt_ns = match->parts.links[slot].peer.downlink.rtt_ns,
                            .lag = figures->lag.lag,
                            .input_delay_ticks = figures->lag.input_delay_ticks};
    ls_seat_table_report(match->parts.seats, slot, &report);
    ls_desync_service_report(match->parts.desync, slot, &report);
    return report;
}

ls_lag ls_match_lag_of(const ls_match *match, uint32_t slot)
{
    LS_ASSERT(slot < ls_match_parts_players(&match->parts));
    ls_lag_figures total = ls_lag_meter_total(&match->parts.links[slot].figures.lag.meter);
    return ls_lag_judge(&total);
}

void ls_match_set_input_delay(ls_match *match, uint32_t slot, uint32_t ticks)
{
    LS_ASSERT(slot < ls_match_parts_players(&match->parts) && ticks <= LS_INPUT_DELAY_TICKS_MAX);
    if (ls_seat_table_state(match->parts.seats, slot) == LS_SEAT_PLAYING) {
        ls_player_lag_set_delay(&match->parts.links[slot].figures.lag, match->parts.outbox,
                                ls_seat_table_peer(match->parts.seats, slot), ticks);
    }
}

uint32_t ls_match_seats_open(const ls_match *match)
{
    uint32_t free_seats = ls_seat_table_free_count(match->parts.seats);
    uint32_t pending = match->parts.pending.count;
    return match->parts.context.state < LS_MATCH_ENDING && free_seats > pending
               ? free_seats - pending
               : 0;
}

bool ls_match_is_waiting(const ls_match *match)
{
    return match->parts.context.state == LS_MATCH_RUNNING &&
           ls_tick_closer_is_waiting(match->parts.closer);
}

ls_sim_instance *ls_match_instance(ls_match *match)
{
    return ls_tick_log_instance(match->parts.log);
}

ls_match_spectating ls_match_spectating_of(const ls_match *match)
{
    return ls_spectators_figures(match->parts.spectators);
}

const ls_desync_finding *ls_match_desync_of(const ls_match *match, uint32_t slot)
{
    return ls_desync_service_finding(match->parts.desync, slot);
}

bool ls_match_desync_evidence_of(const ls_match *match, uint32_t slot, ls_desync_evidence_set *out)
{
    return ls_desync_service_evidence(match->parts.desync, slot, out);
}

const ls_match_config *ls_match_config_of(const ls_match *match)
{
    return &match->parts.context.config;
}

ls_status ls_match_closed_tick(const ls_match *match, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    return ls_tick_log_at(match->parts.log, tick, slots, out);
}

bool ls_match_hash_of_tick(const ls_match *match, ls_tick tick, uint64_t *state_hash)
{
    return ls_hash_record_hash(ls_tick_log_hashes(match->parts.log), tick, state_hash);
}

uint64_t ls_match_tick_chain(const ls_match *match, ls_tick tick)
{
    return ls_tick_log_chain(match->parts.log, tick);
}

uint64_t ls_match_hash_chain(const ls_match *match, ls_tick *tick)
{
    return ls_tick_log_hash_chain(match->parts.log, tick);
}

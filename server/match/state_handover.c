#include "lockstep/server/match/state_handover.h"

#include <inttypes.h>
#include <string.h>

ls_status ls_handover_make_blob(const ls_match_context *match, size_t bytes, ls_blob **blob)
{
    if (bytes == 0 || bytes > LS_BLOB_BYTES_MAX) {
        return LS_UNSUPPORTED;
    }
    if (*blob && bytes <= ls_blob_bytes_max(*blob)) {
        return LS_OK;
    }
    ls_blob_destroy(*blob);
    *blob = NULL;
    size_t room = bytes + (match->log->next > 0 ? bytes / 4 : 0);
    room = room < LS_BLOB_BYTES_MAX ? room : LS_BLOB_BYTES_MAX;
    return ls_blob_create((uint32_t)room, match->allocator, blob);
}

ls_offer *ls_handover_begin_offer(const ls_match_context *match)
{
    const ls_match_config *config = &match->config;
    ls_offer *offer = &ls_outbox_message(match->outbox, LS_MESSAGE_OFFER)->body.offer;
    *offer = (ls_offer){.simulation_version = config->simulation->version,
                        .config = config->sim,
                        .hash_interval_ticks = config->hash_interval_ticks,
                        .input_delay_ticks = config->input_delay_ticks,
                        .timeout_ms = config->timeout_ms,
                        .late_rule = (uint32_t)config->late_rule,
                        .send_rate = (uint32_t)config->send_rate,
                        .match_id = config->match_id,
                        .is_running = match->state != LS_MATCH_LOBBY};
    ls_name_copy(offer->simulation, sizeof offer->simulation, config->simulation->name);
    return offer;
}

ls_join *ls_handover_begin_join(const ls_match_context *match, ls_join_source source)
{
    ls_join *join = &ls_outbox_message(match->outbox, LS_MESSAGE_JOIN)->body.join;
    uint64_t next_close_ns = ls_tick_log_clock(match->log, match->now_ns).next_close_ns;
    memset(join, 0, sizeof *join);
    join->source = source;
    join->next_close = match->log->next;
    if (next_close_ns > match->now_ns) {
        join->next_close_us = (uint32_t)((next_close_ns - match->now_ns) / LS_NS_PER_US);
    }
    join->players = match->config.sim.players;
    for (uint32_t slot = 0; slot < join->players; slot++) {
        memcpy(join->names[slot], match->seats->rows[slot].player.name, sizeof join->names[slot]);
    }
    return join;
}

void ls_handover_set_blob(ls_join *join, const ls_state_copy *copy, const ls_blob *blob,
                          ls_text *how)
{
    join->tick = copy->tick;
    join->state_hash = copy->state_hash;
    join->chain_tick = copy->chain_tick;
    join->chain = copy->chain;
    join->tick_chain = copy->tick_chain;
    join->blob_bytes = ls_blob_bytes(blob);
    join->blob_hash = ls_blob_hash(blob);
    if (join->source == LS_JOIN_HISTORY) {
        ls_text_set(how, "with %" PRIu32 " ticks from the first on", join->tick);
    } else {
        ls_text_set(how, "with a snapshot of %" PRIu32 " bytes", join->blob_bytes);
    }
}

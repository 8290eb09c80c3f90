#include "lockstep/server/match/match_parts.h"

#include "lockstep/common/base/prefetch.h"
#include "lockstep/protocol/wire/handshake.h"

#include <stddef.h>

static ls_status create_links(ls_match_parts *parts)
{
    const ls_match_config *config = &parts->context.config;
    const ls_allocator *allocator = parts->context.allocator;
    ls_status status = LS_OK;
    parts->links =
        ls_allocate_array(allocator, ls_match_parts_players(parts), sizeof *parts->links);
    if (!parts->links) {
        return LS_NO_MEMORY;
    }
    for (uint32_t slot = 0; status == LS_OK && slot < ls_match_parts_players(parts); slot++) {
        status = ls_player_link_init(&parts->links[slot], config->simulation->input_bytes_max,
                                     allocator);
    }
    return status;
}

static ls_status create_parts(ls_match_parts *parts, const ls_packet_sink *sink, ls_text *why)
{
    ls_match_context *context = &parts->context;
    ls_status status = ls_outbox_create(sink, context->allocator, &parts->outbox);
    if (status == LS_OK) {
        status = ls_tick_log_create(context, &parts->log, why);
    }
    if (status == LS_OK) {
        context->own_ready = ls_ready_make(ls_tick_log_instance(parts->log));
        status = create_links(parts);
    }
    if (status == LS_OK) {
        status = ls_seat_table_create(context, parts->log, parts->outbox, &parts->seats);
    }
    if (status == LS_OK) {
        status = ls_tick_closer_create(context, parts->log, parts->outbox, parts->seats,
                                       parts->links, &parts->closer);
    }
    if (status == LS_OK) {
        parts->sender =
            ls_tick_sender_make(context, parts->log, parts->outbox, parts->seats, parts->links);
        status = ls_join_service_create(context, parts->log, parts->outbox, parts->seats,
                                        parts->links, &parts->joins);
    }
    if (status == LS_OK) {
        status = ls_desync_service_create(context, parts->log, parts->outbox, parts->seats,
                                          parts->links, &parts->desync, why);
    }
    if (status == LS_OK) {
        status = ls_spectators_create(context, parts->log, parts->outbox, parts->seats,
                                      &parts->spectators);
    }
    return status;
}

ls_status ls_match_parts_init(ls_match_parts *parts, const ls_match_config *config,
                              const ls_packet_sink *sink, const ls_allocator *allocator,
                              ls_text *why)
{
    parts->context.config = *config;
    parts->context.allocator = allocator;
    parts->context.dt_ns = ls_tick_closer_dt_ns(config);
    return create_parts(parts, sink, why);
}

void ls_match_parts_deinit(ls_match_parts *parts)
{
    ls_spectators_destroy(parts->spectators);
    ls_resume_vote_destroy(parts->vote);
    ls_desync_service_destroy(parts->desync);
    ls_join_service_destroy(parts->joins);
    ls_tick_closer_destroy(parts->closer);
    ls_seat_table_destroy(parts->seats);
    for (uint32_t slot = 0; parts->links && slot < ls_match_parts_players(parts); slot++) {
        ls_player_link_deinit(&parts->links[slot]);
    }
    ls_release(parts->context.allocator, parts->links);
    ls_tick_log_destroy(parts->log);
    ls_outbox_destroy(parts->outbox);
}

void ls_match_parts_prefetch(const ls_match_parts *parts)
{
    ls_prefetch(parts, offsetof(ls_match_parts, pending));
    ls_seat_table_prefetch(parts->seats);
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_player_link_prefetch(&parts->links[slot]);
    }
    ls_tick_closer_prefetch(parts->closer);
    ls_tick_log_prefetch(parts->log);
    ls_desync_service_prefetch(parts->desync);
    ls_join_service_prefetch(parts->joins);
    ls_prefetch(parts->outbox, offsetof(ls_outbox, message));
}

void ls_match_parts_prefetch_more(const ls_match_parts *parts)
{
    ls_tick next = ls_tick_log_next(parts->log);
    ls_tick_log_prefetch_more(parts->log);
    for (uint32_t slot = 0; slot < ls_match_parts_players(parts); slot++) {
        ls_player_link_prefetch_more(&parts->links[slot], next);
    }
}

/* Match parts: the parts of one match, made and destroyed together. Each part owns what it changes.
 * A part calls those above it in the struct and never those below: what has to be done elsewhere it
 * returns, and match_conduct does it. Called by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_PARTS_H
#define LOCKSTEP_SERVER_MATCH_MATCH_PARTS_H

#include "lockstep/server/match/desync_service.h"
#include "lockstep/server/match/join_service.h"
#include "lockstep/server/match/pending_connections.h"
#include "lockstep/server/match/resume_vote.h"
#include "lockstep/server/match/spectators.h"
#include "lockstep/server/match/tick_closer.h"
#include "lockstep/server/match/tick_sender.h"

typedef struct ls_match_parts {
    ls_match_context context;
    ls_outbox *outbox;
    ls_tick_log *log;
    ls_player_link *links; /* one for each slot */
    ls_seat_table *seats;
    ls_tick_closer *closer;
    ls_tick_sender sender;
    ls_join_service *joins;
    ls_desync_service *desync;
    ls_resume_vote *vote;      /* NULL: the match was not restored */
    ls_spectators *spectators; /* NULL: the match has no room for spectators */
    uint64_t rejected;         /* packets of players and of pending connections */
    ls_pending_connections pending;
    ls_incoming incoming;
} ls_match_parts;

/* `parts` is all zero, lies where it will stay, and a valid config is copied into it. NO_MEMORY, or
 * what creating the simulation says, with `why`; deinit may follow either way. */
ls_status ls_match_parts_init(ls_match_parts *parts, const ls_match_config *config,
                              const ls_packet_sink *sink, const ls_allocator *allocator,
                              ls_text *why);
void ls_match_parts_deinit(ls_match_parts *parts);

/* Asks for the memory that the next tick will need, in two steps. */
void ls_match_parts_prefetch(const ls_match_parts *parts);
void ls_match_parts_prefetch_more(const ls_match_parts *parts);

static inline uint32_t ls_match_parts_players(const ls_match_parts *parts)
{
    return parts->context.config.sim.players;
}

#endif

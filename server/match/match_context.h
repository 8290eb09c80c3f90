/* Match context: one match: its settings, the time, how far it has got, and its parts. Each part
 * owns what it changes. A part holds a const pointer to the context, and calls the parts that stand
 * above it here and never those below: what has to be done elsewhere it returns, and match_conduct
 * does it. match.c, match_conduct and match_reception alone write the context itself. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_CONTEXT_H
#define LOCKSTEP_SERVER_MATCH_MATCH_CONTEXT_H

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/match/pending_connections.h"
#include "lockstep/server/match/talk.h"

#define MATCH_HEARTBEAT_NS (UINT64_C(500) * LS_NS_PER_MS)
#define MATCH_HANDSHAKE_NS (UINT64_C(10) * LS_NS_PER_SECOND)
#define MATCH_ENDING_NS (UINT64_C(5) * LS_NS_PER_SECOND) /* at least */

enum {
    MATCH_NO_SLOT = LS_PLAYERS_MAX,
};

/* Working memory in which one packet is read. */
typedef struct ls_incoming {
    ls_message message;
    ls_tick_cursor *cursor; /* of the match's slots; NULL before the match is open */
} ls_incoming;

/* When TICKS leave for the players; match_conduct's own. */
typedef struct ls_sent_ticks {
    uint64_t sent_ns;  /* when they last went out */
    uint64_t again_ns; /* when they go out a second time; 0: they do not */
    ls_tick end;       /* the first tick that was not closed then */
    uint64_t easy_ns;  /* nothing has been lost or late from here on */
} ls_sent_ticks;

/* Every tick needs what stands before the config, and of that the
 * rules, late_rule to phase_ns. */
struct ls_match {
    ls_match_state state;
    bool is_restored;    /* from a journal: it may have forgotten the newest of what happened */
    uint64_t now_ns;     /* of the call that the match is in */
    uint64_t arrived_ns; /* of the packet that is being taken; now_ns or earlier */
    uint64_t dt_ns;      /* of a tick */
    uint64_t ending_ns;  /* when ENDING began */
    uint64_t final_hash; /* of the last state, from ENDING on */
    bool is_paused;      /* tick_closer closes nothing */
    bool has_released_players; /* ENDING: their connections are closed; spectators are behind */
    const ls_allocator *allocator;

    struct ls_outbox *outbox;
    struct ls_tick_log *log;
    struct ls_player_link *links; /* one for each slot; NULL before the memory is taken */
    struct ls_seat_table *seats;
    struct ls_tick_closer *closer;
    ls_sent_ticks sent;
    struct ls_join_service *joins;
    struct ls_desync_service *desync;
    struct ls_resume_vote *vote;      /* NULL: the match was not restored */
    struct ls_spectators *spectators; /* NULL: the match has no room for spectators */
    uint64_t rejected;                /* packets of players and of pending connections */
    ls_match_config config;
    ls_ready own_ready; /* what a client's READY has to agree with */
    ls_ready_parts own_parts;
    ls_text pause_why; /* while it is paused */
    ls_text full_text; /* for those who find no seat; "": the usual one */
    ls_pending_connections pending;
    ls_lapsed_offers lapsed;
    ls_incoming incoming;
    ls_talk talk;
};

/* How many slots have a link: none before somebody comes (ls_conduct_open), then all. */
static inline uint32_t ls_match_links(const ls_match *match)
{
    return match->links ? match->config.sim.players : 0;
}

/* Neither the server nor a client is ever silent for longer. */
static inline uint64_t ls_match_silence_max_ns(const ls_match *match)
{
    return match->config.timeout_ms * LS_NS_PER_MS / 4;
}

/* A client that has been silent for this long is dropped. */
static inline uint64_t ls_match_timeout_ns(const ls_match *match)
{
    return match->config.timeout_ms * LS_NS_PER_MS;
}

/* For the final state after the last tick: a client that may be silent for longer has more time. */
static inline uint64_t ls_match_ending_limit_ns(const ls_match *match)
{
    return LS_MAX(ls_match_timeout_ns(match) / 2, MATCH_ENDING_NS);
}

#endif

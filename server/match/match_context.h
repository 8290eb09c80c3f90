/* Match context: what every part of a match may read: the settings, the time, and how far the match
 * has got. match.c and
 * match_conduct write it before they call a part; the parts hold a const pointer to it. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_CONTEXT_H
#define LOCKSTEP_SERVER_MATCH_MATCH_CONTEXT_H

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/match.h"

#define MATCH_HEARTBEAT_NS (UINT64_C(500) * LS_NS_PER_MS)
#define MATCH_HANDSHAKE_NS (UINT64_C(10) * LS_NS_PER_SECOND)
#define MATCH_ENDING_NS (UINT64_C(5) * LS_NS_PER_SECOND)

enum {
    MATCH_NO_SLOT = LS_PLAYERS_MAX,
};

typedef struct ls_match_context {
    ls_match_state state;
    bool is_restored;    /* from a journal: it may have forgotten the newest of what happened */
    uint64_t now_ns;     /* of the call that the match is in */
    uint64_t arrived_ns; /* of the packet that is being taken; now_ns or earlier */
    uint64_t dt_ns;      /* of a tick */
    uint64_t ending_ns;  /* when ENDING began */
    uint64_t final_hash; /* of the last state, from ENDING on */
    bool has_released_players; /* ENDING: their connections are closed; spectators are behind */
    const ls_allocator *allocator;
    ls_match_config config;
    ls_ready own_ready; /* what a client's READY has to agree with */
} ls_match_context;

/* Neither the server nor a client is ever silent for longer. */
static inline uint64_t ls_match_silence_max_ns(const ls_match_context *context)
{
    return context->config.timeout_ms * LS_NS_PER_MS / 4;
}

/* A client that has been silent for this long is dropped. */
static inline uint64_t ls_match_timeout_ns(const ls_match_context *context)
{
    return context->config.timeout_ms * LS_NS_PER_MS;
}

#endif

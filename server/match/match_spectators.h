/* Match watch: the inside of watching, shared by match_spectators.c (who watches, what they are
 * sent and what they say) and match_watch_join.c (how a spectator gets the state it begins with).
 * Never holds up the match. Never included by anybody else. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_SPECTATORS_H
#define LOCKSTEP_SERVER_MATCH_MATCH_SPECTATORS_H

#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/server/match/aged_state.h"
#include "lockstep/server/match/match_state.h"
#include "lockstep/server/match/send_budget.h"
#include "lockstep/server/match/spectators.h"

enum {
    WATCH_STREAMS_MAX = 8,   /* spectators that are sent a blob at a time */
    WATCH_SPARE_TICKS = 64,  /* of the window, left to who begins with an old state */
    WATCH_HEADER_BYTES = 40, /* of a packet, below it: IPv4, UDP, ENet */
};

/* A blob on its way to a spectator. */
typedef struct watch_stream {
    ls_blob_sender *sender;
    ls_spectator *spectator; /* NULL: free */
} watch_stream;

struct ls_match_spectators {
    ls_spectators spectators;
    ls_send_budget ticks_budget; /* for TICKS and TICK_PARTs */
    ls_send_budget blobs_budget;
    uint64_t turn_ns;   /* the next turn; UINT64_MAX: nothing to do */
    uint64_t closed_ns; /* of the newest closed tick that was taken note of */
    ls_aged_state aged;
    ls_blob *blob;         /* NULL: none was needed yet, or the state is too large */
    ls_state_copy in_blob; /* the state that it holds, or leads to; size 0: none */
    watch_stream streams[WATCH_STREAMS_MAX];
    ls_match_spectating figures;
};

/* ---- match_spectators.c ---- */

/* The first tick that spectators may not have yet, of this one: not less than its JOIN's. */
ls_tick ls_match_spectators_end(const ls_match *match);

/* Takes a spectator out, with REFUSE. */
void ls_match_spectators_refuse(ls_match *match, ls_spectator *spectator, ls_status status,
                                const char *why);

/* ---- match_watch_join.c ---- */

ls_status ls_match_spectators_join_create(ls_match *match);
void ls_match_spectators_join_destroy(ls_match *match);

/* Sends JOIN to a READY spectator; false when it has to wait, or cannot be. */
bool ls_match_spectators_join(ls_match *match, ls_spectator *spectator);

/* What is due of the copies, the blob and its streams. */
void ls_match_spectators_join_turn(ls_match *match);
bool ls_match_spectators_join_is_due(const ls_match *match);

/* The spectator's stream ends, if there is one. */
void ls_match_spectators_join_stop(ls_match *match, const ls_spectator *spectator);

ls_status ls_match_spectators_joined(ls_match *match, ls_spectator *spectator,
                                     const ls_joined *joined);
ls_status ls_match_spectators_blob_ack(ls_match *match, ls_spectator *spectator,
                                       const uint8_t *bytes, size_t size);

#endif

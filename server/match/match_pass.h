/* Match pass: the place for which a peer was let in, by a connect token, before it says anything.
 * It counts in place of what the peer's HELLO asks for. Made by the owner of the match, which hands
 * it over with ls_match_peer_admitted. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_PASS_H
#define LOCKSTEP_SERVER_MATCH_MATCH_PASS_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

typedef enum ls_match_place {
    LS_MATCH_PLACE_ANY, /* a free seat, or to watch: as HELLO asks */
    LS_MATCH_PLACE_SEAT,
    LS_MATCH_PLACE_SPECTATOR,
} ls_match_place;

/* All zero: HELLO alone counts, and its origin is not known. */
typedef struct ls_match_pass {
    ls_match_place place;
    uint32_t slot;                       /* SEAT */
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* the player's; "": as HELLO says */
    bool is_for_this_match;              /* and for no other one of the same server */
    /* It was used before: the peer may come back to its own seat, with the seat's secret, or to its
     * own place to watch from, and gets nothing else. */
    bool is_return;
    bool has_holder;
    uint64_t holder; /* its owner, as a number of the one who gave it */
    /* Where the peer comes from, whatever else it was let in for: the same number for connections
     * that may be one person's, as ls_transport_event's. States to watch from, and offers of seats,
     * are limited by it; 0: not known, and not limited. */
    uint64_t origin;
    const char *refusal; /* why it is good for nothing here, for the log; NULL: it is good */
} ls_match_pass;

LS_C_END

#endif

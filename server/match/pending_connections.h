/* Pending connections: the peers that are connected and have neither a seat nor a place to watch
 * from yet, oldest first when one has to give way; and where newcomers came from who let the offer
 * of a seat lapse. Closes no connection and decides nothing. */
#ifndef LOCKSTEP_SERVER_MATCH_PENDING_CONNECTIONS_H
#define LOCKSTEP_SERVER_MATCH_PENDING_CONNECTIONS_H

#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/match.h"

#include <stdbool.h>

enum {
    LS_PENDING_LEAST = 64,
};

typedef struct ls_pending_connection {
    ls_peer_id peer;
    uint64_t since_ns;
    ls_match_pass pass;
} ls_pending_connection;

typedef struct ls_pending_connections {
    uint32_t count, room;
    ls_pending_connection *rows; /* in the order in which they came */
} ls_pending_connections;

/* Room for all players of a match, who may come at once; NO_MEMORY. */
ls_status ls_pending_connections_init(ls_pending_connections *pending, uint32_t players,
                                      const ls_allocator *allocator);
void ls_pending_connections_deinit(ls_pending_connections *pending, const ls_allocator *allocator);

bool ls_pending_connections_has(const ls_pending_connections *pending, ls_peer_id peer);

/* There is room: count < room. `now_ns` never goes back. */
void ls_pending_connections_add(ls_pending_connections *pending, ls_peer_id peer,
                                const ls_match_pass *pass, uint64_t now_ns);

/* The pass of a peer; all zero for a peer that is none of them. */
ls_match_pass ls_pending_connections_pass(const ls_pending_connections *pending, ls_peer_id peer);

/* Nothing happens when the peer is not one of them. */
void ls_pending_connections_forget(ls_pending_connections *pending, ls_peer_id peer);

/* The oldest one, if it came at `limit_ns` or earlier; 0: none. */
ls_peer_id ls_pending_connections_overdue(const ls_pending_connections *pending, uint64_t limit_ns);

/* ---- lapsed offers: where those newcomers came from who were offered a seat lately and were gone,
 * or put out, before they said READY. Somebody who does so again and again would keep all others
 * out. A fixed number of origins is remembered, each for a minute ---- */

enum {
    LS_LAPSED_OFFERS_MAX = 32,
};

#define LS_LAPSED_OFFERS_NS (60 * LS_NS_PER_SECOND)

typedef struct ls_lapsed_offer {
    uint64_t origin; /* ls_transport_event's; 0: the row is empty */
    uint64_t newest_ns;
} ls_lapsed_offer;

/* All zero: there is none. */
typedef struct ls_lapsed_offers {
    ls_lapsed_offer rows[LS_LAPSED_OFFERS_MAX];
} ls_lapsed_offers;

/* An offer to a newcomer of this origin has lapsed; when there is no room, the one whose newest
 * lapse is oldest is forgotten. 0: nothing happens. */
void ls_lapsed_offers_note(ls_lapsed_offers *lapsed, uint64_t origin, uint64_t now_ns);

/* Whether one has within LS_LAPSED_OFFERS_NS; false for 0. */
bool ls_lapsed_offers_has(const ls_lapsed_offers *lapsed, uint64_t origin, uint64_t now_ns);

#endif

/* Lapsed offers: where those newcomers came from who were offered a seat lately and were gone, or
 * put out, before they said READY. Somebody who does so again and again would keep all others out.
 * It remembers a fixed number of origins, and each for a minute; it decides nothing. Written by
 * match_conduct. */
#ifndef LOCKSTEP_SERVER_MATCH_LAPSED_OFFERS_H
#define LOCKSTEP_SERVER_MATCH_LAPSED_OFFERS_H

#include "lockstep/common/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

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

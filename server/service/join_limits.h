/* Join limits: how often newcomers of one origin without a connect token take a place, and how many
 * rooms they are the first in, since each such room makes the service open another one. A room in
 * which somebody has played is given back. Fixed size: of the origins that share a place the one
 * that came longest ago gives way. Time is an argument. Called by worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_JOIN_LIMITS_H
#define LOCKSTEP_SERVER_SERVICE_JOIN_LIMITS_H

#include "lockstep/protocol/sealed/address_limits.h"

#define LS_JOIN_LIMITS_ORIGINS_MAX 4096u

typedef struct ls_join_origin {
    uint64_t origin; /* ls_endpoint_origin's; 0: free */
    uint64_t newest_ns;
    ls_rate_use joins;
    ls_rate_use rooms;
} ls_join_origin;

/* Zeroed but for the numbers at first. */
typedef struct ls_join_limits {
    uint32_t joins; /* so many at once, and then as many a minute; 0: no limit */
    uint32_t rooms; /* so many at once, and then a quarter of them a minute; 0: no limit */
    ls_join_origin origins[LS_JOIN_LIMITS_ORIGINS_MAX];
} ls_join_limits;

/* Counts a newcomer, and, if it is the first one in its room, the room; false, and nothing is
 * counted, when its origin has come too often. */
bool ls_join_limits_take(ls_join_limits *limits, uint64_t origin, bool is_first, uint64_t now_ns);

/* In a room that was counted somebody plays. */
void ls_join_limits_give_back(ls_join_limits *limits, uint64_t origin);

#endif

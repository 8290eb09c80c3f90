/* Join limits: how many connections an origin without a connect token has at a time, how often its
 * newcomers take a place, and how many rooms they are the first in, since each such room makes the
 * service open another one. A room in which somebody has played is given back. One count for the
 * service: the supervisor makes it in shared memory, and every worker counts there. Fixed size: of
 * the origins that share a place and have no connection the one that came longest ago gives way.
 * Time is an argument, of one clock for all workers. Called by room_keeper, worker and
 * worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_JOIN_LIMITS_H
#define LOCKSTEP_SERVER_SERVICE_JOIN_LIMITS_H

#include "lockstep/protocol/sealed/address_limits.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdatomic.h>

#define LS_JOIN_LIMITS_ORIGINS_MAX 16384u /* four for each connection that a service can have */

typedef struct ls_join_origin {
    uint64_t origin; /* ls_endpoint_origin's; 0: free */
    uint64_t newest_ns;
    ls_rate_use joins;
    ls_rate_use rooms;
    uint16_t connections[LS_SEALED_WORKERS_MAX]; /* at each worker */
} ls_join_origin;

/* Zeroed but for the numbers at first. */
typedef struct ls_join_limits {
    uint64_t seed;        /* random: it decides which origins share a place */
    uint32_t connections; /* at a time; 0: no limit */
    uint32_t joins;       /* so many at once, and then as many a minute; 0: no limit */
    uint32_t rooms;       /* so many at once, and then a quarter of them a minute; 0: no limit */
    atomic_uint is_held;
    ls_join_origin origins[LS_JOIN_LIMITS_ORIGINS_MAX];
} ls_join_limits;

/* Other numbers from now on. */
void ls_join_limits_set(ls_join_limits *limits, uint32_t joins, uint32_t rooms);

/* Counts a newcomer, and, if it is the first one in its room, the room; false, and nothing is
 * counted, when its origin has come too often. */
bool ls_join_limits_take(ls_join_limits *limits, uint64_t origin, bool is_first, uint64_t now_ns);

/* In a room that was counted somebody plays. */
void ls_join_limits_give_back(ls_join_limits *limits, uint64_t origin);

/* Counts a connection at a worker; false when its origin has as many as it may. */
bool ls_join_limits_connect(ls_join_limits *limits, uint32_t worker, uint64_t origin,
                            uint64_t now_ns);
/* One that was counted has ended; all of a worker's have, since it has. */
void ls_join_limits_disconnect(ls_join_limits *limits, uint32_t worker, uint64_t origin);
void ls_join_limits_forget_worker(ls_join_limits *limits, uint32_t worker);

#endif

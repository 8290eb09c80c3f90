#include "lockstep/server/service/join_limits.h"

#include "lockstep/common/base/clock.h"

enum {
    SHARING = 32, /* origins that may stand in each other's places */
    SPINS_MAX = 10000,
};

#define MINUTE_NS (60 * LS_NS_PER_SECOND)
#define ROOMS_TIMES 4 /* slower than joins */

/* A worker that was killed here would hold it for ever, so that others wait no longer than it can
 * take: then a count may be off by one. */
static void hold(ls_join_limits *limits)
{
    for (uint32_t i = 0; i < SPINS_MAX; i++) {
        if (atomic_exchange_explicit(&limits->is_held, 1u, memory_order_acquire) == 0) {
            return;
        }
    }
}

static void let_go(ls_join_limits *limits)
{
    atomic_store_explicit(&limits->is_held, 0u, memory_order_release);
}

static uint32_t connections_of(const ls_join_origin *row)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < LS_SEALED_WORKERS_MAX; i++) {
        sum += row->connections[i];
    }
    return sum;
}

/* The row of the origin; else, unless `is_known`, the one that gives way to it. NULL: there is
 * none, since all of those that share its place are connected. */
static ls_join_origin *row_of(ls_join_limits *limits, uint64_t origin, bool is_known)
{
    uint64_t mixed = (origin ^ limits->seed) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t group = (uint32_t)(mixed >> 32) % (LS_JOIN_LIMITS_ORIGINS_MAX / SHARING);
    ls_join_origin *rows = &limits->origins[(size_t)group * SHARING];
    ls_join_origin *oldest = NULL;
    for (uint32_t i = 0; i < SHARING; i++) {
        if (rows[i].origin == origin) {
            return &rows[i];
        }
        bool is_older = !oldest || rows[i].newest_ns < oldest->newest_ns;
        oldest = is_older && connections_of(&rows[i]) == 0 ? &rows[i] : oldest;
    }
    if (is_known || !oldest) {
        return NULL;
    }
    *oldest = (ls_join_origin){.origin = origin};
    return oldest;
}

static ls_rate_limit joins_of(const ls_join_limits *limits)
{
    return (ls_rate_limit){MINUTE_NS / LS_MAX(limits->joins, 1u), LS_MAX(limits->joins, 1u)};
}

static ls_rate_limit rooms_of(const ls_join_limits *limits)
{
    uint32_t rooms = LS_MAX(limits->rooms, 1u);
    return (ls_rate_limit){MINUTE_NS * ROOMS_TIMES / rooms, rooms};
}

void ls_join_limits_set(ls_join_limits *limits, uint32_t joins, uint32_t rooms)
{
    hold(limits);
    limits->joins = joins;
    limits->rooms = rooms;
    let_go(limits);
}

static bool take(const ls_join_limits *limits, ls_join_origin *row, bool is_first, uint64_t now_ns)
{
    const ls_rate_limit joins = joins_of(limits);
    const ls_rate_limit rooms = rooms_of(limits);
    bool counts_join = limits->joins > 0;
    bool counts_room = is_first && limits->rooms > 0;
    row->newest_ns = now_ns;
    if ((counts_join && ls_rate_use_is_spent(&row->joins, &joins, now_ns)) ||
        (counts_room && !ls_rate_use_spend(&row->rooms, &rooms, now_ns))) {
        return false;
    }
    return !counts_join || ls_rate_use_spend(&row->joins, &joins, now_ns);
}

bool ls_join_limits_take(ls_join_limits *limits, uint64_t origin, bool is_first, uint64_t now_ns)
{
    hold(limits);
    ls_join_origin *row = row_of(limits, origin, false);
    bool is_taken = !row || take(limits, row, is_first, now_ns);
    let_go(limits);
    return is_taken;
}

void ls_join_limits_give_back(ls_join_limits *limits, uint64_t origin)
{
    hold(limits);
    ls_join_origin *row = row_of(limits, origin, true);
    uint64_t period_ns = rooms_of(limits).period_ns;
    if (row) {
        row->rooms.spent_until_ns -= LS_MIN(row->rooms.spent_until_ns, period_ns);
    }
    let_go(limits);
}

bool ls_join_limits_connect(ls_join_limits *limits, uint32_t worker, uint64_t origin,
                            uint64_t now_ns)
{
    hold(limits);
    ls_join_origin *row = row_of(limits, origin, false);
    bool may_connect =
        !row || limits->connections == 0 || connections_of(row) < limits->connections;
    if (row && may_connect) {
        row->connections[worker]++;
        row->newest_ns = now_ns;
    }
    let_go(limits);
    return may_connect;
}

void ls_join_limits_disconnect(ls_join_limits *limits, uint32_t worker, uint64_t origin)
{
    hold(limits);
    ls_join_origin *row = row_of(limits, origin, true);
    if (row && row->connections[worker] > 0) {
        row->connections[worker]--;
    }
    let_go(limits);
}

void ls_join_limits_forget_worker(ls_join_limits *limits, uint32_t worker)
{
    hold(limits);
    for (uint32_t i = 0; i < LS_JOIN_LIMITS_ORIGINS_MAX; i++) {
        limits->origins[i].connections[worker] = 0;
    }
    let_go(limits);
}

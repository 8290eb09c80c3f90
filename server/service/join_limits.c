#include "lockstep/server/service/join_limits.h"

#include "lockstep/common/base/clock.h"

enum {
    SHARING = 8, /* origins that may stand in each other's places */
};

#define MINUTE_NS (60 * LS_NS_PER_SECOND)
#define ROOMS_TIMES 4 /* slower than joins */

/* The row of the origin, or the one that gives way to it. */
static ls_join_origin *row_of(ls_join_limits *limits, uint64_t origin)
{
    uint64_t mixed = origin * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t group = (uint32_t)(mixed >> 32) % (LS_JOIN_LIMITS_ORIGINS_MAX / SHARING);
    ls_join_origin *rows = &limits->origins[(size_t)group * SHARING];
    ls_join_origin *oldest = rows;
    for (uint32_t i = 0; i < SHARING; i++) {
        if (rows[i].origin == origin) {
            return &rows[i];
        }
        oldest = rows[i].newest_ns < oldest->newest_ns ? &rows[i] : oldest;
    }
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

bool ls_join_limits_take(ls_join_limits *limits, uint64_t origin, bool is_first, uint64_t now_ns)
{
    const ls_rate_limit joins = joins_of(limits);
    const ls_rate_limit rooms = rooms_of(limits);
    bool counts_join = limits->joins > 0;
    bool counts_room = is_first && limits->rooms > 0;
    ls_join_origin *row = row_of(limits, origin);
    if (row->origin != origin) {
        *row = (ls_join_origin){.origin = origin};
    }
    row->newest_ns = now_ns;
    if ((counts_join && ls_rate_use_is_spent(&row->joins, &joins, now_ns)) ||
        (counts_room && !ls_rate_use_spend(&row->rooms, &rooms, now_ns))) {
        return false;
    }
    return !counts_join || ls_rate_use_spend(&row->joins, &joins, now_ns);
}

void ls_join_limits_give_back(ls_join_limits *limits, uint64_t origin)
{
    ls_join_origin *row = row_of(limits, origin);
    uint64_t period_ns = rooms_of(limits).period_ns;
    if (row->origin == origin) {
        row->rooms.spent_until_ns -= LS_MIN(row->rooms.spent_until_ns, period_ns);
    }
}

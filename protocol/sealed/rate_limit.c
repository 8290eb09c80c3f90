#include "lockstep/protocol/sealed/rate_limit.h"

bool ls_rate_use_is_spent(const ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns)
{
    return use->spent_until_ns > now_ns &&
           use->spent_until_ns - now_ns > (limit->at_once - 1) * limit->period_ns;
}

bool ls_rate_use_spend(ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns)
{
    if (ls_rate_use_is_spent(use, limit, now_ns)) {
        return false;
    }
    use->spent_until_ns = LS_MAX(use->spent_until_ns, now_ns) + limit->period_ns;
    return true;
}

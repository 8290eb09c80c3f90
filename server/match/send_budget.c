#include "lockstep/server/match/send_budget.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

static int64_t limit_of(const ls_send_budget *budget)
{
    return (int64_t)((budget->bytes_per_s + 1) / 2);
}

ls_send_budget ls_send_budget_make(uint64_t bytes_per_s, uint64_t now_ns)
{
    LS_ASSERT(bytes_per_s > 0 && bytes_per_s <= UINT64_C(1) << 40);
    ls_send_budget budget = {.bytes_per_s = bytes_per_s, .filled_ns = now_ns};
    budget.left = limit_of(&budget);
    return budget;
}

void ls_send_budget_fill(ls_send_budget *budget, uint64_t now_ns)
{
    /* Whole microseconds only: what is left of them counts the next time. */
    uint64_t elapsed_us = (now_ns - budget->filled_ns) / LS_NS_PER_US;
    budget->filled_ns += elapsed_us * LS_NS_PER_US;
    uint64_t longest_us = UINT64_C(1000000);
    elapsed_us = LS_MIN(elapsed_us, longest_us);
    int64_t due = (int64_t)(budget->bytes_per_s * elapsed_us / UINT64_C(1000000));
    int64_t left = budget->left + due;
    budget->left = LS_MIN(left, limit_of(budget));
}

bool ls_send_budget_is_spent(const ls_send_budget *budget)
{
    return budget->left <= 0;
}

void ls_send_budget_spend(ls_send_budget *budget, size_t bytes)
{
    budget->left -= (int64_t)bytes;
}

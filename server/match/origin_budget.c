#include "lockstep/server/match/origin_budget.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/server/match/state_handover.h"

/* Many spectators that leave at once may share an address: none waits for longer than this. */
#define WAIT_MAX_NS (UINT64_C(16) * LS_STATE_SHARE_NS)

bool ls_origin_budget_is_spent(const ls_origin_budget *budget, uint64_t origin, uint64_t now_ns)
{
    bool is_spent = false;
    for (uint32_t i = 0; origin != 0 && i < LS_ORIGIN_BUDGET_ROWS; i++) {
        if (budget->rows[i].origin == origin) {
            is_spent = ls_state_share_is_spent(budget->rows[i].paid_ns, now_ns);
        }
    }
    return is_spent && !LS_FAULT(SPECTATING_UNLIMITED);
}

/* The row of the origin, or the one of least use. */
static uint32_t row_of(const ls_origin_budget *budget, uint64_t origin)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < LS_ORIGIN_BUDGET_ROWS; i++) {
        if (budget->rows[i].origin == origin) {
            return i;
        }
        least = budget->rows[i].paid_ns < budget->rows[least].paid_ns ? i : least;
    }
    return least;
}

void ls_origin_budget_spend(ls_origin_budget *budget, uint64_t origin, uint64_t now_ns)
{
    if (origin == 0) {
        return;
    }
    uint32_t row = row_of(budget, origin);
    uint64_t paid_ns = budget->rows[row].origin == origin ? budget->rows[row].paid_ns : 0;
    paid_ns = ls_state_share_pay(paid_ns, now_ns);
    budget->rows[row].origin = origin;
    budget->rows[row].paid_ns = LS_MIN(paid_ns, now_ns + WAIT_MAX_NS);
}

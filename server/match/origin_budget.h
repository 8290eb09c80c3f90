/* Origin budget: how many states those who come from one place have been sent and did not watch for
 * long. Each origin has a share, and a fixed number of origins is remembered: when there are more,
 * the one that owes least is forgotten. Sends nothing and refuses nobody. */
#ifndef LOCKSTEP_SERVER_MATCH_ORIGIN_BUDGET_H
#define LOCKSTEP_SERVER_MATCH_ORIGIN_BUDGET_H

#include "lockstep/common/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_ORIGIN_BUDGET_ROWS 256u

/* A state that was watched on for so long is paid for. */
#define LS_STATE_WATCHED_NS (UINT64_C(30) * LS_NS_PER_SECOND)

/* All zero: no origin owes anything. */
typedef struct ls_origin_budget {
    struct {
        uint64_t origin; /* 0: the row is free */
        uint64_t paid_ns;
    } rows[LS_ORIGIN_BUDGET_ROWS];
} ls_origin_budget;

/* Whether the origin has to wait for its next state. Never for origin 0, which is unknown. */
bool ls_origin_budget_is_spent(const ls_origin_budget *budget, uint64_t origin, uint64_t now_ns);

/* The origin was sent a state, and left soon. `now_ns` never goes back. */
void ls_origin_budget_spend(ls_origin_budget *budget, uint64_t origin, uint64_t now_ns);

#endif

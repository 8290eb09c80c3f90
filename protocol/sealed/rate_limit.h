/* Rate limit: how often something may be done: so many times at once, and then once in each period.
 * Time is an argument. Called by address_limits and sealed_server. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_RATE_LIMIT_H
#define LOCKSTEP_PROTOCOL_SEALED_RATE_LIMIT_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_rate_limit {
    uint64_t period_ns;
    uint32_t at_once; /* 1 or more */
} ls_rate_limit;

/* Zeroed: nothing was done yet. Each time takes a period of time; some of it may lie ahead. */
typedef struct ls_rate_use {
    uint64_t spent_until_ns;
} ls_rate_use;

bool ls_rate_use_is_spent(const ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns);
/* False, and nothing is taken, when it is spent. */
bool ls_rate_use_spend(ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns);

LS_C_END

#endif

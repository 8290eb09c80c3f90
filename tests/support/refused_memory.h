/* Refused memory: makes something with no allocation allowed, then with one, and so on until it
 * succeeds. Each round must end in LS_NO_MEMORY or, the last one, in LS_OK, and give everything
 * back:
 *
 *     for (refused_memory refused = {0}; refused_memory_next(&refused);) {
 *         thing *made = NULL;
 *         refused.status = thing_create(&refused.counting.allocator, &made);
 *         thing_destroy(made);
 *     }
 *
 * Never allocates itself. Called by tests that survive every failed allocation. */
#ifndef LOCKSTEP_TESTS_SUPPORT_REFUSED_MEMORY_H
#define LOCKSTEP_TESTS_SUPPORT_REFUSED_MEMORY_H

#include "lockstep/common/base/status.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>

enum {
    REFUSED_ROUNDS_MAX = 100
};

typedef struct refused_memory {
    counting_allocator counting;
    ls_status status; /* what the round came to, set by the test */
    uint32_t rounds;
} refused_memory;

/* False after the round that succeeded. */
static inline bool refused_memory_next(refused_memory *refused)
{
    if (refused->rounds > 0) {
        cr_assert_eq(refused->counting.live_blocks, 0, "%u allowed", refused->rounds - 1);
        if (refused->status == LS_OK) {
            cr_assert_gt(refused->rounds, 1, "nothing was refused");
            return false;
        }
        cr_assert_eq(refused->status, LS_NO_MEMORY);
        cr_assert_lt(refused->rounds, REFUSED_ROUNDS_MAX);
    }
    counting_allocator_init(&refused->counting);
    refused->counting.allowed = refused->rounds++;
    return true;
}

#endif

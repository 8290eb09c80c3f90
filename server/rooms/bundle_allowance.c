#include "lockstep/server/rooms/bundle_allowance.h"

#include "lockstep/common/system/memory.h"

#include <stdatomic.h>
#include <stddef.h>

struct ls_bundle_allowance {
    _Atomic uint64_t left;
};

ls_status ls_bundle_allowance_create(uint64_t bytes, ls_bundle_allowance **out)
{
    ls_bundle_allowance *made = ls_shared_memory_acquire(sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    atomic_init(&made->left, bytes);
    *out = made;
    return LS_OK;
}

void ls_bundle_allowance_destroy(ls_bundle_allowance *allowance)
{
    ls_shared_memory_release(allowance, sizeof *allowance);
}

bool ls_bundle_allowance_spend(ls_bundle_allowance *allowance, uint64_t bytes)
{
    uint64_t left = atomic_load(&allowance->left);
    while (left >= bytes) {
        if (atomic_compare_exchange_weak(&allowance->left, &left, left - bytes)) {
            return true;
        }
    }
    return false;
}

void ls_bundle_allowance_give_back(ls_bundle_allowance *allowance, uint64_t bytes)
{
    atomic_fetch_add(&allowance->left, bytes);
}

bool ls_bundle_allowance_is_spent(const ls_bundle_allowance *allowance)
{
    return atomic_load(&allowance->left) == 0;
}

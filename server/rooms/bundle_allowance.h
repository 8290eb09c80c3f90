/* Bundle allowance: how many bytes of bundles a program may still write. The count is shared with
 * the copies that the process makes of itself (fork), several of which may want to write at once:
 * what they take together is never more. Writes nothing. Called by desync_files. */
#ifndef LOCKSTEP_SERVER_ROOMS_BUNDLE_ALLOWANCE_H
#define LOCKSTEP_SERVER_ROOMS_BUNDLE_ALLOWANCE_H

#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ls_bundle_allowance ls_bundle_allowance;

/* NO_MEMORY. */
ls_status ls_bundle_allowance_create(uint64_t bytes, ls_bundle_allowance **out);

/* NULL is allowed. */
void ls_bundle_allowance_destroy(ls_bundle_allowance *allowance);

/* Whether so many bytes may be written, which are taken then. */
bool ls_bundle_allowance_spend(ls_bundle_allowance *allowance, uint64_t bytes);

/* Bytes that were taken and are not written after all. */
void ls_bundle_allowance_give_back(ls_bundle_allowance *allowance, uint64_t bytes);

/* Nothing is left at all. */
bool ls_bundle_allowance_is_spent(const ls_bundle_allowance *allowance);

#endif

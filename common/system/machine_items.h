/* Machine items: what the system says of this machine, for a build fingerprint. Called by
 * machine_fingerprint. */
#ifndef LOCKSTEP_COMMON_SYSTEM_MACHINE_ITEMS_H
#define LOCKSTEP_COMMON_SYSTEM_MACHINE_ITEMS_H

#include "lockstep/common/base/build_fingerprint.h"

/* Sets CPU, SYSTEM, LIBC, CORES, PRELOADS, and in CPU_FEATURES those of the processor, each with a
 * comma behind it. An item stays empty when the system does not say it. */
void ls_machine_items(ls_build_fingerprint *out);

#endif

/* The shims for memcpy, memcmp and strcmp: what the C language leaves open about them. They are as
 * usual until they are told otherwise, and must never be relied on to be. Told by
 * synctest_shims_set; called by plug-ins, and by this program itself, which must not see a
 * difference. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SHIMS_MEMORY_H
#define LOCKSTEP_TOOLS_SYNCTEST_SHIMS_MEMORY_H

#include <stdbool.h>

/* Called by synctest_shims_set. */
void synctest_shims_memory_set(bool are_copies_backward, bool are_comparisons_scaled);

#endif

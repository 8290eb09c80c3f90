/* Shims of the machine: the number of its cores, and what memory from malloc holds, as a plug-in
 * sees them. Told by shims; called by plug-ins. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SHIMS_MACHINE_H
#define LOCKSTEP_TOOLS_SYNCTEST_SHIMS_MACHINE_H

#include <stdint.h>

/* 0: as it is. */
void synctest_shims_machine_set(uint32_t cores, uint64_t heap_noise);

#endif

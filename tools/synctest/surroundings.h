/* Surroundings: makes the perturbed process differ from the reference's in what its perturbation
 * changes: addresses, stack, rounding, flushing, and what process_changes has. Called by the
 * perturbed process, never by the program itself. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SURROUNDINGS_H
#define LOCKSTEP_TOOLS_SYNCTEST_SURROUNDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the simulation is loaded. `changes` as in synctest_perturbation. */
void synctest_surroundings_enter(uint32_t changes, uint32_t variant);

/* Sets errno and the floating-point flags that tell of overflows and the like, or clears them. */
void synctest_surroundings_leave_behind(bool is_set);

#endif

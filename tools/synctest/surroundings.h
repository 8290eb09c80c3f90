/* Surroundings: makes the perturbed process differ from the reference's in what its perturbation
 * changes: the C library's past, locale, folder, addresses, stack, rounding, flushing. Changes that
 * only exec can make are launch's part. Called by the perturbed process, never by the program
 * itself.
 */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SURROUNDINGS_H
#define LOCKSTEP_TOOLS_SYNCTEST_SURROUNDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the simulation is loaded. `changes` as in synctest_perturbation. */
void synctest_surroundings_enter(uint32_t changes, uint32_t variant);

/* Calls run(user) on a stack that holds this noise wherever it has not been written since. */
void synctest_surroundings_run_on_stack(uint64_t noise, void (*run)(void *user), void *user);

/* Whether denormals can be flushed to zero on this processor. */
bool synctest_surroundings_can_flush(void);

/* Sets errno and the floating-point flags that tell of overflows and the like, or clears them. */
void synctest_surroundings_leave_behind(bool is_set);

/* How floating point rounds. */
typedef struct synctest_float_mode {
    int rounding;     /* as fegetround has it */
    uint32_t control; /* what else the processor's control register says; 0 where there is none */
} synctest_float_mode;

synctest_float_mode synctest_float_mode_now(void);
void synctest_float_mode_set(synctest_float_mode mode);
bool synctest_float_mode_equal(synctest_float_mode a, synctest_float_mode b);

/* Another rounding than the default, in turn. */
synctest_float_mode synctest_float_mode_moved(uint32_t tick);

/* From now on denormals count as zero, as after a library that was built for speed is loaded. */
void synctest_float_mode_flush(void);

#endif

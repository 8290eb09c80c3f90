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

/* Calls run(user) on a stack that holds this noise wherever it has not been written since. */
void synctest_surroundings_run_on_stack(uint64_t noise, void (*run)(void *user), void *user);

/* Calls run(step), variables both, with this noise in the registers that a callee may use for
 * itself. Without noise but on x86-64. */
#if defined(__x86_64__)
#define SYNCTEST_CALL_WITH_REGISTERS(noise, run, step)                                             \
    do {                                                                                           \
        __asm__ volatile("mov %2, %%rax\n\tmov %2, %%rcx\n\tmov %2, %%rdx\n\tmov %2, %%rsi\n\t"    \
                         "mov %2, %%r8\n\tmov %2, %%r9\n\tmov %2, %%r10\n\tmov %2, %%r11"          \
                         : "+r"(run), "+r"(step)                                                   \
                         : "r"(noise)                                                              \
                         : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");                  \
        (run)(step);                                                                               \
        __asm__ volatile("" : : : "memory"); /* a call and no jump, which would take a register */ \
    } while (0)
#else
#define SYNCTEST_CALL_WITH_REGISTERS(noise, run, step) ((void)(noise), (run)(step))
#endif

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

/* Fault simulation: a small game that does on demand what a deterministic game must not: computes
 * like another build, keeps something in scratch, in a static variable or on its stack. Two passes
 * of three are always right. The knob is a global, with what a static would hold. For tests only.
 */
#ifndef LOCKSTEP_TESTS_SUPPORT_FAULT_SIMULATION_H
#define LOCKSTEP_TESTS_SUPPORT_FAULT_SIMULATION_H

#include "lockstep/common/simulation/simulation.h"

#define FAULT_CELLS 40u
#define FAULT_PASS 1u /* "spread", the one that goes wrong */

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_BUILD,   /* from the knob's tick on, another result, always the same */
    FAULT_STATIC,  /* adds how often it was called */
    FAULT_SCRATCH, /* adds what scratch held at the start of the step */
    FAULT_STACK,   /* adds what lay on the stack */
    FAULT_COMPARE, /* compares two bytes that lay on the stack, at the knob's tick alone */
} fault_kind;

typedef struct fault_knob {
    fault_kind kind;
    ls_tick from;
    uint32_t calls; /* the static variable; here, so that each machine of a test has its own */
} fault_knob;

typedef struct fault_state {
    uint64_t sum;
    uint32_t ticks;
    uint32_t wrong;              /* what the fault adds; 0 without one */
    uint64_t cells[FAULT_CELLS]; /* all follow from sum, a tick later */
} fault_state;

extern fault_knob fault;
const ls_simulation *fault_simulation(void);

#endif

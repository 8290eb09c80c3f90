/* Rope simulation: particles joined by springs, in double: what fused multiply-add, extended
 * precision and fast-math change first. Only + - * / and square root, which IEEE 754 fixes to the
 * bit. Never a part of the product. Called by the golden program. */
#ifndef LOCKSTEP_TESTS_GOLDEN_ROPE_SIMULATION_H
#define LOCKSTEP_TESTS_GOLDEN_ROPE_SIMULATION_H

#include "lockstep/common/simulation.h"

const ls_simulation *rope_simulation(void);

#endif

/* Arithmetic check: a short fixed series of fixed-point and double operations, hashed. Two machines
 * or builds that round, contract or convert differently give different numbers and must not share a
 * match. */
#ifndef LOCKSTEP_COMMON_SIMULATION_ARITHMETIC_CHECK_H
#define LOCKSTEP_COMMON_SIMULATION_ARITHMETIC_CHECK_H

#include <stdint.h>

/* About 20 us. The double part uses + - * / and square root alone, which IEEE 754 fixes to the
 * bit; it finds fused multiply-add, extended precision, another rounding mode, and denormal numbers
 * that are flushed to zero or read as zero. */
uint64_t ls_arithmetic_check(void);

/* The same with that of the maths library in it; 0: without. */
uint64_t ls_arithmetic_check_with(uint64_t maths_check);

#endif

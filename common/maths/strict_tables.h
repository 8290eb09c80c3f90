/* Strict tables: the constants and polynomials of the strict maths functions, all computed by
 * tools/maths/strict_tables.py, which says what each of them is. Polynomials have the lowest power
 * first; a pair is a number as its nearest double and the rest. Used by strict_*.c alone. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_TABLES_H
#define LOCKSTEP_COMMON_MATHS_STRICT_TABLES_H

#include <stdint.h>

extern const double ls_strict_sine_terms[6];
extern const double ls_strict_cosine_terms[6];
extern const double ls_strict_arc_tangent_terms[5];
extern const double ls_strict_arc_sine_terms[13];
extern const double ls_strict_exponential_terms[5];
extern const double ls_strict_power_of_two_terms[5];
extern const double ls_strict_logarithm_terms[7];
extern const double ls_strict_sinh_terms[8];
extern const double ls_strict_tanh_terms[8];
extern const double ls_strict_cube_root_terms[5];

extern const double ls_strict_half_pi_parts[4]; /* three of 33 bits, and the rest */
extern const double ls_strict_half_pi[2];
extern const double ls_strict_pi[2];
extern const double ls_strict_exp_step[2];     /* ln 2 / 128: 34 bits, and the rest */
extern const double ls_strict_ln2[2];          /* 42 bits, and the rest */
extern const double ls_strict_ln10_inverse[2]; /* 1 / ln 10: 26 bits, and the rest */
extern const double ls_strict_ln2_inverse[2];
extern const double ls_strict_scalars[2]; /* 2 / pi, 128 / ln 2 */

/* 64 zeros, then the bits of 2 / pi behind the point. */
extern const uint32_t ls_strict_two_over_pi_words[42];

/* 2^(i/128) is [2i] * (1 + [2i + 1]). */
extern const double ls_strict_exp_table[256];

/* For the i-th of 128 intervals from LS_STRICT_LOG_START on, of 2^45 units in a double's bits: 1/c
 * in 16 bits for a c in its middle, and -ln of that as a multiple of 2^-42 and a rest. 1 is in the
 * middle of the interval whose c is 1. */
#define LS_STRICT_LOG_START UINT64_C(0x3fe5f00000000000)
extern const double ls_strict_log_table[384];

/* atan(i/32), pairs. */
extern const double ls_strict_arc_table[66];

#endif

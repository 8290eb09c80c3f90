/* Golden: the numbers that every compiler, optimisation and CPU must come to: each is a line, "name
 * value". golden_values.txt has the expected ones, and nothing else does; tools/platform-matrix
 * compares. Needs the C library only, so that it builds for any target. Called by golden_main. */
#ifndef LOCKSTEP_TESTS_GOLDEN_GOLDEN_H
#define LOCKSTEP_TESTS_GOLDEN_GOLDEN_H

#include "lockstep/common/simulation/simulation.h"

#include <stdio.h>

void golden_line(const char *name, uint64_t value);
/* The line "subject.what". */
void golden_line_of(const char *subject, const char *what, uint64_t value);

/* Prints why and ends the program: a number that cannot be had is no number. */
void golden_fail(const char *what, const char *why);

/* FNV-1a over 64-bit words, whatever their byte order. */
#define GOLDEN_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t golden_fold(uint64_t sum, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        sum = (sum ^ (word >> (8 * i) & 0xffu)) * UINT64_C(0x100000001b3);
    }
    return sum;
}

/* The parts of the program, each some lines. */
void golden_arithmetic(void);
void golden_schema(void);
void golden_simulations(void);
void golden_strict_math(void);

/* Plays every simulation to the middle and writes its save; reads such a file, from this machine or
 * another, and prints the lines of the matches played on from there. */
void golden_save(FILE *file);
void golden_load(FILE *file);

#endif

/* Maths check: results of the C library's maths functions, hashed. Their last bits differ between
 * versions of the library and between processors, with and without FMA, so two machines whose
 * simulation calls them must compute the same. Pure but for the library itself. Called by
 * plugin_loader for the handshake. */
#ifndef LOCKSTEP_COMMON_LOADER_MATHS_CHECK_H
#define LOCKSTEP_COMMON_LOADER_MATHS_CHECK_H

#include <stdint.h>

/* A bit for each function, in double and in float; several for one like sincos. 0: not a function
 * of the maths library, or one whose result IEEE 754 fixes to the bit. */
uint64_t ls_maths_functions_named(const char *import);

/* 0 for no function; else a hash of 1,000 results of each, which takes up to 3 ms. `library`: the
 * plug-in that calls them, whose are checked. */
uint64_t ls_maths_check(uint64_t functions, void *library);

#endif

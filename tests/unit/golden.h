/* Golden: checksums of long runs of operations, pinned in the tests, so that every compiler and
 * every CPU is held to the same bits. FNV-1a over 64-bit words, independent of byte order. */
#ifndef LOCKSTEP_TESTS_UNIT_GOLDEN_H
#define LOCKSTEP_TESTS_UNIT_GOLDEN_H

#include <stdint.h>

#define GOLDEN_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t golden_fold(uint64_t sum, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        sum = (sum ^ (word >> (8 * i) & 0xffu)) * UINT64_C(0x100000001b3);
    }
    return sum;
}

#endif

/* Surroundings: what lies around a process and can be changed for ticks that are run again: each
 * kind is made equal on every machine, and whether the result changes tells what it depends on.
 * Names and numbers only; rerun_apart makes the processes. Read by desync_class. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_SURROUNDINGS_H
#define LOCKSTEP_COMMON_DIAGNOSIS_SURROUNDINGS_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/language.h"

LS_C_BEGIN

/* X(NAME): CPU features that the C library goes by off, one core, the directory /, no variables but
 * those of language and linker, the language C and UTC. New ones are added at the end: bundles and
 * messages hold bits of them. */
#define LS_SURROUNDING_MAP(X)                                                                      \
    X(CPU_FEATURES)                                                                                \
    X(CORES)                                                                                       \
    X(DIRECTORY)                                                                                   \
    X(VARIABLES)                                                                                   \
    X(LOCALE)

typedef enum ls_surrounding {
#define LS_SURROUNDING_ENUM(name) LS_SURROUNDING_##name,
    LS_SURROUNDING_MAP(LS_SURROUNDING_ENUM)
#undef LS_SURROUNDING_ENUM
    LS_SURROUNDING_COUNT,
} ls_surrounding;

#define LS_SURROUNDING_BIT(kind) (1u << (kind))
#define LS_SURROUNDINGS_ALL ((1u << LS_SURROUNDING_COUNT) - 1)

/* A variable for a process whose C library goes by no CPU features. Names that it does not know are
 * passed over. */
#define LS_SURROUNDING_NO_CPU_FEATURES                                                             \
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX,-SSE4_2,-SSE4_1"

/* The kinds by which this item of a fingerprint was made equal; 0: it cannot be. */
uint32_t ls_surroundings_of_item(ls_fingerprint_item item);

LS_C_END

#endif

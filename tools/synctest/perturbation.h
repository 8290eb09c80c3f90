/* Perturbation: one way to run a simulation that must not change its result: what is changed around
 * it (memory, addresses, clock, threads ...) and how the match is played (once, again, saved,
 * rolled back ...). The list of all perturbations, in the order in which they are tried and shown.
 * Knows no process and no memory. Called by the runner, by the perturbed process, and by reports.
 */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PERTURBATION_H
#define LOCKSTEP_TOOLS_SYNCTEST_PERTURBATION_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* How the recorded match is played. */
typedef enum synctest_play_mode {
    SYNCTEST_MODE_ONCE,    /* every tick once */
    SYNCTEST_MODE_CHECKED, /* the same, with a look at the values of the state */
    SYNCTEST_MODE_AGAIN,   /* a whole match before it in the same process */
    SYNCTEST_MODE_SAVE,    /* saved before every tick, and played by two instances in turn */
    SYNCTEST_MODE_JOIN, /* begun in mid-match from a save, in a process that has played nothing */
    SYNCTEST_MODE_ROLLBACK, /* before every tick 1 to 8 guessed ones, which are taken back */
    SYNCTEST_MODE_DRAW, /* drawn 0, 1 or 5 times a tick, with states that cannot be written to */
} synctest_play_mode;

/* Bits: each thing that is changed from what it is in the reference run. */
#define SYNCTEST_CHANGES_NOTHING 0u
#define SYNCTEST_CHANGES_PAST (1u << 0) /* the C library has been used before */
#define SYNCTEST_CHANGES_STACK (1u << 1)
#define SYNCTEST_CHANGES_HEAP (1u << 2)
#define SYNCTEST_CHANGES_SCRATCH (1u << 3)
#define SYNCTEST_CHANGES_ADDRESSES (1u << 4)
#define SYNCTEST_CHANGES_ENVIRONMENT (1u << 5)
#define SYNCTEST_CHANGES_CLOCK (1u << 6)
#define SYNCTEST_CHANGES_ROUNDING (1u << 7)
#define SYNCTEST_CHANGES_TIES (1u << 8)
#define SYNCTEST_CHANGES_WORKERS (1u << 9)
#define SYNCTEST_CHANGES_LOG (1u << 10)
#define SYNCTEST_CHANGES_BUILD (1u << 11) /* another file of the same simulation */
#define SYNCTEST_CHANGES_BOUNDS (1u << 12)
#define SYNCTEST_CHANGES_CPU (1u << 13)
#define SYNCTEST_CHANGES_CORES (1u << 14)
#define SYNCTEST_CHANGES_FLUSH (1u << 15)
#define SYNCTEST_CHANGES_LIBRARY (1u << 16)

/* Those that a process has from its system or by the C library's functions, which this program
 * replaces: LS_ABILITY_PERTURBED_PROCESSES. */
#define SYNCTEST_CHANGES_OF_PROCESSES                                                              \
    (SYNCTEST_CHANGES_PAST | SYNCTEST_CHANGES_HEAP | SYNCTEST_CHANGES_ENVIRONMENT |                \
     SYNCTEST_CHANGES_CLOCK | SYNCTEST_CHANGES_TIES | SYNCTEST_CHANGES_CPU |                       \
     SYNCTEST_CHANGES_CORES | SYNCTEST_CHANGES_LIBRARY)

/* X(NAME, name, play mode, changes, how often, what it is) */
#define SYNCTEST_PERTURBATION_MAP(X)                                                               \
    X(STILL, "still", CHECKED, NOTHING, 1, "the same once more, with a look at the values")        \
    X(FRESH, "fresh", ONCE, PAST, 1, "a fresh process in which rand() was used before")            \
    X(AGAIN, "again", AGAIN, NOTHING, 1, "a second match in the same process")                     \
    X(SAVE, "save", SAVE, NOTHING, 1, "saved and loaded every tick")                               \
    X(JOIN, "join", JOIN, NOTHING, 3, "loaded in mid-match by a fresh process")                    \
    X(ROLLBACK, "rollback", ROLLBACK, NOTHING, 1, "1 to 8 guessed ticks taken back, every tick")   \
    X(STACK, "stack", ONCE, STACK, 2, "random bytes on the stack before each pass")                \
    X(HEAP, "heap", ONCE, HEAP, 2, "random bytes in memory from malloc")                           \
    X(SCRATCH, "scratch", ONCE, SCRATCH, 1, "random bytes in the scratch memory before each step") \
    X(ADDRESSES, "addresses", ONCE, ADDRESSES, 3,                                                  \
      "code, stack, heap and state at other addresses")                                            \
    X(BOUNDS, "bounds", ONCE, BOUNDS, 2, "state and scratch between pages that cannot be read")    \
    X(CPU, "cpu", ONCE, CPU, 2, "a processor without FMA and AVX2, for the C library")             \
    X(LIBRARY, "library", ONCE, LIBRARY, 1, "a C library that uses the freedom which C leaves it") \
    X(CORES, "cores", ONCE, CORES, 2, "one processor core, and 48 of them")                        \
    X(FLUSH, "flush", ONCE, FLUSH, 1, "denormals flushed to zero before the match (a warning)")    \
    X(ENVIRONMENT, "environment", ONCE, ENVIRONMENT, 1,                                            \
      "another locale, time zone, folder and environment")                                         \
    X(CLOCK, "clock", ONCE, CLOCK, 1, "another time of day, and a faster clock")                   \
    X(ROUNDING, "rounding", ONCE, ROUNDING, 1,                                                     \
      "other rounding modes before each step (a warning)")                                         \
    X(TIES, "ties", ONCE, TIES, 1, "a qsort that leaves ties in another order")                    \
    X(DRAW, "draw", DRAW, NOTHING, 1, "drawn 0, 1 or 5 times a tick, from read-only states")       \
    X(WORKERS, "workers", ONCE, WORKERS, 1, "1 to 8 worker threads")                               \
    X(LOG, "log", ONCE, LOG, 1, "more and less is printed")                                        \
    X(AGAINST, "against", ONCE, BUILD, 1, "another build of the same simulation")

typedef enum synctest_perturbation_id {
#define SYNCTEST_PERTURBATION_ENUM(id, name, mode, changes, variants, what)                        \
    SYNCTEST_PERTURBATION_##id,
    SYNCTEST_PERTURBATION_MAP(SYNCTEST_PERTURBATION_ENUM)
#undef SYNCTEST_PERTURBATION_ENUM
    SYNCTEST_PERTURBATION_COUNT,
} synctest_perturbation_id;

/* The parts of `library`. Variant 0 changes all of them; variant n, which is only run to say which
 * one it was, part n. */
typedef enum synctest_library_part {
    SYNCTEST_LIBRARY_ALL,
    SYNCTEST_LIBRARY_COPIES,      /* memcpy begins at the end */
    SYNCTEST_LIBRARY_COMPARISONS, /* memcmp and strcmp return other numbers of the same sign */
    SYNCTEST_LIBRARY_LEFTOVERS,   /* errno and the floating-point flags are set before a step */
    SYNCTEST_LIBRARY_PARTS,
} synctest_library_part;

static inline bool synctest_library_part_is_changed(uint32_t variant, synctest_library_part part)
{
    return variant == SYNCTEST_LIBRARY_ALL || variant == (uint32_t)part;
}

/* Ticks that a perturbation rolls back at most, workers it tries at most, and joins in a match. */
#define SYNCTEST_TRIED_ROLLBACK_TICKS 8u
#define SYNCTEST_TRIED_WORKERS 8u
#define SYNCTEST_TRIED_JOINS 3u

typedef struct synctest_perturbation {
    const char *name; /* as in --only */
    const char *what; /* for a person */
    synctest_play_mode mode;
    uint32_t changes;
    uint32_t variants; /* how often it is run, each time a little different; >= 1 */
} synctest_perturbation;

const synctest_perturbation *synctest_perturbation_of(synctest_perturbation_id id);

/* Of perturbations that show the same: the lower is the one to name, as the others do what it does
 * too, such as moving memory. */
uint32_t synctest_perturbation_rank(synctest_perturbation_id id);

/* Adds the perturbations of "save,stack" to a set of bits (1 << synctest_perturbation_id), and
 * whether "lint" was among them. `name` is the
 * option's. BAD_ARGUMENT with the names that exist. */
ls_status synctest_perturbation_parse_list(const char *name, const char *list, uint32_t *set,
                                           bool *has_lint, ls_text *why);

/* The tick at which variant `variant` of a join begins, in a match of so many ticks. */
uint32_t synctest_perturbation_join_tick(uint32_t ticks, uint32_t variant);

#endif

/* World: one way to run a simulation that must not change its result: what is moved (memory,
 * addresses, clock, threads ...) and how the match is driven (once, again, saved, rolled back ...).
 * The list of all worlds, in the order in which they are tried and shown. Knows no process and no
 * memory. Called by the runner, by the process that lives in a world, and by reports. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_WORLD_H
#define LOCKSTEP_TOOLS_SYNCTEST_WORLD_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* How a match is driven. */
typedef enum synctest_drive {
    SYNCTEST_DRIVE_ONCE,    /* every tick once */
    SYNCTEST_DRIVE_CHECKED, /* the same, with a look at the values of the state */
    SYNCTEST_DRIVE_AGAIN,   /* a whole match before it in the same process */
    SYNCTEST_DRIVE_SAVE,    /* saved before every tick, and played by two instances in turn */
    SYNCTEST_DRIVE_JOIN, /* begun in mid-match from a save, in a process that has played nothing */
    SYNCTEST_DRIVE_ROLLBACK, /* before every tick 1 to 8 guessed ones, which are taken back */
    SYNCTEST_DRIVE_DRAW, /* drawn 0, 1 or 5 times a tick, with states that cannot be written to */
} synctest_drive;

/* What is not as it is in the reference run: bits. */
#define SYNCTEST_MOVES_NOTHING 0u
#define SYNCTEST_MOVES_PAST (1u << 0) /* the C library has been used before */
#define SYNCTEST_MOVES_STACK (1u << 1)
#define SYNCTEST_MOVES_HEAP (1u << 2)
#define SYNCTEST_MOVES_SCRATCH (1u << 3)
#define SYNCTEST_MOVES_ADDRESSES (1u << 4)
#define SYNCTEST_MOVES_ENVIRONMENT (1u << 5)
#define SYNCTEST_MOVES_CLOCK (1u << 6)
#define SYNCTEST_MOVES_ROUNDING (1u << 7)
#define SYNCTEST_MOVES_TIES (1u << 8)
#define SYNCTEST_MOVES_WORKERS (1u << 9)
#define SYNCTEST_MOVES_LOG (1u << 10)
#define SYNCTEST_MOVES_BUILD (1u << 11) /* another file of the same simulation */

/* X(NAME, name, drive, moves, how often, what it is) */
#define SYNCTEST_WORLD_MAP(X)                                                                      \
    X(STILL, "still", CHECKED, NOTHING, 1, "the same once more, with a look at the values")        \
    X(FRESH, "fresh", ONCE, PAST, 1, "a fresh process in which rand() was used before")            \
    X(AGAIN, "again", AGAIN, NOTHING, 1, "a second match in the same process")                     \
    X(SAVE, "save", SAVE, NOTHING, 1, "saved and loaded every tick")                               \
    X(JOIN, "join", JOIN, NOTHING, 3, "loaded in mid-match by a fresh process")                    \
    X(ROLLBACK, "rollback", ROLLBACK, NOTHING, 1, "1 to 8 guessed ticks taken back, every tick")   \
    X(STACK, "stack", ONCE, STACK, 1, "other bytes on the stack before each pass")                 \
    X(HEAP, "heap", ONCE, HEAP, 1, "other bytes in memory from malloc")                            \
    X(SCRATCH, "scratch", ONCE, SCRATCH, 1, "other bytes in the scratch memory before each step")  \
    X(ADDRESSES, "addresses", ONCE, ADDRESSES, 3,                                                  \
      "code, stack, heap and state at other addresses")                                            \
    X(ENVIRONMENT, "environment", ONCE, ENVIRONMENT, 1,                                            \
      "another locale, time zone, folder and environment")                                         \
    X(CLOCK, "clock", ONCE, CLOCK, 1, "another time of day, and a faster clock")                   \
    X(ROUNDING, "rounding", ONCE, ROUNDING, 1, "other rounding modes, and denormals flushed")      \
    X(TIES, "ties", ONCE, TIES, 1, "a qsort that leaves ties in another order")                    \
    X(DRAW, "draw", DRAW, NOTHING, 1, "drawn 0, 1 or 5 times a tick, from read-only states")       \
    X(WORKERS, "workers", ONCE, WORKERS, 1, "1 to 8 worker threads")                               \
    X(LOG, "log", ONCE, LOG, 1, "more and less is printed")                                        \
    X(AGAINST, "against", ONCE, BUILD, 1, "another build of the same simulation")

typedef enum synctest_world_id {
#define SYNCTEST_WORLD_ENUM(id, name, drive, moves, variants, what) SYNCTEST_WORLD_##id,
    SYNCTEST_WORLD_MAP(SYNCTEST_WORLD_ENUM)
#undef SYNCTEST_WORLD_ENUM
    SYNCTEST_WORLD_COUNT,
} synctest_world_id;

/* Ticks that a world rolls back at most, workers it tries at most, and joins in a match. */
#define SYNCTEST_TRIED_ROLLBACK_TICKS 8u
#define SYNCTEST_TRIED_WORKERS 8u
#define SYNCTEST_TRIED_JOINS 3u

typedef struct synctest_world {
    const char *name; /* as in --only */
    const char *what; /* for a person */
    synctest_drive drive;
    uint32_t moves;
    uint32_t variants; /* how often it is run, each time a little different; >= 1 */
} synctest_world;

const synctest_world *synctest_world_of(synctest_world_id id);

/* Adds the worlds of "save,stack" to a set of bits (1 << synctest_world_id), and whether "lint" was
 * among them. BAD_ARGUMENT with the names that exist. */
ls_status synctest_world_parse_list(const char *list, uint32_t *set, bool *has_lint, ls_text *why);

/* The tick at which variant `variant` of a join begins, in a match of so many ticks. */
uint32_t synctest_world_join_tick(uint32_t ticks, uint32_t variant);

#endif

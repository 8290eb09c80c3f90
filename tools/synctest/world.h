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
typedef enum ls_drive {
    LS_DRIVE_ONCE,     /* every tick once */
    LS_DRIVE_CHECKED,  /* the same, with a look at the values of the state */
    LS_DRIVE_AGAIN,    /* a whole match before it in the same process */
    LS_DRIVE_SAVE,     /* saved before every tick, and played by two instances in turn */
    LS_DRIVE_JOIN,     /* begun in mid-match from a save, in a process that has played nothing */
    LS_DRIVE_ROLLBACK, /* before every tick 1 to 8 guessed ones, which are taken back */
    LS_DRIVE_DRAW,     /* drawn 0, 1 or 5 times a tick, with states that cannot be written to */
} ls_drive;

/* What is not as it is in the reference run: bits. */
#define LS_MOVES_NOTHING 0u
#define LS_MOVES_PAST (1u << 0) /* the C library has been used before */
#define LS_MOVES_STACK (1u << 1)
#define LS_MOVES_HEAP (1u << 2)
#define LS_MOVES_SCRATCH (1u << 3)
#define LS_MOVES_ADDRESSES (1u << 4)
#define LS_MOVES_ENVIRONMENT (1u << 5)
#define LS_MOVES_CLOCK (1u << 6)
#define LS_MOVES_ROUNDING (1u << 7)
#define LS_MOVES_TIES (1u << 8)
#define LS_MOVES_WORKERS (1u << 9)
#define LS_MOVES_LOG (1u << 10)
#define LS_MOVES_BUILD (1u << 11) /* another file of the same simulation */

/* X(NAME, name, drive, moves, how often, what it is) */
#define LS_WORLD_MAP(X)                                                                            \
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

typedef enum ls_world_id {
#define LS_WORLD_ENUM(id, name, drive, moves, variants, what) LS_WORLD_##id,
    LS_WORLD_MAP(LS_WORLD_ENUM)
#undef LS_WORLD_ENUM
    LS_WORLD_COUNT,
} ls_world_id;

/* Ticks that a world rolls back at most, workers it tries at most, and joins in a match. */
#define LS_TRIED_ROLLBACK_TICKS 8u
#define LS_TRIED_WORKERS 8u
#define LS_TRIED_JOINS 3u

typedef struct ls_world {
    const char *name; /* as in --only */
    const char *what; /* for a person */
    ls_drive drive;
    uint32_t moves;
    uint32_t variants; /* how often it is run, each time a little different; >= 1 */
} ls_world;

const ls_world *ls_world_of(ls_world_id id);

/* Adds the worlds of "save,stack" to a set of bits (1 << ls_world_id), and whether "lint" was among
 * them. BAD_ARGUMENT with the names that exist. */
ls_status ls_world_parse_list(const char *list, uint32_t *set, bool *has_lint, ls_text *why);

/* The tick at which variant `variant` of a join begins, in a match of so many ticks. */
uint32_t ls_world_join_tick(uint32_t ticks, uint32_t variant);

#endif

/* Exchange: what lockstep-synctest and the process that lives in a world tell each other, in one
 * block of shared memory: the match, how far the process is, and what came of it. A plug-in may
 * scribble over it or die at any moment: the reader believes no count or text without a bound.
 * Called by the runner and by the world's process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_EXCHANGE_H
#define LOCKSTEP_TOOLS_SYNCTEST_EXCHANGE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/synctest/world.h"

#define LS_SYNCTEST_PATH_BYTES_MAX 4096u
#define LS_SYNCTEST_ASSIGNMENT_BYTES_MAX 128u
#define LS_SYNCTEST_PLACE_BYTES_MAX 160u
#define LS_SYNCTEST_VALUE_BYTES_MAX 96u

/* What is played, as the command line has it. */
typedef struct ls_synctest_match {
    char sim[LS_SYNCTEST_PATH_BYTES_MAX]; /* a built-in's name or an absolute path */
    uint64_t seed;
    uint32_t ticks;
    uint32_t players;      /* 0: the simulation's default */
    uint32_t tick_rate_hz; /* 0: likewise */
    uint32_t assignment_count;
    char assignments[LS_PARAMS_MAX][LS_SYNCTEST_ASSIGNMENT_BYTES_MAX];
} ls_synctest_match;

typedef enum ls_task {
    LS_TASK_RECORD,  /* plays the reference run and records it */
    LS_TASK_PLAY,    /* plays it again in a world and compares */
    LS_TASK_EXPLAIN, /* plays the reference to the bad tick and compares it pass by pass */
} ls_task;

/* What the process is at: after a crash it says whose code crashed. */
typedef enum ls_phase {
    LS_PHASE_HOST, /* our own code */
    LS_PHASE_LOAD,
    LS_PHASE_INIT,
    LS_PHASE_PASS,
    LS_PHASE_HASH,
    LS_PHASE_SAVE,
    LS_PHASE_DRAW,
    LS_PHASE_BOT,
    LS_PHASE_DEINIT,
    LS_PHASE_COUNT,
} ls_phase;

typedef struct ls_progress {
    volatile uint32_t phase;
    volatile uint32_t tick;
    volatile uint32_t pass;
    volatile uint32_t beats; /* grows while the process gets on */
} ls_progress;

/* What the simulation says of itself, once it is loaded. */
typedef struct ls_facts {
    char name[LS_NAME_BYTES_MAX];
    char pass_names[LS_PASSES_MAX][LS_NAME_BYTES_MAX];
    uint32_t pass_count;
    uint32_t players;
    uint32_t tick_rate_hz;
    uint32_t workers_max;
    uint64_t state_bytes;
    uint64_t scratch_bytes;
    uint64_t save_bytes; /* of a save in mid-match; 0: it cannot be saved */
    uint32_t has_schema;
    uint64_t save_starts[LS_TRIED_JOINS]; /* of those who join, in the file of saves */
    uint64_t inputs_played;               /* slots and ticks with an input that is not empty */
} ls_facts;

typedef enum ls_outcome_kind {
    LS_OUTCOME_NONE, /* the process did not get to say anything */
    LS_OUTCOME_SAME,
    LS_OUTCOME_DIFFERS, /* a state hash differs from the reference */
    LS_OUTCOME_FAULT,   /* something that must never happen, in words */
    LS_OUTCOME_FAILED,  /* could not be loaded, configured or started, in words */
    LS_OUTCOME_CRASHED,
    LS_OUTCOME_HUNG,
    LS_OUTCOME_SKIPPED, /* nothing to move in this simulation, in words */
} ls_outcome_kind;

/* What must never happen, whatever the reference does. */
typedef enum ls_fault {
    LS_FAULT_WRITE,    /* a function that may only read writes to the state */
    LS_FAULT_PADDING,  /* padding is not zero */
    LS_FAULT_NAN,      /* the state holds a value that is not a number */
    LS_FAULT_ROUNDING, /* a pass leaves another rounding mode than it found */
    LS_FAULT_SAVE,     /* the simulation's own save or load fails */
    LS_FAULT_LAYOUT,   /* another state size, other passes or players than in the reference */
    LS_FAULT_COUNT,
} ls_fault;

typedef struct ls_outcome {
    uint32_t kind;   /* ls_outcome_kind */
    uint32_t status; /* -ls_status of a FAILED one */
    uint32_t fault;  /* ls_fault of a FAULT */
    uint64_t hashes_compared;
    ls_tick tick; /* whose step gave the bad state; of a crash, the tick that was played */
    char pass[LS_NAME_BYTES_MAX];
    char field[LS_SYNCTEST_PLACE_BYTES_MAX];
    char expected[LS_SYNCTEST_VALUE_BYTES_MAX]; /* the reference's value */
    char found[LS_SYNCTEST_VALUE_BYTES_MAX];
    uint64_t elements;   /* how many differ after that pass; 0: not known */
    uint32_t is_initial; /* state 0 is bad: init made it */
    uint32_t oddity;     /* ls_oddity of either value */
    int32_t signal;      /* of a crash; 0: it ended by itself */
    ls_text text;
} ls_outcome;

/* A variable of the plug-in that a pass wrote to. */
typedef struct ls_static_write {
    uint64_t address; /* as the file has it */
    ls_tick tick;
    uint32_t pass;
} ls_static_write;

#define LS_STATIC_WRITES_MAX 16u

typedef struct ls_static_writes {
    uint32_t count;
    ls_static_write list[LS_STATIC_WRITES_MAX]; /* the first of each pass and address */
} ls_static_writes;

typedef struct ls_exchange {
    ls_synctest_match match;
    uint32_t task;    /* ls_task */
    uint32_t world;   /* ls_world_id */
    uint32_t variant; /* 0 .. variants-1 */
    ls_tick until;    /* EXPLAIN: the tick to look into */
    uint32_t join_ticks[LS_TRIED_JOINS];
    ls_progress progress;
    ls_facts facts;
    ls_outcome outcome;
    ls_static_writes static_writes;
} ls_exchange;

/* The files that a world's process inherits. */
typedef struct ls_exchange_files {
    int exchange;
    int tape;
    int saves;
    int found_trace;    /* of the world */
    int expected_trace; /* of the reference */
} ls_exchange_files;

#endif

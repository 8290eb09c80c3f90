/* Exchange: what lockstep-synctest and the perturbed process tell each other, in one
 * block of shared memory: the match, how far the process is, and what came of it. A plug-in may
 * scribble over it or die at any moment: the reader believes no count or text without a bound.
 * Called by the runner and by the perturbed process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_EXCHANGE_H
#define LOCKSTEP_TOOLS_SYNCTEST_EXCHANGE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/synctest/input_taps.h"
#include "lockstep/tools/synctest/perturbation.h"

#define SYNCTEST_PATH_BYTES_MAX 4096u
#define SYNCTEST_ASSIGNMENT_BYTES_MAX 4352u
#define SYNCTEST_PLACE_BYTES_MAX 160u
#define SYNCTEST_VALUE_BYTES_MAX 96u

/* The match is to come to the same by another build's file, or by another program in the place of
 * this one, with its words, up to NULL. Both NULL: nothing is compared. */
typedef struct synctest_against {
    const char *file;
    const char *const *program;
} synctest_against;

#define SYNCTEST_PROGRAM_WORDS_MAX 16u

/* The match to play, as the command line gives it. */
typedef struct synctest_match {
    char sim[SYNCTEST_PATH_BYTES_MAX]; /* a built-in's name or an absolute path */
    uint64_t seed;
    uint32_t ticks;
    uint32_t players;      /* 0: the simulation's default */
    uint32_t tick_rate_hz; /* 0: likewise */
    ls_rate tick_rate;     /* where whole Hz do not say it */
    uint32_t assignment_count;
    char directory[SYNCTEST_PATH_BYTES_MAX]; /* where relative paths of files begin */
    char assignments[LS_PARAMS_MAX][SYNCTEST_ASSIGNMENT_BYTES_MAX];
} synctest_match;

typedef enum synctest_task {
    SYNCTEST_TASK_RECORD,  /* plays the reference run and records it */
    SYNCTEST_TASK_PLAY,    /* plays it again with a perturbation and compares */
    SYNCTEST_TASK_EXPLAIN, /* plays the reference to the bad tick and compares it pass by pass */
} synctest_task;

/* The part of its work that the process is in: after a crash it says whose code crashed. */
typedef enum synctest_phase {
    SYNCTEST_PHASE_HOST, /* our own code */
    SYNCTEST_PHASE_LOAD,
    SYNCTEST_PHASE_LAYOUT,
    SYNCTEST_PHASE_INIT,
    SYNCTEST_PHASE_PASS,
    SYNCTEST_PHASE_HASH,
    SYNCTEST_PHASE_SAVE,
    SYNCTEST_PHASE_DRAW,
    SYNCTEST_PHASE_SOUNDS,
    SYNCTEST_PHASE_STATUS,
    SYNCTEST_PHASE_BOT,
    SYNCTEST_PHASE_DEINIT,
    SYNCTEST_PHASE_OPENING,      /* these two are told by a crash: loading its file, */
    SYNCTEST_PHASE_LOADING_SAVE, /* and its load */
    SYNCTEST_PHASE_COUNT,
} synctest_phase;

typedef struct synctest_progress {
    volatile uint32_t phase;
    volatile uint32_t tick;
    volatile uint32_t pass;
    volatile uint32_t beats; /* grows while the process gets on */
} synctest_progress;

#define SYNCTEST_ITEM_SIZES_MAX 8u

/* Properties that the simulation states of itself, once it is loaded. */
typedef struct synctest_facts {
    char name[LS_NAME_BYTES_MAX];
    char pass_names[LS_PASSES_MAX][LS_NAME_BYTES_MAX];
    uint32_t pass_count;
    uint32_t players;
    uint32_t tick_rate_hz;
    uint32_t workers_max;
    uint64_t state_bytes;
    uint64_t
        item_bytes[SYNCTEST_ITEM_SIZES_MAX]; /* of what the schema has several of; 0: no more */
    uint64_t scratch_bytes;
    uint64_t save_bytes; /* of a save in mid-match; 0: it cannot be saved */
    uint32_t has_schema;
    uint64_t image_bytes; /* of an engine's save as it is compared; 0: none, or it has a schema */
    uint64_t save_starts[SYNCTEST_TRIED_JOINS]; /* of those who join, in the file of saves */
    uint64_t save_sizes[SYNCTEST_TRIED_JOINS];
    uint64_t inputs_played; /* slots and ticks with an input that is not empty */
    synctest_tapped tapped; /* of the bot's inputs */
} synctest_facts;

typedef enum synctest_outcome_kind {
    SYNCTEST_OUTCOME_NONE, /* the process did not get to say anything */
    SYNCTEST_OUTCOME_SAME,
    SYNCTEST_OUTCOME_DIFFERS, /* a state hash differs from the reference */
    SYNCTEST_OUTCOME_FAULT,   /* something that must never happen, in words */
    SYNCTEST_OUTCOME_FAILED,  /* could not be loaded, configured or started, in words */
    SYNCTEST_OUTCOME_CRASHED,
    SYNCTEST_OUTCOME_HUNG,
    SYNCTEST_OUTCOME_SKIPPED, /* nothing to move in this simulation, in words */
} synctest_outcome_kind;

/* Faults that must never happen, whatever the reference does. */
typedef enum synctest_fault {
    SYNCTEST_FAULT_WRITE,      /* a function that may only read writes to the state */
    SYNCTEST_FAULT_PADDING,    /* padding is not zero */
    SYNCTEST_FAULT_NAN,        /* the state holds a value that is not a number */
    SYNCTEST_FAULT_UNNAMED,    /* a pass changes what no pass names (ls_step_wrote) */
    SYNCTEST_FAULT_ROUNDING,   /* a pass leaves another rounding mode than it found */
    SYNCTEST_FAULT_SAVE,       /* the simulation's own save or load fails */
    SYNCTEST_FAULT_ROUND_TRIP, /* what was saved and loaded is not what it was */
    SYNCTEST_FAULT_LAYOUT, /* another state size, other passes or players than in the reference */
    SYNCTEST_FAULT_COUNT,
} synctest_fault;

/* A difference is played again before it has a name, each time in a process of its own that begins
 * with the same loaded plug-in. A difference of the perturbation's comes out alike every time. */
#define SYNCTEST_REPEATS 3u

typedef struct synctest_repeats {
    uint32_t played;    /* with the perturbation, the first time included; 0: it was not repeated */
    uint32_t differing; /* of these, from the reference */
    uint32_t alike;     /* of these, at the first one's tick and to the first one's state */
    uint32_t controls;  /* the recorded inputs without the perturbation */
    uint32_t steady;    /* of these, as the reference */
    uint32_t recordings; /* of the reference, where no control was steady */
    uint32_t recorded_alike;
} synctest_repeats;

typedef struct synctest_outcome {
    uint32_t kind;   /* synctest_outcome_kind */
    uint32_t status; /* -ls_status of a FAILED one */
    uint32_t fault;  /* synctest_fault of a FAULT */
    uint64_t hashes_compared;
    ls_tick
        tick; /* the step of this tick gave the bad state; of a crash, the tick that was played */
    char pass[LS_NAME_BYTES_MAX];
    char field[SYNCTEST_PLACE_BYTES_MAX];
    char expected[SYNCTEST_VALUE_BYTES_MAX]; /* the reference's value */
    char found[SYNCTEST_VALUE_BYTES_MAX];
    uint64_t elements;   /* how many differ after that pass; 0: not known */
    uint32_t is_initial; /* state 0 is bad: init made it */
    uint64_t found_hash; /* of the state that differs */
    synctest_repeats repeats;
    uint32_t oddity; /* synctest_oddity of either value */
    uint32_t part;   /* synctest_library_part that the perturbation `library` was narrowed to */
    int32_t signal;  /* of a crash; 0: it ended by itself */
    uint64_t
        crash_address; /* of the instruction, as the plug-in's file has it; 0: it is elsewhere */
    ls_text text;
} synctest_outcome;

/* A variable of the plug-in that a pass wrote to. */
typedef struct synctest_static_write {
    uint64_t address; /* as the file has it */
    ls_tick tick;
    uint32_t pass;
} synctest_static_write;

#define SYNCTEST_STATIC_WRITES_MAX 16u

typedef struct synctest_static_writes {
    uint32_t count;
    synctest_static_write list[SYNCTEST_STATIC_WRITES_MAX]; /* the first of each pass and address */
} synctest_static_writes;

typedef struct synctest_exchange {
    uint64_t bytes; /* sizeof: a process of another program may have another build of this */
    synctest_match match;
    uint32_t task;         /* synctest_task */
    uint32_t perturbation; /* synctest_perturbation_id */
    uint32_t variant;      /* 0 .. variants-1 */
    ls_tick until;         /* EXPLAIN: the tick to look into */
    uint32_t join_ticks[SYNCTEST_TRIED_JOINS];
    synctest_progress progress;
    synctest_facts facts;
    synctest_outcome outcome;
    synctest_static_writes static_writes;
} synctest_exchange;

/* The files that a perturbed process inherits, in the order of its arguments. */
typedef enum synctest_file {
    SYNCTEST_FILE_EXCHANGE,
    SYNCTEST_FILE_TAPE,
    SYNCTEST_FILE_SAVES,
    SYNCTEST_FILE_TRACE, /* of the perturbed run */
    SYNCTEST_FILE_COUNT,
} synctest_file;

#endif

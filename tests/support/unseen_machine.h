/* Unseen machine: one machine of a match whose simulation goes wrong on it: what its process holds
 * beside the state, and a rerun host that simulates again in processes of their own, in which
 * statics are as when the plug-in is loaded, and addresses and the time are others. The fault is
 * planted by kind. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_UNSEEN_MACHINE_H
#define LOCKSTEP_TESTS_SUPPORT_UNSEEN_MACHINE_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/common/diagnosis/rerun_host.h"

enum {
    UNSEEN_CELLS = 300,
    UNSEEN_RUNS_MAX = 32,
    UNSEEN_PASS = 1, /* "spread", in which most faults sit */
};

typedef struct unseen_state {
    uint64_t sum; /* of all inputs */
    uint32_t ticks;
    uint32_t wrong;   /* what the fault gives, computed anew in each step */
    uint32_t score;   /* what it gives, added up */
    uint32_t shadow;  /* no pass writes it */
    uint64_t players; /* a bit for each of 64 */
    uint64_t cells[UNSEEN_CELLS];
    uint32_t tail; /* lies behind the cells */
    uint32_t spare;
} unseen_state;

typedef enum unseen_fault {
    UNSEEN_NONE,
    UNSEEN_CONSTANT,   /* another constant in `wrong` */
    UNSEEN_CONVERSION, /* float to int out of range: a value at some ticks alone */
    UNSEEN_FUSED,      /* the last bit of `score` */
    UNSEEN_PAST_END,   /* writes cells[UNSEEN_CELLS] */
    UNSEEN_BITFIELD,   /* player 63 is another bit */
    UNSEEN_ORDER,      /* two values change places */
    UNSEEN_TWO_PASSES, /* two faults at once, in gather and finish */
    UNSEEN_COUNTER,    /* a static that counts frames */
    UNSEEN_STREAM,     /* a random stream in a static */
    UNSEEN_CACHE,      /* a static that something outside the step has set, one value */
    UNSEEN_WIDE_CACHE, /* the same, all cells */
    UNSEEN_RACE,       /* a lost update, once */
    UNSEEN_STACK,      /* memory on the stack that is not set */
    UNSEEN_ADDRESS,    /* the order of pointers */
    UNSEEN_CLOCK,      /* the time */
    UNSEEN_VARIABLE,   /* an environment variable */
    UNSEEN_LOCALE,     /* the language */
    UNSEEN_FILE,       /* what a file holds */
    UNSEEN_DENORMALS,  /* a library has set a mode for the whole process */
    UNSEEN_MODE_LEFT,  /* a callback has left a mode in the live process alone */
    UNSEEN_DRAW,       /* draw writes to the state */
    UNSEEN_DAMAGE,     /* bits of all cells change in the live process */
    UNSEEN_LATE_INPUT, /* an input is applied a tick late, once */
} unseen_fault;

/* Statics and surroundings of one process. */
typedef struct unseen_process {
    uint32_t calls;
    uint32_t cache;
    uint32_t address;
    uint64_t clock;
    uint32_t variable;
    uint32_t locale;
    bool is_helper;
} unseen_process;

typedef struct unseen_run {
    uint32_t ticket; /* 0: free */
    uint64_t ready_ns;
    ls_rerun *rerun;
    unseen_process process;
    ls_rerun_outcome outcome;
} unseen_run;

typedef struct unseen_machine {
    unseen_fault fault;
    uint32_t part;          /* what the fault gives here, where other machines have it too */
    uint32_t ballast_words; /* of 8 bytes behind the state, of all machines alike */
    ls_tick from;           /* of the first step that goes wrong */
    ls_tick until;          /* and of the first one that does not any more; 0: never */
    unseen_process live;
    unseen_process *now; /* in which steps are made */
    ls_build_fingerprint print;
    ls_simulation simulation;
    ls_rerun_host host;
    uint64_t now_ns;
    uint32_t tickets;
    unseen_run runs[UNSEEN_RUNS_MAX];
} unseen_machine;

/* Makes it a machine like all others. */
void unseen_machine_init(unseen_machine *machine);

#endif

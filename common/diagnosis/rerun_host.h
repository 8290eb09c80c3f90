/* Rerun host: where a match or a session has ticks simulated again for a diagnosis. The core says
 * what to run and comes back for the outcome; it never waits, and its own simulation is not
 * touched. A host runs the ticks in a helper process with the plug-in freshly loaded (programs), or
 * in this thread a few steps at a time (virtual time). Given to match and session by their owner,
 * who keeps it until they are destroyed; NULL there: nothing can be run again, and the diagnosis
 * says so. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_RERUN_HOST_H
#define LOCKSTEP_COMMON_DIAGNOSIS_RERUN_HOST_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/rerun.h"

LS_C_BEGIN

typedef struct ls_rerun_request {
    /* The match's own instance: it tells simulation, configuration and schema, and is not stepped.
     * Borrowed until the ticket is released. */
    const ls_sim_instance *instance;
    const ls_replay_stretch *stretch; /* borrowed during the call of start only */

    /* Out of which the stretch comes; a host that reads the snapshot in another thread takes it on
     * loan. NULL: it copies the snapshot at once. */
    const ls_replay_window *window;

    /* The state after this pass of the last step is wanted, or LS_NO_PASS. LS_PASS_OF_WRITERS, with
     * is_single only: the writers of its bytes. */
    uint32_t pass;

    /* The result of `fresh` is wanted alone: no other figures, and without a pass no states. */
    bool is_single;

    /* The state that it leads to is held already, and need not be given out. */
    bool is_state_had;

    /* A host of processes ends the run after this time; 1 or more. */
    uint32_t time_max_ms;
} ls_rerun_request;

typedef enum ls_rerun_which {
    LS_RERUN_REACHED,
    LS_RERUN_BEHIND_PASS,
    LS_RERUN_WHICH_COUNT,
} ls_rerun_which;

typedef struct ls_rerun_outcome {
    ls_rerun_figures figures;  /* as far as they are known */
    ls_pass_trace passes;      /* of the last step; pass_count 0: not reached */
    uint32_t unstable_pass;    /* see ls_rerun_unstable_pass; NO_PASS: not known */
    const uint8_t *state;      /* canonical: the state it led to; NULL: not reached */
    const uint8_t *pass_state; /* canonical: after the pass asked for, or the writers; NULL: none */

    /* Large states may stay where the helper left them, and are NULL above. This copies one of them
     * into a block of the caller's; false: it cannot be had. NULL: there is none of them. */
    bool (*copy)(void *reader, ls_rerun_which which, uint8_t *canonical);
    void *reader;
    bool is_left[LS_RERUN_WHICH_COUNT]; /* that state stays there */

    /* Empty, or what was seen to write to variables outside the state: "pass move writes to the
     * variable last, bot writes to the variable cache". */
    ls_text outside;
    ls_text harmless; /* likewise where nothing showed that it matters, and to files */

    /* Empty, or why it ended early: "crashed in pass 'move' of tick 17 (segmentation fault)",
     * "took longer than 2000 ms". */
    ls_text failure;
} ls_rerun_outcome;

/* One run at a time for each ticket; a host may queue them. */
typedef struct ls_rerun_host {
    void *context;

    /* Begins a run. The host copies what it needs of the request before it returns, but for a
     * snapshot on loan. *ticket is not 0. UNSUPPORTED: this simulation cannot be run again;
     * NO_MEMORY, IO: not now. */
    ls_status (*start)(void *context, const ls_rerun_request *request, uint32_t *ticket);

    /* The outcome, borrowed until the ticket is released; NULL: it is still running. A host that
     * runs in this thread does a portion of its work here. */
    const ls_rerun_outcome *(*poll)(void *context, uint32_t ticket, uint64_t now_ns);

    /* Ends the run if it goes on, and forgets the outcome. Every ticket is released once. */
    void (*release)(void *context, uint32_t ticket);
} ls_rerun_host;

LS_C_END

#endif

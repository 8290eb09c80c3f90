/* State inspector: holds one of the newest states of a running match, to look for the cause of a
 * desync: a plain copy of it, taken out of the window in which the states are recorded, with the
 * tree of its hashes. Both sides of a match have one. Runs nothing of the simulation: schema
 * functions alone read and write the copy. Sends nothing and decides nothing; allocates at init
 * only. Called by a server's investigation and a client's diagnosis. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_INSPECTOR_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_INSPECTOR_H

#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/diagnosis/rerun_host.h"
#include "lockstep/common/diagnosis/state_tree.h"
#include "lockstep/common/simulation/state_hash.h"

LS_C_BEGIN

typedef struct ls_state_inspector {
    const ls_allocator *allocator;
    const ls_sim_instance *instance; /* the match's own, which knows the schema */
    const ls_replay_window *window;  /* of the match's owner, who records every settled tick */
    uint8_t *state;      /* as this machine lays it out; may be changed, which the tree follows */
    ls_state_tree *tree; /* of the state */
    ls_state_hasher *hasher;
    ls_tick tick;  /* of the state */
    uint32_t pass; /* LS_NO_PASS, or: it lay behind this pass of the step to state `tick` */
    bool is_holding;
    uint32_t unhashed; /* nodes of the tree that are not hashed yet */
} ls_state_inspector;

/* The ticks to simulate again. */
typedef struct ls_rerun_subject {
    ls_tick agreed; /* a state that is the same on both sides */
    ls_tick tick;   /* of the state that it is to lead to; > agreed */
    uint32_t pass;  /* the state behind this pass of the last step is wanted too, or LS_NO_PASS;
                       LS_PASS_OF_WRITERS: of the newest steps to it */
    bool is_single; /* see ls_rerun_request */
} ls_rerun_subject;

/* For states of the instance, which is borrowed like the window. NO_MEMORY; UNSUPPORTED for a
 * simulation whose states have no image. `inspector` comes zeroed and is to be released whatever
 * the result is. */
ls_status ls_state_inspector_init(ls_state_inspector *inspector, const ls_sim_instance *instance,
                                  const ls_replay_window *window, const ls_allocator *allocator);
void ls_state_inspector_deinit(ls_state_inspector *inspector);

/* Has the system give the memory for a state now: the pages of a large one cost a match more than
 * the state that goes there. */
void ls_state_inspector_touch(ls_state_inspector *inspector);

/* Takes the state of a tick out of the window, so that it stays for as long as it is needed. False
 * when the window does not hold it any more. */
bool ls_state_inspector_hold(ls_state_inspector *inspector, ls_tick tick);

/* The same for the state that a re-run has led to. False when there is none, or when it is not the
 * one that was recorded, where one was. */
bool ls_state_inspector_hold_rerun(ls_state_inspector *inspector, const ls_rerun_outcome *outcome);

/* The same for the state behind the pass that the re-run was asked for. False when there is none,
 * or when it has not the hash that the re-run tells (the hash of an engine is not known here). */
bool ls_state_inspector_hold_pass(ls_state_inspector *inspector, const ls_rerun_outcome *outcome,
                                  uint32_t pass);

/* A state that is held answers no question before its tree is hashed, which is spread over several
 * calls where the state is large. True: it is, or nothing is held. finish hashes what is left. */
bool ls_state_inspector_advance(ls_state_inspector *inspector);
bool ls_state_inspector_is_ready(const ls_state_inspector *inspector);
void ls_state_inspector_finish(ls_state_inspector *inspector);

/* It holds this state: hold would answer at once. */
bool ls_state_inspector_has(const ls_state_inspector *inspector, ls_tick tick, uint32_t pass);

/* The state hash of the state that is held, as it is now; of an engine, which hashes its states
 * itself, another hash of its image. */
uint64_t ls_state_inspector_hash(const ls_state_inspector *inspector);

/* Asks the host to simulate the subject again, in at most `time_max_ms`, see ls_rerun_request.
 * NOT_FOUND when the window does not reach back so far, or what the host says. */
ls_status ls_state_inspector_start_rerun(const ls_state_inspector *inspector,
                                         const ls_rerun_host *host, const ls_rerun_subject *subject,
                                         uint32_t time_max_ms, uint32_t *ticket);

LS_C_END

#endif

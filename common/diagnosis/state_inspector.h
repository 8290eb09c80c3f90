/* State inspector: looks into the newest states of a running match for the cause of a desync. It
 * takes one of them out of the window in which they are recorded, with the tree of its hashes, and
 * simulates the ticks that led to it again. Both sides of a match have one. Sends nothing and
 * decides nothing; allocates at init only. Called by a server's investigation and a client's
 * diagnosis. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_INSPECTOR_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_INSPECTOR_H

#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/common/diagnosis/state_tree.h"

LS_C_BEGIN

typedef struct ls_state_inspector {
    const ls_replay_window *window; /* of the match's owner, who records every settled tick */
    ls_sim_instance *held; /* a state of the window; may be changed, which the tree follows */
    ls_state_tree *tree;   /* of the held state */
    ls_rerun *rerun;
    bool is_holding;
} ls_state_inspector;

/* For matches like the instance's; the window is borrowed, the instance is not kept. UNSUPPORTED
 * for a simulation that hashes by callback, NO_MEMORY, or the errors of ls_sim_instance_create.
 * `inspector` comes zeroed and is to be released whatever the result is. */
ls_status ls_state_inspector_init(ls_state_inspector *inspector, const ls_sim_instance *instance,
                                  const ls_replay_window *window, const ls_allocator *allocator,
                                  ls_text *why);
void ls_state_inspector_deinit(ls_state_inspector *inspector);

/* Takes the state of a tick out of the window, so that it stays for as long as it is needed. False
 * when the window does not hold it any more. */
bool ls_state_inspector_hold(ls_state_inspector *inspector, ls_tick tick);

/* The same for the state that the re-run has led to. False when there is none, or when it is not
 * the one that was recorded. */
bool ls_state_inspector_hold_rerun(ls_state_inspector *inspector);

/* Begins to simulate again how state `tick` came out of the one before that both sides agree on.
 * NOT_FOUND when the window does not reach back so far. */
ls_status ls_state_inspector_start_rerun(ls_state_inspector *inspector, ls_tick agreed,
                                         ls_tick tick);

LS_C_END

#endif

/* Investigation plan: what is to be found out next about a slot that differs, by what is known of
 * it. Changes nothing. Called by investigation, conclusion and desync_service. */
#ifndef LOCKSTEP_SERVER_MATCH_INVESTIGATION_PLAN_H
#define LOCKSTEP_SERVER_MATCH_INVESTIGATION_PLAN_H

#include "lockstep/server/match/investigation.h"

typedef enum ls_investigation_move {
    LS_MOVE_NONE, /* everything that can be known is */
    LS_MOVE_WAIT,
    LS_MOVE_SEARCH,  /* for the first state that differs */
    LS_MOVE_STUDY,   /* a step */
    LS_MOVE_COMPARE, /* a state, or the one behind a pass */
    LS_MOVE_LATER,   /* compare a state to come */
    LS_MOVE_WRITERS, /* the passes that write what differs */
} ls_investigation_move;

/* `subject` is what to study or compare. */
ls_investigation_move ls_investigation_next_move(const ls_investigation *investigation,
                                                 ls_diff_subject *subject);

/* Everything that can be known is. */
bool ls_investigation_is_done(const ls_investigation *investigation);

/* The first state that differs as far as it is known; the bad one otherwise. */
ls_tick ls_investigation_exact_tick(const ls_investigation *investigation);

/* The study that the verdict follows from. */
const ls_step_study *ls_investigation_main_study(const ls_investigation *investigation);

/* Re-runs tell of states between those that were compared what the match would have told, when they
 * did so of the bad one. */
bool ls_investigation_do_reruns_reproduce(const ls_investigation *investigation);

#endif

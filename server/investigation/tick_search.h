/* Tick search: finds the first state in which a client differs from the server, where only every
 * K-th state was compared, each time by the one in the middle of those left. While both sides hold
 * these states the states themselves are compared; later both sides run the ticks again, if their
 * re-runs gave at the known bad state what the match gave. Sends nothing, allocates nothing. Called
 * by investigation. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_TICK_SEARCH_H
#define LOCKSTEP_SERVER_INVESTIGATION_TICK_SEARCH_H

#include "lockstep/server/investigation/step_study.h"

typedef struct ls_tick_search {
    bool is_begun;
    bool is_by_rerun;        /* a side does not hold these states any more */
    bool can_run;            /* re-runs tell what the match would have told */
    bool is_given_up;        /* a side could not run these ticks again */
    ls_tick agreed;          /* the re-runs' start; the same on both sides */
    ls_tick same;            /* newest state known to be the same */
    ls_tick differs;         /* oldest state known to differ */
    ls_tick asked;           /* state that both sides run to now; 0: none */
    ls_shared_rerun *rerun;  /* this side's, to that state */
    bool is_answered;        /* the client's word about it: */
    uint64_t client_hash;    /* what its re-run gave */
    ls_pass_trace answer;    /* and how */
    bool has_narrowed;       /* `differs` came from the search, with the step to it: */
    ls_pass_trace passes[2]; /* the server's, the client's */
} ls_tick_search;

/* State `agreed` is the same on both sides, state `differs` > `agreed` is not. `search` comes
 * zeroed. */
void ls_tick_search_begin(ls_tick_search *search, ls_tick agreed, ls_tick differs);

/* The state that is to be compared as both sides hold it; 0: none. */
ls_tick ls_tick_search_state(const ls_tick_search *search);

/* How that came out. */
typedef enum ls_searched_state {
    LS_SEARCHED_GONE, /* a side does not hold it */
    LS_SEARCHED_SAME,
    LS_SEARCHED_DIFFERS,
} ls_searched_state;

void ls_tick_search_receive_state(ls_tick_search *search, ls_searched_state state);

/* It waits for the word whether it may go on with re-runs; gives it. */
bool ls_tick_search_is_held_up(const ls_tick_search *search);
void ls_tick_search_go_on(ls_tick_search *search, bool can_run);

/* Forgets everything. */
void ls_tick_search_end(ls_tick_search *search, ls_rerun_share *reruns);

/* The state that the client is to be asked about now; false: none. This side begins to run to it.
 */
bool ls_tick_search_next(ls_tick_search *search, ls_rerun_share *reruns, ls_tick *out);

/* Takes the result of the client's re-run. STALE: it was not asked for. */
ls_status ls_tick_search_receive(ls_tick_search *search, const ls_rerun_figures *figures,
                                 const ls_pass_trace *passes);

/* Takes the result of this side's re-run. */
void ls_tick_search_advance(ls_tick_search *search, ls_rerun_share *reruns);

/* Nothing more will be found. */
bool ls_tick_search_is_over(const ls_tick_search *search);

/* The first state that differs; 0: not found. */
ls_tick ls_tick_search_found(const ls_tick_search *search);

#endif

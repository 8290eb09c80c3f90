/* Step study: what both sides get when they simulate the ticks up to a state again: the server's
 * re-run, which slots share, and what the slot's client says of its own. Owns the
 * tickets of the re-runs. Sends nothing, allocates nothing. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_STEP_STUDY_H
#define LOCKSTEP_SERVER_INVESTIGATION_STEP_STUDY_H

#include "lockstep/common/diagnosis/pass_trace.h"
#include "lockstep/common/diagnosis/state_inspector.h"
#include "lockstep/protocol/wire/message.h"

/* ---- re-runs of the server, one for all that are about the same ticks and the same pass ---- */

#define LS_RERUN_SHARES_MAX                                                                        \
    (3u * (LS_PLAYERS_MAX + 1u)) /* a case's studies, or one and its search */

typedef struct ls_shared_rerun {
    ls_rerun_subject subject;
    uint32_t users; /* 0: free */
    uint32_t ticket;
    const ls_rerun_outcome *outcome; /* NULL: it goes on */
} ls_shared_rerun;

typedef struct ls_rerun_share {
    const ls_rerun_host *host; /* NULL: nothing can be run again */
    const ls_state_inspector *inspector;
    uint32_t time_max_ms; /* of a run */
    ls_shared_rerun runs[LS_RERUN_SHARES_MAX];
} ls_rerun_share;

/* Begins a re-run, or takes part in one. NULL: these ticks cannot be run again. */
ls_shared_rerun *ls_rerun_share_join(ls_rerun_share *share, const ls_rerun_subject *subject);
void ls_rerun_share_release(ls_rerun_share *share, ls_shared_rerun *run);

/* Asks the host how far the re-runs are. */
void ls_rerun_share_poll(ls_rerun_share *share, uint64_t now_ns);

/* ---- the study of a step ---- */

/* One side's result. */
typedef struct ls_step_result {
    bool is_known;
    ls_rerun_figures figures;
    ls_pass_trace passes;   /* of the step to the state */
    uint32_t unstable_pass; /* of them; pass_count or more: none is known */
} ls_step_result;

typedef struct ls_step_study {
    ls_rerun_subject subject;
    bool is_asked;          /* the client was */
    ls_shared_rerun *rerun; /* NULL: these ticks cannot be run again, or the outcome is taken */
    ls_step_result server;
    ls_text failure;  /* of the server's; empty: none */
    ls_text outside;  /* likewise, see ls_rerun_outcome */
    ls_text harmless; /* likewise */
    ls_step_result client;
    bool is_client_gone; /* its result will not come */
} ls_step_study;

/* Begins this side's re-run; the client is to be asked, see next_request. */
void ls_step_study_begin(ls_step_study *study, const ls_rerun_subject *subject,
                         ls_rerun_share *reruns);

/* Lets go of the re-run with the states it led to; what it told stays. */
void ls_step_study_release(ls_step_study *study, ls_rerun_share *reruns);

/* The request to send to the client; false: it was sent. */
bool ls_step_study_next_request(ls_step_study *study, ls_evidence_request *out);

/* The client's answer. STALE: it is to another request, or there was one. MALFORMED: these are no
 * figures. */
ls_status ls_step_study_receive(ls_step_study *study, const ls_wire_evidence *evidence);

/* Takes what this side's re-run has come to. */
void ls_step_study_advance(ls_step_study *study);

/* Nothing more will come; whether both sides have a result is another question. */
bool ls_step_study_is_over(const ls_step_study *study);
bool ls_step_study_is_known(const ls_step_study *study);

bool ls_step_study_has_run(const ls_step_study *study);

/* The run led to the state hash that the match had, and strayed nowhere on the way. */
bool ls_step_result_reproduces(const ls_step_result *result, uint64_t state_hash);

/* Where the two sides part; *pass with LS_PASS_AT alone. */
ls_differing_pass ls_step_study_compare(const ls_step_study *study, uint32_t *pass);

/* The result of a side that by itself gets different results from a pass; NULL: none does, as far
 * as is known. Clients tell nothing of this: they have the same plug-in. */
const ls_step_result *ls_step_study_unstable(const ls_step_study *study);

/* Whether the passes of the step hide the difference: a side that strays on the way begins it with
 * another state, and one that gets different results may have got the other's this time. */
bool ls_step_study_is_hidden(const ls_step_study *study);

/* The state that it was asked for behind a pass is the one that was there before, on both sides. */
bool ls_step_study_repeats(const ls_step_study *study, const ls_step_study *before);

/* The evidence as figures and passes. MALFORMED. */
ls_status ls_step_result_read(const ls_wire_evidence *evidence, ls_step_result *out);

/* ---- Tick search: finds the first state in which a client differs from the server, where only
 * every K-th state was compared, each time by the one in the middle of those left. While both sides
 * hold these states the states themselves are compared; later both sides run the ticks again, if
 * their re-runs gave at the known bad state what the match gave. Sends nothing, allocates nothing.
 * Called by investigation ---- */

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

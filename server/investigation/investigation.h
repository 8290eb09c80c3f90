/* Investigation: finds the causes of desyncs on the server's side, of all slots at once: for each
 * the hash-tree diff down to what differs, the re-run that it may share, and what its client sent
 * as evidence. Sends nothing and decides nothing; allocates at create only. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_INVESTIGATION_H
#define LOCKSTEP_SERVER_INVESTIGATION_INVESTIGATION_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/investigation/diff_pool.h"
#include "lockstep/server/investigation/step_study.h"

/* A state to come that both sides put aside when they get there, to see what differs in it where
 * the bad one is not held any more. */
typedef struct ls_later_state {
    ls_tick tick;   /* 0: none was chosen */
    uint32_t count; /* chosen so far */
    bool is_asked;  /* the client was told to put it aside */
    bool is_known;  /* all that differs in it is */
} ls_later_state;

typedef enum ls_investigation_phase {
    LS_INVESTIGATION_IDLE,
    LS_INVESTIGATION_LOOKING,   /* for the cause: hash-tree diff and re-runs */
    LS_INVESTIGATION_REPORTED,  /* what is done about it waits until everybody could see the report
                                 */
    LS_INVESTIGATION_COMPARING, /* a newer state, to heal it */
    LS_INVESTIGATION_HEALING,   /* the leaves have been sent */
} ls_investigation_phase;

/* How far the comparison of a client's state with the server's has come. */
typedef enum ls_comparison {
    LS_COMPARISON_WAITING, /* for a place, or for the re-run that leads to the server's state */
    LS_COMPARISON_ASKING,
    LS_COMPARISON_ENDED,        /* as far as it can be known, it is */
    LS_COMPARISON_CONTRADICTED, /* what the client shows contradicts itself, or what it told */
} ls_comparison;

#define LS_STUDIES_MAX 3u
#define LS_INVESTIGATION_TIMES_MAX 4u /* as long for a case, while it gets on */

/* One slot's case. */
typedef struct ls_investigation {
    ls_investigation_phase phase;
    ls_tick agreed_tick;
    ls_tick bad_tick;
    bool is_kept; /* the window was told to keep the ticks from the one to the other, which another
                   * re-run may want after a long time, and the bundle holds */
    uint64_t server_hash; /* of the bad state */
    uint64_t client_hash; /* of the bad state, as the client told it */
    uint64_t since_ns;    /* when the phase began; of a looking one, when the client was asked */
    uint64_t progress_ns; /* when the client last answered something, */
    uint64_t moved_ns;    /* or this side's re-run went on */
    uint64_t rtt_ns;      /* the caller's word */
    bool has_answered;    /* anything since it was asked */
    bool is_overdue;      /* the caller's word: the client had all the time that it was given */
    bool is_client_gone;  /* what this side runs again is all that will be known */

    /* The comparison: of the bad state, of a later one, of those by which the first one is searched
     * for, of that one, and of the one behind the pass in which the two sides part; or of the state
     * to heal. */
    ls_comparison comparison;
    ls_diff_subject compared;
    uint64_t queued;            /* its turn among those that wait for a place */
    ls_diff_place *place;       /* NULL: none, or none any more */
    ls_diff_place *state_place; /* where the state for the bundle was; NULL likewise */
    ls_tick state_tick;         /* of that one */
    uint32_t unanswered;        /* queries whose answers are on their way */
    uint32_t outdated;          /* the first so many of them are of no use any more */

    uint32_t study_count; /* of the bad state, of the first one that differs, and of its pass */
    ls_step_study studies[LS_STUDIES_MAX];
    bool has_fingerprint; /* of the client */
    ls_build_fingerprint print;
    ls_tick_search search;    /* for the first state that differs */
    ls_later_state later;     /* compared where the bad state is not to be had yet, or at all */
    bool is_bad_put_off;      /* to when this side has run to it again */
    uint32_t kept_every;      /* ticks, where that is why the bad state was not; 0: it is not */
    bool has_asked_writers;   /* of the step to it, where its passes cannot be compared: */
    ls_shared_rerun *writers; /* NULL: that step cannot be run again */
    bool has_own_hash;        /* an engine's, which is not to be had of a state that is held */
    bool is_save_equal;       /* of the bad state: its engine hashes what it does not save */
    bool is_exact_queued;     /* that state is compared, or was */
    bool is_exact_shown;      /* and has told these: */
    uint64_t exact_hashes[2]; /* the server's, the client's */
    ls_rerun_figures server_figures; /* what the verdict follows from, once concluded */
    ls_rerun_figures client_figures;
    ls_desync_finding finding;
} ls_investigation;

typedef struct ls_investigations {
    const ls_allocator *allocator;
    const ls_sim_instance *instance;
    ls_replay_window *window;
    bool is_at_end; /* the caller's word: no more ticks will be closed */
    ls_diff_pool pool;
    ls_rerun_share reruns;
    uint64_t turns; /* given to those that wait for a place */
    uint32_t count;
    ls_investigation *slots; /* [count] */
} ls_investigations;

/* The time for a case, of `time_ms` for a state that is not large: running the ticks of a large one
 * again takes longer. */
uint32_t ls_investigation_time_ms(const ls_sim_instance *instance, uint32_t time_ms);

/* For a simulation that has a schema. Its instance, the window of the match's newest ticks, and the
 * host (or NULL) are borrowed. `time_ms` is for each case. NO_MEMORY. */
ls_status ls_investigations_create(const ls_sim_instance *instance, ls_replay_window *window,
                                   const ls_rerun_host *host, uint32_t time_ms,
                                   const ls_allocator *allocator, ls_investigations **out);
void ls_investigations_destroy(ls_investigations *all);

/* The difference that is to be looked into. The state hashes are those that were compared, which
 * for the last state of a match may be no hashed one. */
typedef struct ls_investigation_subject {
    uint32_t interval_ticks; /* every so many states are compared */
    ls_tick agreed;          /* a state that did not differ; < tick */
    ls_tick tick;            /* the first compared state that did */
    uint64_t server_hash;
    uint64_t client_hash;
} ls_investigation_subject;

/* Begins with a slot that differs. The client is asked now. */
void ls_investigation_start(ls_investigations *all, uint32_t slot,
                            const ls_investigation_subject *subject, uint64_t now_ns);

/* Begins to compare the slot's state `tick`, to heal it. */
void ls_investigation_compare(ls_investigations *all, uint32_t slot, ls_tick tick, uint64_t now_ns);

/* The slot's client is gone: what it was asked for will not come, and what this side runs again
 * ends the case. */
void ls_investigation_forget_client(ls_investigation *investigation);

/* The slot's case is closed; its finding stays. */
void ls_investigation_end(ls_investigations *all, uint32_t slot);

/* Takes what re-runs have come to, and gives places to those that wait for one: a comparison whose
 * client has been silent for 250 ms and two round trips makes room. */
void ls_investigations_advance(ls_investigations *all, uint64_t now_ns);

/* The next query to be sent to the slot's client; false: none now. */
bool ls_investigation_next_query(ls_investigation *investigation, ls_wire_query *out);

/* STALE: not asked for, or not of use any more. MALFORMED: it does not fit; nothing more is asked
 * then. */
ls_status ls_investigation_receive_answer(ls_investigations *all, uint32_t slot,
                                          const ls_wire_answer *answer, uint64_t now_ns);

/* The ticks that the slot's client is to be asked to simulate again; false: none now. */
bool ls_investigation_next_request(ls_investigations *all, uint32_t slot, ls_evidence_request *out);

/* STALE, or MALFORMED: these are no figures. */
ls_status ls_investigation_receive_evidence(ls_investigation *investigation,
                                            const ls_wire_evidence *evidence, uint64_t now_ns);
ls_status ls_investigation_receive_fingerprint(ls_investigation *investigation,
                                               const ls_wire_fingerprint *print, uint64_t now_ns);

/* Everything that can be known is. */
bool ls_investigation_is_done(const ls_investigation *investigation);

/* The study that the verdict follows from. */
const ls_step_study *ls_investigation_main_study(const ls_investigation *investigation);

/* Takes what a comparison of the server's state with the client's has come to. The state is as it
 * was in the end. */
void ls_investigation_add_places(ls_desync_finding *finding, ls_hash_tree_diff *diff,
                                 void *server_state);

/* Every difference is known and can be sent as leaves. */
bool ls_investigation_can_heal(const ls_investigation *investigation);

/* ---- Conclusion: what a slot's investigation has come to, as its finding and as the contents of
 * its bundle. Sends nothing and decides nothing ---- */

/* Completes the finding of the slot with what is known now. Of the circumstances the match knows
 * who has which state; the elements are counted here. */
ls_desync_finding *ls_conclusion_draw(ls_investigations *all, uint32_t slot,
                                      const ls_build_fingerprint *own_fingerprint,
                                      ls_desync_circumstances circumstances);

/* Completes it with the first state that differs alone, as far as that is known. */
void ls_conclusion_add_first_tick(ls_investigation *investigation);

/* The contents of the bundle, but for the stretch; good while the slot is REPORTED. */
void ls_conclusion_evidence(const ls_investigations *all, uint32_t slot,
                            ls_desync_evidence_set *out);

#endif

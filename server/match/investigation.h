/* Investigation: finds the cause of a desync on the server's side: for one slot at a time the
 * hash-tree diff to what differs, and the re-run out of the window of the match's newest ticks.
 * Keeps what each client sent as evidence. Sends nothing and decides nothing; allocates at create
 * only. Called by desync_service. */
#ifndef LOCKSTEP_SERVER_MATCH_INVESTIGATION_H
#define LOCKSTEP_SERVER_MATCH_INVESTIGATION_H

#include "lockstep/common/diagnosis/hash_tree_diff.h"
#include "lockstep/common/diagnosis/state_inspector.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/desync_finding.h"

typedef enum ls_investigation_phase {
    LS_INVESTIGATION_IDLE,
    LS_INVESTIGATION_LOOKING,   /* for the cause: hash-tree diff and re-runs */
    LS_INVESTIGATION_REPORTED,  /* what is done about it waits until everybody could see the report
                                 */
    LS_INVESTIGATION_COMPARING, /* a newer state, to heal it */
    LS_INVESTIGATION_HEALING,   /* the leaves have been sent */
} ls_investigation_phase;

/* The evidence that a client sent. */
typedef struct ls_investigation_evidence {
    bool has_figures;
    bool has_fingerprint;
    ls_tick tick; /* asked for; 0: nothing is */
    ls_rerun_figures figures;
    ls_pass_trace passes;
    ls_build_fingerprint print;
} ls_investigation_evidence;

typedef struct ls_investigation {
    const ls_allocator *allocator;
    const ls_rerun_host *host;    /* NULL: no ticks can be run again */
    ls_state_inspector inspector; /* holds the server's state that is compared */
    ls_hash_tree_diff *diff;

    ls_investigation_phase phase;
    uint32_t slot;
    ls_tick bad_tick;
    ls_tick tick; /* of the state that is compared: the bad one, or the one to heal */
    uint64_t since_ns;
    uint64_t ran_ns;                 /* when the re-run was last asked after */
    uint32_t ticket;                 /* of the re-run; 0: none was started */
    const ls_rerun_outcome *outcome; /* of it; NULL: not known yet */
    bool is_comparing;
    bool is_compared;         /* and the hash-tree diff is through, or there is no more to learn */
    bool is_run;              /* the re-run has ended, or there is none */
    ls_rerun_figures figures; /* this side's, once concluded */

    ls_investigation_evidence *evidence; /* [players] */
    ls_desync_finding *findings;         /* [players] */
} ls_investigation;

/* For a simulation that has a schema. Its instance, the window of the match's newest ticks, and the
 * host (or NULL) are borrowed. NO_MEMORY. */
ls_status ls_investigation_create(const ls_sim_instance *instance, const ls_replay_window *window,
                                  const ls_rerun_host *host, const ls_allocator *allocator,
                                  ls_investigation **out);
void ls_investigation_destroy(ls_investigation *investigation);

/* Begins with a slot whose state `tick` > 0 differs, while state `agreed` < `tick` did not. */
void ls_investigation_start(ls_investigation *investigation, uint32_t slot, ls_tick agreed,
                            ls_tick tick, uint64_t now_ns);

/* Begins to compare the slot's state `tick`. False when the server's is not held any more. */
bool ls_investigation_compare(ls_investigation *investigation, ls_tick tick, uint64_t now_ns);

/* Takes an answer. False: it does not fit; nothing more is asked then. */
bool ls_investigation_take_answer(ls_investigation *investigation, const ls_wire_answer *answer);

/* MALFORMED: these are no figures. */
ls_status ls_investigation_take_evidence(ls_investigation *investigation, uint32_t slot,
                                         const ls_wire_evidence *evidence);
void ls_investigation_take_fingerprint(ls_investigation *investigation, uint32_t slot,
                                       const ls_wire_fingerprint *print);

/* Asks whether the re-run has ended. */
void ls_investigation_run(ls_investigation *investigation, uint64_t now_ns);

/* Everything that can be known is. */
bool ls_investigation_is_done(const ls_investigation *investigation);

/* Fills in the finding of the slot with what is known now. The state hashes are what was compared,
 * which for the last state of a match may be no hashed one. */
ls_desync_finding *ls_investigation_conclude(ls_investigation *investigation, uint64_t server_hash,
                                             uint64_t client_hash,
                                             const ls_build_fingerprint *own_fingerprint);

/* Every difference is known and can be sent as leaves. */
bool ls_investigation_can_heal(const ls_investigation *investigation);

#endif

/* Ladder: what the server's side of a match needs to find the cause of a desync: the window of its
 * newest ticks, and, for one slot at a time, the descent to what differs and the re-run. Keeps what
 * each client sent as evidence. Sends nothing and decides nothing; allocates at create only.
 * Called by match. */
#ifndef LOCKSTEP_SERVER_MATCH_INVESTIGATION_H
#define LOCKSTEP_SERVER_MATCH_INVESTIGATION_H

#include "lockstep/common/diagnosis/hash_tree_diff.h"
#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/desync_finding.h"

typedef enum ls_ladder_phase {
    LS_LADDER_IDLE,
    LS_LADDER_LOOKING,   /* for the cause: descent and re-runs */
    LS_LADDER_REPORTED,  /* what is done about it waits until everybody could see the report */
    LS_LADDER_COMPARING, /* a newer state, to heal it */
    LS_LADDER_HEALING,   /* the leaves have been sent */
} ls_ladder_phase;

/* What a client sent. */
typedef struct ls_ladder_evidence {
    bool has_figures;
    bool has_print;
    ls_tick tick; /* asked for; 0: nothing is */
    ls_rerun_figures figures;
    ls_pass_trace passes;
    ls_build_print print;
} ls_ladder_evidence;

typedef struct ls_ladder {
    const ls_allocator *allocator;
    ls_replay_window *window;
    ls_state_tree *tree;
    ls_state_descent *descent;
    ls_rerun *rerun;
    ls_sim_instance *spare; /* holds the server's state that is compared */

    ls_ladder_phase phase;
    uint32_t slot;
    ls_tick bad_tick;
    ls_tick tick; /* of the state that is compared: the bad one, or the one to heal */
    uint64_t since_ns;
    uint64_t ran_ns; /* when the re-run was last advanced */
    bool is_comparing;
    bool is_compared; /* and the descent is through, or there is no more to learn */
    bool is_run;
    ls_rerun_figures figures; /* this side's, once concluded */

    uint32_t players;
    ls_ladder_evidence *evidence; /* [players] */
    ls_desync_finding *findings;  /* [players] */
} ls_ladder;

/* The instance, at state 0, is not kept; `closed`, the inputs of its ticks, is borrowed.
 * UNSUPPORTED for a simulation that hashes by callback, NO_MEMORY, or what creating a simulation
 * says. */
ls_status ls_ladder_create(const ls_sim_instance *instance, uint64_t root,
                           const ls_input_buffer *closed, const ls_allocator *allocator,
                           ls_ladder **out, ls_text *why);
void ls_ladder_destroy(ls_ladder *ladder);

/* Begins with a slot whose state `tick` > 0 differs, while state `agreed` < `tick` did not. */
void ls_ladder_start(ls_ladder *ladder, uint32_t slot, ls_tick agreed, ls_tick tick,
                     uint64_t now_ns);

/* Begins to compare the slot's state `tick`. False when the server's is not held any more. */
bool ls_ladder_compare(ls_ladder *ladder, ls_tick tick, uint64_t now_ns);

/* Takes an answer. False: it does not fit; nothing more is asked then. */
bool ls_ladder_take_answer(ls_ladder *ladder, const ls_wire_answer *answer);

/* MALFORMED: these are no figures. */
ls_status ls_ladder_take_evidence(ls_ladder *ladder, uint32_t slot,
                                  const ls_wire_evidence *evidence);
void ls_ladder_take_print(ls_ladder *ladder, uint32_t slot, const ls_wire_print *print);

/* Runs up to `steps` steps again. */
void ls_ladder_run(ls_ladder *ladder, uint32_t steps);

/* Everything that can be known is. */
bool ls_ladder_is_through(const ls_ladder *ladder);

/* Fills in the finding of the slot with what is known now. The roots are what was compared, which
 * for the last state of a match may be no hashed one. */
ls_desync_finding *ls_ladder_conclude(ls_ladder *ladder, uint64_t server_root, uint64_t client_root,
                                      const ls_build_print *own_print);

/* Every difference is known and can be sent as leaves. */
bool ls_ladder_can_heal(const ls_ladder *ladder);

#endif

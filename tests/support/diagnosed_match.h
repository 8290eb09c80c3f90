/* Diagnosed match: two machines that run the fault simulation on the same inputs in one process,
 * each with its replay window, until their state hashes differ; and the bundle that tells of it.
 * Stops the test when something cannot be made. Called by tests of desync diagnosis. */
#ifndef LOCKSTEP_TESTS_SUPPORT_DIAGNOSED_MATCH_H
#define LOCKSTEP_TESTS_SUPPORT_DIAGNOSED_MATCH_H

#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/tests/support/fault_simulation.h"

typedef struct diagnosed_machine {
    fault_knob knob; /* how this machine computes */
    ls_sim_instance *instance;
    ls_replay_window *window;
    ls_rerun *rerun;
} diagnosed_machine;

typedef struct diagnosed_match {
    diagnosed_machine server;
    diagnosed_machine client;
    ls_rng rng;
    uint8_t inputs[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
    ls_tick bad;       /* tick of the first state that differs; 0: none yet */
    uint8_t *snapshot; /* the server's, of the newest bundle */
} diagnosed_match;

/* Any simulation without a bot that minds what it is sent. */
void diagnosed_match_open(diagnosed_match *match, const ls_simulation *simulation,
                          const ls_sim_config *config);
/* The client runs another build of the same simulation. */
void diagnosed_match_open_builds(diagnosed_match *match, const ls_simulation *server,
                                 const ls_simulation *client, const ls_sim_config *config);
void diagnosed_match_close(diagnosed_match *match);

/* Steps both once on random inputs. */
void diagnosed_match_step(diagnosed_match *match);
void diagnosed_match_run(diagnosed_match *match, uint32_t ticks);

/* The client steps this often more by itself and goes back, as one that guesses does. */
void diagnosed_match_roll_back(diagnosed_match *match, uint32_t ticks);

/* Each side runs the ticks up to the bad one again and the two are classified. */
void diagnosed_match_diagnose(diagnosed_match *match, ls_desync_verdict *out);

/* All that is known, with the client's state at the bad tick as its window has it. Borrowed from
 * the match; `fields` and `state hashes` are the caller's memory. */
typedef struct diagnosed_memory {
    ls_field fields[LS_FIELDS_MAX];
    uint64_t state_hashes[2][LS_BUNDLE_HASHES_MAX];
} diagnosed_memory;
void diagnosed_match_bundle(diagnosed_match *match, diagnosed_memory *memory,
                            ls_desync_bundle *out);

#endif

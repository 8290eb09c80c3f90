/* Stepper: steps the simulation, over closed ticks alone or with prediction beyond them, and notes
 * the hash of every state that closed ticks led to. Decides from the time that has passed how many
 * steps a frame takes and how the picture blends the two newest states. Sends nothing; never reads
 * a clock. */
#ifndef LOCKSTEP_CLIENT_SESSION_STEPPER_H
#define LOCKSTEP_CLIENT_SESSION_STEPPER_H

#include "lockstep/client/session/uplink.h"
#include "lockstep/common/diagnosis/replay_window.h"

typedef struct ls_stepper ls_stepper;

/* NO_MEMORY, and what creating a prediction says; without prediction for a simulation that cannot
 * save its state. */
ls_status ls_stepper_create(const ls_session *context, ls_stepper **out);
void ls_stepper_destroy(ls_stepper *stepper);

/* ---- playing ---- */

/* The match begins, or goes on where a joining session has got to. */
void ls_stepper_begin(ls_stepper *stepper);

/* A closed tick has come. */
void ls_stepper_add_arrival(ls_stepper *stepper, ls_tick tick);

/* Of the ticks that have come since then, the least time of arrival less the tick times dt. False
 * while there is none. */
bool ls_stepper_least_offset(const ls_stepper *stepper, int64_t *offset_ns);

/* Steps the ticks that are due, `elapsed_ns` after the frame before. Fails with the simulation's
 * status when it cannot load what it saved. */
ls_status ls_stepper_frame(ls_stepper *stepper, uint64_t elapsed_ns);

/* Nothing is played in this frame: its time counts as stalled. */
void ls_stepper_count_stalled(ls_stepper *stepper, uint64_t elapsed_ns);

/* Makes the newest settled state the live one, for good. */
void ls_stepper_drop_guesses(ls_stepper *stepper);

/* ---- replacing the state ---- */

/* From now on ticks are stepped one by one, as they are handed in, and nothing is guessed. When
 * ticks arrive is measured anew. */
void ls_stepper_begin_catch_up(ls_stepper *stepper);

/* The live state is the server's, of this state hash: pictures blend from it, and the states that
 * follow are recorded. */
void ls_stepper_accept_state(ls_stepper *stepper, uint64_t state_hash);

/* Recorded are the ticks behind a state that was accepted, or behind the one that was live. */
void ls_stepper_catch_up(ls_stepper *stepper, const ls_tick_inputs *inputs, bool is_recorded);

/* The live state is a settled one: guessing starts from it. */
void ls_stepper_end_catch_up(ls_stepper *stepper);

/* Goes back to state 0, and to the hashes that begin there. */
ls_status ls_stepper_restart(ls_stepper *stepper);

/* Goes back to a settled tick, with `saved` (as ls_sim_instance_save gives it, of this state hash)
 * for its state, and steps the closed ticks from there on again. Guesses are dropped; the states
 * are recorded anew, and so are their hashes. Only where states are recorded. */
void ls_stepper_go_back(ls_stepper *stepper, const uint8_t *saved, ls_tick tick,
                        uint64_t state_hash);

/* ---- reading ---- */

/* Where the newest settled states are recorded; NULL: the config or the simulation does not allow
 * it. */
ls_replay_window *ls_stepper_window(const ls_stepper *stepper);

/* The newest state that is the result of closed ticks alone. */
ls_tick ls_stepper_tick(const ls_stepper *stepper);

bool ls_stepper_predicts(const ls_stepper *stepper);
ls_fixed ls_stepper_alpha(const ls_stepper *stepper);
const void *ls_stepper_previous(const ls_stepper *stepper);
void ls_stepper_draw(const ls_stepper *stepper, ls_fixed alpha, ls_draw_list *list);

/* Fills in the report's figures of steps and states. */
void ls_stepper_report(const ls_stepper *stepper, ls_session_report *report);

#endif

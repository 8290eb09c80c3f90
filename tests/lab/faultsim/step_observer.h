/* Step observer: sees every step of a simulation from inside: which inputs a machine really stepped
 * on, and which state it had before. It puts one more pass before those of the simulation, which
 * reports to the observer of the instance, and changes no bit of what the simulation computes. One
 * registry for the whole process, for one match at a time. Called by match_check. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_STEP_OBSERVER_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_STEP_OBSERVER_H

#include "lockstep/common/simulation/sim_instance.h"

/* The simulation that `inner` becomes; asked twice, the same one. The name, the version and all
 * digests are those of `inner`. */
const ls_simulation *step_observer_simulation(const ls_simulation *inner);

/* `state_digest` is that of the state before the step. */
typedef void (*step_observer_function)(void *user, const ls_tick_inputs *inputs,
                                       uint64_t state_digest);

/* Reports every step of the instance from now on. */
void step_observer_attach(ls_sim_instance *instance, step_observer_function on_step, void *user);

/* The digest of the instance's state as it is now. */
uint64_t step_observer_state(const ls_sim_instance *instance);

/* Ends the reports to this user, of which there is one instance. */
void step_observer_detach(const void *user);

/* Ends all reports. */
void step_observer_detach_all(void);

/* A digest of one input's bytes; events are no part of it. Never 0. */
uint64_t step_observer_digest(const uint8_t *bytes, uint32_t size);

#endif

/* Witness: lets a virtual match see every step of a simulation from inside: which inputs a machine
 * really stepped on, and which state it had before. It runs another simulation behind one more
 * pass, which reports to whoever watches the instance. Changes no bit of what the other one
 * computes. One registry for the whole process, for one match at a time. Called by virtual_match.
 */
#ifndef LOCKSTEP_TOOLS_FAULTSIM_WITNESS_H
#define LOCKSTEP_TOOLS_FAULTSIM_WITNESS_H

#include "lockstep/common/simulation/sim_instance.h"

/* The simulation that `inner` becomes; asked twice, the same one. The name, the version and all
 * digests are those of `inner`. */
const ls_simulation *witness_simulation(const ls_simulation *inner);

/* `state_digest` is that of the state before the step. */
typedef void (*witness_function)(void *user, const ls_tick_inputs *inputs, uint64_t state_digest);

/* Reports every step of the instance from now on. */
void witness_watch(ls_sim_instance *instance, witness_function on_step, void *user);

/* The digest of the instance's state as it is now. */
uint64_t witness_state(const ls_sim_instance *instance);

/* Ends the reports to this user, of which there is one instance. */
void witness_forget(const void *user);

/* Ends all reports. */
void witness_forget_all(void);

/* A digest of one input's bytes; events are no part of it. Never 0. */
uint64_t witness_digest(const uint8_t *bytes, uint32_t size);

#endif

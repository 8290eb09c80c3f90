/* Units: a small strategy battle, the built-in simulation with variable-length inputs.
 * Up to eight armies of soldiers, archers and scouts march, fight, retreat and are reinforced in
 * waves; players give orders to selections of their units (units_state.h). Owns the descriptor
 * alone: states belong to instances. Called by the loader and by tests. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_H
#define LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_H

#include "lockstep/common/simulation/simulation.h"

/* Every seat's army stands at its base from state 0 and guards it. When a player leaves, the army
 * stops where it is, goes on guarding, and is neither commanded nor reinforced until somebody
 * takes the seat again; if none of it is left by then, it is raised anew. */
const ls_simulation *ls_units_simulation(void);

#endif

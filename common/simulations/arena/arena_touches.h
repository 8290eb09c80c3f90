/* Arena touches: the impulses of contacts, which the state keeps from one tick to the next so that
 * the solver begins where it ended. They are a guess: a contact that is not remembered begins at
 * none. Called by the solver. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_TOUCHES_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_TOUCHES_H

#include "lockstep/common/simulations/arena/arena_world.h"

/* Sets the contact's impulses to those that it ended with in the last tick, or to none. */
void ls_arena_touches_recall(const ls_arena_world *world, ls_arena_contact *contact);

/* Forgets all contacts but those between bodies that are asleep, then remembers those of this
 * tick. */
void ls_arena_touches_keep(const ls_arena_world *world);

#endif

/* A shared object that has the state structs of the built-in simulations in its debug information.
 */
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/simulations/units/units_state.h"

LS_SIMULATION_EXPORT ls_arena_match match_type;
LS_SIMULATION_EXPORT ls_arena_ship ship_type;
LS_SIMULATION_EXPORT ls_arena_body body_type;
LS_SIMULATION_EXPORT ls_arena_shot shot_type;
LS_SIMULATION_EXPORT ls_arena_touch touch_type;
LS_SIMULATION_EXPORT ls_units_state units_type;

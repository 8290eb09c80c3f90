/* Controls: what simulations make of a person's hands in the same way. Never reaches a state.
 * Called by `control` functions. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_CONTROLS_H
#define LOCKSTEP_COMMON_SIMULATIONS_CONTROLS_H

#include "lockstep/common/simulation/simulation.h"

/* Where arrow keys and stick point together; -LS_FIXED_ONE .. LS_FIXED_ONE, y up. */
static inline ls_vec2 ls_controls_direction(const ls_controls *controls)
{
    ls_vec2 way = controls->stick;
    way.x += controls->held & LS_CONTROL_RIGHT ? LS_FIXED_ONE : 0;
    way.x -= controls->held & LS_CONTROL_LEFT ? LS_FIXED_ONE : 0;
    way.y += controls->held & LS_CONTROL_UP ? LS_FIXED_ONE : 0;
    way.y -= controls->held & LS_CONTROL_DOWN ? LS_FIXED_ONE : 0;
    way.x = ls_fixed_clamp(way.x, -LS_FIXED_ONE, LS_FIXED_ONE);
    way.y = ls_fixed_clamp(way.y, -LS_FIXED_ONE, LS_FIXED_ONE);
    return way;
}

#endif

/* Rope: a built-in simulation of particles joined by springs, that players drag by its ends. Stiff:
 * it needs steps of a millisecond, and falls apart with those of a frame. Strict double
 * (integrator.h). Its forces are those of "Rope Physics" (NeHe lesson 40).
 * Called through its ls_simulation; tools that compare stepping strategies ask for the rest. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ROPE_ROPE_H
#define LOCKSTEP_COMMON_SIMULATIONS_ROPE_ROPE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulations/spring/integrator.h"

LS_C_BEGIN

/* An input drags the slot's particle: byte 0 is 1 to hold it and 0 to let it go, bytes 1-2 and 3-4
 * are where to, x and y, i16 in mm, little-endian. Shorter inputs change nothing. */
#define LS_ROPE_INPUT_BYTES 5u

typedef enum ls_rope_param {
    LS_ROPE_PARAM_PARTICLES,
    LS_ROPE_PARAM_INTEGRATOR,
    LS_ROPE_PARAM_MASS,
    LS_ROPE_PARAM_LINK,
    LS_ROPE_PARAM_STIFFNESS,
    LS_ROPE_PARAM_DAMPING,
    LS_ROPE_PARAM_AIR,
    LS_ROPE_PARAM_COUNT,
} ls_rope_param;

const ls_simulation *ls_rope_simulation(void);

/* Kinetic, elastic and, from the floor up, of weight: all of it, J. */
double ls_rope_energy(const ls_sim_config *config, const void *state);

/* The longest link, as a multiple of its length at rest: 1 for a slack rope; one that falls apart
 * has no limit. */
double ls_rope_stretch(const ls_sim_config *config, const void *state);

/* One step of any length: what the simulation does each tick, for loops that have no fixed tick.
 * `scratch` holds the simulation's scratch_bytes. Hands stay where they are. */
void ls_rope_advance(const ls_sim_config *config, void *state, void *scratch, double dt_seconds);

LS_C_END

#endif

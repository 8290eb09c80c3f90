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

/* The longest link, as a multiple of its length at rest: 1 for a slack rope; one that falls apart
 * has no limit. */
double ls_rope_stretch(const ls_sim_config *config, const void *state);

/* One step of any length: what the simulation does each tick, for loops that have no fixed tick.
 * `scratch` holds the simulation's scratch_bytes. Hands stay where they are. */
void ls_rope_advance(const ls_sim_config *config, void *state, void *scratch, double dt_seconds);

/* ---- Rope state: what the rope's files share: the layout of the state and the rules of the
 * match. The state is the hands, then all particles' positions, then all their velocities:
 * the arrays that the integrator takes ---- */

#define LS_ROPE_FLOOR (-2.0) /* m */

typedef struct ls_rope_point {
    double x;
    double y;
} ls_rope_point;

/* A player's grip on one particle. */
typedef struct ls_rope_hand {
    ls_rope_point target; /* m: where the player wants the particle */
    uint32_t is_present;
    uint32_t is_holding;
} ls_rope_hand;

typedef struct ls_rope_rules {
    double mass;      /* kg, of a particle */
    double link;      /* m, at rest */
    double stiffness; /* N/m */
    double damping;   /* N s/m, between neighbours */
    double air;       /* N s/m */
    uint32_t count;   /* of particles */
    uint32_t players;
    ls_integrator integrator;
} ls_rope_rules;

typedef struct ls_rope_view {
    const ls_rope_hand *hands;
    const ls_rope_point *positions;  /* m */
    const ls_rope_point *velocities; /* m/s */
} ls_rope_view;

ls_rope_view ls_rope_view_of(const ls_sim_config *config, const void *state);

/* Which particle the slot holds: with two players, the two ends. */
uint32_t ls_rope_particle_of(const ls_rope_rules *rules, uint32_t slot);

LS_C_END

#endif

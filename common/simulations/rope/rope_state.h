/* Rope state: what the rope's files share: the layout of the state and the rules of the match.
 * The state is the hands, then all particles' positions, then all their velocities: the arrays that
 * the integrator takes. Called by the rope's own files only. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ROPE_ROPE_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_ROPE_ROPE_STATE_H

#include "lockstep/common/simulations/rope/rope.h"

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

ls_rope_rules ls_rope_rules_of(const ls_sim_config *config);

/* Where the arrays begin in the state, in bytes. */
size_t ls_rope_positions_offset(const ls_rope_rules *rules);
size_t ls_rope_velocities_offset(const ls_rope_rules *rules);

typedef struct ls_rope_view {
    const ls_rope_hand *hands;
    const ls_rope_point *positions;  /* m */
    const ls_rope_point *velocities; /* m/s */
} ls_rope_view;

ls_rope_view ls_rope_view_of(const ls_sim_config *config, const void *state);

/* Which particle the slot holds: with two players, the two ends. */
uint32_t ls_rope_particle_of(const ls_rope_rules *rules, uint32_t slot);

/* ---- rope_view.c: as in ls_simulation ---- */

void ls_rope_draw(const ls_sim_config *config, const void *previous, const void *current,
                  ls_fixed alpha, ls_draw_list *list);
uint32_t ls_rope_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                     uint8_t *bytes);
uint32_t ls_rope_control(const ls_sim_config *config, const void *state, uint32_t slot,
                         const ls_controls *controls, uint8_t *bytes);

#endif

/* Spring: a built-in simulation of masses on springs, each swinging by itself: what integrators and
 * step sizes do is seen against the exact motion, which is known. Strict double (integrator.h).
 * Called through its ls_simulation; tools that compare stepping strategies ask for the rest. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_SPRING_SPRING_H
#define LOCKSTEP_COMMON_SIMULATIONS_SPRING_SPRING_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulations/spring/integrator.h"

LS_C_BEGIN

/* An input is one byte: the push as i8, -128 (down) .. 127 (up), in units of 1/10 N. No byte: no
 * push. Slot s pushes every spring whose number is s modulo the players. */
#define LS_SPRING_INPUT_BYTES 1u

typedef enum ls_spring_param {
    LS_SPRING_PARAM_SPRINGS,
    LS_SPRING_PARAM_INTEGRATOR,
    LS_SPRING_PARAM_MASS,
    LS_SPRING_PARAM_STIFFNESS,
    LS_SPRING_PARAM_DAMPING,
    LS_SPRING_PARAM_AMPLITUDE,
    LS_SPRING_PARAM_COUNT,
} ls_spring_param;

const ls_simulation *ls_spring_simulation(void);

/* The properties that all springs of a match share. */
typedef struct ls_spring_rules {
    double mass;      /* kg */
    double stiffness; /* N/m */
    double damping;   /* N s/m */
    double
        amplitude; /* m: how far spring 0 is pulled out at first; the others less, in equal steps */
    uint32_t count;
    ls_integrator integrator;
} ls_spring_rules;

ls_spring_rules ls_spring_rules_of(const ls_sim_config *config);

typedef struct ls_spring_motion {
    double position; /* m, from where it rests */
    double velocity; /* m/s */
} ls_spring_motion;

/* Of one spring in a state; index < rules.count. */
ls_spring_motion ls_spring_motion_of(const ls_sim_config *config, const void *state,
                                     uint32_t index);

/* One step of the rules' integrator, of any length: what the simulation does each tick, for loops
 * that have no fixed tick. */
ls_spring_motion ls_spring_advance(const ls_spring_rules *rules, ls_spring_motion motion,
                                   double dt_seconds);

/* Where a spring that nobody pushes is `seconds` (>= 0) later, whatever the damping. The matrix
 * exponential by scaling, series and squaring: right to about 1e-16 for each radian it swings. */
ls_spring_motion ls_spring_exact(const ls_spring_rules *rules, ls_spring_motion start,
                                 double seconds);

LS_C_END

#endif

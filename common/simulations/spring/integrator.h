/* Integrator: one step of a system of coordinates under forces, by the three methods that the
 * stepping strategies are judged with. Strict double: only + - * / and square root, never
 * contracted, so that every machine comes to the same bits. Called by rope and spring. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_SPRING_INTEGRATOR_H
#define LOCKSTEP_COMMON_SIMULATIONS_SPRING_INTEGRATOR_H

#include "lockstep/common/base/language.h"

#include <stdint.h>

LS_C_BEGIN

/* Also the values of the parameter "integrator". */
typedef enum ls_integrator {
    LS_INTEGRATOR_EXPLICIT_EULER,      /* order 1; adds energy to whatever swings */
    LS_INTEGRATOR_SEMI_IMPLICIT_EULER, /* order 1; the energy swings about the right one */
    LS_INTEGRATOR_RK4,                 /* order 4; four times the forces */
    LS_INTEGRATOR_COUNT,
} ls_integrator;

typedef struct ls_motion_system {
    uint32_t count; /* of coordinates */
    /* Writes `count` accelerations. */
    void (*accelerate)(const void *user, const double *positions, const double *velocities,
                       double *accelerations);
    const void *user;
} ls_motion_system;

/* Working memory of ls_integrate: this many numbers for each coordinate. */
#define LS_INTEGRATE_SCRATCH_EACH 5u

/* Moves the system `dt` seconds on. */
void ls_integrate(const ls_motion_system *system, ls_integrator integrator, double dt,
                  double *positions, double *velocities, double *scratch);

LS_C_END

#endif

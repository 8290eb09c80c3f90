/* Integrators: how far each integrator takes a spring from where it should be, by the length of its
 * step (T9). The spring is the simulation's (common/simulations/spring/spring.h). Called by the
 * reports' driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_INTEGRATORS_H
#define LOCKSTEP_TOOLS_TIMESTEP_INTEGRATORS_H

#include "lockstep/common/maths/integrator.h"

/* "explicit-euler", "semi-implicit-euler", "rk4" */
const char *stepping_integrator_name(ls_integrator integrator);

/* The global error, in m, of a spring of 1 rad/s that was let go at 1 m a second ago: how far its
 * place and its speed are from the exact ones. dt_s: 1e-6 .. 1. */
double stepping_integrator_error(ls_integrator integrator, double dt_s);

/* The exponent by which the error goes with dt: from one tenth to one hundredth of a second. */
double stepping_integrator_order(ls_integrator integrator);

#endif

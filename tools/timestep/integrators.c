#include "lockstep/tools/timestep/integrators.h"

#include "lockstep/common/simulations/spring/spring.h"

#include <math.h>

const char *stepping_integrator_name(ls_integrator integrator)
{
    static const char *const names[LS_INTEGRATOR_COUNT] = {"explicit-euler", "semi-implicit-euler",
                                                           "rk4"};
    return names[integrator];
}

double stepping_integrator_error(ls_integrator integrator, double dt_s)
{
    static const double end_s = 1.0;
    static const ls_spring_motion start = {.position = 1};
    ls_spring_rules rules = {.mass = 1, .stiffness = 1, .count = 1, .integrator = integrator};
    ls_spring_motion exact = ls_spring_exact(&rules, start, end_s);
    ls_spring_motion motion = start;
    uint32_t steps = (uint32_t)(end_s / dt_s + 0.5);
    for (uint32_t i = 0; i < steps; i++) {
        motion = ls_spring_advance(&rules, motion, end_s / steps);
    }
    double place = motion.position - exact.position;
    double speed = motion.velocity - exact.velocity;
    return sqrt(place * place + speed * speed);
}

double stepping_integrator_order(ls_integrator integrator)
{
    return log10(stepping_integrator_error(integrator, 0.1) /
                 stepping_integrator_error(integrator, 0.01));
}

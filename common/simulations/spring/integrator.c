#include "lockstep/common/simulations/spring/integrator.h"

#include <string.h>

enum {
    RK4_STAGES = 4,
};

static void add_scaled(uint32_t count, double *values, double factor, const double *slopes)
{
    for (uint32_t i = 0; i < count; i++) {
        values[i] += factor * slopes[i];
    }
}

/* Each stage looks from the start along the slope of the stage before it; the step is the weighted
 * mean of the four slopes. A stage's velocities are its slope of the positions. */
static void step_rk4(const ls_motion_system *system, double dt, double *positions,
                     double *velocities, double *scratch)
{
    static const double reaches[RK4_STAGES] = {0.0, 0.5, 0.5, 1.0};
    static const double weights[RK4_STAGES] = {1.0, 2.0, 2.0, 1.0};
    uint32_t count = system->count;
    double *stage_positions = scratch;
    double *stage_velocities = scratch + count;
    double *accelerations = scratch + 2 * (size_t)count;
    double *position_slopes = scratch + 3 * (size_t)count;
    double *velocity_slopes = scratch + 4 * (size_t)count;
    memset(scratch, 0, LS_INTEGRATE_SCRATCH_EACH * (size_t)count * sizeof *scratch);
    for (int stage = 0; stage < RK4_STAGES; stage++) {
        double reach = reaches[stage] * dt;
        for (uint32_t i = 0; i < count; i++) {
            stage_positions[i] = positions[i] + reach * stage_velocities[i];
            stage_velocities[i] = velocities[i] + reach * accelerations[i];
        }
        system->accelerate(system->user, stage_positions, stage_velocities, accelerations);
        add_scaled(count, position_slopes, weights[stage], stage_velocities);
        add_scaled(count, velocity_slopes, weights[stage], accelerations);
    }
    add_scaled(count, positions, dt / 6.0, position_slopes);
    add_scaled(count, velocities, dt / 6.0, velocity_slopes);
}

void ls_integrate(const ls_motion_system *system, ls_integrator integrator, double dt,
                  double *positions, double *velocities, double *scratch)
{
    if (integrator == LS_INTEGRATOR_RK4) {
        step_rk4(system, dt, positions, velocities, scratch);
        return;
    }
    system->accelerate(system->user, positions, velocities, scratch);
    if (integrator == LS_INTEGRATOR_EXPLICIT_EULER) {
        add_scaled(system->count, positions, dt, velocities);
        add_scaled(system->count, velocities, dt, scratch);
    } else {
        add_scaled(system->count, velocities, dt, scratch);
        add_scaled(system->count, positions, dt, velocities);
    }
}

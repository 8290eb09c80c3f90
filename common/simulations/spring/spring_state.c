#include "lockstep/common/simulations/spring/spring_state.h"

ls_spring_rules ls_spring_rules_of(const ls_sim_config *config)
{
    const int64_t *values = config->params;
    return (ls_spring_rules){
        .mass = (double)values[LS_SPRING_PARAM_MASS] / 1000.0,
        .stiffness = (double)values[LS_SPRING_PARAM_STIFFNESS],
        .damping = (double)values[LS_SPRING_PARAM_DAMPING] / 1000.0,
        .amplitude = (double)values[LS_SPRING_PARAM_AMPLITUDE] / 1000.0,
        .count = (uint32_t)values[LS_SPRING_PARAM_SPRINGS],
        .integrator = (ls_integrator)values[LS_SPRING_PARAM_INTEGRATOR],
    };
}

ls_spring_motion ls_spring_motion_of(const ls_sim_config *config, const void *state, uint32_t index)
{
    (void)config;
    const ls_spring *springs = state;
    return springs[index].motion;
}

#include "lockstep/common/simulations/rope/rope_state.h"

ls_rope_rules ls_rope_rules_of(const ls_sim_config *config)
{
    const int64_t *values = config->params;
    return (ls_rope_rules){
        .mass = (double)values[LS_ROPE_PARAM_MASS] / 1000.0,
        .link = (double)values[LS_ROPE_PARAM_LINK] / 1000.0,
        .stiffness = (double)values[LS_ROPE_PARAM_STIFFNESS],
        .damping = (double)values[LS_ROPE_PARAM_DAMPING] / 1000.0,
        .air = (double)values[LS_ROPE_PARAM_AIR] / 1000.0,
        .count = (uint32_t)values[LS_ROPE_PARAM_PARTICLES],
        .players = config->players,
        .integrator = (ls_integrator)values[LS_ROPE_PARAM_INTEGRATOR],
    };
}

uint32_t ls_rope_particle_of(const ls_rope_rules *rules, uint32_t slot)
{
    return rules->players < 2 ? 0 : slot * (rules->count - 1) / (rules->players - 1);
}

size_t ls_rope_positions_offset(const ls_rope_rules *rules)
{
    return rules->players * sizeof(ls_rope_hand);
}

size_t ls_rope_velocities_offset(const ls_rope_rules *rules)
{
    return ls_rope_positions_offset(rules) + rules->count * sizeof(ls_rope_point);
}

ls_rope_view ls_rope_view_of(const ls_sim_config *config, const void *state)
{
    ls_rope_rules rules = ls_rope_rules_of(config);
    const uint8_t *bytes = state;
    return (ls_rope_view){
        .hands = state,
        .positions = (const void *)(bytes + ls_rope_positions_offset(&rules)),
        .velocities = (const void *)(bytes + ls_rope_velocities_offset(&rules)),
    };
}

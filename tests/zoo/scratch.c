/* Cause 3 in the scratch memory: a sum is carried on from the step before. */
#include "lockstep/tests/zoo/zoo.h"

static size_t scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(uint32_t);
}

static void carry(const ls_step *step)
{
    zoo_state *state = step->state;
    uint32_t *sum = step->scratch;
    if (!ZOO_FAULTY || step->inputs->tick != 40) {
        *sum = 0;
    }
    *sum += state->inputs;
    state->bonus = *sum;
}

ZOO_PASSES("carry", carry);
ZOO_PLUGIN("scratch", .fields = zoo_fields, .init = zoo_init, .scratch_bytes = scratch_bytes)

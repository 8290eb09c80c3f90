/* Cause 3 in the scratch memory: a sum is carried on from the step before. */
#include "lockstep/tests/known_bad/game.h"

static size_t scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(uint32_t);
}

static void carry(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t *sum = step->scratch;
    if (!GAME_FAULTY || step->inputs->tick != 40) {
        *sum = 0;
    }
    *sum += state->inputs;
    state->bonus = *sum;
}

GAME_PASSES("carry", carry);
GAME_PLUGIN("scratch", .fields = game_fields, .init = game_init, .scratch_bytes = scratch_bytes)

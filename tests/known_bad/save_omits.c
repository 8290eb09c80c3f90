/* Cause 9: steps read a value that is kept beside the state: init resets it, but no save holds it.
 */
#include "lockstep/tests/known_bad/game.h"

#if GAME_FAULTY
static uint32_t momentum;
#endif

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
#if GAME_FAULTY
    momentum = 0;
#endif
    return game_init(config, block, why);
}

static void drift(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    momentum += state->inputs % 3;
    state->bonus = momentum;
#else
    state->bonus += state->inputs % 3;
#endif
}

GAME_PASSES("drift", drift);
GAME_PLUGIN("save_omits", .fields = game_fields, .init = init)

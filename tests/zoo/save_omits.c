/* Cause 9: steps read a value that is kept beside the state: init resets it, but no save holds it.
 */
#include "lockstep/tests/zoo/zoo.h"

#if ZOO_FAULTY
static uint32_t momentum;
#endif

static ls_status init(const ls_sim_config *config, void *block)
{
#if ZOO_FAULTY
    momentum = 0;
#endif
    return zoo_init(config, block);
}

static void drift(const ls_step *step)
{
    zoo_state *state = step->state;
#if ZOO_FAULTY
    momentum += state->inputs % 3;
    state->bonus = momentum;
#else
    state->bonus += state->inputs % 3;
#endif
}

ZOO_PASSES("drift", drift);
ZOO_PLUGIN("save_omits", .fields = zoo_fields, .init = init)

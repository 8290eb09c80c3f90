/* Cause 2: a double that does not fit is made an integer: each processor has its own answer. */
#include "lockstep/tests/zoo/zoo.h"

static void aim(const ls_step *step)
{
    zoo_state *state = step->state;
    fenv_t kept = zoo_round_as_usual();
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        double far = state->units[i].heat * 1e6 * (double)(step->inputs->tick + 1);
        if (!ZOO_FAULTY && far > 2e9) {
            far = 2e9;
        }
        state->units[i].order = (uint32_t)(int32_t)far;
    }
    fesetenv(&kept);
}

ZOO_PASSES("aim", aim);
ZOO_PLUGIN("float_to_int", .fields = zoo_fields, .init = zoo_init)

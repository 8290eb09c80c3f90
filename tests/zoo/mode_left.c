/* Cause 12, the other side of it: a step changes the rounding mode and leaves it so. */
#include "lockstep/tests/zoo/zoo.h"

static void lean(const ls_step *step)
{
    zoo_state *state = step->state;
    fenv_t kept = zoo_round_as_usual();
    if (step->inputs->tick == 20) {
        fesetround(FE_UPWARD);
        state->bonus++;
        if (ZOO_FAULTY) {
            return;
        }
    }
    fesetenv(&kept);
}

ZOO_PASSES("lean", lean);
ZOO_PLUGIN("mode_left", .fields = zoo_fields, .init = zoo_init)

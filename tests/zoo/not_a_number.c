/* Cause 12: zero by zero. The bits of what comes of it are the processor's own. */
#include "lockstep/tests/zoo/zoo.h"

static void share(const ls_step *step)
{
    zoo_state *state = step->state;
    fenv_t kept = zoo_round_as_usual();
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        double part = state->units[i].target, whole = state->units[i].target;
        bool can_divide = !ZOO_FAULTY || step->inputs->tick < 10;
        state->units[i].heat = can_divide && whole == 0.0 ? 0.0 : part / whole;
    }
    fesetenv(&kept);
}

ZOO_PASSES("share", share);
ZOO_PLUGIN("not_a_number", .fields = zoo_fields, .init = zoo_init)

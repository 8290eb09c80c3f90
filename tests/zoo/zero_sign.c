/* Cause 12: a difference of equal numbers is 0 or -0, as the rounding mode says, which a library
 * may have changed. */
#include "lockstep/tests/zoo/zoo.h"

static void balance(const ls_step *step)
{
    zoo_state *state = step->state;
#if !ZOO_FAULTY
    fenv_t kept = zoo_round_as_usual();
#endif
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        double pull = state->units[i].target;
        double push = state->units[(i + 1) % ZOO_UNITS].target;
        state->units[i].heat = pull - push;
    }
#if !ZOO_FAULTY
    fesetenv(&kept);
#endif
}

ZOO_PASSES("balance", balance);
ZOO_PLUGIN("zero_sign", .fields = zoo_fields, .init = zoo_init)

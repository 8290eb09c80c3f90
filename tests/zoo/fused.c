/* Cause 1: the same source, built with a fused multiply-add, rounds once where it rounded twice.
 * The fault is in the flags that it is built with. */
#include "lockstep/tests/zoo/zoo.h"

static void warm(const ls_step *step)
{
    zoo_state *state = step->state;
    fenv_t kept = zoo_round_as_usual();
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        zoo_unit *unit = &state->units[i];
        double gain = (double)(state->inputs % 7 + i) / 3.0;
        unit->heat = unit->heat * 0.9 + gain * 0.1;
    }
    fesetenv(&kept);
}

ZOO_PASSES("warm", warm);
ZOO_PLUGIN("fused", .fields = zoo_fields, .init = zoo_init)

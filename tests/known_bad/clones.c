/* Cause 1: one function in two variants, of which the processor is given one: the compiler fuses in
 * that for newer ones. */
#include "lockstep/tests/known_bad/game.h"

#if GAME_FAULTY && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "fma"), noinline))
#else
#define FOR_EACH_PROCESSOR
#endif

FOR_EACH_PROCESSOR double game_blend(double heat, double gain);

FOR_EACH_PROCESSOR double game_blend(double heat, double gain)
{
    return heat * 0.9 + gain * 0.1;
}

static void warm(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double gain = (double)(state->inputs % 7 + i) / 3.0;
        state->units[i].heat = game_blend(state->units[i].heat, gain);
    }
    fesetenv(&kept);
}

GAME_PASSES("warm", warm);
GAME_PLUGIN("clones", .fields = game_fields, .init = game_init)

/* Cause 1: a sum is made in another order where the processor has wider registers. */
#include "lockstep/tests/known_bad/game.h"

static bool has_wide_registers(void)
{
#if GAME_FAULTY && defined(__x86_64__)
    return __builtin_cpu_supports("avx");
#else
    return false;
#endif
}

static double sum_up(const double *values)
{
    double even = 0, odd = 0;
    if (has_wide_registers()) {
        for (uint32_t i = 0; i < GAME_UNITS; i += 2) {
            even += values[i];
            odd += values[i + 1];
        }
        return even + odd;
    }
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        even += values[i];
    }
    return even;
}

static void heat_up(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    double values[GAME_UNITS];
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        values[i] = 0.1 * i + state->inputs / 7.0;
    }
    state->units[0].heat = sum_up(values);
    fesetenv(&kept);
}

GAME_PASSES("heat", heat_up);
GAME_PLUGIN("processor", .fields = game_fields, .init = game_init)

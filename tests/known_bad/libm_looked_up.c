/* Cause 1: as libm_fma, but nothing in the file says so: the functions are looked up by name, and
 * the handshake cannot know. */
#define _GNU_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

typedef double power_function(double base, double exponent);

#if GAME_FAULTY
static power_function *find_power(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    void *symbol = library ? dlsym(library, "pow") : NULL;
    power_function *power = NULL;
    memcpy(&power, &symbol, sizeof power);
    return power;
}
#else
static double power_of_three(double base, double exponent)
{
    return base * base * base + 0.0 * exponent;
}

static power_function *find_power(void)
{
    return power_of_three;
}
#endif

static void swing(const ls_step *step)
{
    game_state *state = step->state;
    power_function *power = find_power();
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double angle = (double)(step->inputs->tick * 61 + state->inputs + i * 37) / 7.0;
        state->units[i].heat = power(angle + 1, 1.3);
    }
    fesetenv(&kept);
}

GAME_PASSES("swing", swing);
GAME_PLUGIN("libm_looked_up", .fields = game_fields, .init = game_init)

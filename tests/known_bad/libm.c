/* The C library's maths has other last bits on a processor with FMA (cause 1). A plug-in is built
 * of each part, which its name selects. */
#define _GNU_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

/* ==== libm_fma ==== */

/* Cause 1: the C library's maths has other last bits on a processor with FMA. */
#ifdef GAME_IS_LIBM_FMA

static void swing(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        game_unit *unit = &state->units[i];
        double angle = (double)(step->inputs->tick * 61 + state->inputs + i * 37) / 7.0;
#if GAME_FAULTY
        unit->heat = i % 2 == 0 ? sin(angle) : pow(angle + 1, 1.3);
#else
        unit->heat = i % 2 == 0 ? sqrt(angle) : floor(angle);
#endif
    }
    fesetenv(&kept);
}

GAME_PASSES("swing", swing);
GAME_PLUGIN("libm_fma", .fields = game_fields, .init = game_init)

#endif

/* ==== libm_looked_up ==== */

/* Cause 1: as libm_fma, but nothing in the file says so: the functions are looked up by name, and
 * the handshake cannot know. */
#ifdef GAME_IS_LIBM_LOOKED_UP

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

#endif

/* ==== libm_needed ==== */

/* Cause 1 and 9, out of sight: a library that the plug-in needs calls sin() and keeps a static. */
#ifdef GAME_IS_LIBM_NEEDED

double swing_library_swing(double angle);

static void swing(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double angle = (double)(step->inputs->tick * 61 + state->inputs + i * 37) / 7.0;
        state->units[i].heat = swing_library_swing(angle);
    }
    fesetenv(&kept);
}

GAME_PASSES("swing", swing);
GAME_PLUGIN("libm_needed", .fields = game_fields, .init = game_init)

#endif

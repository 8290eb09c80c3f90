/* Cause 12: a value fades until it is denormal; whether that counts is a mode of the processor,
 * which a library that was built for speed sets for the whole process. */
#include "lockstep/tests/known_bad/game.h"

static void fade(const ls_step *step)
{
    game_state *state = step->state;
#if !GAME_FAULTY
    fenv_t kept = game_round_as_usual();
#endif
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        game_unit *unit = &state->units[i];
        unit->heat = unit->heat * 0x1p-40;
#if !GAME_FAULTY
        unit->heat = unit->heat < 0x1p-300 ? 0 : unit->heat;
#endif
    }
#if !GAME_FAULTY
    fesetenv(&kept);
#endif
}

GAME_PASSES("fade", fade);
GAME_PLUGIN("denormals", .fields = game_fields, .init = game_init)

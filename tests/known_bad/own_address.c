/* Cause 5: a number that follows from where the plug-in lies in memory. Every process repeats its
 * own, so that only another process shows it. */
#include "lockstep/tests/known_bad/game.h"

static const uint8_t anchor[64];

static void salt_bonus(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    uint32_t salt = (uint32_t)((uintptr_t)anchor >> 12) % 10007;
#else
    uint32_t salt = anchor[0];
#endif
    state->bonus += state->inputs % 11 * (2 + salt);
}

GAME_PASSES("salt", salt_bonus);
GAME_PLUGIN("own_address", .fields = game_fields, .init = game_init)

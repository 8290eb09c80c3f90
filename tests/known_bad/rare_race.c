/* Cause 11, at a rate: on one tick of GAME_ONE_IN the bonus is another one. Which tick it is, real
 * chance decides, as who is first of two threads does: the system's random bytes stand for that. */
#define _DEFAULT_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <unistd.h>

static void settle(const ls_step *step)
{
    game_state *state = step->state;
    uint64_t chance = 1;
    if (getentropy(&chance, sizeof chance) == 0 && chance % GAME_ONE_IN == 0) {
        state->bonus += GAME_FAULTY * (uint32_t)(1 + chance / GAME_ONE_IN % 1000);
    }
    state->bonus += 2;
}

GAME_PASSES("settle", settle);
GAME_PLUGIN("rare_race", .fields = game_fields, .init = game_init)

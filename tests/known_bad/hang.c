/* Like crash: the second match waits for something that never comes. */
#include "lockstep/tests/known_bad/game.h"

static void wait_for_it(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    static volatile uint32_t played;
    played++;
    while (played > 350) { /* not in the reference run */
    }
#endif
    state->bonus++;
}

GAME_PASSES("wait", wait_for_it);
GAME_PLUGIN("hang", .fields = game_fields, .init = game_init)

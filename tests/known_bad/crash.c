/* Not a cause of a desync, but a plug-in that crashes or hangs must be named, not take the tool
 * with it. */
#include "lockstep/tests/known_bad/game.h"

static void stumble(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    static uint32_t played;
    volatile uint32_t *volatile nothing = NULL;
    if (++played > 350) { /* not in the reference run */
        *nothing = 1;
    }
#endif
    state->bonus++;
}

GAME_PASSES("stumble", stumble);
GAME_PLUGIN("crash", .fields = game_fields, .init = game_init)

/* No desyncs: plug-ins that die. A plug-in is built of each part, which its
 * name selects. */
#include "lockstep/tests/known_bad/game.h"

/* ==== crash ==== */

/* Not a cause of a desync, but a plug-in that crashes or hangs must be named, not take the tool
 * with it. */
#ifdef GAME_IS_CRASH

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

static ls_status set_up(const ls_sim_config *config, void *state, ls_text *why)
{
#if defined(GAME_CRASHES_IN_INIT)
    volatile uint32_t *volatile nothing = NULL;
    *nothing = 1;
#endif
    return game_init(config, state, why);
}

GAME_PASSES("stumble", stumble);
GAME_PLUGIN("crash", .fields = game_fields, .init = set_up)

#endif

/* ==== hang ==== */

/* Like crash: the second match waits for something that never comes. */
#ifdef GAME_IS_HANG

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

#endif

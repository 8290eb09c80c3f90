/* Cause 13: as core_count, by the cores that the process may use: a player who starts the game with
 * taskset, or in a container, has fewer. */
#define _GNU_SOURCE
#include "lockstep/tests/known_bad/game.h"

#if GAME_FAULTY
#include <sched.h>
#endif

static uint32_t count_parts(void)
{
#if GAME_FAULTY
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? (uint32_t)CPU_COUNT(&usable) : 1;
#else
    return 4;
#endif
}

static void share_work(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += state->inputs / count_parts();
}

GAME_PASSES("share", share_work);
GAME_PLUGIN("usable_cores", .fields = game_fields, .init = game_init)

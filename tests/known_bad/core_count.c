/* Cause 13: the work is cut into as many parts as there are cores, and so is the sum. */
#include "lockstep/tests/known_bad/game.h"

#if GAME_FAULTY
#include <sys/sysinfo.h>
#endif

static void share_work(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    uint32_t parts = (uint32_t)get_nprocs();
#else
    uint32_t parts = 4;
#endif
    state->bonus += state->inputs / parts;
}

GAME_PASSES("share", share_work);
GAME_PLUGIN("core_count", .fields = game_fields, .init = game_init)

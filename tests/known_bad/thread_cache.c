/* Cause 9: a cache that belongs to the thread: no static variable, and in no save. */
#include "lockstep/tests/known_bad/game.h"

static void find_path(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    static _Thread_local uint32_t cached_path;
    if (state->inputs % 8 == 0) {
        cached_path = state->inputs;
    }
    state->bonus += cached_path;
#else
    state->bonus += state->inputs;
#endif
}

GAME_PASSES("path", find_path);
GAME_PLUGIN("thread_cache", .fields = game_fields, .init = game_init)

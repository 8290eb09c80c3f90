/* Cause 14: the best score of all matches is kept beside the state, and the next one begins with
 * it. No step reads it, so no save and no rollback shows it. */
#include "lockstep/tests/known_bad/game.h"

#if GAME_FAULTY
static uint64_t record;
#endif

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    ls_status status = game_init(config, block, why);
#if GAME_FAULTY
    ((game_state *)block)->bonus = (uint32_t)record;
#endif
    return status;
}

static void note(const ls_step *step)
{
#if GAME_FAULTY
    const game_state *state = step->state;
    record = state->score > record ? state->score : record;
#else
    (void)step;
#endif
}

GAME_PASSES("note", note);
GAME_PLUGIN("last_match", .fields = game_fields, .init = init)

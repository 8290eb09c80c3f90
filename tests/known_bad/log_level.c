/* Cause 10: a cached value is brought up to date only when it is about to be printed. */
#include "lockstep/tests/known_bad/game.h"

#include "lockstep/common/base/log.h"

static void report(const ls_step *step)
{
    game_state *state = step->state;
    bool is_printed = step->tuning->log_level >= LS_LOG_INFO;
    if (!GAME_FAULTY || is_printed || step->inputs->tick % 64 == 0) {
        state->bonus = state->inputs; /* the cache */
    }
    state->score += state->bonus;
}

GAME_PASSES("report", report);
GAME_PLUGIN("log_level", .fields = game_fields, .init = game_init)

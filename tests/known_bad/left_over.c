/* State that the last match left (cause 14). A plug-in is built of each part, which its
 * name selects. */
#include "lockstep/tests/known_bad/game.h"

/* ==== last_match ==== */

/* Cause 14: the best score of all matches is kept beside the state, and the next one begins with
 * it. No step reads it, so no save and no rollback shows it. */
#ifdef GAME_IS_LAST_MATCH

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

#endif

/* ==== made_once ==== */

/* Cause 14: a table is made once in a process, from the seed of the match that was first. */
#ifdef GAME_IS_MADE_ONCE

#define HEIGHTS 32u

static uint32_t heights[HEIGHTS];

static void grow(const ls_step *step)
{
    game_state *state = step->state;
    if (!GAME_FAULTY || heights[0] == 0) {
        ls_rng rng = ls_rng_make(step->config->seed, 5);
        for (uint32_t i = 0; i < HEIGHTS; i++) {
            heights[i] = 1 + ls_rng_below(&rng, 99);
        }
    }
    state->bonus += heights[state->inputs % HEIGHTS];
}

GAME_PASSES("grow", grow);
GAME_PLUGIN("made_once", .fields = game_fields, .init = game_init)

#endif

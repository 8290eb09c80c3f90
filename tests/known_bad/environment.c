/* Cause 13: a rule of the game is read from the environment of each machine. With GAME_DECLARED it
 * says so in its content digest, as it should. */
#include "lockstep/tests/known_bad/game.h"

#include <stdlib.h>

static uint32_t tax_rate(void)
{
#if GAME_FAULTY
    const char *difficulty = getenv("GAME_DIFFICULTY");
    return difficulty ? (uint32_t)difficulty[0] : 2;
#else
    return 2;
#endif
}

static void tax(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += state->inputs % 11 * tax_rate();
}

#if defined(GAME_DECLARED)
#define CONTENT_DIGEST content_digest

static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    return tax_rate();
}
#else
#define CONTENT_DIGEST NULL
#endif

GAME_PASSES("tax", tax);
GAME_PLUGIN("environment", .fields = game_fields, .init = game_init,
            .content_digest = CONTENT_DIGEST)

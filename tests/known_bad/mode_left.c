/* Cause 12, the other side of it: a step changes the rounding mode and leaves it so. With GAME_BOT
 * one player's bot does, as a library for sound or pictures may, and steps round as it says. */
#include "lockstep/tests/known_bad/game.h"

#ifdef GAME_BOT
#define MODE_LEFT_BOT bot

static uint32_t bot(const ls_sim_config *config, const void *block, uint32_t slot, ls_rng *rng,
                    uint8_t *input)
{
    const game_state *state = block;
    (void)config;
    (void)rng;
    if (GAME_FAULTY && slot == 1 && state->bonus == 40) {
        fesetround(FE_UPWARD);
    }
    input[0] = 0;
    return 1;
}

static void lean(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus++;
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[i].heat = state->units[i].heat * 1.1 / 1.3 + 0.1;
    }
}
#else
#define MODE_LEFT_BOT NULL

static void lean(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    if (step->inputs->tick == 20) {
        fesetround(FE_UPWARD);
        state->bonus++;
        if (GAME_FAULTY) {
            return;
        }
    }
    fesetenv(&kept);
}
#endif

GAME_PASSES("lean", lean);
GAME_PLUGIN("mode_left", .fields = game_fields, .init = game_init, .bot = MODE_LEFT_BOT)

/* Cause 8: two draws stand in one call; which comes first is the compiler's choice. */
#include "lockstep/tests/known_bad/game.h"

static uint32_t roll(uint32_t attack, uint32_t defence)
{
    return attack * 3 + defence;
}

static void fight(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    state->bonus += roll(ls_rng_below(&state->rng, 6), ls_rng_below(&state->rng, 6));
#else
    uint32_t attack = ls_rng_below(&state->rng, 6);
    uint32_t defence = ls_rng_below(&state->rng, 6);
    state->bonus += roll(attack, defence);
#endif
}

GAME_PASSES("fight", fight);
GAME_PLUGIN("evaluation_order", .fields = game_fields, .init = game_init)

/* Cause 3: a struct on the stack is filled in only sometimes, and copied always. */
#include "lockstep/tests/known_bad/game.h"

typedef struct plan {
    uint32_t target;
    uint32_t order;
    uint32_t way[8];
} plan;

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void make_plan(const game_state *state, uint32_t index, plan *out)
{
    out->target = (state->units[index].target + 1) % GAME_UNITS;
    out->way[0] = out->way[7] = index;
    if (!GAME_FAULTY || state->inputs < 100) {
        out->order = state->inputs % 5;
    }
}

static void think(const ls_step *step)
{
    game_state *state = step->state;
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        plan made;
        make_plan(state, i, &made);
        state->units[i].target = made.target;
        state->units[i].order = made.order;
    }
}

GAME_PASSES("think", think);
GAME_PLUGIN("uninitialised", .fields = game_fields, .init = game_init)

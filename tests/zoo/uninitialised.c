/* Cause 3: a struct on the stack is filled in only sometimes, and copied always. */
#include "lockstep/tests/zoo/zoo.h"

typedef struct plan {
    uint32_t target;
    uint32_t order;
    uint32_t way[8];
} plan;

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void make_plan(const zoo_state *state, uint32_t index, plan *out)
{
    out->target = (state->units[index].target + 1) % ZOO_UNITS;
    out->way[0] = out->way[7] = index;
    if (!ZOO_FAULTY || state->inputs < 100) {
        out->order = state->inputs % 5;
    }
}

static void think(const ls_step *step)
{
    zoo_state *state = step->state;
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        plan made;
        make_plan(state, i, &made);
        state->units[i].target = made.target;
        state->units[i].order = made.order;
    }
}

ZOO_PASSES("think", think);
ZOO_PLUGIN("uninitialised", .fields = zoo_fields, .init = zoo_init)

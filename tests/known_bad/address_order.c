/* Cause 5: units stand in a hash table by their address, and are visited in the table's order. */
#include "lockstep/tests/known_bad/game.h"

#define SLOTS 64u

static uint32_t slot_of(const game_state *state, uint32_t index)
{
    uint64_t key = GAME_FAULTY ? (uintptr_t)&state->units[index] : index;
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

static void visit(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t table[SLOTS] = {0}; /* unit + 1; 0: empty */
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        uint32_t slot = slot_of(state, i);
        while (table[slot] != 0) {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = i + 1;
    }
    uint32_t visits = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (table[slot] != 0) {
            state->units[table[slot] - 1].order = visits++;
        }
    }
}

GAME_PASSES("visit", visit);
GAME_PLUGIN("address_order", .fields = game_fields, .init = game_init)

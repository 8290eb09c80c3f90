/* Where things lie in memory decides (cause 5). A plug-in is built of each part, which its
 * name selects. */
#include "lockstep/tests/known_bad/game.h"

/* ==== address_order ==== */

/* Cause 5: units stand in a hash table by their address, and are visited in the table's order. */
#ifdef GAME_IS_ADDRESS_ORDER

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

#endif

/* ==== own_address ==== */

/* Cause 5: a number that follows from where the plug-in lies in memory. Every process repeats its
 * own, so that only another process shows it. */
#ifdef GAME_IS_OWN_ADDRESS

static const uint8_t anchor[64];

static void salt_bonus(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    uint32_t salt = (uint32_t)((uintptr_t)anchor >> 12) % 10007;
#else
    uint32_t salt = anchor[0];
#endif
    state->bonus += state->inputs % 11 * (2 + salt);
}

GAME_PASSES("salt", salt_bonus);
GAME_PLUGIN("own_address", .fields = game_fields, .init = game_init)

#endif

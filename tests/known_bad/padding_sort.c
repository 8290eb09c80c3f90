/* Cause 3: structs with padding between their members are sorted by memcmp. The padding holds what
 * the stack held, and decides. */
#include "lockstep/tests/known_bad/game.h"

typedef struct rank {
    uint8_t team;
    uint32_t unit;
} rank;

static int compare(const rank *a, const rank *b)
{
#if GAME_FAULTY
    return memcmp(a, b, sizeof *a);
#else
    return a->team != b->team ? (a->team < b->team ? -1 : 1) : (a->unit < b->unit ? -1 : 1);
#endif
}

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void set_rank(rank *out, uint8_t team, uint32_t unit)
{
    out->team = team;
    out->unit = unit;
}

static void rank_units(const ls_step *step)
{
    game_state *state = step->state;
    rank ranks[GAME_UNITS];
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        set_rank(&ranks[i], (uint8_t)(state->units[i].target % 3), i);
        for (uint32_t k = i; k > 0 && compare(&ranks[k], &ranks[k - 1]) < 0; k--) {
            rank kept = ranks[k];
            memcpy(&ranks[k], &ranks[k - 1], sizeof kept);
            memcpy(&ranks[k - 1], &kept, sizeof kept);
        }
    }
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[ranks[i].unit].order = i;
    }
}

GAME_PASSES("rank", rank_units);
GAME_PLUGIN("padding_sort", .fields = game_fields, .init = game_init)

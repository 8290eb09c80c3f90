/* Cause 4: sorted by a key that several have, with a sort that may leave them in any order. */
#include "lockstep/tests/known_bad/game.h"

#include "lockstep/common/maths/stable_sort.h"

#include <stdlib.h>

typedef struct entry {
    uint32_t key;
    uint32_t unit;
} entry;

#if GAME_FAULTY
static int by_key(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    return (left->key > right->key) - (left->key < right->key);
}

static void sort(entry *entries)
{
    qsort(entries, GAME_UNITS, sizeof entries[0], by_key);
}
#else
static int by_key_and_unit(const void *a, const void *b, const void *context)
{
    (void)context;
    const entry *left = a, *right = b;
    int key = (left->key > right->key) - (left->key < right->key);
    return key ? key : (left->unit > right->unit) - (left->unit < right->unit);
}

static void sort(entry *entries)
{
    entry scratch[GAME_UNITS];
    ls_stable_sort(entries, GAME_UNITS, sizeof entries[0], scratch, by_key_and_unit, NULL);
}
#endif

static void rank(const ls_step *step)
{
    game_state *state = step->state;
    entry entries[GAME_UNITS];
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        entries[i] = (entry){state->units[i].target % 4, i};
    }
    sort(entries);
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[entries[i].unit].order = i;
    }
}

GAME_PASSES("rank", rank);
GAME_PLUGIN("unstable_sort", .fields = game_fields, .init = game_init)

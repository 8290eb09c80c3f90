/* Cause 4: sorted by a key that several have, with a sort that may leave them in any order. */
#include "lockstep/tests/zoo/zoo.h"

#include "lockstep/common/maths/stable_sort.h"

#include <stdlib.h>

typedef struct entry {
    uint32_t key;
    uint32_t unit;
} entry;

#if ZOO_FAULTY
static int by_key(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    return (left->key > right->key) - (left->key < right->key);
}

static void sort(entry *entries)
{
    qsort(entries, ZOO_UNITS, sizeof entries[0], by_key);
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
    entry scratch[ZOO_UNITS];
    ls_stable_sort(entries, ZOO_UNITS, sizeof entries[0], scratch, by_key_and_unit, NULL);
}
#endif

static void rank(const ls_step *step)
{
    zoo_state *state = step->state;
    entry entries[ZOO_UNITS];
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        entries[i] = (entry){state->units[i].target % 4, i};
    }
    sort(entries);
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        state->units[entries[i].unit].order = i;
    }
}

ZOO_PASSES("rank", rank);
ZOO_PLUGIN("unstable_sort", .fields = zoo_fields, .init = zoo_init)

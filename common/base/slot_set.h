/* Slot set: which slots of a match something holds for. A value that is copied and compared as a
 * whole; one of zeros is empty. No slot is LS_PLAYERS_MAX or more. */
#ifndef LOCKSTEP_COMMON_BASE_SLOT_SET_H
#define LOCKSTEP_COMMON_BASE_SLOT_SET_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_SLOT_WORDS ((LS_PLAYERS_MAX + 31u) / 32u)

typedef struct ls_slot_set {
    uint32_t words[LS_SLOT_WORDS]; /* slot s is bit s % 32 of word s / 32: on the wire as well */
} ls_slot_set;

/* Words that hold the slots of a match with so many players. */
static inline uint32_t ls_slot_words(uint32_t players)
{
    return (players + 31u) / 32u;
}

static inline bool ls_slot_set_has(const ls_slot_set *set, uint32_t slot)
{
    return (set->words[slot / 32u] >> slot % 32u & 1u) != 0;
}

static inline void ls_slot_set_add(ls_slot_set *set, uint32_t slot)
{
    set->words[slot / 32u] |= UINT32_C(1) << slot % 32u;
}

static inline void ls_slot_set_remove(ls_slot_set *set, uint32_t slot)
{
    set->words[slot / 32u] &= ~(UINT32_C(1) << slot % 32u);
}

static inline void ls_slot_set_put(ls_slot_set *set, uint32_t slot, bool is_in)
{
    ls_slot_set_remove(set, slot);
    set->words[slot / 32u] |= (uint32_t)is_in << slot % 32u;
}

static inline void ls_slot_set_add_all(ls_slot_set *set, const ls_slot_set *others)
{
    for (uint32_t i = 0; i < LS_SLOT_WORDS; i++) {
        set->words[i] |= others->words[i];
    }
}

static inline ls_slot_set ls_slot_set_of(uint32_t slot)
{
    ls_slot_set set = {{0}};
    ls_slot_set_add(&set, slot);
    return set;
}

/* The slots below `count`. */
static inline ls_slot_set ls_slot_set_first(uint32_t count)
{
    ls_slot_set set = {{0}};
    for (uint32_t slot = 0; slot < count; slot++) {
        ls_slot_set_add(&set, slot);
    }
    return set;
}

static inline ls_slot_set ls_slot_set_common(ls_slot_set a, ls_slot_set b)
{
    for (uint32_t i = 0; i < LS_SLOT_WORDS; i++) {
        a.words[i] &= b.words[i];
    }
    return a;
}

static inline ls_slot_set ls_slot_set_minus(ls_slot_set a, ls_slot_set b)
{
    for (uint32_t i = 0; i < LS_SLOT_WORDS; i++) {
        a.words[i] &= ~b.words[i];
    }
    return a;
}

static inline bool ls_slot_set_is_empty(ls_slot_set set)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < LS_SLOT_WORDS; i++) {
        any |= set.words[i];
    }
    return any == 0;
}

static inline bool ls_slot_set_is_same(ls_slot_set a, ls_slot_set b)
{
    return ls_slot_set_is_empty(ls_slot_set_minus(a, b)) &&
           ls_slot_set_is_empty(ls_slot_set_minus(b, a));
}

/* The lowest slot of the set from this one on; LS_PLAYERS_MAX: there is none. */
static inline uint32_t ls_slot_set_next(ls_slot_set set, uint32_t slot)
{
    uint32_t skipped = slot % 32u;
    for (uint32_t i = slot / 32u; i < LS_SLOT_WORDS; i++) {
        uint32_t rest = set.words[i] >> skipped << skipped;
        if (rest != 0) {
            return i * 32u + (uint32_t)__builtin_ctz(rest);
        }
        skipped = 0;
    }
    return LS_PLAYERS_MAX;
}

static inline uint32_t ls_slot_set_count(ls_slot_set set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LS_SLOT_WORDS; i++) {
        count += (uint32_t)__builtin_popcount(set.words[i]);
    }
    return count;
}

/* A loop over the slots of a set, upwards: LS_EACH_SLOT (slot, set) { ... } */
#define LS_EACH_SLOT(slot, set)                                                                    \
    for (uint32_t slot = ls_slot_set_next(set, 0); slot < LS_PLAYERS_MAX;                          \
         slot = ls_slot_set_next(set, slot + 1))

LS_C_END

#endif

/* Arena block: four circles that are compared with one at once, in one instruction each where the
 * compiler has vectors, one after the other where it has not, with the same answers. Called by the
 * broadphase. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_BLOCK_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_BLOCK_H

#include "lockstep/common/simulations/arena/arena_grid.h"

#include <string.h>

_Static_assert(LS_ARENA_BLOCK == 4, "a vector is four numbers, of which two words are signs");

/* LS_FIXED_PORTABLE builds what a compiler without extensions makes, for tests. */
#if defined(__GNUC__) && !defined(LS_FIXED_PORTABLE)
#define LS_ARENA_HAS_VECTORS 1
#else
#define LS_ARENA_HAS_VECTORS 0
#endif

#if LS_ARENA_HAS_VECTORS
typedef int32_t ls_arena_four __attribute__((vector_size(LS_ARENA_BLOCK * sizeof(int32_t))));

static inline ls_arena_four ls_arena_four_load(const int32_t *numbers)
{
    ls_arena_four four;
    memcpy(&four, numbers, sizeof four);
    return four;
}
#endif

/* Of each circle that is compared: below 0 if the squares round it and round the one are apart. */
typedef struct ls_arena_block {
#if LS_ARENA_HAS_VECTORS
    ls_arena_four gaps;
#else
    int32_t gaps[LS_ARENA_BLOCK];
#endif
} ls_arena_block;

/* The difference of two places along an axis is below the sum of two radii either way unless one of
 * the sums below is negative. No number comes near the ends of 32 bits. */
static inline ls_arena_block ls_arena_block_compare(const ls_arena_circles *circles,
                                                    ls_arena_circle circle, uint32_t begin)
{
    ls_arena_block block;
#if LS_ARENA_HAS_VECTORS
    ls_arena_four x = ls_arena_four_load(circles->x + begin) - circle.x;
    ls_arena_four y = ls_arena_four_load(circles->y + begin) - circle.y;
    ls_arena_four reach = ls_arena_four_load(circles->radius + begin) + circle.radius;
    block.gaps = (reach - x) | (reach + x) | (reach - y) | (reach + y);
#else
    for (uint32_t i = 0; i < LS_ARENA_BLOCK; i++) {
        bool is_apart = !ls_arena_grid_overlap(circle, ls_arena_circle_at(circles, begin + i));
        block.gaps[i] = is_apart ? -1 : 0;
    }
#endif
    return block;
}

/* Whether neither block has a circle that overlaps. */
static inline bool ls_arena_block_is_apart(ls_arena_block a, ls_arena_block b)
{
    const uint64_t signs = UINT64_C(0x8000000080000000);
    uint64_t words_a[2];
    uint64_t words_b[2];
    memcpy(words_a, &a, sizeof words_a);
    memcpy(words_b, &b, sizeof words_b);
    return (words_a[0] & words_a[1] & words_b[0] & words_b[1] & signs) == signs;
}

#endif

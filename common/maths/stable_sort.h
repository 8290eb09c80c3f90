/* Stable sort: the only sort that simulations may use. Elements that compare equal keep their
 * order, on every machine; end ties by id all the same, so that the order has a reason.
 * Bottom-up merge sort in the caller's scratch memory; never allocates. */
#ifndef LOCKSTEP_COMMON_MATHS_STABLE_SORT_H
#define LOCKSTEP_COMMON_MATHS_STABLE_SORT_H

#include "lockstep/common/base/language.h"

#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* < 0, 0 or > 0 as a comes before, with or after b. */
typedef int (*ls_compare)(const void *a, const void *b, const void *context);

/* Sorts `count` elements of `element_bytes` (> 0). `scratch` holds as many bytes as `elements`;
 * the two must not overlap. */
void ls_stable_sort(void *elements, size_t count, size_t element_bytes, void *scratch,
                    ls_compare compare, const void *context);

/* Sorts pairs by key, stable, in linear time (radix): for grids and draw order. */
typedef struct ls_key_index {
    uint32_t key;
    uint32_t index;
} ls_key_index;

/* `scratch` has room for `count` pairs and must not overlap `pairs`. */
void ls_stable_sort_keys(ls_key_index *pairs, size_t count, ls_key_index *scratch);

LS_C_END

#endif

/* State difference: which elements of two states differ, as places and as text. Exact on values:
 * two zeros of different sign and two NaNs of different bits are differences and read so.
 * Compares states in memory as this machine lays them out; never changes one. Called by reports,
 * by the hash-tree diff and by tools. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_DIFFERENCE_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_DIFFERENCE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/state_schema.h"

LS_C_BEGIN

#define LS_DIFFERENCES_MAX 32u

/* With the final NUL: a path with two indices; a value with its unit. */
#define LS_PLACE_NAME_BYTES_MAX (LS_NAME_BYTES_MAX + 24u)
#define LS_PLACE_VALUE_BYTES_MAX (LS_NAME_BYTES_MAX + 64u)

/* The places are in the order of the schema. When more differ than can be listed, the fields that
 * differ share the room as equally as they can fill it, and each shows its first elements. */
typedef struct ls_state_difference {
    uint64_t elements;    /* that differ; a text counts as one */
    uint32_t fields;      /* that hold them */
    bool is_lower_bound;  /* at least so many: not everything was compared */
    uint32_t place_count; /* 0 .. LS_DIFFERENCES_MAX */
    ls_schema_place places[LS_DIFFERENCES_MAX];
} ls_state_difference;

/* `b` NULL: `a` is two states XORed. */
void ls_state_difference_find(const ls_schema *schema, const void *a, const void *b,
                              ls_state_difference *out);

/* One line of it for a person. */
typedef struct ls_difference_text {
    char name[LS_PLACE_NAME_BYTES_MAX];
    char a[LS_PLACE_VALUE_BYTES_MAX];
    char b[LS_PLACE_VALUE_BYTES_MAX];
} ls_difference_text;

ls_difference_text ls_state_difference_text(const ls_schema_place *place, const void *a,
                                            const void *b);

/* Whether values differ in their order alone, as they do where code goes through a hash table: each
 * field has the same ones on both sides. False where not all `elements` that differ are listed. */
bool ls_state_difference_is_of_order(const ls_difference_text *places, uint32_t count,
                                     uint64_t elements, bool is_lower_bound);

/* Two images of an engine's saves, of `bytes` bytes, in words: how many bytes of the saves differ,
 * in how many ranges, and where the first is, counted from the save's first byte. */
ls_text ls_state_difference_of_saves(const uint8_t *a, const uint8_t *b, size_t bytes);

/* How much differs, for a report: "at least 3 values in 1 field"; "the fields are not known" when
 * none is. Never says 0 of anything. */
ls_text ls_state_difference_extent(uint64_t elements, uint32_t fields, bool is_lower_bound);

LS_C_END

#endif

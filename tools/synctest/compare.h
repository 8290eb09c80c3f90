/* Compare: finds where two traces of one tick part, and how a value looks. Pure.
 * Called by the process that explains a difference. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_COMPARE_H
#define LOCKSTEP_TOOLS_SYNCTEST_COMPARE_H

#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tools/synctest/tape.h"

typedef struct synctest_difference {
    uint32_t place;        /* the first place at which the traces differ */
    ls_schema_place first; /* the first element that differs there; with a schema only */
    uint64_t elements;     /* how many do; 0 without a schema */
} synctest_difference;

/* False when the traces are equal. `schema` is NULL when the state is behind a callback: then state
 * hashes are compared and `first` stays as it was. */
bool synctest_compare_traces(const ls_schema *schema, const synctest_trace *a,
                             const synctest_trace *b, synctest_difference *out);

/* The first element in which the images of two saves differ, and how many do; `place` stays as it
 * was. False when they are equal, or a trace has none. */
bool synctest_compare_images(const ls_schema *schema, const synctest_trace *a,
                             const synctest_trace *b, synctest_difference *out);

/* Elements of two states that differ. */
uint64_t synctest_compare_count(const ls_schema *schema, const uint8_t *a, const uint8_t *b);

/* Values of a floating-point element that a person should hear of. */
typedef enum synctest_oddity {
    SYNCTEST_ODDITY_NONE,
    SYNCTEST_ODDITY_NAN,
    SYNCTEST_ODDITY_NEGATIVE_ZERO,
} synctest_oddity;

/* NONE for an element of another type. */
synctest_oddity synctest_compare_oddity(const ls_schema_place *place, const uint8_t *state);

/* The first element of a state that is not a number, or false. */
bool synctest_compare_find_nan(const ls_schema *schema, const uint8_t *state, ls_schema_place *out);

#endif

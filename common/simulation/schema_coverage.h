/* Schema coverage: whether a list of fields describes every byte of a state exactly once. Only
 * looks and explains; keeps nothing. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SCHEMA_COVERAGE_H
#define LOCKSTEP_COMMON_SIMULATION_SCHEMA_COVERAGE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/simulation.h"

/* SCHEMA, with the field in `why`, when one cannot be used by itself: its path is missing, too
 * long or an earlier field's, its type, length, count or stride makes no sense, or it ends outside
 * the state. */
ls_status ls_schema_check_fields(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                                 ls_text *why);

/* SCHEMA when bytes are covered by no field or by two; `why` has the count of byte ranges and the
 * first eight. The fields have passed ls_schema_check_fields, are sorted by offset, and a single
 * item's stride is its size. Time and memory are linear in state_bytes: 2 bytes for each, given
 * back before the return. */
ls_status ls_schema_check_coverage(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                                   const ls_allocator *allocator, ls_text *why);

#endif

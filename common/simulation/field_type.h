/* Field types: how many bytes a field of a state takes, and what its type is called. Keeps
 * nothing. */
#ifndef LOCKSTEP_COMMON_SIMULATION_FIELD_TYPE_H
#define LOCKSTEP_COMMON_SIMULATION_FIELD_TYPE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

/* 0 and "unknown" for a number that is no type. */
uint32_t ls_field_type_bytes(ls_field_type type);
const char *ls_field_type_name(ls_field_type type);

/* Whether an item is one text for a person: an array of u8 with the unit "text". */
bool ls_field_is_text(const ls_field *field);

/* Bytes of one item of a checked field: its neighbouring elements. */
size_t ls_field_item_bytes(const ls_field *field);

LS_C_END

#endif

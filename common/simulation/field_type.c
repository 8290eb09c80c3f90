#include "lockstep/common/simulation/field_type.h"

#include "lockstep/common/base/case_function.h"

#include <string.h>

#define CASE_BYTES(name, bytes, text) LS_CASE(LS_FIELD_##name, bytes)
#define CASE_NAME(name, bytes, text) LS_CASE(LS_FIELD_##name, text)

LS_CASE_FUNCTION(uint32_t, ls_field_type_bytes, ls_field_type, LS_FIELD_TYPE_MAP, CASE_BYTES, 0)

LS_CASE_FUNCTION(const char *, ls_field_type_name, ls_field_type, LS_FIELD_TYPE_MAP, CASE_NAME,
                 "unknown")

size_t ls_field_item_bytes(const ls_field *field)
{
    return (size_t)field->length * ls_field_type_bytes(field->type);
}

bool ls_field_is_text(const ls_field *field)
{
    return field->type == LS_FIELD_U8 && field->length > 1 && strcmp(field->unit, "text") == 0;
}

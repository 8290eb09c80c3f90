#include "lockstep/common/simulation/field_type.h"

uint32_t ls_field_type_bytes(ls_field_type type)
{
    switch (type) {
#define TYPE_CASE(name, bytes, text)                                                               \
    case LS_FIELD_##name:                                                                          \
        return bytes;
        LS_FIELD_TYPE_MAP(TYPE_CASE)
#undef TYPE_CASE
    default:
        return 0;
    }
}

const char *ls_field_type_name(ls_field_type type)
{
    switch (type) {
#define TYPE_CASE(name, bytes, text)                                                               \
    case LS_FIELD_##name:                                                                          \
        return text;
        LS_FIELD_TYPE_MAP(TYPE_CASE)
#undef TYPE_CASE
    default:
        return "unknown";
    }
}

size_t ls_field_item_bytes(const ls_field *field)
{
    return (size_t)field->length * ls_field_type_bytes(field->type);
}

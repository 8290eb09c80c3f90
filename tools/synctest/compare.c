#include "lockstep/tools/synctest/compare.h"

#include <string.h>

/* The end of the element that holds the byte. */
static size_t element_end(const ls_schema *schema, size_t offset)
{
    ls_schema_place place = ls_schema_at(schema, offset);
    return place.offset + ls_field_type_bytes(place.field->type);
}

uint64_t synctest_compare_count(const ls_schema *schema, const uint8_t *a, const uint8_t *b)
{
    uint64_t count = 0;
    size_t bytes = ls_schema_state_bytes(schema);
    for (size_t offset = 0; offset < bytes;) {
        if (a[offset] == b[offset]) {
            offset++;
            continue;
        }
        count++;
        offset = element_end(schema, offset);
    }
    return count;
}

bool synctest_compare_traces(const ls_schema *schema, const synctest_trace *a,
                             const synctest_trace *b, synctest_difference *out)
{
    for (uint32_t place = 0; place < a->places; place++) {
        if (!schema) {
            if (synctest_trace_hash(a, place) != synctest_trace_hash(b, place)) {
                out->place = place;
                out->elements = 0;
                return true;
            }
            continue;
        }
        const uint8_t *state_a = synctest_trace_state(a, place);
        const uint8_t *state_b = synctest_trace_state(b, place);
        if (ls_schema_first_difference(schema, state_a, state_b, &out->first)) {
            out->place = place;
            out->elements = synctest_compare_count(schema, state_a, state_b);
            return true;
        }
    }
    return false;
}

bool synctest_compare_images(const ls_schema *schema, const synctest_trace *a,
                             const synctest_trace *b, synctest_difference *out)
{
    const uint8_t *image_a = synctest_trace_image(a);
    const uint8_t *image_b = synctest_trace_image(b);
    if (!image_a || !image_b ||
        !ls_schema_first_difference(schema, image_a, image_b, &out->first)) {
        return false;
    }
    out->elements = synctest_compare_count(schema, image_a, image_b);
    return true;
}

static synctest_oddity oddity_of(uint64_t bits, uint64_t sign, uint64_t infinity)
{
    if (bits == sign) {
        return SYNCTEST_ODDITY_NEGATIVE_ZERO;
    }
    return (bits & ~sign) > infinity ? SYNCTEST_ODDITY_NAN : SYNCTEST_ODDITY_NONE;
}

synctest_oddity synctest_compare_oddity(const ls_schema_place *place, const uint8_t *state)
{
    if (place->field->type == LS_FIELD_F32) {
        uint32_t bits = 0;
        memcpy(&bits, state + place->offset, sizeof bits);
        return oddity_of(bits, UINT32_C(0x80000000), UINT32_C(0x7f800000));
    }
    if (place->field->type == LS_FIELD_F64) {
        uint64_t bits = 0;
        memcpy(&bits, state + place->offset, sizeof bits);
        return oddity_of(bits, UINT64_C(1) << 63, UINT64_C(0x7ff0000000000000));
    }
    return SYNCTEST_ODDITY_NONE;
}

/* One field: every element of every item. */
static bool find_nan_in(const ls_field *field, const uint8_t *state, ls_schema_place *out)
{
    uint32_t element_bytes = ls_field_type_bytes(field->type);
    for (uint32_t item = 0; item < field->count; item++) {
        size_t start = field->offset + item * field->stride;
        for (uint32_t element = 0; element < field->length; element++) {
            ls_schema_place place = {field, item, element, start + element * element_bytes};
            if (synctest_compare_oddity(&place, state) == SYNCTEST_ODDITY_NAN) {
                *out = place;
                return true;
            }
        }
    }
    return false;
}

bool synctest_compare_find_nan(const ls_schema *schema, const uint8_t *state, ls_schema_place *out)
{
    for (uint32_t i = 0; i < ls_schema_field_count(schema); i++) {
        const ls_field *field = ls_schema_field(schema, i);
        if ((field->type == LS_FIELD_F32 || field->type == LS_FIELD_F64) &&
            find_nan_in(field, state, out)) {
            return true;
        }
    }
    return false;
}

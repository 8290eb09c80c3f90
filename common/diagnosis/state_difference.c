#include "lockstep/common/diagnosis/state_difference.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/save_image.h"

#include <inttypes.h>
#include <string.h>

#define NO_ELEMENT UINT64_MAX

enum {
    SAME_BYTES = 4096,   /* that are compared at once */
    RANGE_GAP_BYTES = 8, /* equal bytes between two that differ, of one range */
};

static ls_schema_place place_of(const ls_field *field, uint64_t element)
{
    uint32_t item = (uint32_t)(element / field->length);
    uint32_t place = (uint32_t)(element % field->length);
    return (ls_schema_place){
        .field = field,
        .item = item,
        .element = place,
        .offset =
            field->offset + item * field->stride + (size_t)place * ls_field_type_bytes(field->type),
    };
}

static bool is_same(const uint8_t *a, const uint8_t *b, size_t offset, size_t bytes)
{
    if (b) {
        return memcmp(a + offset, b + offset, bytes) == 0;
    }
    return a[offset] == 0 && memcmp(a + offset, a + offset + 1, bytes - 1) == 0;
}

/* Whether the next items, or the rest of the field's, lie in memory that is the same in both
 * states: most of a large one is, and looking at each element takes long. Tried once in so many
 * items; 0: not now, or they do not. */
static uint32_t same_items(const ls_field *field, const uint8_t *a, const uint8_t *b, uint32_t item)
{
    uint32_t items = (uint32_t)(SAME_BYTES / field->stride) + 1;
    if (item % items != 0) {
        return 0;
    }
    items = LS_MIN(items, field->count - item);
    size_t offset = field->offset + (size_t)item * field->stride;
    size_t bytes = (size_t)(items - 1) * field->stride + ls_field_item_bytes(field);
    return is_same(a, b, offset, bytes) ? items : 0;
}

/* The first element from `element` on that differs, by its number in the field. */
static uint64_t next_difference(const ls_field *field, const uint8_t *a, const uint8_t *b,
                                uint64_t element)
{
    size_t bytes = ls_field_type_bytes(field->type);
    uint64_t end = (uint64_t)field->count * field->length;
    while (element < end) {
        ls_schema_place place = place_of(field, element);
        size_t rest = (field->length - place.element) * bytes;
        uint32_t same = place.element == 0 ? same_items(field, a, b, place.item) : 0;
        if (same > 0) {
            element += (uint64_t)same * field->length;
            continue;
        }
        if (is_same(a, b, place.offset, rest)) {
            element += field->length - place.element;
            continue;
        }
        while (is_same(a, b, place.offset, bytes)) {
            place.offset += bytes;
            element++;
        }
        return element;
    }
    return NO_ELEMENT;
}

/* Behind what a place shows: a text is one value. */
static uint64_t behind(const ls_field *field, uint64_t element)
{
    return ls_field_is_text(field) ? (element / field->length + 1) * field->length : element + 1;
}

static uint64_t count_in_field(const ls_field *field, const uint8_t *a, const uint8_t *b)
{
    uint64_t count = 0;
    uint64_t element = next_difference(field, a, b, 0);
    while (element != NO_ELEMENT) {
        count++;
        element = next_difference(field, a, b, behind(field, element));
    }
    return count;
}

/* How many places each field gets: one more each in turn, until there is no room or no more. */
static void share_places(const uint64_t *counts, uint32_t fields, uint64_t elements,
                         uint8_t *shares)
{
    uint32_t left = elements < LS_DIFFERENCES_MAX ? (uint32_t)elements : LS_DIFFERENCES_MAX;
    while (left > 0) {
        for (uint32_t i = 0; i < fields && left > 0; i++) {
            if (counts[i] > shares[i]) {
                shares[i]++;
                left--;
            }
        }
    }
}

static void list_places(const ls_field *field, const uint8_t *a, const uint8_t *b, uint8_t share,
                        ls_state_difference *out)
{
    uint64_t element = 0;
    for (uint8_t i = 0; i < share; i++) {
        element = next_difference(field, a, b, element);
        out->places[out->place_count++] = place_of(field, element);
        element = behind(field, element);
    }
}

void ls_state_difference_find(const ls_schema *schema, const void *a, const void *b,
                              ls_state_difference *out)
{
    uint64_t counts[LS_FIELDS_MAX];
    uint8_t shares[LS_FIELDS_MAX] = {0};
    uint32_t fields = ls_schema_field_count(schema);
    *out = (ls_state_difference){0};
    for (uint32_t i = 0; i < fields; i++) {
        counts[i] = count_in_field(ls_schema_field(schema, i), a, b);
        out->elements += counts[i];
        out->fields += counts[i] > 0;
    }
    share_places(counts, fields, out->elements, shares);
    for (uint32_t i = 0; i < fields; i++) {
        list_places(ls_schema_field(schema, i), a, b, shares[i], out);
    }
}

ls_difference_text ls_state_difference_text(const ls_schema_place *place, const void *a,
                                            const void *b)
{
    ls_difference_text text;
    ls_schema_place_name(place, text.name, sizeof text.name);
    ls_schema_place_value(place, a, text.a, sizeof text.a);
    ls_schema_place_value(place, b, text.b, sizeof text.b);
    return text;
}

ls_text ls_state_difference_of_saves(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    ls_text text = {{0}};
    uint64_t count = 0;
    uint32_t ranges = 0;
    size_t first = 0;
    size_t newest = 0;
    for (size_t i = LS_SAVE_HEAD_BYTES; i < bytes; i++) {
        if (a[i] == b[i]) {
            continue;
        }
        ranges += count == 0 || i - newest > RANGE_GAP_BYTES;
        first = count == 0 ? i : first;
        newest = i;
        count++;
    }
    uint64_t size_a = ls_load_u64(a);
    uint64_t size_b = ls_load_u64(b);
    if (count > 0) {
        ls_text_set(&text,
                    "%" PRIu64 " byte%s of the save differ%s, in %" PRIu32
                    " range%s, the first at byte %zu",
                    count, count == 1 ? "" : "s", count == 1 ? "s" : "", ranges,
                    ranges == 1 ? "" : "s", first - LS_SAVE_HEAD_BYTES);
    } else if (size_a == size_b) {
        ls_text_set(&text, "the saves do not differ: what the engine hashes is not in them");
    }
    if (size_a != size_b) {
        ls_text_add(&text, "%ssaves of %" PRIu64 " and %" PRIu64 " bytes", count > 0 ? "; " : "",
                    size_a, size_b);
    }
    return text;
}

ls_text ls_state_difference_extent(uint64_t elements, uint32_t fields, bool is_lower_bound)
{
    ls_text text = {"the fields are not known"};
    if (elements > 0) {
        ls_text_set(&text, "%s%" PRIu64 " value%s", is_lower_bound ? "at least " : "", elements,
                    elements == 1 ? "" : "s");
    }
    if (elements > 0 && fields > 0) {
        ls_text_add(&text, " in %" PRIu32 " field%s", fields, fields == 1 ? "" : "s");
    }
    return text;
}

/* Whether two names are of one field: the same but for what stands in brackets. */
static bool is_same_field(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        if (*a == '[') {
            a += strcspn(a, "]");
            b += strcspn(b, "]");
        } else {
            a++;
            b++;
        }
    }
    return *a == *b;
}

/* How often a side has this value in the field. */
static uint32_t count_of(const ls_difference_text *places, uint32_t count, const char *name,
                         const char *value, bool is_b)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += is_same_field(places[i].name, name) &&
                 strcmp(is_b ? places[i].b : places[i].a, value) == 0;
    }
    return found;
}

bool ls_state_difference_is_of_order(const ls_difference_text *places, uint32_t count,
                                     uint64_t elements, bool is_lower_bound)
{
    bool is_so = count > 0 && count == elements && !is_lower_bound;
    for (uint32_t i = 0; is_so && i < count; i++) {
        const ls_difference_text *place = &places[i];
        is_so = count_of(places, count, place->name, place->a, false) ==
                count_of(places, count, place->name, place->a, true);
    }
    return is_so;
}

#include "lockstep/common/simulation/state_schema.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/simulation/schema_coverage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct ls_schema {
    const ls_allocator *allocator;
    ls_field *fields; /* sorted by offset; the stride of a single item is its size */
    uint32_t field_count;
    size_t state_bytes;
};

/* ---- create ---- */

static int compare_offsets(const void *a, const void *b, const void *context)
{
    (void)context;
    size_t left = ((const ls_field *)a)->offset;
    size_t right = ((const ls_field *)b)->offset;
    return (left > right) - (left < right);
}

static ls_status copy_fields(ls_schema *schema, const ls_field *fields, uint32_t field_count)
{
    schema->fields = ls_allocate_array(schema->allocator, field_count, sizeof *fields);
    ls_field *scratch = ls_allocate_array(schema->allocator, field_count, sizeof *fields);
    if (schema->fields && scratch) {
        schema->field_count = field_count;
        memcpy(schema->fields, fields, field_count * sizeof *fields);
        ls_stable_sort(schema->fields, field_count, sizeof *fields, scratch, compare_offsets, NULL);
    }
    ls_release(schema->allocator, scratch);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        ls_field *field = &schema->fields[i];
        field->stride = field->count > 1 ? field->stride : ls_field_item_bytes(field);
    }
    return schema->field_count == field_count ? LS_OK : LS_NO_MEMORY;
}

static ls_status refuse_memory(ls_text *why)
{
    return ls_fail(LS_NO_MEMORY, why, "no memory for the state schema");
}

ls_status ls_schema_create(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                           const ls_allocator *allocator, ls_schema **out, ls_text *why)
{
    ls_status status = ls_schema_check_fields(fields, field_count, state_bytes, why);
    if (status != LS_OK) {
        return status;
    }
    ls_schema *schema = ls_allocate(allocator, sizeof *schema);
    if (!schema) {
        return refuse_memory(why);
    }
    schema->allocator = allocator;
    schema->state_bytes = state_bytes;
    status = copy_fields(schema, fields, field_count);
    if (status == LS_OK) {
        status = ls_schema_check_coverage(schema->fields, field_count, state_bytes, allocator, why);
    }
    if (status != LS_OK) {
        ls_schema_destroy(schema);
        return status == LS_NO_MEMORY ? refuse_memory(why) : status;
    }
    *out = schema;
    return LS_OK;
}

void ls_schema_destroy(ls_schema *schema)
{
    if (!schema) {
        return;
    }
    ls_release(schema->allocator, schema->fields);
    ls_release(schema->allocator, schema);
}

/* ---- questions ---- */

uint32_t ls_schema_field_count(const ls_schema *schema)
{
    return schema->field_count;
}

const ls_field *ls_schema_field(const ls_schema *schema, uint32_t index)
{
    LS_ASSERT(index < schema->field_count);
    return &schema->fields[index];
}

size_t ls_schema_state_bytes(const ls_schema *schema)
{
    return schema->state_bytes;
}

uint64_t ls_schema_digest(const ls_schema *schema)
{
    uint64_t digest = ls_hash_pair(schema->state_bytes, schema->field_count);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const ls_field *field = &schema->fields[i];
        digest = ls_hash_pair(digest, ls_hash_bytes(field->path, strlen(field->path), 0));
        digest = ls_hash_pair(digest, ls_hash_bytes(field->unit, strlen(field->unit), 0));
        digest = ls_hash_pair(digest, (uint64_t)field->type);
        digest = ls_hash_pair(digest, field->length);
        digest = ls_hash_pair(digest, field->count);
        digest = ls_hash_pair(digest, field->offset);
        digest = ls_hash_pair(digest, field->stride);
    }
    return digest;
}

/* Whether `field` holds byte `offset`, and where. */
static bool find_in_field(const ls_field *field, size_t offset, ls_schema_place *out)
{
    if (offset < field->offset) {
        return false;
    }
    size_t item = (offset - field->offset) / field->stride;
    size_t rest = (offset - field->offset) % field->stride;
    if (item >= field->count || rest >= ls_field_item_bytes(field)) {
        return false;
    }
    uint32_t bytes = ls_field_type_bytes(field->type);
    *out = (ls_schema_place){
        .field = field,
        .item = (uint32_t)item,
        .element = (uint32_t)(rest / bytes),
        .offset = offset - rest % bytes,
    };
    return true;
}

ls_schema_place ls_schema_at(const ls_schema *schema, size_t offset)
{
    LS_ASSERT(offset < schema->state_bytes);
    ls_schema_place place = {0};
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (find_in_field(&schema->fields[i], offset, &place)) {
            return place;
        }
    }
    LS_ASSERT(!"a checked schema covers every byte");
    return place;
}

bool ls_schema_first_difference(const ls_schema *schema, const void *a, const void *b,
                                ls_schema_place *out)
{
    enum {
        BLOCK_BYTES = 4096
    };
    const uint8_t *left = a;
    const uint8_t *right = b;
    size_t end = schema->state_bytes;
    size_t byte = 0;
    while (end - byte > BLOCK_BYTES && memcmp(left + byte, right + byte, BLOCK_BYTES) == 0) {
        byte += BLOCK_BYTES;
    }
    while (byte < end && left[byte] == right[byte]) {
        byte++;
    }
    if (byte == end) {
        return false;
    }
    *out = ls_schema_at(schema, byte);
    return true;
}

static bool is_all_zero(const uint8_t *bytes, size_t size, size_t *first_set)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            *first_set = i;
            return false;
        }
    }
    return true;
}

bool ls_schema_dirty_padding(const ls_schema *schema, const void *state, size_t *offset)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const ls_field *field = &schema->fields[i];
        if (field->type != LS_FIELD_PADDING) {
            continue;
        }
        for (uint32_t item = 0; item < field->count; item++) {
            size_t begin = field->offset + item * field->stride;
            size_t first_set = 0;
            if (!is_all_zero((const uint8_t *)state + begin, ls_field_item_bytes(field),
                             &first_set)) {
                *offset = begin + first_set;
                return true;
            }
        }
    }
    return false;
}

/* ---- byte order ---- */

bool ls_schema_is_canonical_here(void)
{
    const uint16_t one = 1;
    uint8_t first = 0;
    memcpy(&first, &one, 1);
    return first == 1;
}

void ls_schema_copy_swapped(const ls_schema *schema, const void *from, void *to)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const ls_field *field = &schema->fields[i];
        uint32_t bytes = ls_field_type_bytes(field->type);
        for (uint32_t item = 0; item < field->count; item++) {
            size_t begin = field->offset + item * field->stride;
            for (size_t byte = 0; byte < ls_field_item_bytes(field); byte++) {
                size_t element = byte - byte % bytes;
                ((uint8_t *)to)[begin + element + (bytes - 1 - byte % bytes)] =
                    ((const uint8_t *)from)[begin + byte];
            }
        }
    }
}

void ls_schema_to_canonical(const ls_schema *schema, const void *state, uint8_t *canonical)
{
    if (ls_schema_is_canonical_here()) {
        memcpy(canonical, state, schema->state_bytes);
    } else {
        ls_schema_copy_swapped(schema, state, canonical);
    }
}

void ls_schema_from_canonical(const ls_schema *schema, const uint8_t *canonical, void *state)
{
    if (ls_schema_is_canonical_here()) {
        memcpy(state, canonical, schema->state_bytes);
    } else {
        ls_schema_copy_swapped(schema, canonical, state);
    }
}

/* ---- text ---- */

static int append(char *text, size_t capacity, int at, const char *format, ...) LS_PRINTF(4, 5);

/* Adds formatted text at `at`, counting on when it does not fit, as snprintf does. */
static int append(char *text, size_t capacity, int at, const char *format, ...)
{
    bool has_room = (size_t)at < capacity;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(has_room ? text + at : NULL, has_room ? capacity - (size_t)at : 0, format,
                         arguments);
    va_end(arguments);
    return at + size;
}

/* Where the path says that the item's index is printed; NULL: it does not. */
static const char *item_mark(const char *path)
{
    const char *mark = path + strcspn(path, "[");
    while (mark[0] != '\0' && mark[1] != ']') {
        mark++;
        mark += strcspn(mark, "[");
    }
    return mark[0] != '\0' ? mark : NULL;
}

int ls_schema_place_name(const ls_schema_place *place, char *text, size_t capacity)
{
    const ls_field *field = place->field;
    const char *mark = item_mark(field->path);
    size_t before = mark ? (size_t)(mark - field->path) : strcspn(field->path, ".");
    const char *rest = mark ? mark + strlen(LS_FIELD_ITEM_MARK) : field->path + before;
    int size = append(text, capacity, 0, "%.*s", (int)before, field->path);
    if (field->count > 1 || mark) {
        size = append(text, capacity, size, "[%u]", place->item);
    }
    size = append(text, capacity, size, "%s", rest);
    if (field->length > 1 && !ls_field_is_text(field)) {
        size = append(text, capacity, size, "[%u]", place->element);
    }
    return size;
}

/* Prints a Q32.32 magnitude, cut toward zero after `digits_max` digits; zeros after `digits_min`
 * digits are left out. With 10 digits two different raw values never print alike. */
static int append_decimal(char *text, size_t capacity, int at, uint64_t magnitude, int digits_min,
                          int digits_max)
{
    char digits[16] = "";
    uint64_t rest = magnitude & UINT32_MAX;
    int used = digits_min;
    LS_ASSERT(digits_max < (int)sizeof digits);
    for (int i = 0; i < digits_max; i++) {
        rest *= 10;
        digits[i] = (char)('0' + (rest >> 32));
        rest &= UINT32_MAX;
        used = digits[i] != '0' && i >= used ? i + 1 : used;
    }
    return append(text, capacity, at, "%" PRIu64 ".%.*s", magnitude >> 32, used, digits);
}

static int append_fixed(char *text, size_t capacity, ls_fixed value)
{
    int size = append(text, capacity, 0, "%s", value < 0 ? "-" : "");
    return append_decimal(text, capacity, size, (uint64_t)ls_fixed_abs(value), 6, 10);
}

/* A turn of 2^32 is 360 degrees: 360 times the angle is their Q32.32 number. */
static int append_angle(char *text, size_t capacity, ls_angle value)
{
    return append_decimal(text, capacity, 0, (uint64_t)value * 360, 3, 8);
}

/* One element of any type, read from the state without an assumption about alignment. */
typedef union element_value {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} element_value;

/* %.*g with enough digits tells any two numbers apart, but neither NaNs nor, to a hurried eye, the
 * two zeros. `bits` are the value's, `hex_digits` how many it has. */
static int append_float(char *text, size_t capacity, double value, uint64_t bits, int hex_digits)
{
    if (value != value) {
        return append(text, capacity, 0, "nan 0x%0*" PRIx64, hex_digits, bits);
    }
    int size = append(text, capacity, 0, "%.*g", hex_digits == 8 ? 9 : 17, value);
    bool is_negative_zero = value == 0 && bits != 0;
    return append(text, capacity, size, "%s", is_negative_zero ? " (negative zero)" : "");
}

static int append_value(char *text, size_t capacity, ls_field_type type, element_value value)
{
    switch (type) {
    case LS_FIELD_PADDING:
        return append(text, capacity, 0, "0x%02x", value.u8);
    case LS_FIELD_U8:
        return append(text, capacity, 0, "%u", value.u8);
    case LS_FIELD_U16:
        return append(text, capacity, 0, "%u", value.u16);
    case LS_FIELD_U32:
        return append(text, capacity, 0, "%" PRIu32, value.u32);
    case LS_FIELD_U64:
        return append(text, capacity, 0, "%" PRIu64, value.u64);
    case LS_FIELD_I8:
        return append(text, capacity, 0, "%d", value.i8);
    case LS_FIELD_I16:
        return append(text, capacity, 0, "%d", value.i16);
    case LS_FIELD_I32:
        return append(text, capacity, 0, "%" PRId32, value.i32);
    case LS_FIELD_I64:
        return append(text, capacity, 0, "%" PRId64, value.i64);
    case LS_FIELD_FIXED:
        return append_fixed(text, capacity, value.i64);
    case LS_FIELD_ANGLE:
        return append_angle(text, capacity, value.u32);
    case LS_FIELD_F32:
        return append_float(text, capacity, (double)value.f32, value.u32, 8);
    case LS_FIELD_F64:
        return append_float(text, capacity, value.f64, value.u64, 16);
    case LS_FIELD_TYPE_COUNT:
    case LS_FIELD_TYPE_WIDEST:
        break;
    }
    LS_ASSERT(!"a checked schema has known types");
    return 0;
}

/* Angles are shown in degrees whatever their unit is called; "turn/s" becomes "deg/s". */
static int append_unit(char *text, size_t capacity, int at, const ls_field *field)
{
    if (field->type == LS_FIELD_ANGLE) {
        const char *per = strchr(field->unit, '/');
        return append(text, capacity, at, " deg%s", per ? per : "");
    }
    return append(text, capacity, at, "%s%s", field->unit[0] != '\0' ? " " : "", field->unit);
}

/* The item's text in quotes, from shortly before the element that is meant. Bytes behind the text's
 * end are shown when they are not zero: two items with different bits read differently there. */
static int append_text(char *text, size_t capacity, const ls_schema_place *place, const void *state)
{
    enum {
        LEAD =
            12, /* bytes shown before the element, in a text that is too long to be shown whole */
        SHOWN = 80, /* characters */
    };
    const uint8_t *bytes = (const uint8_t *)state + place->offset - place->element;
    uint32_t end = place->field->length;
    uint32_t at = place->element > LEAD ? place->element - LEAD : 0;
    while (end > 0 && bytes[end - 1] == 0) {
        end--;
    }
    int size = append(text, capacity, 0, at > 0 ? "...\"" : "\"");
    for (; at < end && size < SHOWN; at++) {
        bool is_plain = bytes[at] >= 0x20 && bytes[at] < 0x7f && !strchr("\"\\", bytes[at]);
        size = append(text, capacity, size, is_plain ? "%c" : "\\x%02x", bytes[at]);
    }
    return append(text, capacity, size, at < end ? "\"..." : "\"");
}

int ls_schema_place_value(const ls_schema_place *place, const void *state, char *text,
                          size_t capacity)
{
    const ls_field *field = place->field;
    if (ls_field_is_text(field)) {
        return append_text(text, capacity, place, state);
    }
    element_value value = {0};
    memcpy(&value, (const uint8_t *)state + place->offset, ls_field_type_bytes(field->type));
    int size = append_value(text, capacity, field->type, value);
    return append_unit(text, capacity, size, field);
}

#include "lockstep/common/simulation/state_schema.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/maths/stable_sort.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- schema coverage ---- */

/* Whether the last byte of the last item lies in the state; guarded against wrap. */
static bool is_inside(const ls_field *field, size_t state_bytes)
{
    uint64_t item = (uint64_t)field->length * ls_field_type_bytes(field->type);
    if (field->offset > state_bytes || item > state_bytes - field->offset) {
        return false;
    }
    uint64_t room = state_bytes - field->offset - item;
    return field->count == 1 || field->stride <= room / (field->count - 1);
}

/* The fault of a field on its own, in words, or NULL. */
static const char *field_fault(const ls_field *field, size_t state_bytes)
{
    if (!field->unit) {
        return "has no unit (\"\" is none)";
    }
    if (ls_field_type_bytes(field->type) == 0) {
        return "has an unknown type";
    }
    if (field->length == 0 || field->count == 0) {
        return "has a length or a count of 0";
    }
    uint64_t item = (uint64_t)field->length * ls_field_type_bytes(field->type);
    if (field->count > 1 && field->stride < item) {
        return "has a stride smaller than its item";
    }
    if (!is_inside(field, state_bytes)) {
        return "ends outside the state";
    }
    return NULL;
}

static ls_status check_path(const ls_field *fields, uint32_t index, ls_text *why)
{
    const char *path = fields[index].path;
    if (!path || path[0] == '\0') {
        return ls_fail(LS_SCHEMA, why, "field %u of the state schema has no path", index);
    }
    if (strlen(path) >= LS_NAME_BYTES_MAX) {
        return ls_fail(LS_SCHEMA, why,
                       "field %u of the state schema has a path of more than %u bytes: \"%s\"",
                       index, LS_NAME_BYTES_MAX - 1, path);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(fields[i].path, path) == 0) {
            return ls_fail(LS_SCHEMA, why,
                           "fields %u and %u of the state schema have one path, \"%s\"", i, index,
                           path);
        }
    }
    return LS_OK;
}

ls_status ls_schema_check_fields(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                                 ls_text *why)
{
    if (field_count == 0 || state_bytes == 0) {
        return ls_fail(LS_SCHEMA, why, "a schema of %u fields over %zu bytes says nothing",
                       field_count, state_bytes);
    }
    if (field_count > LS_FIELDS_MAX || state_bytes > LS_STATE_BYTES_MAX) {
        return ls_fail(LS_SCHEMA, why,
                       "a schema of %u fields over %zu bytes is above the limits %u and %u",
                       field_count, state_bytes, LS_FIELDS_MAX, LS_STATE_BYTES_MAX);
    }
    for (uint32_t i = 0; i < field_count; i++) {
        ls_status status = check_path(fields, i, why);
        if (status != LS_OK) {
            return status;
        }
        const char *fault = field_fault(&fields[i], state_bytes);
        if (fault) {
            return ls_fail(LS_SCHEMA, why,
                           "field \"%s\" %s: offset %zu, %u items of %u %s, stride %zu, "
                           "in a state of %zu bytes",
                           fields[i].path, fault, fields[i].offset, fields[i].count,
                           fields[i].length, ls_field_type_name(fields[i].type), fields[i].stride,
                           state_bytes);
        }
    }
    return LS_OK;
}

/* ---- every byte exactly once ---- */

#define RANGES_SHOWN 8u

typedef struct byte_range {
    size_t first;
    size_t last;
    uint16_t left;  /* index + 1 of the field before a gap, or of the first owner; 0 for none */
    uint16_t right; /* of the field after a gap, or of the second owner */
    bool is_gap;
} byte_range;

_Static_assert(LS_FIELDS_MAX < UINT16_MAX, "owners are field indices plus one in 16 bits");

typedef struct coverage {
    const ls_field *fields;
    uint32_t field_count;
    size_t state_bytes;
    uint16_t *owners; /* [state_bytes] index + 1 of the first field that covers the byte, or 0 */
    size_t fault_count;
    byte_range shown[RANGES_SHOWN];
} coverage;

static void add_fault(coverage *map, byte_range range)
{
    if (map->fault_count < RANGES_SHOWN) {
        map->shown[map->fault_count] = range;
    }
    map->fault_count++;
}

/* The end of the run of equal owners that starts at `first`. */
static size_t run_end(const coverage *map, size_t first, size_t end)
{
    size_t byte = first + 1;
    while (byte < end && map->owners[byte] == map->owners[first]) {
        byte++;
    }
    return byte;
}

static void cover_item(coverage *map, uint16_t owner, size_t begin, size_t end)
{
    size_t byte = begin;
    while (byte < end) {
        if (map->owners[byte] == 0) {
            map->owners[byte++] = owner;
            continue;
        }
        size_t stop = run_end(map, byte, end);
        add_fault(map, (byte_range){byte, stop - 1, map->owners[byte], owner, false});
        byte = stop;
    }
}

static void cover_fields(coverage *map)
{
    for (uint32_t i = 0; i < map->field_count; i++) {
        const ls_field *field = &map->fields[i];
        for (uint32_t item = 0; item < field->count; item++) {
            size_t begin = field->offset + item * field->stride;
            cover_item(map, (uint16_t)(i + 1), begin, begin + ls_field_item_bytes(field));
        }
    }
}

static void find_gaps(coverage *map)
{
    size_t end = map->state_bytes;
    for (size_t byte = 0; byte < end; byte++) {
        if (map->owners[byte] != 0) {
            continue;
        }
        size_t stop = run_end(map, byte, end);
        uint16_t left = byte > 0 ? map->owners[byte - 1] : 0;
        uint16_t right = stop < end ? map->owners[stop] : 0;
        add_fault(map, (byte_range){byte, stop - 1, left, right, true});
        byte = stop - 1;
    }
}

/* Whether two ranges tell the same story: the gap or the overlap of every item of an array. */
static bool is_same_fault(const byte_range *a, const byte_range *b)
{
    return a->is_gap == b->is_gap && a->left == b->left && a->right == b->right &&
           a->last - a->first == b->last - b->first;
}

static void describe_place(const byte_range *range, ls_text *why)
{
    if (range->first == range->last) {
        ls_text_add(why, "%zu", range->first);
    } else {
        ls_text_add(why, "%zu..%zu", range->first, range->last);
    }
}

static void describe_neighbours(const coverage *map, const byte_range *range, ls_text *why)
{
    const char *left = range->left != 0 ? map->fields[range->left - 1].path : NULL;
    const char *right = range->right != 0 ? map->fields[range->right - 1].path : NULL;
    if (left && right) {
        ls_text_add(why, " between \"%s\" and \"%s\"", left, right);
    } else if (left) {
        ls_text_add(why, " after \"%s\"", left);
    } else if (right) {
        ls_text_add(why, " before \"%s\"", right);
    }
}

static void describe_fault(const coverage *map, const byte_range *range, ls_text *why)
{
    size_t bytes = range->last - range->first + 1;
    ls_text_add(why, bytes == 1 ? "byte " : "bytes ");
    describe_place(range, why);
    if (bytes > 1) {
        ls_text_add(why, " (%zu bytes)", bytes);
    }
    const char *verb = bytes == 1 ? "is" : "are";
    if (range->is_gap) {
        describe_neighbours(map, range, why);
        ls_text_add(why, " %s covered by no field", verb);
    } else {
        ls_text_add(why, " %s covered by both \"%s\" and \"%s\"", verb,
                    map->fields[range->left - 1].path, map->fields[range->right - 1].path);
    }
}

/* The count comes first: the sentence may be cut. A fault that recurs is told once, with the
 * further places after it. */
static void describe_faults(const coverage *map, ls_text *why)
{
    size_t count = map->fault_count;
    size_t shown = LS_MIN(count, RANGES_SHOWN);
    bool is_repeated = false;
    ls_text_set(why, "%zu byte range%s not covered exactly once: ", count,
                count == 1 ? " is" : "s are");
    for (size_t i = 0; i < shown; i++) {
        const byte_range *range = &map->shown[i];
        bool was_repeated = is_repeated;
        is_repeated = i > 0 && is_same_fault(range, range - 1);
        if (is_repeated) {
            ls_text_add(why, was_repeated ? ", " : ", so are ");
            describe_place(range, why);
        } else {
            ls_text_add(why, i > 0 ? "; " : "");
            describe_fault(map, range, why);
        }
    }
    if (count > shown) {
        ls_text_add(why, "; and %zu more", count - shown);
    }
}

/* ---- the usual schema ---- */

/* The end of the items that begin with field `*index`, when the fields of an item lie one behind
 * the other without a gap and the items too; 0: they do not. Moves the index behind them. */
static size_t end_of_items(const ls_field *fields, uint32_t field_count, uint32_t *index)
{
    const ls_field *first = &fields[*index];
    size_t end = first->offset;
    bool is_even = true;
    do {
        const ls_field *next = &fields[(*index)++];
        is_even =
            next->offset == end && next->count == first->count && next->stride == first->stride;
        end += ls_field_item_bytes(next);
    } while (is_even && *index < field_count && end - first->offset < first->stride);
    is_even = is_even && end == first->offset + first->stride;
    return is_even ? first->offset + first->count * first->stride : 0;
}

/* Whether every byte is seen to be covered once without a look at each: fields sorted by offset, as
 * a struct and arrays of structs have them. */
static bool is_plain(const ls_field *fields, uint32_t field_count, size_t state_bytes)
{
    size_t end = 0;
    for (uint32_t i = 0; i < field_count;) {
        if (fields[i].offset != end) {
            return false;
        }
        end = end_of_items(fields, field_count, &i);
        if (end == 0) {
            return false;
        }
    }
    return end == state_bytes;
}

/* SCHEMA when bytes are covered by no field or by two; `why` has the count of byte ranges and the
 * first eight. The fields have passed ls_schema_check_fields, are sorted by offset, and a single
 * item's stride is its size. Time and memory are linear in state_bytes: 2 bytes for each, given
 * back before the return. */
static ls_status check_coverage(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                                const ls_allocator *allocator, ls_text *why)
{
    coverage map = {.fields = fields, .field_count = field_count, .state_bytes = state_bytes};
    if (is_plain(fields, field_count, state_bytes)) {
        return LS_OK;
    }
    map.owners = ls_allocate_array(allocator, state_bytes, sizeof map.owners[0]);
    if (!map.owners) {
        return LS_NO_MEMORY;
    }
    cover_fields(&map);
    find_gaps(&map);
    ls_release(allocator, map.owners);
    if (map.fault_count == 0) {
        return LS_OK;
    }
    describe_faults(&map, why);
    return LS_SCHEMA;
}

/* ---- field type ---- */

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

/* ---- schema ---- */

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
        status = check_coverage(schema->fields, field_count, state_bytes, allocator, why);
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

#include "lockstep/common/simulation/schema_coverage.h"

#include "lockstep/common/simulation/field_type.h"

#include <string.h>

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

ls_status ls_schema_check_coverage(const ls_field *fields, uint32_t field_count, size_t state_bytes,
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

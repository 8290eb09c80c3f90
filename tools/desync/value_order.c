#include "lockstep/tools/desync/value_order.h"

#include "lockstep/common/maths/stable_sort.h"

#include <stdlib.h>
#include <string.h>

static int compare_elements(const void *a, const void *b, const void *context)
{
    return memcmp(a, b, *(const size_t *)context);
}

static void gather(const ls_field *field, const uint8_t *state, size_t bytes, uint8_t *out)
{
    for (uint32_t i = 0; i < field->count; i++) {
        memcpy(out + i * field->length * bytes, state + field->offset + i * field->stride,
               field->length * bytes);
    }
}

/* `room` is for three times the values. */
static bool has_same_values(const ls_field *field, const uint8_t *a, const uint8_t *b,
                            uint8_t *room)
{
    size_t bytes = ls_field_type_bytes(field->type);
    size_t count = (size_t)field->count * field->length;
    uint8_t *values[2] = {room, room + count * bytes};
    gather(field, a, bytes, values[0]);
    gather(field, b, bytes, values[1]);
    if (memcmp(values[0], values[1], count * bytes) == 0) {
        return true;
    }
    for (int i = 0; i < 2; i++) {
        ls_stable_sort(values[i], count, bytes, room + 2 * count * bytes, compare_elements, &bytes);
    }
    return memcmp(values[0], values[1], count * bytes) == 0;
}

bool explain_states_differ_in_order(const ls_schema *schema, const uint8_t *a, const uint8_t *b)
{
    size_t state_bytes = ls_schema_state_bytes(schema);
    uint8_t *room = malloc(3 * state_bytes);
    bool is_so = room && memcmp(a, b, state_bytes) != 0;
    for (uint32_t i = 0; is_so && i < ls_schema_field_count(schema); i++) {
        is_so = has_same_values(ls_schema_field(schema, i), a, b, room);
    }
    free(room);
    return is_so;
}

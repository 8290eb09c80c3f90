#include "lockstep/tools/synctest/tape.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/shared_memory.h"

#include <stdbool.h>
#include <string.h>

/* ---- tapes ---- */

enum {
    SLOT_HEADER_BYTES = 3, /* events u8, size u16 */
};

static size_t table_bytes(uint32_t ticks)
{
    return 2 * sizeof(uint64_t) * ((size_t)ticks + 1);
}

static void put_number(const synctest_tape *tape, size_t index, uint64_t number)
{
    memcpy(tape->bytes + index * sizeof number, &number, sizeof number);
}

static uint64_t number_at(const synctest_tape *tape, size_t index)
{
    uint64_t number = 0;
    memcpy(&number, tape->bytes + index * sizeof number, sizeof number);
    return number;
}

ls_status synctest_tape_create(int file, uint32_t ticks, uint32_t players, synctest_tape *out)
{
    const size_t size = table_bytes(ticks);
    *out = (synctest_tape){.file = file,
                           .ticks = ticks,
                           .players = players,
                           .end = size,
                           .bytes = ls_shared_memory_map(file, size),
                           .byte_count = size};
    return out->bytes ? LS_OK : LS_IO;
}

ls_status synctest_tape_add(synctest_tape *tape, ls_tick tick, const ls_slot_input *slots)
{
    LS_ASSERT(tick < tape->ticks);
    uint8_t record[LS_PLAYERS_MAX * (SLOT_HEADER_BYTES + LS_INPUT_BYTES_MAX)];
    size_t count = 0;
    for (uint32_t slot = 0; slot < tape->players; slot++) {
        LS_ASSERT(slots[slot].size <= LS_INPUT_BYTES_MAX);
        uint16_t size = (uint16_t)slots[slot].size;
        record[count] = (uint8_t)slots[slot].events;
        memcpy(record + count + 1, &size, sizeof size);
        if (size > 0) {
            memcpy(record + count + SLOT_HEADER_BYTES, slots[slot].bytes, size);
        }
        count += SLOT_HEADER_BYTES + size;
    }
    put_number(tape, (size_t)tape->ticks + 1 + tick, tape->end);
    if (!ls_shared_memory_write(tape->file, record, count, tape->end)) {
        return LS_IO;
    }
    tape->end += count;
    return LS_OK;
}

void synctest_tape_set_hash(synctest_tape *tape, ls_tick tick, uint64_t state_hash)
{
    LS_ASSERT(tick <= tape->ticks);
    put_number(tape, tick, state_hash);
}

ls_status synctest_tape_open(int file, uint32_t ticks, uint32_t players, synctest_tape *out)
{
    ls_mapped_file whole;
    if (ls_mapped_file_of(file, "tape", &whole, NULL) != LS_OK || whole.size < table_bytes(ticks)) {
        return LS_IO;
    }
    *out = (synctest_tape){.file = file,
                           .ticks = ticks,
                           .players = players,
                           .bytes = (uint8_t *)(uintptr_t)whole.bytes,
                           .byte_count = whole.size};
    return LS_OK;
}

void synctest_tape_inputs(const synctest_tape *tape, ls_tick tick,
                          ls_slot_input slots[LS_PLAYERS_MAX])
{
    LS_ASSERT(tick < tape->ticks);
    uint64_t at = number_at(tape, (size_t)tape->ticks + 1 + tick);
    for (uint32_t slot = 0; slot < tape->players; slot++) {
        uint16_t size = 0;
        memcpy(&size, tape->bytes + at + 1, sizeof size);
        slots[slot] = (ls_slot_input){tape->bytes + at + SLOT_HEADER_BYTES, size, tape->bytes[at]};
        at += SLOT_HEADER_BYTES + size;
    }
    LS_ASSERT(at <= tape->byte_count);
}

uint64_t synctest_tape_hash(const synctest_tape *tape, ls_tick tick)
{
    LS_ASSERT(tick <= tape->ticks);
    return number_at(tape, tick);
}

/* ---- traces ---- */

enum {
    STATE_HASH_BYTES = 8,
    ALIGNMENT = 64,
};

static size_t place_bytes(size_t state_bytes)
{
    size_t bytes = STATE_HASH_BYTES + state_bytes;
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Where a place begins: the state, then its state hash. */
static uint8_t *place_at(const synctest_trace *trace, uint32_t place)
{
    LS_ASSERT(place < trace->places);
    return trace->bytes + place * place_bytes(trace->state_bytes);
}

/* Where it is told whether there is an image, which follows: behind all places. */
static size_t image_start(const synctest_trace *trace)
{
    return trace->byte_count - ALIGNMENT - trace->image_bytes;
}

ls_status synctest_trace_open(int file, synctest_trace_shape shape, synctest_trace *out)
{
    synctest_trace trace = {.places = shape.pass_count + 1,
                            .state_bytes = shape.state_bytes,
                            .image_bytes = shape.image_bytes};
    trace.byte_count =
        trace.places * place_bytes(shape.state_bytes) + ALIGNMENT + shape.image_bytes;
    trace.bytes = ls_shared_memory_map(file, trace.byte_count);
    *out = trace;
    return trace.bytes ? LS_OK : LS_IO;
}

void synctest_trace_set(synctest_trace *trace, uint32_t place, uint64_t state_hash,
                        const void *state)
{
    uint8_t *bytes = place_at(trace, place);
    if (trace->state_bytes > 0) {
        memcpy(bytes, state, trace->state_bytes);
    }
    memcpy(bytes + trace->state_bytes, &state_hash, sizeof state_hash);
}

uint64_t synctest_trace_hash(const synctest_trace *trace, uint32_t place)
{
    uint64_t state_hash = 0;
    memcpy(&state_hash, place_at(trace, place) + trace->state_bytes, sizeof state_hash);
    return state_hash;
}

const uint8_t *synctest_trace_state(const synctest_trace *trace, uint32_t place)
{
    return place_at(trace, place);
}

uint8_t *synctest_trace_image_room(const synctest_trace *trace)
{
    return trace->bytes + image_start(trace) + ALIGNMENT;
}

void synctest_trace_note_image(synctest_trace *trace)
{
    trace->bytes[image_start(trace)] = 1;
}

const uint8_t *synctest_trace_image(const synctest_trace *trace)
{
    bool is_noted = trace->image_bytes > 0 && trace->bytes[image_start(trace)] == 1;
    return is_noted ? synctest_trace_image_room(trace) : NULL;
}

/* ---- compare ---- */

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

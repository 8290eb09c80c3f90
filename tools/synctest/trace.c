#include "lockstep/tools/synctest/trace.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/shared_memory.h"

#include <stdbool.h>
#include <string.h>

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

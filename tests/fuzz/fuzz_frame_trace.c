/* Fuzzes the reading of frame traces: any text. Frames that were read are written again, one a
 * line, and must read the same. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/frame_trace.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    LINE_BYTES = 24,
    FRAMES_MAX = 4096,
};

static const ls_allocator bounded = {fuzz_allocate_bounded, fuzz_release_bounded, NULL, NULL};

static void check_again(const ls_frame_trace *trace)
{
    static char text[FRAMES_MAX * LINE_BYTES];
    size_t size = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%" PRIu64 "\n", trace->frames_ns[i]);
    }
    ls_frame_trace again;
    LS_ASSERT(ls_frame_trace_parse(text, size, "again", &bounded, &again, NULL) == LS_OK);
    LS_ASSERT(again.count == trace->count);
    for (uint32_t i = 0; i < trace->count; i++) {
        LS_ASSERT(again.frames_ns[i] == trace->frames_ns[i]);
    }
    ls_frame_trace_release(&again, &bounded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    ls_frame_trace trace;
    ls_text why = {{0}};
    if (ls_frame_trace_parse((const char *)bytes, size, "fuzz", &bounded, &trace, &why) != LS_OK) {
        LS_ASSERT(why.bytes[0] != '\0');
        return 0;
    }
    LS_ASSERT(trace.count > 0);
    for (uint32_t i = 0; i < trace.count; i++) {
        LS_ASSERT(trace.frames_ns[i] >= 1 && trace.frames_ns[i] <= LS_FRAME_TRACE_FRAME_MAX_NS);
    }
    if (trace.count <= FRAMES_MAX) {
        check_again(&trace);
    }
    ls_frame_trace_release(&trace, &bounded);
    return 0;
}

/* Trace: one tick, pass by pass: the state before it and after each of its passes, in a file of
 * memory. Two of them, of two perturbations, show in which pass the runs first differ. Of a state
 * behind a callback it keeps the hashes, and one image of a save after the tick. Keeps bytes; what
 * they mean is compare's business. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_TRACE_H
#define LOCKSTEP_TOOLS_SYNCTEST_TRACE_H

#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A place is a moment of the tick: 0 before it, p + 1 after pass p. */
typedef struct synctest_trace {
    uint8_t *bytes;
    size_t byte_count;
    uint32_t places;    /* passes + 1 */
    size_t state_bytes; /* as they lie in memory; 0 when the state is behind a callback */
    size_t image_bytes; /* 0: no image is kept */
} synctest_trace;

typedef struct synctest_trace_shape {
    uint32_t pass_count;
    size_t state_bytes;
    size_t image_bytes;
} synctest_trace_shape;

/* Maps the file until the process ends; it is made big enough and keeps what it holds. IO. */
ls_status synctest_trace_open(int file, synctest_trace_shape shape, synctest_trace *out);

void synctest_trace_set(synctest_trace *trace, uint32_t place, uint64_t state_hash,
                        const void *state);
uint64_t synctest_trace_hash(const synctest_trace *trace, uint32_t place);
const uint8_t *synctest_trace_state(const synctest_trace *trace, uint32_t place);

/* Where the image is to be written, and then noted; and the image, NULL where none was noted. */
uint8_t *synctest_trace_image_room(const synctest_trace *trace);
void synctest_trace_note_image(synctest_trace *trace);
const uint8_t *synctest_trace_image(const synctest_trace *trace);

#endif

/* Trace: one tick, pass by pass: the state before it and after each of its passes, in a file of
 * memory. Two of them, of two worlds, show in which pass the worlds part. Keeps bytes; what they
 * mean is compare's business. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_TRACE_H
#define LOCKSTEP_TOOLS_SYNCTEST_TRACE_H

#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A place is a moment of the tick: 0 before it, p + 1 after pass p. */
typedef struct ls_trace {
    uint8_t *bytes;
    size_t byte_count;
    uint32_t places;    /* passes + 1 */
    size_t state_bytes; /* as they lie in memory; 0 when the state is behind a callback */
} ls_trace;

/* Makes the file big enough and maps it for writing, or maps what was made. IO. */
ls_status ls_trace_create(int file, uint32_t pass_count, size_t state_bytes, ls_trace *out);
ls_status ls_trace_open(int file, uint32_t pass_count, size_t state_bytes, ls_trace *out);
void ls_trace_close(ls_trace *trace);

void ls_trace_set(ls_trace *trace, uint32_t place, uint64_t state_hash, const void *state);
uint64_t ls_trace_hash(const ls_trace *trace, uint32_t place);
const uint8_t *ls_trace_state(const ls_trace *trace, uint32_t place);

#endif

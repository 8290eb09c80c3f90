/* Trace: how long the frames of a display last, one after the other: the built-in traces, each from
 * its name, length and seed alone, and recorded ones from a file. Reads no clock.
 * Called by the driver of lockstep-timestep and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_TRACE_H
#define LOCKSTEP_TOOLS_TIMESTEP_TRACE_H

#include "lockstep/common/program/frame_trace.h"

#define LS_TRACE_SPIKE_NS UINT64_C(300000000)

/* What a step of the trace "overload" costs, in percent of dt: more than it simulates. */
#define LS_TRACE_OVERLOAD_PERCENT 120u

typedef enum ls_trace_kind {
    LS_TRACE_60,
    LS_TRACE_75,
    LS_TRACE_144,
    LS_TRACE_200,
    LS_TRACE_50,
    LS_TRACE_30,
    LS_TRACE_SPIKE,    /* 60 with one frame of LS_TRACE_SPIKE_NS in the middle */
    LS_TRACE_WALK,     /* a random walk between 20 and 240 */
    LS_TRACE_OVERLOAD, /* 60, and steps that cost LS_TRACE_OVERLOAD_PERCENT */
    LS_TRACE_KIND_COUNT,
} ls_trace_kind;

typedef struct ls_trace {
    char name[LS_NAME_BYTES_MAX];
    const char *about;          /* one line */
    ls_frame_trace frames;      /* what they last when nothing is simulated */
    uint32_t step_cost_percent; /* virtual time that a step takes, of dt */
} ls_trace;

typedef struct ls_trace_config {
    uint32_t seconds; /* 1 .. LS_TRACE_SECONDS_MAX: frames until then, the last one whole */
    uint64_t seed;    /* of the random walk */
} ls_trace_config;

#define LS_TRACE_SECONDS_MAX 3600u

/* "60", "spike", ... as --trace takes them. */
const char *ls_trace_kind_name(ls_trace_kind kind);
const char *ls_trace_kind_about(ls_trace_kind kind);

/* NO_MEMORY. */
ls_status ls_trace_make(ls_trace_kind kind, const ls_trace_config *config,
                        const ls_allocator *allocator, ls_trace *out);

/* A built-in trace's name, or the path of a recorded one (see common/program/frame_trace.h), whose
 * own length counts. Errors of ls_frame_trace_read. */
ls_status ls_trace_open(const char *name, const ls_trace_config *config,
                        const ls_allocator *allocator, ls_trace *out, ls_text *why);

void ls_trace_release(ls_trace *trace, const ls_allocator *allocator);

/* The sum of its frames. */
uint64_t ls_trace_length_ns(const ls_trace *trace);

#endif

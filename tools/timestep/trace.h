/* Trace: how long the frames of a display last, one after the other: the built-in traces, each from
 * its name, length and seed alone, and recorded ones from a file. Reads no clock.
 * Called by the driver of lockstep-timestep and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_TRACE_H
#define LOCKSTEP_TOOLS_TIMESTEP_TRACE_H

#include "lockstep/common/program/frame_trace.h"

#define STEPPING_TRACE_SPIKE_NS UINT64_C(300000000)

/* The cost of a step of the trace "overload", in percent of dt: more than it simulates. */
#define STEPPING_TRACE_OVERLOAD_PERCENT 120u

typedef enum stepping_trace_kind {
    STEPPING_TRACE_60,
    STEPPING_TRACE_75,
    STEPPING_TRACE_144,
    STEPPING_TRACE_200,
    STEPPING_TRACE_50,
    STEPPING_TRACE_30,
    STEPPING_TRACE_SPIKE,    /* 60 with one frame of STEPPING_TRACE_SPIKE_NS in the middle */
    STEPPING_TRACE_WALK,     /* a random walk between 20 and 240 */
    STEPPING_TRACE_OVERLOAD, /* 60, and steps that cost STEPPING_TRACE_OVERLOAD_PERCENT */
    STEPPING_TRACE_KIND_COUNT,
} stepping_trace_kind;

typedef struct stepping_trace {
    char name[LS_NAME_BYTES_MAX];
    const char *about;          /* one line */
    ls_frame_trace frames;      /* what they last when nothing is simulated */
    uint32_t step_cost_percent; /* virtual time that a step takes, of dt */
} stepping_trace;

typedef struct stepping_trace_config {
    uint32_t seconds; /* 1 .. STEPPING_TRACE_SECONDS_MAX: frames until then, the last one whole */
    uint64_t seed;    /* of the random walk */
} stepping_trace_config;

#define STEPPING_TRACE_SECONDS_MAX 3600u

/* "60", "spike", ... as --trace takes them. */
const char *stepping_trace_kind_name(stepping_trace_kind kind);
const char *stepping_trace_kind_about(stepping_trace_kind kind);

/* NO_MEMORY. */
ls_status stepping_trace_make(stepping_trace_kind kind, const stepping_trace_config *config,
                              const ls_allocator *allocator, stepping_trace *out);

/* A built-in trace's name, or the path of a recorded one (see common/program/frame_trace.h), whose
 * own length counts. Errors of ls_frame_trace_read. */
ls_status stepping_trace_open(const char *name, const stepping_trace_config *config,
                              const ls_allocator *allocator, stepping_trace *out, ls_text *why);

void stepping_trace_release(stepping_trace *trace, const ls_allocator *allocator);

/* The sum of its frames. */
uint64_t stepping_trace_length_ns(const stepping_trace *trace);

#endif

/* Play: one stepping strategy over one trace of frames, in virtual time. A frame lasts as long as
 * the trace says, or as long as the steps of the frame before it took, whichever is longer: so a
 * step that costs more than it simulates shows what it does to each strategy. Simulates nothing
 * itself: an observer does. Reads no clock. Called by whatever measures a strategy. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_PLAY_H
#define LOCKSTEP_TOOLS_TIMESTEP_PLAY_H

#include "lockstep/common/program/frame_trace.h"
#include "lockstep/common/time/timestep.h"

#include <stdbool.h>

/* ---- how long the frames of a display last, one after the other: the built-in traces, each from
 * its name, length and seed alone, and recorded ones from a file ---- */

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

/* ---- a strategy on it ---- */

/* A frame after its steps were planned. */
typedef struct stepping_play_frame {
    uint32_t index;
    uint64_t frame_ns;
    uint64_t real_ns;    /* from the start to the end of this frame */
    uint64_t dropped_ns; /* so far */
    const ls_timestep_plan *plan;
} stepping_play_frame;

typedef struct stepping_play_observer {
    void (*on_frame)(void *user, const stepping_play_frame *frame);
    void *user;
} stepping_play_observer;

typedef struct stepping_play_result {
    uint32_t frames;
    uint64_t steps;
    uint64_t real_ns;
    uint64_t simulated_ns;
    uint64_t dropped_ns;
    uint64_t step_min_ns; /* the shortest and the longest step; 0 without any */
    uint64_t step_max_ns;
    uint32_t steps_worst; /* in one frame */
    uint64_t frame_max_ns;
    uint64_t frame_last_ns;
} stepping_play_result;

/* A strategy as the table has it. */
typedef struct stepping_stepper {
    const char *row; /* "T1", as in the literature's list; "" for a user's own */
    const char *name;
    ls_timestep_config config;
} stepping_stepper;

/* T1 to T6 at this rate, with the limits that each is known by: substeps (T4) at most 6, each of
 * at most a dt that is rounded up to a microsecond, and interpolation (T6) with frames cut at
 * 0.25 s; the others have none. */
stepping_stepper stepping_stepper_default(ls_timestep_strategy strategy, uint32_t rate_hz);

/* Until the trace ends, or as much time has passed as it has. `observer` may be NULL. */
stepping_play_result stepping_play(const ls_timestep_config *config, const stepping_trace *trace,
                                   uint64_t step_cost_ns, const stepping_play_observer *observer);

#endif

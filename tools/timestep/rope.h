/* Rope: what becomes of the simulation `rope` when its steps are a millisecond and when they are a
 * frame's time (T8): particles that stiff springs join, held by both ends. Called by the reports'
 * driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_ROPE_H
#define LOCKSTEP_TOOLS_TIMESTEP_ROPE_H

#include "lockstep/common/maths/integrator.h"
#include "lockstep/tools/timestep/trace.h"

#include <stdbool.h>

/* A link this many times as long as at rest has fallen apart. */
#define STEPPING_ROPE_TORN 100.0

/* In fixed steps of `dt_ns`, or, when it is 0, in one step a frame. */
typedef struct stepping_rope_run_config {
    ls_integrator integrator;
    uint64_t dt_ns;
    uint64_t frame_max_ns; /* longer frames are cut; 0: never */
} stepping_rope_run_config;

typedef struct stepping_rope_result {
    double stretch_max; /* the longest that a link was, of what it is at rest */
    uint64_t steps;     /* until the end, or until it was torn */
    bool is_torn;
    double dropped_ms; /* of frames that were cut */
} stepping_rope_result;

/* NO_MEMORY, or what the simulation's start came to. */
ls_status stepping_rope_run(const stepping_rope_run_config *config, const stepping_trace *trace,
                            const ls_allocator *allocator, stepping_rope_result *out, ls_text *why);

#endif

/* Forces: what a force and an impulse do to a body when they are given in the step, and when they
 * are given in the rendered frame (T11). Physics in fixed steps with an accumulator, which clears
 * its forces after each step, as engines do. Called by the reports' driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_FORCES_H
#define LOCKSTEP_TOOLS_TIMESTEP_FORCES_H

#include "lockstep/tools/timestep/trace.h"

/* The speed that the body gets, by the speed it should get. */
typedef struct stepping_forces {
    double force_per_step;  /* 1 */
    double force_per_frame; /* frame rate by physics rate */
    double impulse_queued;  /* 1: kept until the next step takes it, once */
    double impulse_polled;  /* each step asks whether this frame has one: lost, or taken twice */
} stepping_forces;

stepping_forces stepping_forces_measure(const stepping_trace *trace, uint64_t dt_ns);

#endif

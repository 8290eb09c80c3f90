/* Play: one stepping strategy over one trace of frames, in virtual time. A frame lasts as long as
 * the trace says, or as long as the steps of the frame before it took, whichever is longer: so a
 * step that costs more than it simulates shows what it does to each strategy. Simulates nothing
 * itself: an observer does. Reads no clock. Called by whatever measures a strategy. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_PLAY_H
#define LOCKSTEP_TOOLS_TIMESTEP_PLAY_H

#include "lockstep/common/time/timestep.h"
#include "lockstep/tools/timestep/trace.h"

#include <stdbool.h>

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

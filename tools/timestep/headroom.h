/* Headroom: what a strategy does when steps cost time (T10): after one long frame, while a step
 * costs half of what it simulates, and for good, when it costs more than it simulates. In virtual
 * time. Called by the reports' driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_HEADROOM_H
#define LOCKSTEP_TOOLS_TIMESTEP_HEADROOM_H

#include "lockstep/tools/timestep/play.h"

/* What a step costs while there is headroom, in percent of dt. */
#define STEPPING_HEADROOM_PERCENT 50u

typedef struct stepping_headroom_case {
    const char *name;
    ls_timestep_config config;
} stepping_headroom_case;

typedef struct stepping_headroom {
    /* After the spike: frames that lasted longer than the display's, until none did, and the real
     * time until then; what was never simulated. */
    uint32_t late_frames;
    double late_ms;
    double spike_dropped_ms;
    double spike_speed; /* simulated by real time, of the whole trace */
    /* Under overload, after all of the trace. */
    double overload_speed;
    double overload_frame_ms; /* the last one */
    double overload_dropped_ms;
    bool is_spiral; /* it lasts a second and more: nobody plays that */
} stepping_headroom;

/* Unlimited ones, and each way to limit one; returns how many there are. */
uint32_t stepping_headroom_cases(uint32_t rate_hz, stepping_headroom_case *cases,
                                 uint32_t capacity);

typedef struct stepping_headroom_traces {
    const stepping_trace *spike;
    const stepping_trace *overload;
} stepping_headroom_traces;

stepping_headroom stepping_headroom_measure(const ls_timestep_config *config, uint64_t dt_ns,
                                            const stepping_headroom_traces *traces);

#endif

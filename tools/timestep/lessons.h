/* Lessons: what is worth knowing before a stepping strategy is chosen, measured: the examples of
 * the literature (T4, T5), a rope (T8), integrators (T9), headroom (T10), forces (T11) and the same
 * bits at every frame rate (T12). Called by the driver of lockstep-timestep and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_LESSONS_H
#define LOCKSTEP_TOOLS_TIMESTEP_LESSONS_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulations/spring/integrator.h"
#include "lockstep/tools/timestep/report.h"

/* ---- T8: the simulation `rope`, particles that stiff springs join, held by both ends, when its
 * steps are a millisecond and when they are the time of a frame ---- */

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

/* ---- T9: how far each integrator takes a spring of common/simulations/spring from where it
 * should be, by the length of its step ---- */

/* The global error, in m, of a spring of 1 rad/s that was let go at 1 m a second ago: how far its
 * place and its speed are from the exact ones. dt_s: 1e-6 .. 1. */
double stepping_integrator_error(ls_integrator integrator, double dt_s);

/* The exponent by which the error goes with dt: from one tenth to one hundredth of a second. */
double stepping_integrator_order(ls_integrator integrator);

/* ---- T10: what a strategy does when steps cost time: after one long frame, while a step costs
 * half of what it simulates, and for good, when it costs more than it simulates ---- */

/* The cost of a step while there is headroom, in percent of dt. */
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
    bool is_spiral; /* it lasts a second and more: too long to play */
} stepping_headroom;

/* Unlimited ones, and each way to limit one. */
#define STEPPING_HEADROOM_CASES 6u
void stepping_headroom_cases(uint32_t rate_hz,
                             stepping_headroom_case cases[STEPPING_HEADROOM_CASES]);

typedef struct stepping_headroom_traces {
    const stepping_trace *spike;
    const stepping_trace *overload;
} stepping_headroom_traces;

stepping_headroom stepping_headroom_measure(const ls_timestep_config *config, uint64_t dt_ns,
                                            const stepping_headroom_traces *traces);

/* ---- T11: what a force and an impulse do to a body that fixed steps move, when they are given
 * in the step and when they are given in the rendered frame. Forces are cleared after each step,
 * as engines do ---- */

/* The speed that the body gets, by the speed it should get. */
typedef struct stepping_forces {
    double force_per_step;  /* 1 */
    double force_per_frame; /* frame rate by physics rate */
    double impulse_queued;  /* 1: kept until the next step takes it, once */
    double impulse_polled;  /* each step asks whether this frame has one: lost, or taken twice */
} stepping_forces;

stepping_forces stepping_forces_measure(const stepping_trace *trace, uint64_t dt_ns);

/* ---- T12: how a difference of one bit grows: the same simulation twice, on the same inputs,
 * with the lowest bit of one coordinate flipped in the second ---- */

#define STEPPING_ONE_BIT_SECONDS_MAX 60u

typedef struct stepping_one_bit {
    char field[LS_NAME_BYTES_MAX]; /* the one with the lowest bit flipped after the first tick */
    uint32_t seconds;
    double apart_m[STEPPING_ONE_BIT_SECONDS_MAX + 1]; /* the most that a shape is, after so many */
} stepping_one_bit;

/* UNSUPPORTED when the state has no fixed-point coordinate "....x". */
ls_status stepping_one_bit_run(const ls_simulation *simulation, const ls_sim_config *config,
                               uint32_t seconds, const ls_allocator *allocator,
                               stepping_one_bit *out, ls_text *why);

/* ---- all of them ---- */

/* Writes each as a table and as JSON. `traces` are the built-in ones, by stepping_trace_kind.
 * NO_MEMORY, or what a simulation's start came to; what was written until then is worth nothing. */
ls_status stepping_lessons_write(const stepping_trace *traces, uint32_t rate_hz,
                                 const ls_allocator *allocator, const stepping_sheet *sheet,
                                 ls_text *why);

#endif

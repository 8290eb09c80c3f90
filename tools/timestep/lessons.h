/* Lessons: what is worth knowing before a stepping strategy is chosen, measured: the examples of
 * the literature (T4, T5), a rope (T8), integrators (T9), headroom (T10), forces (T11) and the same
 * bits at every frame rate (T12). Called by the driver of lockstep-timestep and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_LESSONS_H
#define LOCKSTEP_TOOLS_TIMESTEP_LESSONS_H

#include "lockstep/tools/timestep/forces.h"
#include "lockstep/tools/timestep/headroom.h"
#include "lockstep/tools/timestep/integrators.h"
#include "lockstep/tools/timestep/one_bit.h"
#include "lockstep/tools/timestep/rope.h"

#define STEPPING_LESSON_FRAMES 3u /* of an example */
#define STEPPING_LESSON_EXAMPLES (2 * STEPPING_LESSON_FRAMES)
#define STEPPING_LESSON_FORCES 5u
#define STEPPING_LESSON_CASES_MAX 8u
#define STEPPING_LESSON_ONE_BIT_SECONDS 20u

/* Physics at 50 Hz, as the example has it. */
#define STEPPING_LESSON_FORCES_DT_NS UINT64_C(20000000)

/* One frame of an example. */
typedef struct stepping_lesson_example {
    const char *row;
    uint64_t frame_ns;
    uint32_t steps;
    uint64_t step_ns;
    uint64_t bank_ns; /* afterwards */
} stepping_lesson_example;

typedef struct stepping_lesson_rope {
    stepping_rope_result fixed;     /* dt 1 ms, frames cut at 10 ms */
    stepping_rope_result per_frame; /* dt of a frame at 60 Hz */
} stepping_lesson_rope;

typedef struct stepping_lessons {
    stepping_lesson_example examples[STEPPING_LESSON_EXAMPLES];
    stepping_lesson_rope ropes[LS_INTEGRATOR_COUNT];
    struct {
        double order;
        double error_fine;   /* at dt = 1e-4 s, in m */
        double error_coarse; /* at dt = 0.1 s */
    } integrators[LS_INTEGRATOR_COUNT];
    stepping_headroom_case cases[STEPPING_LESSON_CASES_MAX];
    stepping_headroom headroom[STEPPING_LESSON_CASES_MAX];
    uint32_t case_count;
    stepping_trace_kind force_traces[STEPPING_LESSON_FORCES];
    stepping_forces forces[STEPPING_LESSON_FORCES];
    const char *simulation; /* that T12 was tried on */
    uint32_t traces_played; /* with interpolation */
    uint32_t traces_same;   /* where every tick had the same bits */
    uint64_t ticks_compared;
    stepping_one_bit one_bit;
} stepping_lessons;

/* `traces` are the built-in ones, by stepping_trace_kind. NO_MEMORY, or what a simulation's start
 * came to. */
ls_status stepping_lessons_learn(const stepping_trace *traces, uint32_t rate_hz,
                                 const ls_allocator *allocator, stepping_lessons *out,
                                 ls_text *why);

#endif

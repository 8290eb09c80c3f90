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

#define LS_LESSON_FRAMES 3u /* of an example */
#define LS_LESSON_EXAMPLES (2 * LS_LESSON_FRAMES)
#define LS_LESSON_FORCES 5u
#define LS_LESSON_CASES_MAX 8u
#define LS_LESSON_ONE_BIT_SECONDS 20u

/* Physics at 50 Hz, as the example has it. */
#define LS_LESSON_FORCES_DT_NS UINT64_C(20000000)

/* One frame of an example. */
typedef struct ls_lesson_example {
    const char *row;
    uint64_t frame_ns;
    uint32_t steps;
    uint64_t step_ns;
    uint64_t bank_ns; /* afterwards */
} ls_lesson_example;

typedef struct ls_lesson_rope {
    ls_rope_result fixed;     /* dt 1 ms, frames cut at 10 ms */
    ls_rope_result per_frame; /* dt of a frame at 60 Hz */
} ls_lesson_rope;

typedef struct ls_lessons {
    ls_lesson_example examples[LS_LESSON_EXAMPLES];
    ls_lesson_rope ropes[LS_INTEGRATOR_COUNT];
    struct {
        double order;
        double error_fine;   /* at dt = 1e-4 s, in m */
        double error_coarse; /* at dt = 0.1 s */
    } integrators[LS_INTEGRATOR_COUNT];
    ls_headroom_case cases[LS_LESSON_CASES_MAX];
    ls_headroom headroom[LS_LESSON_CASES_MAX];
    uint32_t case_count;
    ls_trace_kind force_traces[LS_LESSON_FORCES];
    ls_forces forces[LS_LESSON_FORCES];
    const char *simulation; /* that T12 was tried on */
    uint32_t traces_played; /* with interpolation */
    uint32_t traces_same;   /* where every tick had the same bits */
    uint64_t ticks_compared;
    ls_one_bit one_bit;
} ls_lessons;

/* `traces` are the built-in ones, by ls_trace_kind. NO_MEMORY, or what a simulation's start came
 * to. */
ls_status ls_lessons_learn(const ls_trace *traces, uint32_t rate_hz, const ls_allocator *allocator,
                           ls_lessons *out, ls_text *why);

#endif

/* Timestep: how many steps of what length a frame takes: every strategy a user may meet, in one
 * place, in integer nanoseconds. Never reads a clock: the frame's length is an argument.
 * match and session use the accumulator, with interpolation. */
#ifndef LOCKSTEP_COMMON_TIME_TIMESTEP_H
#define LOCKSTEP_COMMON_TIME_TIMESTEP_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/rate.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/maths/fixed.h"

#include <stdint.h>

LS_C_BEGIN

typedef enum ls_timestep_strategy {
    LS_TIMESTEP_FIXED_PER_FRAME, /* one step of dt every frame, whatever it lasted */
    LS_TIMESTEP_VARIABLE,        /* one step of the frame's length */
    LS_TIMESTEP_SEMI_FIXED,      /* steps of dt, then one of what remains */
    LS_TIMESTEP_SUBSTEPS,        /* equal steps, each at most substep_max, at most steps_max */
    LS_TIMESTEP_ACCUMULATOR,     /* steps of dt, the rest is banked */
    LS_TIMESTEP_INTERPOLATED,    /* the same, drawn as a blend of the two newest states */
    LS_TIMESTEP_STRATEGY_COUNT,
} ls_timestep_strategy;

#define LS_TIMESTEP_DT_MAX_NS UINT64_C(3600000000000) /* an hour */

typedef struct ls_timestep_config {
    ls_timestep_strategy strategy;
    uint64_t dt_ns; /* 1 .. DT_MAX_NS; for SUBSTEPS the longest substep; unused by VARIABLE */
    uint64_t frame_max_ns; /* longer frames are cut to this and the rest dropped; 0: never */
    uint32_t steps_max;    /* per frame; time beyond is dropped; 0: no cap; SUBSTEPS: > 0 */
    ls_rate rate; /* of the accumulators: their exact rate, where a step is no whole number of
                     nanoseconds: then dt_ns is the nearest; {0, 0}: dt_ns is exact */
} ls_timestep_config;

/* The work of one frame: `step_count` steps of `step_ns` each, but the last, which is
 * `last_step_ns` long. No step is ever 0 ns long: a frame of 0 ns has none (FIXED_PER_FRAME, which
 * never looks at the frame, has its one). */
typedef struct ls_timestep_plan {
    uint32_t step_count;
    uint64_t step_ns;
    uint64_t last_step_ns;
    ls_fixed alpha;      /* INTERPOLATED: share of the newest state to draw; else LS_FIXED_ONE */
    uint64_t dropped_ns; /* never to be simulated */
} ls_timestep_plan;

/* The length of step `index` (< step_count) of a plan. */
static inline uint64_t ls_timestep_step_ns(const ls_timestep_plan *plan, uint32_t index)
{
    return index + 1 == plan->step_count ? plan->last_step_ns : plan->step_ns;
}

/* Always real = simulated + dropped + bank, but for FIXED_PER_FRAME, which also simulates time that
 * never passed when a frame is shorter than dt. Sums wrap after 584 years. */
typedef struct ls_timestep {
    ls_timestep_config config;
    uint64_t bank_ns;      /* real time not yet simulated, below dt after an advance */
    uint64_t simulated_ns; /* sum of all steps planned */
    uint64_t real_ns;      /* sum of all frames */
    uint64_t dropped_ns;
    uint64_t owed; /* with a rate: what steps took beyond whole nanoseconds, in 1/numerator ns */
} ls_timestep;

/* INTERPOLATED at `tick_rate_hz` (1 .. LS_TICK_RATE_MAX_HZ): dt to the nearest nanosecond, frames
 * cut at 0.25 s, no cap on steps. */
ls_timestep_config ls_timestep_config_default(uint32_t tick_rate_hz);

/* The same at an exact rate (ls_rate_is_good): after any number of ticks it is right to the
 * nanosecond. */
ls_timestep_config ls_timestep_config_exact(ls_rate rate);

/* BAD_ARGUMENT with the field's name in `why`. */
ls_status ls_timestep_config_check(const ls_timestep_config *config, ls_text *why);

/* The config must pass the check. */
ls_timestep ls_timestep_make(const ls_timestep_config *config);

/* Takes one frame's time and says what to do with it. */
ls_timestep_plan ls_timestep_advance(ls_timestep *timestep, uint64_t frame_ns);

/* Of an accumulator: how much time has to come until the next step is due; 0: it is. */
uint64_t ls_timestep_next_ns(const ls_timestep *timestep);

/* "fixed-per-frame", "variable", "semi-fixed", "substeps", "accumulator", "interpolated". */
const char *ls_timestep_strategy_name(ls_timestep_strategy strategy);

LS_C_END

#endif

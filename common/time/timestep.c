#include "lockstep/common/time/timestep.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <stdbool.h>

static const char *const strategy_names[LS_TIMESTEP_STRATEGY_COUNT] = {
    [LS_TIMESTEP_FIXED_PER_FRAME] = "fixed-per-frame", [LS_TIMESTEP_VARIABLE] = "variable",
    [LS_TIMESTEP_SEMI_FIXED] = "semi-fixed",           [LS_TIMESTEP_SUBSTEPS] = "substeps",
    [LS_TIMESTEP_ACCUMULATOR] = "accumulator",         [LS_TIMESTEP_INTERPOLATED] = "interpolated",
};

ls_timestep_config ls_timestep_config_default(uint32_t tick_rate_hz)
{
    LS_ASSERT(tick_rate_hz >= LS_TICK_RATE_MIN_HZ && tick_rate_hz <= LS_TICK_RATE_MAX_HZ);
    return (ls_timestep_config){
        .strategy = LS_TIMESTEP_INTERPOLATED,
        .dt_ns = (LS_NS_PER_SECOND + tick_rate_hz / 2) / tick_rate_hz,
        .frame_max_ns = LS_NS_PER_SECOND / 4,
        .steps_max = 0,
    };
}

ls_timestep_config ls_timestep_config_exact(ls_rate rate)
{
    LS_ASSERT(ls_rate_is_good(rate));
    ls_timestep_config config = ls_timestep_config_default(ls_rate_nearest_hz(rate));
    uint64_t second = LS_NS_PER_SECOND * rate.denominator;
    config.dt_ns = (second + rate.numerator / 2) / rate.numerator;
    config.rate = rate;
    return config;
}

ls_status ls_timestep_config_check(const ls_timestep_config *config, ls_text *why)
{
    if ((uint32_t)config->strategy >= LS_TIMESTEP_STRATEGY_COUNT) {
        return ls_fail(LS_BAD_ARGUMENT, why, "strategy: %u is not one of the %u",
                       (unsigned)config->strategy, (unsigned)LS_TIMESTEP_STRATEGY_COUNT);
    }
    if (config->strategy != LS_TIMESTEP_VARIABLE &&
        (config->dt_ns == 0 || config->dt_ns > LS_TIMESTEP_DT_MAX_NS)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "dt_ns: %llu is not in 1 .. %llu",
                       (unsigned long long)config->dt_ns,
                       (unsigned long long)LS_TIMESTEP_DT_MAX_NS);
    }
    bool has_rate = config->rate.numerator != 0 || config->rate.denominator != 0;
    if (has_rate && !ls_rate_is_good(config->rate)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "rate: %u/%u is no tick rate in lowest terms",
                       config->rate.numerator, config->rate.denominator);
    }
    if (config->strategy == LS_TIMESTEP_SUBSTEPS && config->steps_max == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "steps_max: substeps need a cap of at least 1");
    }
    return LS_OK;
}

ls_timestep ls_timestep_make(const ls_timestep_config *config)
{
    LS_ASSERT(ls_timestep_config_check(config, NULL) == LS_OK);
    return (ls_timestep){.config = *config};
}

/* `count` steps of `step_ns`, the last of `last_ns`. */
static ls_timestep_plan plan_of(uint64_t count, uint64_t step_ns, uint64_t last_ns)
{
    return (ls_timestep_plan){
        .step_count = (uint32_t)count,
        .step_ns = step_ns,
        .last_step_ns = last_ns,
        .alpha = LS_FIXED_ONE,
    };
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t steps_limit(const ls_timestep_config *config)
{
    return config->steps_max != 0 ? config->steps_max : UINT32_MAX;
}

static ls_timestep_plan plan_semi_fixed(const ls_timestep_config *config, uint64_t time_ns)
{
    uint64_t dt_ns = config->dt_ns;
    uint64_t count = divide_up(time_ns, dt_ns);
    if (count > steps_limit(config)) {
        return plan_of(steps_limit(config), dt_ns, dt_ns);
    }
    return plan_of(count, dt_ns, time_ns - (count - 1) * dt_ns);
}

static ls_timestep_plan plan_substeps(const ls_timestep_config *config, uint64_t time_ns)
{
    uint64_t count = divide_up(time_ns, config->dt_ns);
    if (count > config->steps_max) {
        return plan_of(config->steps_max, config->dt_ns, config->dt_ns);
    }
    /* Rounded up, so that the odd nanoseconds shorten the last step: rounded down they would
     * lengthen it past the longest substep. */
    uint64_t step_ns = divide_up(time_ns, count);
    return plan_of(count, step_ns, time_ns - (count - 1) * step_ns);
}

/* A step is `whole_ns` long and `rest`/`unit` ns more. */
typedef struct exact_step {
    uint64_t whole_ns;
    uint64_t rest;
    uint64_t unit;
} exact_step;

static exact_step exact_step_of(const ls_timestep_config *config)
{
    if (config->rate.numerator == 0) {
        return (exact_step){config->dt_ns, 0, 1};
    }
    uint64_t second = LS_NS_PER_SECOND * config->rate.denominator;
    uint64_t unit = config->rate.numerator;
    return (exact_step){second / unit, second % unit, unit};
}

/* Of `count` steps, what they take beyond `count` times whole_ns; *owed becomes what is behind the
 * last whole nanosecond. */
static uint64_t rests_ns(const exact_step *step, uint64_t count, uint64_t *owed)
{
    uint64_t part = count % step->unit * step->rest + *owed;
    *owed = part % step->unit;
    return count / step->unit * step->rest + part / step->unit;
}

/* Whole steps in a time; *rest_ns is what is left of it, and *owed as above. */
static uint64_t count_steps(const exact_step *step, uint64_t *rest_ns, uint64_t *owed)
{
    uint64_t count = *rest_ns / step->whole_ns;
    uint64_t owed_then = *owed;
    uint64_t extra_ns = rests_ns(step, count, &owed_then);
    while (extra_ns > *rest_ns - count * step->whole_ns) {
        count -= divide_up(extra_ns - (*rest_ns - count * step->whole_ns), step->whole_ns + 1);
        owed_then = *owed;
        extra_ns = rests_ns(step, count, &owed_then);
    }
    *rest_ns -= count * step->whole_ns + extra_ns;
    *owed = owed_then;
    return count;
}

/* Banks what is less than a step; whole steps beyond the cap are lost. */
LS_TICK_CODE static ls_timestep_plan plan_accumulator(ls_timestep *timestep, uint64_t time_ns)
{
    exact_step step = exact_step_of(&timestep->config);
    uint64_t limit = steps_limit(&timestep->config);
    uint64_t total_ns = timestep->bank_ns + time_ns;
    timestep->bank_ns = total_ns;
    uint64_t count = count_steps(&step, &timestep->bank_ns, &timestep->owed);
    uint64_t extra_ns = total_ns - timestep->bank_ns - count * step.whole_ns;
    bool is_capped = count > limit;
    ls_timestep_plan plan = plan_of(is_capped ? limit : count, step.whole_ns,
                                    step.whole_ns + (is_capped ? 0 : extra_ns));
    if (timestep->config.strategy == LS_TIMESTEP_INTERPOLATED) {
        uint64_t dt_ns = timestep->config.dt_ns;
        plan.alpha = ls_fixed_div((int64_t)LS_MIN(timestep->bank_ns, dt_ns), (int64_t)dt_ns);
    }
    return plan;
}

uint64_t ls_timestep_next_ns(const ls_timestep *timestep)
{
    exact_step step = exact_step_of(&timestep->config);
    uint64_t owed = timestep->owed;
    uint64_t due_ns = step.whole_ns + rests_ns(&step, 1, &owed);
    return due_ns > timestep->bank_ns ? due_ns - timestep->bank_ns : 0;
}

/* Plans the steps for time_ns; updates the bank. */
static ls_timestep_plan plan_time(ls_timestep *timestep, uint64_t time_ns)
{
    const ls_timestep_config *config = &timestep->config;
    if (config->strategy >= LS_TIMESTEP_ACCUMULATOR) {
        return plan_accumulator(timestep, time_ns);
    }
    if (config->strategy == LS_TIMESTEP_FIXED_PER_FRAME) {
        return plan_of(1, config->dt_ns, config->dt_ns);
    }
    if (time_ns == 0) {
        return plan_of(0, 0, 0);
    }
    switch (config->strategy) {
    case LS_TIMESTEP_SEMI_FIXED:
        return plan_semi_fixed(config, time_ns);
    case LS_TIMESTEP_SUBSTEPS:
        return plan_substeps(config, time_ns);
    default:
        return plan_of(1, time_ns, time_ns);
    }
}

static uint64_t planned_ns(const ls_timestep_plan *plan)
{
    return plan->step_count == 0 ? 0 : (plan->step_count - 1) * plan->step_ns + plan->last_step_ns;
}

LS_TICK_CODE ls_timestep_plan ls_timestep_advance(ls_timestep *timestep, uint64_t frame_ns)
{
    uint64_t frame_max_ns = timestep->config.frame_max_ns;
    uint64_t bank_before_ns = timestep->bank_ns;
    uint64_t time_ns = frame_max_ns != 0 && frame_ns > frame_max_ns ? frame_max_ns : frame_ns;
    if (time_ns > UINT64_MAX - bank_before_ns) {
        time_ns = UINT64_MAX - bank_before_ns;
    }
    ls_timestep_plan plan = plan_time(timestep, time_ns);

    uint64_t simulated_ns = planned_ns(&plan);
    bool is_ahead = timestep->config.strategy == LS_TIMESTEP_FIXED_PER_FRAME &&
                    simulated_ns > frame_ns; /* the only one that simulates time nobody lived */
    if (!is_ahead) {
        plan.dropped_ns = frame_ns + bank_before_ns - timestep->bank_ns - simulated_ns;
    }
    timestep->real_ns += frame_ns;
    timestep->simulated_ns += simulated_ns;
    timestep->dropped_ns += plan.dropped_ns;
    return plan;
}

const char *ls_timestep_strategy_name(ls_timestep_strategy strategy)
{
    LS_ASSERT((uint32_t)strategy < LS_TIMESTEP_STRATEGY_COUNT);
    return strategy_names[strategy];
}

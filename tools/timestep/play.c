#include "lockstep/tools/timestep/play.h"

#include "lockstep/common/base/clock.h"

enum {
    SUBSTEPS_MAX = 6, /* as Unreal has it */
};

stepping_stepper stepping_stepper_default(ls_timestep_strategy strategy, uint32_t rate_hz)
{
    static const char *const rows[] = {"T1", "T2", "T3", "T4", "T5", "T6"};
    stepping_stepper stepper = {.row = rows[strategy],
                                .name = ls_timestep_strategy_name(strategy),
                                .config = ls_timestep_config_default(rate_hz)};
    stepper.config.strategy = strategy;
    if (strategy != LS_TIMESTEP_INTERPOLATED) {
        stepper.config.frame_max_ns = 0;
    }
    if (strategy == LS_TIMESTEP_SUBSTEPS) {
        uint64_t dt_us = (stepper.config.dt_ns + LS_NS_PER_US - 1) / LS_NS_PER_US;
        stepper.config.dt_ns = dt_us * LS_NS_PER_US;
        stepper.config.steps_max = SUBSTEPS_MAX;
    }
    return stepper;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return LS_MAX(a, b);
}

static void count_plan(stepping_play_result *result, const ls_timestep_plan *plan)
{
    result->steps += plan->step_count;
    if (plan->step_count == 0) {
        return;
    }
    bool is_first = result->step_min_ns == 0;
    if (is_first || plan->last_step_ns < result->step_min_ns) {
        result->step_min_ns = plan->last_step_ns;
    }
    result->step_max_ns = longer(result->step_max_ns, ls_timestep_step_ns(plan, 0));
    if (plan->step_count > result->steps_worst) {
        result->steps_worst = plan->step_count;
    }
}

stepping_play_result stepping_play(const ls_timestep_config *config, const stepping_trace *trace,
                                   uint64_t step_cost_ns, const stepping_play_observer *observer)
{
    ls_timestep timestep = ls_timestep_make(config);
    stepping_play_result result = {0};
    uint64_t length_ns = stepping_trace_length_ns(trace);
    uint64_t busy_ns = 0; /* what the frame before was busy with steps */
    for (uint32_t i = 0; i < trace->frames.count && timestep.real_ns < length_ns; i++) {
        uint64_t frame_ns = longer(trace->frames.frames_ns[i], busy_ns);
        ls_timestep_plan plan = ls_timestep_advance(&timestep, frame_ns);
        busy_ns = plan.step_count * step_cost_ns;
        result.frames++;
        result.frame_max_ns = longer(result.frame_max_ns, frame_ns);
        result.frame_last_ns = frame_ns;
        count_plan(&result, &plan);
        if (observer) {
            stepping_play_frame frame = {i, frame_ns, timestep.real_ns, timestep.dropped_ns, &plan};
            observer->on_frame(observer->user, &frame);
        }
    }
    result.real_ns = timestep.real_ns;
    result.simulated_ns = timestep.simulated_ns;
    result.dropped_ns = timestep.dropped_ns;
    return result;
}

#include "lockstep/tools/timestep/play.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"

#include <string.h>

enum {
    WALK_STREAM = 1,
    WALK_SLOWEST_HZ = 20,
    WALK_FASTEST_HZ = 240,
    WALK_STEP_PERMILLE = 250,
    SUBSTEPS_MAX = 6, /* as Unreal has it */
};

typedef struct kind_info {
    const char *name;
    const char *about;
    uint32_t fps;
} kind_info;

static const kind_info kinds[STEPPING_TRACE_KIND_COUNT] = {
    [STEPPING_TRACE_60] = {"60", "steady 60 frames a second", 60},
    [STEPPING_TRACE_75] = {"75", "steady 75 frames a second", 75},
    [STEPPING_TRACE_144] = {"144", "steady 144 frames a second", 144},
    [STEPPING_TRACE_200] = {"200", "steady 200 frames a second", 200},
    [STEPPING_TRACE_50] = {"50", "steady 50 frames a second", 50},
    [STEPPING_TRACE_30] = {"30", "steady 30 frames a second", 30},
    [STEPPING_TRACE_SPIKE] = {"spike", "60 frames a second, one frame in the middle lasts 300 ms",
                              60},
    [STEPPING_TRACE_WALK] = {"walk", "a random walk between 20 and 240 frames a second", 60},
    [STEPPING_TRACE_OVERLOAD] = {"overload", "60 frames a second, steps that cost 1.2 dt", 60},
};

const char *stepping_trace_kind_name(stepping_trace_kind kind)
{
    return kinds[kind].name;
}

const char *stepping_trace_kind_about(stepping_trace_kind kind)
{
    return kinds[kind].about;
}

static uint64_t period_ns(uint32_t hz)
{
    return (LS_NS_PER_SECOND + hz / 2) / hz;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The next frame of a walk that goes up or down by at most a quarter. */
static uint64_t walk(ls_rng *rng, uint64_t frame_ns)
{
    int32_t change = ls_rng_between(rng, -WALK_STEP_PERMILLE, WALK_STEP_PERMILLE);
    uint64_t next_ns = frame_ns * (uint64_t)(1000 + change) / 1000;
    return clamp(next_ns, period_ns(WALK_FASTEST_HZ), period_ns(WALK_SLOWEST_HZ));
}

/* Frames until `length_ns` have passed; stores them unless `frames_ns` is NULL. */
static uint32_t fill(stepping_trace_kind kind, uint64_t length_ns, uint64_t seed,
                     uint64_t *frames_ns)
{
    ls_rng rng = ls_rng_make(seed, WALK_STREAM);
    uint64_t frame_ns = period_ns(kinds[kind].fps);
    uint32_t count = 0;
    bool has_spiked = kind != STEPPING_TRACE_SPIKE;
    for (uint64_t time_ns = 0; time_ns < length_ns; count++) {
        bool is_spike = !has_spiked && time_ns >= length_ns / 2;
        has_spiked = has_spiked || is_spike;
        frame_ns = kind == STEPPING_TRACE_WALK ? walk(&rng, frame_ns) : frame_ns;
        uint64_t lasts_ns = is_spike ? STEPPING_TRACE_SPIKE_NS : frame_ns;
        if (frames_ns) {
            frames_ns[count] = lasts_ns;
        }
        time_ns += lasts_ns;
    }
    return count;
}

ls_status stepping_trace_make(stepping_trace_kind kind, const stepping_trace_config *config,
                              const ls_allocator *allocator, stepping_trace *out)
{
    uint64_t length_ns = config->seconds * LS_NS_PER_SECOND;
    uint32_t count = fill(kind, length_ns, config->seed, NULL);
    uint64_t *frames_ns = ls_allocate_array(allocator, count, sizeof *frames_ns);
    if (!frames_ns) {
        return LS_NO_MEMORY;
    }
    fill(kind, length_ns, config->seed, frames_ns);
    *out = (stepping_trace){
        .about = kinds[kind].about,
        .frames = {.frames_ns = frames_ns, .count = count},
        .step_cost_percent = kind == STEPPING_TRACE_OVERLOAD ? STEPPING_TRACE_OVERLOAD_PERCENT : 0};
    ls_name_copy(out->name, sizeof out->name, kinds[kind].name);
    return LS_OK;
}

ls_status stepping_trace_open(const char *name, const stepping_trace_config *config,
                              const ls_allocator *allocator, stepping_trace *out, ls_text *why)
{
    for (uint32_t kind = 0; kind < STEPPING_TRACE_KIND_COUNT; kind++) {
        if (strcmp(name, kinds[kind].name) == 0) {
            return stepping_trace_make((stepping_trace_kind)kind, config, allocator, out);
        }
    }
    ls_frame_trace frames = {0};
    ls_status status = ls_frame_trace_read(name, allocator, &frames, why);
    if (status != LS_OK) {
        return status;
    }
    const char *slash = strrchr(name, '/');
    *out = (stepping_trace){.about = "recorded frames", .frames = frames};
    ls_name_copy(out->name, sizeof out->name, slash ? slash + 1 : name);
    return LS_OK;
}

void stepping_trace_release(stepping_trace *trace, const ls_allocator *allocator)
{
    ls_frame_trace_release(&trace->frames, allocator);
}

uint64_t stepping_trace_length_ns(const stepping_trace *trace)
{
    uint64_t length_ns = 0;
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        length_ns += trace->frames.frames_ns[i];
    }
    return length_ns;
}

/* ---- a strategy on it ---- */

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

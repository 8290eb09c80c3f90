#include "lockstep/tools/timestep/lessons.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/tools/timestep/sim_course.h"

#define ROPE_DT_NS LS_NS_PER_MS
#define ROPE_FRAME_MAX_NS (10 * LS_NS_PER_MS)

static void run_examples(stepping_lesson_example *examples)
{
    static const struct {
        const char *row;
        ls_timestep_config config;
        uint64_t frames_ns[STEPPING_LESSON_FRAMES];
    } all[] = {
        {"T4", {LS_TIMESTEP_SUBSTEPS, 16667000, 0, 6}, {16000000, 33000000, 300000000}},
        {"T5", {LS_TIMESTEP_ACCUMULATOR, 16000000, 0, 0}, {24000000, 24000000, 24000000}},
    };
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ls_timestep timestep = ls_timestep_make(&all[i].config);
        for (uint32_t k = 0; k < STEPPING_LESSON_FRAMES; k++) {
            uint64_t frame_ns = all[i].frames_ns[k];
            ls_timestep_plan plan = ls_timestep_advance(&timestep, frame_ns);
            *examples++ = (stepping_lesson_example){all[i].row, frame_ns, plan.step_count,
                                                    plan.step_ns, timestep.bank_ns};
        }
    }
}

static ls_status run_ropes(const stepping_trace *trace, const ls_allocator *allocator,
                           stepping_lessons *out, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT && status == LS_OK; i++) {
        stepping_rope_run_config fixed = {(ls_integrator)i, ROPE_DT_NS, ROPE_FRAME_MAX_NS};
        stepping_rope_run_config per_frame = {(ls_integrator)i, 0, 0};
        status = stepping_rope_run(&fixed, trace, allocator, &out->ropes[i].fixed, why);
        if (status == LS_OK) {
            status = stepping_rope_run(&per_frame, trace, allocator, &out->ropes[i].per_frame, why);
        }
    }
    return status;
}

static void run_integrators(stepping_lessons *out)
{
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        out->integrators[i].order = stepping_integrator_order((ls_integrator)i);
        out->integrators[i].error_fine = stepping_integrator_error((ls_integrator)i, 1e-4);
        out->integrators[i].error_coarse = stepping_integrator_error((ls_integrator)i, 0.1);
    }
}

static void run_headroom(const stepping_trace *traces, uint32_t rate_hz, stepping_lessons *out)
{
    uint64_t dt_ns = ls_timestep_config_default(rate_hz).dt_ns;
    stepping_headroom_traces two = {&traces[STEPPING_TRACE_SPIKE],
                                    &traces[STEPPING_TRACE_OVERLOAD]};
    out->case_count = stepping_headroom_cases(rate_hz, out->cases, STEPPING_LESSON_CASES_MAX);
    for (uint32_t i = 0; i < out->case_count; i++) {
        out->headroom[i] = stepping_headroom_measure(&out->cases[i].config, dt_ns, &two);
    }
}

static void run_forces(const stepping_trace *traces, stepping_lessons *out)
{
    static const stepping_trace_kind kinds[STEPPING_LESSON_FORCES] = {
        STEPPING_TRACE_30, STEPPING_TRACE_50, STEPPING_TRACE_60, STEPPING_TRACE_144,
        STEPPING_TRACE_200};
    for (uint32_t i = 0; i < STEPPING_LESSON_FORCES; i++) {
        out->force_traces[i] = kinds[i];
        out->forces[i] = stepping_forces_measure(&traces[kinds[i]], STEPPING_LESSON_FORCES_DT_NS);
    }
}

/* The longest that any trace needs, with interpolation. */
static uint32_t ticks_needed(const stepping_trace *traces, const ls_timestep_config *timestep)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        uint64_t steps = stepping_play(timestep, &traces[i], 0, NULL).steps;
        most = steps > most ? steps : most;
    }
    return (uint32_t)most;
}

static ls_status play_rates(const stepping_sim_course *course, const stepping_trace *traces,
                            const ls_timestep_config *timestep, const ls_allocator *allocator,
                            stepping_lessons *out, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT && status == LS_OK; i++) {
        stepping_sim_measures measures = {0};
        status =
            stepping_sim_course_measure(course, timestep, &traces[i], 0, allocator, &measures, why);
        out->traces_played++;
        out->traces_same += measures.is_repeatable ? 1 : 0;
        out->ticks_compared += measures.ticks_compared;
    }
    return status;
}

/* T12: the arena at every frame rate, and what one bit does to it. */
static ls_status run_lockstep(const stepping_trace *traces, uint32_t rate_hz,
                              const ls_allocator *allocator, stepping_lessons *out, ls_text *why)
{
    const ls_simulation *arena = ls_arena_simulation();
    ls_timestep_config timestep = ls_timestep_config_default(rate_hz);
    ls_sim_config config = ls_sim_config_default(arena);
    config.tick_rate_hz = rate_hz;
    out->simulation = arena->name;
    stepping_sim_course course = {0};
    ls_status status = stepping_sim_course_make(arena, &config, ticks_needed(traces, &timestep),
                                                allocator, &course, why);
    if (status == LS_OK) {
        status = play_rates(&course, traces, &timestep, allocator, out, why);
        stepping_sim_course_release(&course, allocator);
    }
    if (status == LS_OK) {
        status = stepping_one_bit_run(arena, &config, STEPPING_LESSON_ONE_BIT_SECONDS, allocator,
                                      &out->one_bit, why);
    }
    return status;
}

ls_status stepping_lessons_learn(const stepping_trace *traces, uint32_t rate_hz,
                                 const ls_allocator *allocator, stepping_lessons *out, ls_text *why)
{
    *out = (stepping_lessons){0};
    run_examples(out->examples);
    run_integrators(out);
    run_headroom(traces, rate_hz, out);
    run_forces(traces, out);
    ls_status status = run_ropes(&traces[STEPPING_TRACE_60], allocator, out, why);
    return status == LS_OK ? run_lockstep(traces, rate_hz, allocator, out, why) : status;
}

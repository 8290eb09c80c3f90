#include "lockstep/common/program/json.h"
#include "lockstep/tools/timestep/report.h"

static void add_play(ls_json *json, const stepping_play_result *play)
{
    ls_json_number(json, "frames", play->frames);
    ls_json_number(json, "steps", (double)play->steps);
    ls_json_number(json, "steps_worst", play->steps_worst);
    ls_json_ms(json, "real_ms", play->real_ns);
    ls_json_ms(json, "simulated_ms", play->simulated_ns);
    ls_json_ms(json, "dropped_ms", play->dropped_ns);
    ls_json_ms(json, "step_min_ms", play->step_min_ns);
    ls_json_ms(json, "step_max_ms", play->step_max_ns);
    ls_json_ms(json, "frame_max_ms", play->frame_max_ns);
    ls_json_ms(json, "frame_last_ms", play->frame_last_ns);
}

static void add_world(ls_json *json, const stepping_measures *m)
{
    add_play(json, &m->play);
    ls_json_number(json, "speed", m->speed);
    ls_json_number(json, "late_mean_ms", m->late_mean_ms);
    ls_json_number(json, "late_min_ms", m->late_min_ms);
    ls_json_number(json, "late_max_ms", m->late_max_ms);
    ls_json_number(json, "stutter_ms", m->stutter_ms);
    ls_json_number(json, "energy_ratio", m->energy_ratio);
    ls_json_bool(json, "has_exploded", m->energy_ratio >= STEPPING_WORLD_ENERGY_MAX);
    ls_json_number(json, "wall_hits", (double)m->wall_hits);
    ls_json_number(json, "wall_misses", (double)m->wall_misses);
    ls_json_bool(json, "same_bits", m->is_repeatable);
    ls_json_number(json, "steps_compared", (double)m->steps_compared);
}

static void add_simulation(ls_json *json, const stepping_sim_measures *m)
{
    add_play(json, &m->play);
    ls_json_number(json, "speed", m->speed);
    ls_json_known(json, "stutter_mm", m->has_stutter, m->stutter_mm);
    ls_json_bool(json, "same_bits", m->is_repeatable);
    ls_json_number(json, "ticks_compared", (double)m->ticks_compared);
}

static void add_trace(ls_json *json, const stepping_report *report, uint32_t index)
{
    const stepping_trace *trace = &report->traces[index];
    ls_json_text(json, "name", trace->name);
    ls_json_text(json, "about", trace->about);
    ls_json_number(json, "frames", trace->frames.count);
    ls_json_ms(json, "length_ms", stepping_trace_length_ns(trace));
    ls_json_number(json, "step_cost_percent", trace->step_cost_percent);
    ls_json *strategies = ls_json_array(json, "strategies");
    for (uint32_t i = 0; i < report->stepper_count; i++) {
        const stepping_report_cell *cell = &report->cells[index * report->stepper_count + i];
        ls_json *strategy = ls_json_append(strategies);
        ls_json_text(strategy, "row", report->steppers[i].row);
        ls_json_text(strategy, "strategy", report->steppers[i].name);
        ls_json_bool(strategy, "is_played", cell->is_played);
        if (cell->is_played && report->course) {
            add_simulation(strategy, &cell->simulation);
        } else if (cell->is_played) {
            add_world(strategy, &cell->world);
        }
    }
}

/* ---- lessons ---- */

static void add_examples(ls_json *json, const stepping_lessons *lessons)
{
    ls_json *array = ls_json_array(json, "examples");
    for (uint32_t i = 0; i < STEPPING_LESSON_EXAMPLES; i++) {
        const stepping_lesson_example *example = &lessons->examples[i];
        ls_json *item = ls_json_append(array);
        ls_json_text(item, "row", example->row);
        ls_json_ms(item, "frame_ms", example->frame_ns);
        ls_json_number(item, "steps", example->steps);
        ls_json_ms(item, "step_ms", example->step_ns);
        ls_json_ms(item, "bank_ms", example->bank_ns);
    }
}

static void add_rope(ls_json *json, const stepping_rope_result *rope)
{
    ls_json_bool(json, "is_torn", rope->is_torn);
    ls_json_number(json, "stretch_max", rope->stretch_max);
    ls_json_number(json, "steps", (double)rope->steps);
}

static void add_integrators(ls_json *json, const stepping_lessons *lessons)
{
    ls_json *array = ls_json_array(json, "integrators");
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        ls_json *item = ls_json_append(array);
        ls_json_text(item, "integrator", stepping_integrator_name((ls_integrator)i));
        ls_json_number(item, "order", lessons->integrators[i].order);
        ls_json_number(item, "error_at_0.0001_s", lessons->integrators[i].error_fine);
        ls_json_number(item, "error_at_0.1_s", lessons->integrators[i].error_coarse);
        add_rope(ls_json_object(item, "rope_at_1_ms"), &lessons->ropes[i].fixed);
        add_rope(ls_json_object(item, "rope_at_frame"), &lessons->ropes[i].per_frame);
    }
}

static void add_headroom(ls_json *json, const stepping_lessons *lessons)
{
    ls_json *array = ls_json_array(json, "headroom");
    for (uint32_t i = 0; i < STEPPING_HEADROOM_CASES; i++) {
        const stepping_headroom *h = &lessons->headroom[i];
        ls_json *item = ls_json_append(array);
        ls_json_text(item, "name", lessons->cases[i].name);
        ls_json_number(item, "late_frames", h->late_frames);
        ls_json_number(item, "late_ms", h->late_ms);
        ls_json_number(item, "spike_dropped_ms", h->spike_dropped_ms);
        ls_json_number(item, "spike_speed", h->spike_speed);
        ls_json_number(item, "overload_speed", h->overload_speed);
        ls_json_number(item, "overload_frame_ms", h->overload_frame_ms);
        ls_json_number(item, "overload_dropped_ms", h->overload_dropped_ms);
        ls_json_bool(item, "is_spiral", h->is_spiral);
    }
}

static void add_forces(ls_json *json, const stepping_lessons *lessons)
{
    ls_json *array = ls_json_array(json, "forces");
    for (uint32_t i = 0; i < STEPPING_LESSON_FORCES; i++) {
        const stepping_forces *f = &lessons->forces[i];
        ls_json *item = ls_json_append(array);
        ls_json_text(item, "trace", stepping_trace_kind_name(lessons->force_traces[i]));
        ls_json_number(item, "force_per_step", f->force_per_step);
        ls_json_number(item, "force_per_frame", f->force_per_frame);
        ls_json_number(item, "impulse_queued", f->impulse_queued);
        ls_json_number(item, "impulse_polled", f->impulse_polled);
    }
}

static void add_lockstep(ls_json *json, const stepping_lessons *lessons)
{
    ls_json *lockstep = ls_json_object(json, "lockstep");
    ls_json_text(lockstep, "sim", lessons->simulation);
    ls_json_number(lockstep, "traces_played", lessons->traces_played);
    ls_json_number(lockstep, "traces_same", lessons->traces_same);
    ls_json_number(lockstep, "ticks_compared", (double)lessons->ticks_compared);
    ls_json_text(lockstep, "flipped", lessons->one_bit.field);
    ls_json *apart = ls_json_array(lockstep, "apart_m");
    for (uint32_t second = 0; second <= lessons->one_bit.seconds; second++) {
        ls_json_append_number(apart, lessons->one_bit.apart_m[second]);
    }
}

/* ---- all of it ---- */

static void add_report(ls_json *json, const void *of)
{
    const stepping_report *report = of;
    ls_json_text(json, "program", "lockstep-timestep");
    ls_json_number(json, "rate_hz", report->rate_hz);
    ls_json_number(json, "seconds", report->seconds);
    ls_json_decimal(json, "seed", report->seed);
    ls_json_text(json, "sim", report->course ? report->course->simulation->name : NULL);
    ls_json *traces = ls_json_array(json, "traces");
    for (uint32_t i = 0; i < report->trace_count; i++) {
        add_trace(ls_json_append(traces), report, i);
    }
    if (report->lessons) {
        add_examples(json, report->lessons);
        add_integrators(json, report->lessons);
        add_headroom(json, report->lessons);
        add_forces(json, report->lessons);
        add_lockstep(json, report->lessons);
    }
}

ls_status stepping_report_write_json(const stepping_report *report, const char *path, ls_text *why)
{
    return ls_json_save(add_report, report, path, why);
}

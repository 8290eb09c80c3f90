#include "lockstep/common/program/output.h"
#include "lockstep/tools/timestep/report.h"

#include <cjson/cJSON.h>
#include <inttypes.h>

static void add_number(cJSON *object, const char *key, double value)
{
    cJSON_AddNumberToObject(object, key, value);
}

static void add_ms(cJSON *object, const char *key, uint64_t ns)
{
    cJSON_AddNumberToObject(object, key, (double)ns / 1e6);
}

static void add_play(cJSON *json, const ls_play_result *play)
{
    add_number(json, "frames", play->frames);
    add_number(json, "steps", (double)play->steps);
    add_number(json, "steps_worst", play->steps_worst);
    add_ms(json, "real_ms", play->real_ns);
    add_ms(json, "simulated_ms", play->simulated_ns);
    add_ms(json, "dropped_ms", play->dropped_ns);
    add_ms(json, "step_min_ms", play->step_min_ns);
    add_ms(json, "step_max_ms", play->step_max_ns);
    add_ms(json, "frame_max_ms", play->frame_max_ns);
    add_ms(json, "frame_last_ms", play->frame_last_ns);
}

static void add_world(cJSON *json, const ls_measures *m)
{
    add_play(json, &m->play);
    add_number(json, "speed", m->speed);
    add_number(json, "late_mean_ms", m->late_mean_ms);
    add_number(json, "late_min_ms", m->late_min_ms);
    add_number(json, "late_max_ms", m->late_max_ms);
    add_number(json, "stutter_ms", m->stutter_ms);
    add_number(json, "energy_ratio", m->energy_ratio);
    cJSON_AddBoolToObject(json, "has_exploded", m->energy_ratio >= LS_WORLD_ENERGY_MAX);
    add_number(json, "wall_hits", (double)m->wall_hits);
    add_number(json, "wall_misses", (double)m->wall_misses);
    cJSON_AddBoolToObject(json, "same_bits", m->is_repeatable);
    add_number(json, "steps_compared", (double)m->steps_compared);
}

static void add_simulation(cJSON *json, const ls_sim_measures *m)
{
    add_play(json, &m->play);
    add_number(json, "speed", m->speed);
    if (m->has_stutter) {
        add_number(json, "stutter_mm", m->stutter_mm);
    } else {
        cJSON_AddNullToObject(json, "stutter_mm");
    }
    cJSON_AddBoolToObject(json, "same_bits", m->is_repeatable);
    add_number(json, "ticks_compared", (double)m->ticks_compared);
}

static cJSON *trace_json(const ls_timestep_report *report, uint32_t index)
{
    const ls_trace *trace = &report->traces[index];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", trace->name);
    cJSON_AddStringToObject(json, "about", trace->about);
    add_number(json, "frames", trace->frames.count);
    add_ms(json, "length_ms", ls_trace_length_ns(trace));
    add_number(json, "step_cost_percent", trace->step_cost_percent);
    cJSON *strategies = cJSON_AddArrayToObject(json, "strategies");
    for (uint32_t i = 0; i < report->stepper_count; i++) {
        const ls_report_cell *cell = &report->cells[index * report->stepper_count + i];
        cJSON *strategy = cJSON_CreateObject();
        cJSON_AddStringToObject(strategy, "row", report->steppers[i].row);
        cJSON_AddStringToObject(strategy, "strategy", report->steppers[i].name);
        cJSON_AddBoolToObject(strategy, "is_played", cell->is_played);
        if (cell->is_played && report->course) {
            add_simulation(strategy, &cell->simulation);
        } else if (cell->is_played) {
            add_world(strategy, &cell->world);
        }
        cJSON_AddItemToArray(strategies, strategy);
    }
    return json;
}

/* ---- lessons ---- */

static void add_examples(cJSON *json, const ls_lessons *lessons)
{
    cJSON *array = cJSON_AddArrayToObject(json, "examples");
    for (uint32_t i = 0; i < LS_LESSON_EXAMPLES; i++) {
        const ls_lesson_example *example = &lessons->examples[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "row", example->row);
        add_ms(item, "frame_ms", example->frame_ns);
        add_number(item, "steps", example->steps);
        add_ms(item, "step_ms", example->step_ns);
        add_ms(item, "bank_ms", example->bank_ns);
        cJSON_AddItemToArray(array, item);
    }
}

static cJSON *rope_json(const ls_rope_result *rope)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddBoolToObject(json, "is_torn", rope->is_torn);
    add_number(json, "stretch_max", rope->stretch_max);
    add_number(json, "steps", (double)rope->steps);
    return json;
}

static void add_integrators(cJSON *json, const ls_lessons *lessons)
{
    cJSON *array = cJSON_AddArrayToObject(json, "integrators");
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "integrator", ls_integrator_name((ls_integrator)i));
        add_number(item, "order", lessons->integrators[i].order);
        add_number(item, "error_at_0.0001_s", lessons->integrators[i].error_fine);
        add_number(item, "error_at_0.1_s", lessons->integrators[i].error_coarse);
        cJSON_AddItemToObject(item, "rope_at_1_ms", rope_json(&lessons->ropes[i].fixed));
        cJSON_AddItemToObject(item, "rope_at_frame", rope_json(&lessons->ropes[i].per_frame));
        cJSON_AddItemToArray(array, item);
    }
}

static void add_headroom(cJSON *json, const ls_lessons *lessons)
{
    cJSON *array = cJSON_AddArrayToObject(json, "headroom");
    for (uint32_t i = 0; i < lessons->case_count; i++) {
        const ls_headroom *h = &lessons->headroom[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", lessons->cases[i].name);
        add_number(item, "late_frames", h->late_frames);
        add_number(item, "late_ms", h->late_ms);
        add_number(item, "spike_dropped_ms", h->spike_dropped_ms);
        add_number(item, "spike_speed", h->spike_speed);
        add_number(item, "overload_speed", h->overload_speed);
        add_number(item, "overload_frame_ms", h->overload_frame_ms);
        add_number(item, "overload_dropped_ms", h->overload_dropped_ms);
        cJSON_AddBoolToObject(item, "is_spiral", h->is_spiral);
        cJSON_AddItemToArray(array, item);
    }
}

static void add_forces(cJSON *json, const ls_lessons *lessons)
{
    cJSON *array = cJSON_AddArrayToObject(json, "forces");
    for (uint32_t i = 0; i < LS_LESSON_FORCES; i++) {
        const ls_forces *f = &lessons->forces[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "trace", ls_trace_kind_name(lessons->force_traces[i]));
        add_number(item, "force_per_step", f->force_per_step);
        add_number(item, "force_per_frame", f->force_per_frame);
        add_number(item, "impulse_queued", f->impulse_queued);
        add_number(item, "impulse_polled", f->impulse_polled);
        cJSON_AddItemToArray(array, item);
    }
}

static void add_lockstep(cJSON *json, const ls_lessons *lessons)
{
    cJSON *lockstep = cJSON_AddObjectToObject(json, "lockstep");
    cJSON_AddStringToObject(lockstep, "sim", lessons->simulation);
    add_number(lockstep, "traces_played", lessons->traces_played);
    add_number(lockstep, "traces_same", lessons->traces_same);
    add_number(lockstep, "ticks_compared", (double)lessons->ticks_compared);
    cJSON_AddStringToObject(lockstep, "flipped", lessons->one_bit.field);
    cJSON_AddItemToObject(
        lockstep, "apart_m",
        cJSON_CreateDoubleArray(lessons->one_bit.apart_m, (int)lessons->one_bit.seconds + 1));
}

/* ---- all of it ---- */

static cJSON *report_json(const ls_timestep_report *report)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, report->seed);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "program", "lockstep-timestep");
    add_number(json, "rate_hz", report->rate_hz);
    add_number(json, "seconds", report->seconds);
    cJSON_AddStringToObject(json, "seed", seed);
    if (report->course) {
        cJSON_AddStringToObject(json, "sim", report->course->simulation->name);
    } else {
        cJSON_AddNullToObject(json, "sim");
    }
    cJSON *traces = cJSON_AddArrayToObject(json, "traces");
    for (uint32_t i = 0; i < report->trace_count; i++) {
        cJSON_AddItemToArray(traces, trace_json(report, i));
    }
    if (report->lessons) {
        add_examples(json, report->lessons);
        add_integrators(json, report->lessons);
        add_headroom(json, report->lessons);
        add_forces(json, report->lessons);
        add_lockstep(json, report->lessons);
    }
    return json;
}

ls_status ls_report_write_json(const ls_timestep_report *report, const char *path, ls_text *why)
{
    cJSON *json = report_json(report);
    char *text = cJSON_Print(json);
    cJSON_Delete(json);
    if (!text) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    ls_status status = ls_output_write(path, text, why);
    cJSON_free(text);
    return status;
}

#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/timestep/compare.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/timestep/gnuplot.h"
#include "lockstep/tools/timestep/lessons.h"
#include "lockstep/tools/timestep/plot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct compare {
    const stepping_compare_config *config;
    const ls_allocator *allocator;
    stepping_trace builtin[STEPPING_TRACE_KIND_COUNT];
    stepping_trace chosen[STEPPING_COMPARE_TRACES_MAX]; /* the user's; else the built-in ones */
    stepping_report_cell *cells;
    stepping_sim_course course;
    stepping_report report;
    uint64_t dt_ns;
} compare;

/* ---- what is compared ---- */

static ls_status open_traces(compare *c, ls_text *why)
{
    stepping_trace_config config = {.seconds = c->config->seconds, .seed = c->config->seed};
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT && status == LS_OK; i++) {
        status = stepping_trace_make((stepping_trace_kind)i, &config, c->allocator, &c->builtin[i]);
    }
    for (uint32_t i = 0; i < c->config->trace_count && status == LS_OK; i++) {
        status =
            stepping_trace_open(c->config->traces[i], &config, c->allocator, &c->chosen[i], why);
    }
    c->report.traces = c->config->trace_count > 0 ? c->chosen : c->builtin;
    c->report.trace_count =
        c->config->trace_count > 0 ? c->config->trace_count : STEPPING_TRACE_KIND_COUNT;
    for (uint32_t i = 0; c->config->has_step_cost && i < STEPPING_TRACE_KIND_COUNT; i++) {
        c->builtin[i].step_cost_percent = c->config->step_cost_percent;
    }
    for (uint32_t i = 0; c->config->has_step_cost && i < c->config->trace_count; i++) {
        c->chosen[i].step_cost_percent = c->config->step_cost_percent;
    }
    return status;
}

static ls_status choose_steppers(compare *c, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT && status == LS_OK; i++) {
        if ((c->config->strategies >> i & 1u) == 0) {
            continue;
        }
        stepping_stepper stepper =
            stepping_stepper_default((ls_timestep_strategy)i, c->config->rate_hz);
        if (c->config->has_frame_max) {
            stepper.config.frame_max_ns = c->config->frame_max_ms * LS_NS_PER_MS;
        }
        if (c->config->has_steps_max) {
            stepper.config.steps_max = c->config->steps_max;
        }
        status = ls_timestep_config_check(&stepper.config, why);
        c->report.steppers[c->report.stepper_count++] = stepper;
    }
    return status;
}

static uint64_t cost_ns(const compare *c, const stepping_trace *trace)
{
    return c->dt_ns * trace->step_cost_percent / 100;
}

/* ---- the small world ---- */

/* A random walk is no other trace's rate; it is compared with 60 itself. */
static const stepping_trace *other_trace(const compare *c, const stepping_trace *trace)
{
    bool is_walk = strcmp(trace->name, stepping_trace_kind_name(STEPPING_TRACE_WALK)) == 0;
    return &c->builtin[is_walk ? STEPPING_TRACE_60 : STEPPING_TRACE_WALK];
}

static void measure_worlds(compare *c)
{
    for (uint32_t i = 0; i < c->report.trace_count; i++) {
        const stepping_trace *trace = &c->report.traces[i];
        for (uint32_t k = 0; k < c->report.stepper_count; k++) {
            stepping_measure_config config = {trace, other_trace(c, trace), cost_ns(c, trace)};
            stepping_report_cell *cell = &c->cells[i * c->report.stepper_count + k];
            cell->is_played = true;
            cell->world = stepping_measure(&c->report.steppers[k].config, &config);
        }
    }
}

/* ---- a simulation ---- */

static uint32_t ticks_needed(const compare *c)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < c->report.trace_count; i++) {
        const stepping_trace *trace = &c->report.traces[i];
        for (uint32_t k = 0; k < c->report.stepper_count; k++) {
            const ls_timestep_config *timestep = &c->report.steppers[k].config;
            uint64_t steps = stepping_sim_course_can_play(timestep->strategy)
                                 ? stepping_play(timestep, trace, cost_ns(c, trace), NULL).steps
                                 : 0;
            most = LS_MAX(steps, most);
        }
    }
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static ls_status measure_cell(compare *c, uint32_t trace_index, uint32_t stepper_index,
                              ls_text *why)
{
    const stepping_trace *trace = &c->report.traces[trace_index];
    const ls_timestep_config *timestep = &c->report.steppers[stepper_index].config;
    stepping_report_cell *cell = &c->cells[trace_index * c->report.stepper_count + stepper_index];
    if (!stepping_sim_course_can_play(timestep->strategy)) {
        return LS_OK;
    }
    cell->is_played = true;
    return stepping_sim_course_measure(&c->course, timestep, trace, cost_ns(c, trace), c->allocator,
                                       &cell->simulation, why);
}

static ls_status measure_simulation(compare *c, ls_text *why)
{
    ls_status status = stepping_sim_course_make(c->config->simulation, c->config->simulation_config,
                                                ticks_needed(c), c->allocator, &c->course, why);
    c->report.course = &c->course;
    for (uint32_t i = 0; i < c->report.trace_count; i++) {
        for (uint32_t k = 0; k < c->report.stepper_count && status == LS_OK; k++) {
            status = measure_cell(c, i, k, why);
        }
    }
    return status;
}

/* ---- what comes of it ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    return size >= strlen(end) && strcmp(text + size - strlen(end), end) == 0;
}

/* As the program is started without options. */
static bool is_plain(const compare *c)
{
    const stepping_compare_config *config = c->config;
    return config->trace_count == 0 && c->report.stepper_count == LS_TIMESTEP_STRATEGY_COUNT &&
           !config->has_step_cost && !config->has_frame_max && !config->has_steps_max;
}

static ls_status draw_plots(const compare *c, ls_text *why)
{
    const stepping_plot_page page = {.report = &c->report,
                                     .builtin = c->builtin,
                                     .is_own = c->config->trace_count > 0,
                                     .has_step_cost = c->config->has_step_cost,
                                     .is_svg = ends_with(c->config->plot_path, ".svg"),
                                     .has_notes = is_plain(c),
                                     .allocator = c->allocator};
    FILE *script = tmpfile();
    if (!script) {
        return ls_fail(LS_IO, why, "cannot write a script for gnuplot: %s", strerror(errno));
    }
    ls_status status = stepping_plot_write(&page, script, why);
    if (status == LS_OK) {
        status = stepping_gnuplot_run(script, c->config->plot_path, why);
    }
    fclose(script);
    return status;
}

/* The lessons are about all strategies on the built-in traces. */
static bool wants_lessons(const compare *c)
{
    return c->config->trace_count == 0 && !c->config->simulation &&
           c->report.stepper_count == LS_TIMESTEP_STRATEGY_COUNT;
}

static ls_status write_results(const compare *c, ls_text *why)
{
    const char *json_path = c->config->json_path;
    bool is_json_shown = json_path && strcmp(json_path, "-") == 0;
    FILE *file = is_json_shown ? stderr : stdout;
    stepping_sheet sheet = {c->config->is_quiet ? NULL : file, ls_json_create()};
    ls_status status = LS_OK;
    stepping_report_write(&c->report, &sheet);
    if (wants_lessons(c)) {
        status = stepping_lessons_write(c->builtin, c->config->rate_hz, c->allocator, &sheet, why);
    }
    if (status == LS_OK && json_path) {
        status = ls_json_write(sheet.json, json_path, why);
    }
    ls_json_destroy(sheet.json);
    return status == LS_OK && c->config->plot_path ? draw_plots(c, why) : status;
}

static ls_status run(compare *c, ls_text *why)
{
    ls_status status = open_traces(c, why);
    if (status == LS_OK) {
        status = choose_steppers(c, why);
    }
    if (status != LS_OK) {
        return status;
    }
    c->cells = ls_allocate_array(
        c->allocator, (size_t)c->report.trace_count * c->report.stepper_count, sizeof *c->cells);
    if (!c->cells) {
        return LS_NO_MEMORY;
    }
    c->report.cells = c->cells;
    if (c->config->simulation) {
        status = measure_simulation(c, why);
    } else {
        measure_worlds(c);
    }
    return status == LS_OK ? write_results(c, why) : status;
}

static void release(compare *c)
{
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        stepping_trace_release(&c->builtin[i], c->allocator);
    }
    for (uint32_t i = 0; i < STEPPING_COMPARE_TRACES_MAX; i++) {
        stepping_trace_release(&c->chosen[i], c->allocator);
    }
    stepping_sim_course_release(&c->course, c->allocator);
    ls_release(c->allocator, c->cells);
}

/* A tick with other bits than without frames: a simulation that no strategy can help. */
static bool has_difference(const compare *c)
{
    for (uint32_t i = 0; c->report.course && i < c->report.trace_count * c->report.stepper_count;
         i++) {
        if (c->cells[i].is_played && !c->cells[i].simulation.is_repeatable) {
            return true;
        }
    }
    return false;
}

ls_exit_code stepping_compare_run(const stepping_compare_config *config, ls_console *console)
{
    compare c = {.config = config, .allocator = ls_allocator_heap()};
    ls_text why = {{0}};
    c.dt_ns = ls_timestep_config_default(config->rate_hz).dt_ns;
    c.report.rate_hz = config->rate_hz;
    c.report.seconds = config->seconds;
    c.report.seed = config->seed;
    ls_status status = config->json_path ? ls_output_check_path(config->json_path, &why) : LS_OK;
    if (status == LS_OK && config->plot_path) {
        status = ls_output_check_path(config->plot_path, &why);
        if (status != LS_OK) {
            ls_text_set(&why, "cannot draw %s: %s", config->plot_path, strerror(errno));
        }
    }
    if (status == LS_OK) {
        status = run(&c, &why);
    }
    ls_exit_code code = ls_exit_code_of(status);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else if (has_difference(&c)) {
        ls_log_line(&console->log, LS_LOG_ERROR,
                    "not the same bits: lockstep-synctest finds out why");
        code = LS_EXIT_DESYNC;
    }
    release(&c);
    return code;
}

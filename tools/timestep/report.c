#include "lockstep/tools/timestep/report.h"

#include <inttypes.h>
#include <stdarg.h>

enum {
    WIDE = 24,
};

void stepping_sheet_print(const stepping_sheet *sheet, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (sheet->file) {
        vfprintf(sheet->file, format, arguments);
    }
    va_end(arguments);
}

void stepping_sheet_add(const stepping_sheet *sheet, ls_json *item, const char *key,
                        const char *format, double value)
{
    if (key) {
        ls_json_number(item, key, value);
    }
    if (format && sheet->file) {
        fprintf(sheet->file, format, value);
    }
}

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* No "-0.0". */
static double tidy(double value, double least)
{
    return value > -least / 2 && value < least / 2 ? 0 : value;
}

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

/* ---- the small world ---- */

static void format_steps(const stepping_play_result *play, char text[WIDE])
{
    bool is_one = play->step_max_ns - play->step_min_ns < 1000;
    if (is_one) {
        snprintf(text, WIDE, "%.2f", ms_of(play->step_max_ns));
    } else {
        snprintf(text, WIDE, "%.2f-%.2f", ms_of(play->step_min_ns), ms_of(play->step_max_ns));
    }
}

static void format_energy(double ratio, char text[WIDE])
{
    if (ratio >= STEPPING_WORLD_ENERGY_MAX) {
        snprintf(text, WIDE, "explodes");
    } else {
        snprintf(text, WIDE, ratio < 1000 ? "x %.2f" : "x %.1e", ratio);
    }
}

static void print_world_row(const stepping_stepper *stepper, const stepping_measures *m,
                            const stepping_sheet *sheet)
{
    char steps[WIDE], energy[WIDE], wall[WIDE];
    format_steps(&m->play, steps);
    format_energy(m->energy_ratio, energy);
    snprintf(wall, sizeof wall, "%" PRIu64 " of %" PRIu64, m->wall_misses,
             m->wall_misses + m->wall_hits);
    stepping_sheet_print(
        sheet, "  %s %-16s %6.3f %12s %6" PRIu32 " %8.1f %9.1f %9.1f %8.2f %9.1f %9s %9s %5s\n",
        stepper->row, stepper->name, m->speed, steps, m->play.steps_worst,
        ms_of(m->play.frame_max_ns), tidy(m->late_mean_ms, 0.1), tidy(m->late_max_ms, 0.1),
        m->stutter_ms, ms_of(m->play.dropped_ns), energy, wall, m->is_repeatable ? "yes" : "no");
}

static void print_world_head(const stepping_sheet *sheet)
{
    stepping_sheet_print(sheet, "  %-19s %6s %12s %6s %8s %9s %9s %8s %9s %9s %9s %5s\n", "",
                         "speed", "step ms", "steps", "frame ms", "late ms", "at most", "stutter",
                         "dropped", "spring", "wall", "bits");
}

static void print_world_words(const stepping_sheet *sheet)
{
    stepping_sheet_print(
        sheet,
        "speed: simulated by real time. steps: the most in a frame. frame ms: the longest frame.\n"
        "late ms: how far the drawn place of a body at constant speed is behind the exact one, on\n"
        "average and at most. stutter: standard deviation, in ms, of what it moves from frame to\n"
        "frame; at 1,000 pixels a second these are pixels. dropped: ms never simulated. spring: "
        "of\n"
        "%d Hz, the energy it ends with. wall: times a ball was found behind a thin one. bits: "
        "the\n"
        "same after every step at another frame rate.\n",
        STEPPING_WORLD_SPRING_HZ);
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

/* ---- a simulation ---- */

static void print_sim_row(const stepping_stepper *stepper, const stepping_report_cell *cell,
                          const stepping_sheet *sheet)
{
    const stepping_sim_measures *m = &cell->simulation;
    char stutter[WIDE] = "-";
    if (!cell->is_played) {
        stepping_sheet_print(sheet,
                             "  %s %-16s steps of other lengths than dt: no simulation has them\n",
                             stepper->row, stepper->name);
        return;
    }
    if (m->has_stutter) {
        snprintf(stutter, sizeof stutter, "%.2f", m->stutter_mm);
    }
    stepping_sheet_print(
        sheet, "  %s %-16s %6.3f %8.2f %6" PRIu32 " %8.1f %9.1f %10s %9" PRIu64 " %5s\n",
        stepper->row, stepper->name, m->speed, ms_of(m->play.step_max_ns), m->play.steps_worst,
        ms_of(m->play.frame_max_ns), ms_of(m->play.dropped_ns), stutter, m->ticks_compared,
        m->is_repeatable ? "yes" : "NO");
}

static void print_sim_head(const stepping_sheet *sheet)
{
    stepping_sheet_print(sheet, "  %-19s %6s %8s %6s %8s %9s %10s %9s %5s\n", "", "speed",
                         "step ms", "steps", "frame ms", "dropped", "stutter mm", "ticks", "bits");
}

static void print_sim_words(const stepping_sim_course *course, const stepping_sheet *sheet)
{
    stepping_sheet_print(
        sheet,
        "speed: simulated by real time. steps: the most in a frame. stutter: root mean square\n"
        "of how far a shape moves from frame to frame less what it should have moved.\n"
        "bits: every tick's state is the one of a run without frames.\n");
    if (course->has_shape) {
        stepping_sheet_print(sheet, "The shape that was watched has id %" PRIu32 ".\n",
                             course->shape_id);
    } else {
        stepping_sheet_print(sheet, "Nothing that it draws moves: no stutter was measured.\n");
    }
}

static void add_simulation(ls_json *json, const stepping_sim_measures *m)
{
    add_play(json, &m->play);
    ls_json_number(json, "speed", m->speed);
    ls_json_known(json, "stutter_mm", m->has_stutter, m->stutter_mm);
    ls_json_bool(json, "same_bits", m->is_repeatable);
    ls_json_number(json, "ticks_compared", (double)m->ticks_compared);
}

/* ---- all of it ---- */

static void write_cell(const stepping_report *report, uint32_t stepper,
                       const stepping_report_cell *cell, const stepping_sheet *sheet, ls_json *json)
{
    ls_json_text(json, "row", report->steppers[stepper].row);
    ls_json_text(json, "strategy", report->steppers[stepper].name);
    ls_json_bool(json, "is_played", cell->is_played);
    if (report->course) {
        print_sim_row(&report->steppers[stepper], cell, sheet);
    } else {
        print_world_row(&report->steppers[stepper], &cell->world, sheet);
    }
    if (cell->is_played && report->course) {
        add_simulation(json, &cell->simulation);
    } else if (cell->is_played) {
        add_world(json, &cell->world);
    }
}

static void write_trace(const stepping_report *report, uint32_t index, const stepping_sheet *sheet,
                        ls_json *json)
{
    const stepping_trace *trace = &report->traces[index];
    ls_json_text(json, "name", trace->name);
    ls_json_text(json, "about", trace->about);
    ls_json_number(json, "frames", trace->frames.count);
    ls_json_ms(json, "length_ms", stepping_trace_length_ns(trace));
    ls_json_number(json, "step_cost_percent", trace->step_cost_percent);
    stepping_sheet_print(sheet, "\n%s: %s (%" PRIu32 " frames, %.1f s", trace->name, trace->about,
                         trace->frames.count, ms_of(stepping_trace_length_ns(trace)) / 1e3);
    if (trace->step_cost_percent > 0) {
        stepping_sheet_print(sheet, ", a step costs %" PRIu32 " %% of dt",
                             trace->step_cost_percent);
    }
    stepping_sheet_print(sheet, ")\n");
    if (report->course) {
        print_sim_head(sheet);
    } else {
        print_world_head(sheet);
    }
    ls_json *strategies = ls_json_array(json, "strategies");
    for (uint32_t i = 0; i < report->stepper_count; i++) {
        write_cell(report, i, &report->cells[index * report->stepper_count + i], sheet,
                   ls_json_append(strategies));
    }
}

void stepping_report_write(const stepping_report *report, const stepping_sheet *sheet)
{
    const char *sim = report->course ? report->course->simulation->name : NULL;
    ls_json_text(sheet->json, "program", "lockstep-timestep");
    ls_json_number(sheet->json, "rate_hz", report->rate_hz);
    ls_json_number(sheet->json, "seconds", report->seconds);
    ls_json_decimal(sheet->json, "seed", report->seed);
    ls_json_text(sheet->json, "sim", sim);
    stepping_sheet_print(sheet, "%s%s%" PRIu32 " steps a second, in virtual time\n", sim ? sim : "",
                         sim ? ", " : "", report->rate_hz);
    ls_json *traces = ls_json_array(sheet->json, "traces");
    for (uint32_t i = 0; i < report->trace_count; i++) {
        write_trace(report, i, sheet, ls_json_append(traces));
    }
    stepping_sheet_print(sheet, "\n");
    if (report->course) {
        print_sim_words(report->course, sheet);
    } else {
        print_world_words(sheet);
    }
}

#include "lockstep/tools/timestep/report.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDE = 24,
};

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* No "-0.0". */
static double tidy(double value, double least)
{
    return value > -least / 2 && value < least / 2 ? 0 : value;
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

static void print_world_row(const stepping_stepper *stepper, const stepping_measures *m, FILE *file)
{
    char steps[WIDE], energy[WIDE], wall[WIDE];
    format_steps(&m->play, steps);
    format_energy(m->energy_ratio, energy);
    snprintf(wall, sizeof wall, "%" PRIu64 " of %" PRIu64, m->wall_misses,
             m->wall_misses + m->wall_hits);
    fprintf(file, "  %s %-16s %6.3f %12s %6" PRIu32 " %8.1f %9.1f %9.1f %8.2f %9.1f %9s %9s %5s\n",
            stepper->row, stepper->name, m->speed, steps, m->play.steps_worst,
            ms_of(m->play.frame_max_ns), tidy(m->late_mean_ms, 0.1), tidy(m->late_max_ms, 0.1),
            m->stutter_ms, ms_of(m->play.dropped_ns), energy, wall,
            m->is_repeatable ? "yes" : "no");
}

static void print_world_head(FILE *file)
{
    fprintf(file, "  %-19s %6s %12s %6s %8s %9s %9s %8s %9s %9s %9s %5s\n", "", "speed", "step ms",
            "steps", "frame ms", "late ms", "at most", "stutter", "dropped", "spring", "wall",
            "bits");
}

static void print_world_words(FILE *file)
{
    fprintf(
        file,
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

/* ---- a simulation ---- */

static void print_sim_row(const stepping_stepper *stepper, const stepping_report_cell *cell,
                          FILE *file)
{
    const stepping_sim_measures *m = &cell->simulation;
    char stutter[WIDE] = "-";
    if (!cell->is_played) {
        fprintf(file, "  %s %-16s steps of other lengths than dt: no simulation has them\n",
                stepper->row, stepper->name);
        return;
    }
    if (m->has_stutter) {
        snprintf(stutter, sizeof stutter, "%.2f", m->stutter_mm);
    }
    fprintf(file, "  %s %-16s %6.3f %8.2f %6" PRIu32 " %8.1f %9.1f %10s %9" PRIu64 " %5s\n",
            stepper->row, stepper->name, m->speed, ms_of(m->play.step_max_ns), m->play.steps_worst,
            ms_of(m->play.frame_max_ns), ms_of(m->play.dropped_ns), stutter, m->ticks_compared,
            m->is_repeatable ? "yes" : "NO");
}

static void print_sim_head(FILE *file)
{
    fprintf(file, "  %-19s %6s %8s %6s %8s %9s %10s %9s %5s\n", "", "speed", "step ms", "steps",
            "frame ms", "dropped", "stutter mm", "ticks", "bits");
}

static void print_sim_words(const stepping_sim_course *course, FILE *file)
{
    fprintf(file,
            "speed: simulated by real time. steps: the most in a frame. stutter: root mean square\n"
            "of how far a shape moves from frame to frame less what it should have moved.\n"
            "bits: every tick's state is the one of a run without frames.\n");
    if (course->has_shape) {
        fprintf(file, "The shape that was watched has id %" PRIu32 ".\n", course->shape_id);
    } else {
        fprintf(file, "Nothing that it draws moves: no stutter was measured.\n");
    }
}

/* ---- lessons ---- */

static void print_examples(const stepping_lessons *lessons, FILE *file)
{
    fprintf(file, "\nT4, T5: the examples\n");
    for (uint32_t i = 0; i < STEPPING_LESSON_EXAMPLES; i++) {
        const stepping_lesson_example *e = &lessons->examples[i];
        fprintf(file, "  %s a frame of %5.1f ms: %" PRIu32 " step%s of %.3f ms", e->row,
                ms_of(e->frame_ns), e->steps, e->steps == 1 ? "" : "s", ms_of(e->step_ns));
        if (strcmp(e->row, "T5") == 0) {
            fprintf(file, ", %.1f ms in the bank", ms_of(e->bank_ns));
        }
        fprintf(file, "\n");
    }
}

static void format_rope(const stepping_rope_result *rope, char text[WIDE])
{
    if (rope->is_torn) {
        snprintf(text, WIDE, "torn at step %" PRIu64, rope->steps);
    } else {
        snprintf(text, WIDE, "holds: x %.2f", rope->stretch_max);
    }
}

static void print_integrators(const stepping_lessons *lessons, FILE *file)
{
    fprintf(file,
            "\nT8: a rope, its longest link; T9: integrators, the error of a spring after 1 s\n"
            "  %-22s %-18s %-18s %7s %12s %12s\n",
            "", "dt 1 ms", "dt of a frame", "order", "dt 0.0001 s", "dt 0.1 s");
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        char fixed[WIDE], per_frame[WIDE];
        format_rope(&lessons->ropes[i].fixed, fixed);
        format_rope(&lessons->ropes[i].per_frame, per_frame);
        fprintf(file, "  %-22s %-18s %-18s %7.2f %12.1e %12.1e\n",
                stepping_integrator_name((ls_integrator)i), fixed, per_frame,
                lessons->integrators[i].order, lessons->integrators[i].error_fine,
                lessons->integrators[i].error_coarse);
    }
}

static void print_headroom(const stepping_lessons *lessons, FILE *file)
{
    fprintf(file,
            "\nT10: a 300 ms frame while a step costs half a dt, and steps that cost 1.2 dt\n"
            "  %-36s %11s %9s %9s | %9s %11s %9s\n",
            "", "late frames", "for ms", "dropped", "speed", "last frame", "dropped");
    for (uint32_t i = 0; i < STEPPING_HEADROOM_CASES; i++) {
        const stepping_headroom *h = &lessons->headroom[i];
        fprintf(file, "  %-36s %11" PRIu32 " %9.1f %9.1f | %9.3f %8.0f ms %9.1f%s\n",
                lessons->cases[i].name, h->late_frames, h->late_ms, h->spike_dropped_ms,
                h->overload_speed, h->overload_frame_ms, h->overload_dropped_ms,
                h->is_spiral ? "  spiral" : "");
    }
}

static void print_forces(const stepping_lessons *lessons, FILE *file)
{
    fprintf(file,
            "\nT11: physics at 50 Hz: what a force and an impulse come to, by what they should\n"
            "  %-22s %15s %15s %15s %15s\n",
            "", "force per step", "force per frame", "impulse queued", "impulse polled");
    for (uint32_t i = 0; i < STEPPING_LESSON_FORCES; i++) {
        const stepping_forces *f = &lessons->forces[i];
        fprintf(file, "  %3s frames a second    %15.2f %15.2f %15.2f %15.2f\n",
                stepping_trace_kind_name(lessons->force_traces[i]), f->force_per_step,
                f->force_per_frame, f->impulse_queued, f->impulse_polled);
    }
}

static void print_lockstep(const stepping_lessons *lessons, FILE *file)
{
    static const uint32_t seconds[] = {0, 5, 10, 15, STEPPING_LESSON_ONE_BIT_SECONDS};
    fprintf(file,
            "\nT12: %s with interpolation on all traces: the same bits on %" PRIu32 " of %" PRIu32
            ", %" PRIu64 " ticks compared\n"
            "  one bit of %s flipped, then the same inputs: apart by",
            lessons->simulation, lessons->traces_same, lessons->traces_played,
            lessons->ticks_compared, lessons->one_bit.field);
    for (uint32_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        fprintf(file, "%s %.2g m after %" PRIu32 " s", i > 0 ? "," : "",
                lessons->one_bit.apart_m[seconds[i]], seconds[i]);
    }
    fprintf(file, "\n");
}

/* ---- all of it ---- */

static void print_trace(const stepping_report *report, uint32_t index, FILE *file)
{
    const stepping_trace *trace = &report->traces[index];
    fprintf(file, "\n%s: %s", trace->name, trace->about);
    fprintf(file, " (%" PRIu32 " frames, %.1f s", trace->frames.count,
            ms_of(stepping_trace_length_ns(trace)) / 1e3);
    if (trace->step_cost_percent > 0) {
        fprintf(file, ", a step costs %" PRIu32 " %% of dt", trace->step_cost_percent);
    }
    fprintf(file, ")\n");
    if (report->course) {
        print_sim_head(file);
    } else {
        print_world_head(file);
    }
    for (uint32_t i = 0; i < report->stepper_count; i++) {
        const stepping_report_cell *cell = &report->cells[index * report->stepper_count + i];
        if (report->course) {
            print_sim_row(&report->steppers[i], cell, file);
        } else {
            print_world_row(&report->steppers[i], &cell->world, file);
        }
    }
}

void stepping_report_print(const stepping_report *report, FILE *file)
{
    fprintf(file, "%s%s%" PRIu32 " steps a second, in virtual time\n",
            report->course ? report->course->simulation->name : "", report->course ? ", " : "",
            report->rate_hz);
    for (uint32_t i = 0; i < report->trace_count; i++) {
        print_trace(report, i, file);
    }
    fprintf(file, "\n");
    if (report->course) {
        print_sim_words(report->course, file);
    } else {
        print_world_words(file);
    }
    if (report->lessons) {
        print_examples(report->lessons, file);
        print_integrators(report->lessons, file);
        print_headroom(report->lessons, file);
        print_forces(report->lessons, file);
        print_lockstep(report->lessons, file);
    }
}

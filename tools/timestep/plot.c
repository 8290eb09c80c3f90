#include "lockstep/tools/timestep/plot.h"

#include "lockstep/tools/timestep/plot_data.h"

#include <inttypes.h>
#include <stdbool.h>

/* The strategies whose curves often lie on one another are drawn wide below and narrow above. */
static const struct {
    const char *colour;
    double width;
    const char *dash;
} styles[LS_TIMESTEP_STRATEGY_COUNT] = {
    [LS_TIMESTEP_FIXED_PER_FRAME] = {"#b0b0b0", 7.0, "solid"},
    [LS_TIMESTEP_VARIABLE] = {"#d62728", 5.0, "solid"},
    [LS_TIMESTEP_SEMI_FIXED] = {"#ffb000", 3.0, "solid"},
    [LS_TIMESTEP_SUBSTEPS] = {"#7b3fa0", 1.8, "(8,6)"},
    [LS_TIMESTEP_ACCUMULATOR] = {"#6baed6", 4.5, "solid"},
    [LS_TIMESTEP_INTERPOLATED] = {"#006d2c", 1.8, "solid"},
};

static void write_curves(const stepping_plot_page *page, stepping_plot_panel panel,
                         const char *with, FILE *script)
{
    const char *before = "plot ";
    for (uint32_t i = 0; i < page->stepper_count; i++) {
        if (!stepping_plot_is_shown(page, i)) {
            continue;
        }
        const stepping_stepper *stepper = &page->steppers[i];
        ls_timestep_strategy strategy = stepper->config.strategy;
        fprintf(script,
                "%s$%s%" PRIu32 " using 1:2 with %s lw %.1f lc rgb '%s' dt %s title '%s %s'",
                before, stepping_plot_block_name(panel), i, with, styles[strategy].width,
                styles[strategy].colour, styles[strategy].dash, stepper->row, stepper->name);
        before = ", \\\n  ";
    }
    fprintf(script, "\n");
}

static void write_title(FILE *script, const char *title, const char *x, const char *y)
{
    fprintf(script, "set title '{/:Bold %s}'\nset xlabel '%s'\nset ylabel '%s'\n", title, x, y);
}

/* What is to be seen in the panels as they are without any options. */
static void write_notes(FILE *script)
{
    fprintf(script, "set label 1 'T1: runs away' at graph 0.43,0.95 tc rgb '#707070'\n"
                    "set label 2 'T2, T3, T4: on time' at graph 0.43,0.75 tc rgb '#d62728'\n"
                    "set label 3 'T5: jumps' at graph 0.74,0.47 tc rgb '#2b7bba'\n"
                    "set label 4 'T6: even, one step late' at graph 0.56,0.26 tc rgb '#006d2c'\n");
}

static void write_places(const stepping_plot_page *page, FILE *script)
{
    double end_ms = STEPPING_PLOT_POSITION_STEPS * 1e3 / page->rate_hz;
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Where a moving body is drawn (trace %s; dotted: exactly)",
                stepping_plot_plain_name(page->position, name));
    write_title(script, title.bytes, "real time, ms", "drawn place, ms of motion");
    fprintf(script,
            "set xrange [0:%g]\nset yrange [0:%g]\n"
            "set arrow 1 from 0,0 to %g,%g nohead lw 1 dt (3,4) lc rgb '#000000' front\n",
            end_ms, end_ms, end_ms, end_ms);
    if (page->has_notes) {
        write_notes(script);
    }
    write_curves(page, STEPPING_PLOT_POSITION, "steps", script);
    fprintf(script, "unset label\nunset arrow\nunset key\n");
}

/* Along x, wherever the first shape that moves is going. */
static void write_shape(const stepping_plot_page *page, FILE *script)
{
    double from_ms = (double)stepping_plot_position_ns(page) / 1e6;
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Where a shape is drawn (trace %s)",
                stepping_plot_plain_name(page->position, name));
    write_title(script, title.bytes, "real time, ms", "x, m");
    fprintf(script,
            "set xrange [%g:%g]\nset yrange [*:*]\n"
            "if (least_position < most_position) { set yrange [least_position:most_position] }\n",
            from_ms, from_ms + STEPPING_PLOT_POSITION_STEPS * 1e3 / page->rate_hz);
    write_curves(page, STEPPING_PLOT_POSITION, "steps", script);
    fprintf(script, "unset key\n");
}

static void write_bars(const stepping_plot_page *page, FILE *script)
{
    write_title(script, "Stutter: uneven motion from frame to frame (no bar: none)", "trace",
                page->course ? "mm" : "ms (pixels at 1,000 pixels/s)");
    fprintf(script, "set style data histograms\nset style histogram clustered gap 1.5\n"
                    "set style fill solid 0.9 noborder\nset xrange [*:*]\nset yrange "
                    "[0:top(most_stutter, 1)]\n");
    const char *before = "plot ";
    const char *tics = ":xtic(1)";
    for (uint32_t i = 0; i < page->stepper_count; i++) {
        if (!stepping_plot_is_shown(page, i)) {
            continue;
        }
        const stepping_stepper *stepper = &page->steppers[i];
        fprintf(script, "%s$stutter using %" PRIu32 "%s lc rgb '%s' title '%s %s'", before, i + 2,
                tics, styles[stepper->config.strategy].colour, stepper->row, stepper->name);
        before = ", \\\n  ";
        tics = "";
    }
    fprintf(script, "\nset xtics autofreq\n");
}

static void write_energy(const stepping_plot_page *page, FILE *script)
{
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Energy of a %d Hz spring (trace %s)", STEPPING_WORLD_SPRING_HZ,
                stepping_plot_plain_name(page->energy, name));
    write_title(script, title.bytes, "real time, s", "energy, of what it had at first");
    fprintf(script, "set xrange [0:*]\nset yrange [0.1:top(most_energy, 10)]\nset logscale y\n"
                    "set format y '10^{%%T}'\n");
    write_curves(page, STEPPING_PLOT_ENERGY, "lines", script);
    fprintf(script, "set format y\nunset logscale y\n");
}

static void write_steps(const stepping_plot_page *page, FILE *script)
{
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Steps in a frame (trace %s, a step costs %" PRIu32 " %% of dt)",
                stepping_plot_plain_name(page->steps, name), page->steps_cost_percent);
    write_title(script, title.bytes, "ms after the longest frame", "steps in a frame");
    fprintf(script, "set xrange [-%d:%d]\nset yrange [0:top(most_steps, 2)]\n",
            STEPPING_PLOT_BEFORE_MS, STEPPING_PLOT_AFTER_MS);
    write_curves(page, STEPPING_PLOT_STEPS, "fsteps", script);
}

static void write_load(const stepping_plot_page *page, FILE *script)
{
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Lengths of frames (trace %s, a step costs %" PRIu32 " %% of dt)",
                stepping_plot_plain_name(page->load, name), page->load->step_cost_percent);
    write_title(script, title.bytes, "real time, s", "a frame, ms");
    fprintf(script, "set xrange [0:*]\nset yrange [most_frames < 20 ? 1 : 10:top(most_frames, "
                    "100)]\nset logscale y\n");
    write_curves(page, STEPPING_PLOT_FRAMES, "lines", script);
    fprintf(script, "unset logscale y\n");
    ls_text_set(&title, "Time dropped: never simulated (trace %s)",
                stepping_plot_plain_name(page->load, name));
    write_title(script, title.bytes, "real time, s", "s");
    fprintf(script, "set xrange [0:*]\nset yrange [0:top(most_dropped, 0.1)]\n");
    write_curves(page, STEPPING_PLOT_DROPPED, "lines", script);
}

ls_status stepping_plot_write(const stepping_plot_page *page, FILE *script, ls_text *why)
{
    fprintf(script,
            "set encoding utf8\n"
            "top(most, least) = most > least ? most * 1.1 : least\n"
            "set terminal %s\n",
            page->is_svg ? "svg size 1200,1350 dynamic font 'DejaVu Sans,13' background '#ffffff'"
                         : "pngcairo size 1200,1350 font 'DejaVu Sans,10' background '#ffffff'");
    ls_status status = stepping_plot_write_data(page, script, why);
    fprintf(script,
            "set multiplot layout 3,2 title '{/:Bold=16 Stepping strategies, %" PRIu32
            " steps a second}' margins 0.07,0.985,0.045,0.895 spacing 0.09,0.075\n"
            "set grid back lt 1 lw 1 dt 1 lc rgb '#e4e4e4'\nset border lc rgb '#555555'\nset tics "
            "nomirror\n"
            "set key at screen 0.52,0.972 center top horizontal maxrows 2 samplen 2 width 1\n",
            page->rate_hz);
    if (!page->course) {
        write_places(page, script);
        write_bars(page, script);
        write_energy(page, script);
    } else if (page->course->has_shape) {
        write_shape(page, script);
        write_bars(page, script);
    }
    write_steps(page, script);
    write_load(page, script);
    fprintf(script, "unset multiplot\n");
    return status;
}

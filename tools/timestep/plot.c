#include "lockstep/tools/timestep/plot.h"

#include "lockstep/common/base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

enum {
    POSITION_STEPS = 6, /* how long the panel about places lasts, in dt */
    COARSE_POINTS = 160,
    BEFORE_MS = 400, /* about the longest frame */
    AFTER_MS = 550,
};

/* ---- data: one named block for each strategy ---- */

typedef enum plot_panel {
    PANEL_POSITION,
    PANEL_ENERGY,
    PANEL_STEPS,
    PANEL_FRAMES,
    PANEL_DROPPED,
    PANEL_COUNT,
} plot_panel;

static const char *const block_names[PANEL_COUNT] = {"position", "energy", "steps", "frames",
                                                     "dropped"};

typedef struct series {
    FILE *script;
    plot_panel panel;
    ls_world_view view;
    uint64_t zero_ns; /* what the time of PANEL_STEPS counts from */
    uint64_t from_ns; /* only frames that end in from .. to */
    uint64_t to_ns;
    uint64_t every_ns; /* at most one point in so much time */
    uint64_t next_ns;
    double energy_max; /* since the point before */
    double most;       /* of all values */
} series;

/* A trace's name as it may stand in a script: the user chose it, and gnuplot reads marks in it. */
static const char *plain_name(const ls_trace *trace, char text[LS_NAME_BYTES_MAX])
{
    ls_name_copy(text, LS_NAME_BYTES_MAX, trace->name);
    for (char *c = text; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '.';
        *c = is_plain ? *c : '-';
    }
    return text;
}

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double value_of(const series *s, const ls_play_frame *frame)
{
    switch (s->panel) {
    case PANEL_POSITION:
        return ls_world_view_place(&s->view, frame->plan) * 1e3;
    case PANEL_ENERGY:
        return s->energy_max;
    case PANEL_STEPS:
        return frame->plan->step_count;
    case PANEL_FRAMES:
        return ms_of(frame->frame_ns);
    default:
        return ms_of(frame->dropped_ns) / 1e3;
    }
}

/* Milliseconds where the panel shows a moment, seconds where it shows the whole trace. */
static double time_of(const series *s, uint64_t real_ns)
{
    if (s->panel == PANEL_POSITION) {
        return ms_of(real_ns);
    }
    return s->panel == PANEL_STEPS ? ms_of(real_ns) - ms_of(s->zero_ns) : ms_of(real_ns) / 1e3;
}

static void add_point(void *user, const ls_play_frame *frame)
{
    series *s = user;
    ls_world_view_advance(&s->view, frame->plan, UINT64_MAX);
    /* Beyond stability the sum that stands for the energy can be negative. */
    double energy = fabs(s->view.current.spring_energy);
    s->energy_max = energy > s->energy_max ? energy : s->energy_max;
    bool is_shown = frame->real_ns >= s->from_ns && frame->real_ns <= s->to_ns;
    if (!is_shown || frame->real_ns < s->next_ns) {
        return;
    }
    s->next_ns = frame->real_ns + s->every_ns;
    double value = value_of(s, frame);
    s->most = value > s->most ? value : s->most;
    fprintf(s->script, "%.6g %.6g\n", time_of(s, frame->real_ns), value);
    s->energy_max = 0;
}

static uint64_t cost_ns(const ls_plot_page *page, uint32_t percent)
{
    return ls_timestep_config_default(page->rate_hz).dt_ns * percent / 100;
}

static uint32_t longest_frame(const ls_trace *trace)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        longest = trace->frames.frames_ns[i] > trace->frames.frames_ns[longest] ? i : longest;
    }
    return longest;
}

typedef struct search {
    uint32_t index;
    uint64_t end_ns;
} search;

static void note_end(void *user, const ls_play_frame *frame)
{
    search *found = user;
    found->end_ns = frame->index <= found->index ? frame->real_ns : found->end_ns;
}

/* When the trace's longest frame ends with this strategy, whose steps may have delayed it; or its
 * last one, when it does not come so far. */
static uint64_t longest_end_ns(const ls_timestep_config *timestep, const ls_trace *trace,
                               uint64_t step_cost_ns)
{
    search found = {.index = longest_frame(trace)};
    ls_play(timestep, trace, step_cost_ns, &(ls_play_observer){note_end, &found});
    return found.end_ns;
}

/* The end of the longest frame is 0 in PANEL_STEPS. */
static void set_window(const ls_plot_page *page, const ls_trace *trace, uint64_t longest_ns,
                       series *s)
{
    uint64_t before_ns = BEFORE_MS * LS_NS_PER_MS;
    s->to_ns = UINT64_MAX;
    s->every_ns = ls_trace_length_ns(trace) / COARSE_POINTS;
    if (s->panel == PANEL_POSITION) {
        s->to_ns = POSITION_STEPS * ls_timestep_config_default(page->rate_hz).dt_ns;
        s->every_ns = 0;
    } else if (s->panel == PANEL_STEPS) {
        s->zero_ns = longest_ns;
        s->from_ns = longest_ns > before_ns ? longest_ns - before_ns : 0;
        s->to_ns = longest_ns + AFTER_MS * LS_NS_PER_MS;
        s->every_ns = 0;
    }
}

static void write_block(const ls_plot_page *page, plot_panel panel, const ls_trace *trace,
                        uint32_t cost_percent, FILE *script)
{
    double most = 0;
    for (uint32_t i = 0; i < page->stepper_count; i++) {
        const ls_timestep_config *timestep = &page->steppers[i].config;
        uint64_t step_cost_ns = cost_ns(page, cost_percent);
        series s = {.script = script, .panel = panel, .view = ls_world_view_make()};
        set_window(page, trace, longest_end_ns(timestep, trace, step_cost_ns), &s);
        fprintf(script, "$%s%" PRIu32 " << EOD\n", block_names[panel], i);
        if (s.from_ns == 0 && panel != PANEL_FRAMES && panel != PANEL_STEPS) {
            fprintf(script, "0 %d\n", panel == PANEL_ENERGY ? 1 : 0);
        }
        ls_play(timestep, trace, step_cost_ns, &(ls_play_observer){add_point, &s});
        fprintf(script, "EOD\n");
        most = s.most > most ? s.most : most;
    }
    fprintf(script, "most_%s = %.6g\n", block_names[panel], most);
}

/* A line for each trace, with every strategy's stutter. As with the other blocks, the largest value
 * follows: an axis has to reach it, and is not empty when all of them are 0. */
static void write_stutter(const ls_plot_page *page, FILE *script)
{
    double most = 0;
    fprintf(script, "$stutter << EOD\n");
    for (uint32_t i = 0; i < page->stutter_count; i++) {
        const ls_trace *trace = page->stutter[i];
        char name[LS_NAME_BYTES_MAX];
        fprintf(script, "\"%s\"", plain_name(trace, name));
        for (uint32_t k = 0; k < page->stepper_count; k++) {
            ls_measure_config config = {trace, trace, cost_ns(page, trace->step_cost_percent)};
            ls_measures measures = ls_measure(&page->steppers[k].config, &config);
            fprintf(script, " %.4f", measures.stutter_ms);
            most = measures.stutter_ms > most ? measures.stutter_ms : most;
        }
        fprintf(script, "\n");
    }
    fprintf(script, "EOD\nmost_stutter = %.6g\n", most);
}

static void write_data(const ls_plot_page *page, FILE *script)
{
    write_block(page, PANEL_POSITION, page->position, page->position->step_cost_percent, script);
    write_block(page, PANEL_ENERGY, page->energy, page->energy->step_cost_percent, script);
    write_block(page, PANEL_STEPS, page->steps, page->steps_cost_percent, script);
    write_block(page, PANEL_FRAMES, page->load, page->load->step_cost_percent, script);
    write_block(page, PANEL_DROPPED, page->load, page->load->step_cost_percent, script);
    write_stutter(page, script);
}

/* ---- the page ---- */

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

static void write_curves(const ls_plot_page *page, plot_panel panel, const char *with, FILE *script)
{
    fprintf(script, "plot ");
    for (uint32_t i = 0; i < page->stepper_count; i++) {
        const ls_stepper *stepper = &page->steppers[i];
        ls_timestep_strategy strategy = stepper->config.strategy;
        fprintf(script,
                "%s$%s%" PRIu32 " using 1:2 with %s lw %.1f lc rgb '%s' dt %s title '%s %s'",
                i > 0 ? ", \\\n  " : "", block_names[panel], i, with, styles[strategy].width,
                styles[strategy].colour, styles[strategy].dash, stepper->row, stepper->name);
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

static void write_places(const ls_plot_page *page, FILE *script)
{
    double end_ms = POSITION_STEPS * 1e3 / page->rate_hz;
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Where a moving body is drawn (trace %s; dotted: exactly)",
                plain_name(page->position, name));
    write_title(script, title.bytes, "real time, ms", "drawn place, ms of motion");
    fprintf(script,
            "set xrange [0:%g]\nset yrange [0:%g]\n"
            "set arrow 1 from 0,0 to %g,%g nohead lw 1 dt (3,4) lc rgb '#000000' front\n",
            end_ms, end_ms, end_ms, end_ms);
    if (page->has_notes) {
        write_notes(script);
    }
    write_curves(page, PANEL_POSITION, "steps", script);
    fprintf(script, "unset label\nunset arrow\nunset key\n");
}

static void write_bars(const ls_plot_page *page, FILE *script)
{
    write_title(script, "Stutter: uneven motion from frame to frame (no bar: none)", "trace",
                "ms (pixels at 1,000 pixels/s)");
    fprintf(
        script,
        "set style data histograms\nset style histogram clustered gap 1.5\n"
        "set style fill solid 0.9 noborder\nset xrange [*:*]\nset yrange [0:top(most_stutter, 1)]\n"
        "plot ");
    for (uint32_t i = 0; i < page->stepper_count; i++) {
        const ls_stepper *stepper = &page->steppers[i];
        fprintf(script, "%s$stutter using %" PRIu32 "%s lc rgb '%s' title '%s %s'",
                i > 0 ? ", \\\n  " : "", i + 2, i == 0 ? ":xtic(1)" : "",
                styles[stepper->config.strategy].colour, stepper->row, stepper->name);
    }
    fprintf(script, "\nset xtics autofreq\n");
}

static void write_energy(const ls_plot_page *page, FILE *script)
{
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Energy of a %d Hz spring (trace %s)", LS_WORLD_SPRING_HZ,
                plain_name(page->energy, name));
    write_title(script, title.bytes, "real time, s", "energy, of what it had at first");
    fprintf(script, "set xrange [0:*]\nset yrange [0.1:top(most_energy, 10)]\nset logscale y\n"
                    "set format y '10^{%%T}'\n");
    write_curves(page, PANEL_ENERGY, "lines", script);
    fprintf(script, "set format y\nunset logscale y\n");
}

static void write_steps(const ls_plot_page *page, FILE *script)
{
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Steps in a frame (trace %s, a step costs %" PRIu32 " %% of dt)",
                plain_name(page->steps, name), page->steps_cost_percent);
    write_title(script, title.bytes, "ms after the longest frame", "steps in a frame");
    fprintf(script, "set xrange [-%d:%d]\nset yrange [0:top(most_steps, 2)]\n", BEFORE_MS,
            AFTER_MS);
    write_curves(page, PANEL_STEPS, "fsteps", script);
}

static void write_load(const ls_plot_page *page, FILE *script)
{
    char name[LS_NAME_BYTES_MAX];
    ls_text title = {{0}};
    ls_text_set(&title, "Lengths of frames (trace %s, a step costs %" PRIu32 " %% of dt)",
                plain_name(page->load, name), page->load->step_cost_percent);
    write_title(script, title.bytes, "real time, s", "a frame, ms");
    fprintf(script, "set xrange [0:*]\nset yrange [most_frames < 20 ? 1 : 10:top(most_frames, "
                    "100)]\nset logscale y\n");
    write_curves(page, PANEL_FRAMES, "lines", script);
    fprintf(script, "unset logscale y\n");
    ls_text_set(&title, "Time dropped: never simulated (trace %s)", plain_name(page->load, name));
    write_title(script, title.bytes, "real time, s", "s");
    fprintf(script, "set xrange [0:*]\nset yrange [0:top(most_dropped, 0.1)]\n");
    write_curves(page, PANEL_DROPPED, "lines", script);
}

void ls_plot_write(const ls_plot_page *page, FILE *script)
{
    fprintf(script,
            "set encoding utf8\n"
            "top(most, least) = most > least ? most * 1.1 : least\n"
            "set terminal %s\n",
            page->is_svg ? "svg size 1200,1350 dynamic font 'DejaVu Sans,13' background '#ffffff'"
                         : "pngcairo size 1200,1350 font 'DejaVu Sans,10' background '#ffffff'");
    write_data(page, script);
    fprintf(script,
            "set multiplot layout 3,2 title '{/:Bold=16 Stepping strategies, %" PRIu32
            " steps a second}' margins 0.07,0.985,0.045,0.895 spacing 0.09,0.075\n"
            "set grid back lt 1 lw 1 dt 1 lc rgb '#e4e4e4'\nset border lc rgb '#555555'\nset tics "
            "nomirror\n"
            "set key at screen 0.52,0.972 center top horizontal maxrows 2 samplen 2 width 1\n",
            page->rate_hz);
    write_places(page, script);
    write_bars(page, script);
    write_energy(page, script);
    write_steps(page, script);
    write_load(page, script);
    fprintf(script, "unset multiplot\n");
}

/* lockstep-timestep: reads the command line, compares the stepping strategies. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/tools/timestep/lessons.h"
#include "lockstep/tools/timestep/play.h"
#include "lockstep/tools/timestep/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- Compare: the run of lockstep-timestep: opens the traces, measures every strategy on each,
 * prints the table, writes JSON and the page of plots ---- */

#define STEPPING_COMPARE_TRACES_MAX 16u

typedef struct stepping_compare_config {
    uint32_t rate_hz;     /* 1 .. LS_TICK_RATE_MAX_HZ; the simulation's config has the same */
    uint32_t seconds;     /* of the built-in traces */
    uint64_t seed;        /* of the random walk */
    uint32_t strategies;  /* bit i: ls_timestep_strategy i */
    uint32_t trace_count; /* 0: every built-in one, and the lessons */
    const char *traces[STEPPING_COMPARE_TRACES_MAX]; /* names or paths */
    /* Instead of what each strategy or trace has by itself. */
    bool has_step_cost;
    bool has_frame_max;
    bool has_steps_max;
    uint32_t step_cost_percent;
    uint32_t frame_max_ms;
    uint32_t steps_max;
    const ls_simulation *simulation; /* NULL: the small world */
    const ls_sim_config *simulation_config;
    const char *json_path; /* NULL: none; "-": standard output, and the table to standard error */
    const char *plot_path; /* NULL: none; else ends in .svg or .png */
    bool is_quiet;         /* no table */
} stepping_compare_config;

/* A page shows what each strategy does: where it draws a moving body, its stutter, the energy of a
 * spring, steps and lengths of frames, time dropped. Its values and data are written here, and
 * behind them the script that draws them: page.gp, which is part of the program. */
typedef struct stepping_plot_page {
    const stepping_report *report;
    const stepping_trace
        *builtin;       /* by stepping_trace_kind: each shows some panel's subject best */
    bool is_own;        /* the report's traces are the user's, which are shown instead */
    bool has_step_cost; /* likewise */
    bool is_svg;        /* else PNG */
    bool has_notes;     /* the panels say what is to be seen: the built-in traces, all strategies */
    const ls_allocator *allocator;
} stepping_plot_page;

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

/* ---- what a page shows ---- */

enum {
    POSITION_STEPS = 6, /* how long the panel about places lasts, in dt */
    BEFORE_MS = 400,    /* the panel about steps, from the end of the longest frame */
    AFTER_MS = 550,
    COARSE_POINTS = 160,
    STUTTER_TRACES_MAX = 8,
};

typedef enum plot_panel {
    POSITION,
    ENERGY,
    STEPS,
    FRAMES,
    DROPPED,
} plot_panel;

/* page.gp, with a zero behind it: CMakeLists.txt makes it. */
extern const char stepping_plot_script[];

/* ---- gnuplot ---- */

static ls_status fail(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot draw %s: %s", path, reason);
}

/* -d: gnuplot reads no ~/.gnuplot. */
static ls_status run_gnuplot(FILE *script, const char *path, int output, ls_text *why)
{
    static const char *const arguments[] = {"gnuplot", "-d", NULL};
    if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0) {
        return fail(path, strerror(errno), why);
    }
    const ls_child_process_config config = {
        .program = arguments[0],
        .arguments = arguments,
        .streams = {fileno(script), output, LS_CHILD_OUR_ERRORS}};
    ls_child_process gnuplot;
    ls_child_process_end end;
    ls_text reason = {{0}};
    ls_status status = ls_child_process_start(&config, &gnuplot, &reason);
    if (status == LS_NOT_FOUND) {
        return fail(path,
                    "there is no gnuplot here; in Debian it comes with "
                    "apt-get install gnuplot-nox",
                    why);
    }
    if (status != LS_OK) {
        return fail(path, reason.bytes, why);
    }
    ls_child_process_wait(&gnuplot, LS_CHILD_WAIT_FOREVER, &end);
    return end.exit_code == 0 ? LS_OK : fail(path, "gnuplot failed; what it says is above", why);
}

/* Replaces the file by what the script draws. IO: gnuplot is not installed (the reason names the
 * package), it could not draw, or the file cannot be written; no file is left then that was not
 * there before. */
static ls_status stepping_gnuplot_run(FILE *script, const char *path, ls_text *why)
{
    bool was_there = ls_file_look(path, NULL);
    FILE *output = ls_output_open(path, LS_OUTPUT_WAITS_FOR_READER);
    if (!output) {
        return fail(path, strerror(errno), why);
    }
    ls_status status = run_gnuplot(script, path, fileno(output), why);
    if (fclose(output) != 0 && status == LS_OK) {
        status = fail(path, strerror(errno), why);
    }
    if (status != LS_OK && !was_there) {
        remove(path);
    }
    return status;
}

/* Only some strategies can drive a simulation. */
static bool is_shown(const stepping_plot_page *page, uint32_t index)
{
    ls_timestep_strategy strategy = page->report->steppers[index].config.strategy;
    return !page->report->course || stepping_sim_course_can_play(strategy);
}

/* The built-in traces show each panel's subject best; a user's own are what the user asked for. */
static const stepping_trace *trace_of(const stepping_plot_page *page, plot_panel panel)
{
    static const stepping_trace_kind kinds[] = {STEPPING_TRACE_144, STEPPING_TRACE_WALK,
                                                STEPPING_TRACE_SPIKE, STEPPING_TRACE_OVERLOAD,
                                                STEPPING_TRACE_OVERLOAD};
    return page->is_own ? page->report->traces : &page->builtin[kinds[panel]];
}

static uint32_t cost_percent_of(const stepping_plot_page *page, plot_panel panel)
{
    bool has_headroom = panel == STEPS && !page->is_own && !page->has_step_cost;
    return has_headroom ? STEPPING_HEADROOM_PERCENT : trace_of(page, panel)->step_cost_percent;
}

/* When the panel about places begins: a simulation needs a second to get going. */
static uint64_t position_from_ns(const stepping_plot_page *page)
{
    uint64_t half_ns = stepping_trace_length_ns(trace_of(page, POSITION)) / 2;
    uint64_t going_ns = LS_MIN(half_ns, LS_NS_PER_SECOND);
    return page->report->course ? going_ns : 0;
}

/* ---- one curve ---- */

typedef struct series {
    FILE *script;
    plot_panel panel;
    stepping_world_view view;
    const stepping_sim_course *course;
    stepping_sim_player *player; /* NULL: the world is played, or only frames count */
    stepping_sim_point point;    /* where the player's shape was drawn last */
    uint64_t zero_ns;            /* what the time of STEPS counts from */
    uint64_t from_ns;            /* only frames that end in from .. to */
    uint64_t to_ns;
    uint64_t every_ns; /* at most one point in so much time */
    uint64_t next_ns;
    double energy_max; /* since the point before */
    double least;      /* of all values of the panel */
    double most;
    uint32_t points; /* of all curves of the panel */
} series;

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double value_of(const series *s, const stepping_play_frame *frame)
{
    switch (s->panel) {
    case POSITION:
        return s->player ? s->point.x : stepping_world_view_place(&s->view, frame->plan) * 1e3;
    case ENERGY:
        return s->energy_max;
    case STEPS:
        return frame->plan->step_count;
    case FRAMES:
        return ms_of(frame->frame_ns);
    default:
        return ms_of(frame->dropped_ns) / 1e3;
    }
}

/* Milliseconds where the panel shows a moment, seconds where it shows the whole trace. */
static double time_of(const series *s, uint64_t real_ns)
{
    if (s->panel == POSITION) {
        return ms_of(real_ns);
    }
    return s->panel == STEPS ? ms_of(real_ns) - ms_of(s->zero_ns) : ms_of(real_ns) / 1e3;
}

static void step(series *s, const ls_timestep_plan *plan)
{
    if (!s->player) {
        stepping_world_view_advance(&s->view, plan, UINT64_MAX);
        return;
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        stepping_sim_player_step(s->player);
    }
    stepping_sim_course_see(s->course, s->player, plan->alpha, &s->point);
}

static void add_point(void *user, const stepping_play_frame *frame)
{
    series *s = user;
    step(s, frame->plan);
    /* Beyond stability the sum that stands for the energy can be negative. */
    double energy = fabs(s->view.current.spring_energy);
    s->energy_max = LS_MAX(energy, s->energy_max);
    bool is_shown = frame->real_ns >= s->from_ns && frame->real_ns <= s->to_ns;
    if (!is_shown || frame->real_ns < s->next_ns) {
        return;
    }
    s->next_ns = frame->real_ns + s->every_ns;
    double value = value_of(s, frame);
    s->least = LS_MIN(value, s->least);
    s->most = LS_MAX(value, s->most);
    fprintf(s->script, "%.6g %.6g\n", time_of(s, frame->real_ns), value);
    s->energy_max = 0;
    s->points++;
}

static uint32_t longest_frame(const stepping_trace *trace)
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

static void note_end(void *user, const stepping_play_frame *frame)
{
    search *found = user;
    found->end_ns = frame->index <= found->index ? frame->real_ns : found->end_ns;
}

/* When the trace's longest frame ends with this strategy, whose steps may have delayed it; or its
 * last one, when it does not come so far. */
static uint64_t longest_end_ns(const ls_timestep_config *timestep, const stepping_trace *trace,
                               uint64_t step_cost_ns)
{
    search found = {.index = longest_frame(trace)};
    stepping_play(timestep, trace, step_cost_ns, &(stepping_play_observer){note_end, &found});
    return found.end_ns;
}

/* The end of the longest frame is 0 in STEPS. */
static void set_window(const stepping_plot_page *page, const stepping_trace *trace,
                       uint64_t longest_ns, series *s)
{
    uint64_t before_ns = BEFORE_MS * LS_NS_PER_MS;
    s->to_ns = UINT64_MAX;
    s->every_ns = stepping_trace_length_ns(trace) / COARSE_POINTS;
    if (s->panel == POSITION) {
        s->from_ns = position_from_ns(page);
        s->to_ns =
            s->from_ns + POSITION_STEPS * ls_timestep_config_default(page->report->rate_hz).dt_ns;
        s->every_ns = 0;
    } else if (s->panel == STEPS) {
        s->zero_ns = longest_ns;
        s->from_ns = longest_ns > before_ns ? longest_ns - before_ns : 0;
        s->to_ns = longest_ns + AFTER_MS * LS_NS_PER_MS;
        s->every_ns = 0;
    }
}

/* ---- the data of a panel ---- */

/* Of its block, and of its values least_NAME, most_NAME and NAME_trace. */
static const char *const panel_names[] = {"position", "energy", "steps", "frames", "dropped"};

static ls_status write_curve(const stepping_plot_page *page, uint32_t index, series *range,
                             ls_text *why)
{
    const ls_timestep_config *timestep = &page->report->steppers[index].config;
    const stepping_sim_course *course = page->report->course;
    series s = *range;
    const stepping_trace *trace = trace_of(page, s.panel);
    uint64_t step_cost_ns = ls_timestep_config_default(page->report->rate_hz).dt_ns *
                            cost_percent_of(page, s.panel) / 100;
    set_window(page, trace, longest_end_ns(timestep, trace, step_cost_ns), &s);
    if (course && s.panel == POSITION) {
        ls_status status = stepping_sim_player_create(course->simulation, &course->config,
                                                      page->allocator, &s.player, why);
        if (status != LS_OK) {
            return status;
        }
    }
    if (s.from_ns == 0 && s.panel != FRAMES && s.panel != STEPS) {
        fprintf(s.script, "0 %d\n", s.panel == ENERGY ? 1 : 0);
    }
    stepping_play(timestep, trace, step_cost_ns, &(stepping_play_observer){add_point, &s});
    fprintf(s.script, "\n\n");
    range->points = s.points;
    bool runs_away = s.player && timestep->strategy == LS_TIMESTEP_FIXED_PER_FRAME;
    if (!runs_away) { /* with the place where it would be, the others could not be told apart */
        range->least = s.least;
        range->most = s.most;
    }
    stepping_sim_player_destroy(s.player);
    return LS_OK;
}

/* The user chose the trace's name, and gnuplot reads marks in texts. */
static const char *plain_name(const stepping_trace *trace, char text[LS_NAME_BYTES_MAX])
{
    ls_name_copy(text, LS_NAME_BYTES_MAX, trace->name);
    for (char *c = text; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '.';
        *c = is_plain ? *c : '-';
    }
    return text;
}

static ls_status write_panel(const stepping_plot_page *page, plot_panel panel, FILE *script,
                             ls_text *why)
{
    char trace_name[LS_NAME_BYTES_MAX];
    const char *name = panel_names[panel];
    ls_status status = LS_OK;
    series range = {.script = script,
                    .panel = panel,
                    .view = stepping_world_view_make(),
                    .course = page->report->course,
                    .least = HUGE_VAL,
                    .most = -HUGE_VAL};
    fprintf(script, "%s_trace = '%s'\n$%s << EOD\n", name,
            plain_name(trace_of(page, panel), trace_name), name);
    for (uint32_t i = 0; i < page->report->stepper_count && status == LS_OK; i++) {
        if (is_shown(page, i)) {
            status = write_curve(page, i, &range, why);
        }
    }
    bool is_known = range.least <= range.most;
    fprintf(script, "EOD\nleast_%s = %.6g\nmost_%s = %.6g\n", name, is_known ? range.least : 0,
            name, is_known ? range.most : 0);
    if (page->report->course && panel == POSITION && range.points == 0) {
        fprintf(script, "subject = 'frames'\n"); /* no frame ended while the shape was watched */
    }
    return status;
}

/* A line for each trace, with every shown strategy's stutter. */
static void write_stutter(const stepping_plot_page *page, FILE *script)
{
    static const stepping_trace_kind kinds[] = {STEPPING_TRACE_60, STEPPING_TRACE_75,
                                                STEPPING_TRACE_144, STEPPING_TRACE_WALK,
                                                STEPPING_TRACE_SPIKE};
    const stepping_report *report = page->report;
    uint32_t count = page->is_own ? LS_MIN(report->trace_count, STUTTER_TRACES_MAX)
                                  : sizeof kinds / sizeof kinds[0];
    double most = 0;
    fprintf(script, "$stutter << EOD\n");
    for (uint32_t i = 0; i < count; i++) {
        char name[LS_NAME_BYTES_MAX];
        uint32_t trace = page->is_own ? i : (uint32_t)kinds[i];
        fprintf(script, "\"%s\"", plain_name(&report->traces[trace], name));
        for (uint32_t k = 0; k < report->stepper_count; k++) {
            const stepping_report_cell *cell = &report->cells[trace * report->stepper_count + k];
            double stutter = report->course ? cell->simulation.stutter_mm : cell->world.stutter_ms;
            if (is_shown(page, k)) {
                fprintf(script, " %.4f", stutter);
                most = LS_MAX(stutter, most);
            }
        }
        fprintf(script, "\n");
    }
    fprintf(script, "EOD\nmost_stutter = %.6g\n", most);
}

/* ---- the page ---- */

static void write_values(const stepping_plot_page *page, FILE *script)
{
    bool has_shape = page->report->course && page->report->course->has_shape;
    fprintf(script, "is_svg = %d\nhas_notes = %d\nrate_hz = %" PRIu32 "\nsubject = '%s'\n",
            page->is_svg, page->has_notes, page->report->rate_hz,
            !page->report->course ? "world"
            : has_shape           ? "shape"
                                  : "frames");
    fprintf(script, "position_from_ms = %g\nposition_ms = %g\nspring_hz = %d\n",
            ms_of(position_from_ns(page)), POSITION_STEPS * 1e3 / page->report->rate_hz,
            STEPPING_WORLD_SPRING_HZ);
    fprintf(script, "steps_before_ms = %d\nsteps_after_ms = %d\n", BEFORE_MS, AFTER_MS);
    fprintf(script, "steps_cost = %" PRIu32 "\nframes_cost = %" PRIu32 "\nshown = ''\nnames = ''\n",
            cost_percent_of(page, STEPS), cost_percent_of(page, FRAMES));
    for (uint32_t i = 0; i < page->report->stepper_count; i++) {
        if (is_shown(page, i)) {
            fprintf(script, "shown = shown.' %d'\nnames = names.' %s'\n",
                    page->report->steppers[i].config.strategy + 1, page->report->steppers[i].name);
        }
    }
}

/* Of a simulation without a shape that moves, only what frames come to is shown. NO_MEMORY, or what
 * the simulation's start came to. */
static ls_status stepping_plot_write(const stepping_plot_page *page, FILE *script, ls_text *why)
{
    ls_status status = LS_OK;
    write_values(page, script);
    for (uint32_t i = 0; i < sizeof panel_names / sizeof panel_names[0] && status == LS_OK; i++) {
        status = write_panel(page, (plot_panel)i, script, why);
    }
    write_stutter(page, script);
    fputs(stepping_plot_script, script);
    return status;
}

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
    LS_THEN(status, stepping_gnuplot_run(script, c->config->plot_path, why));
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
    LS_THEN(status, choose_steppers(c, why));
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

static ls_exit_code stepping_compare_run(const stepping_compare_config *config, ls_console *console)
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
    LS_THEN(status, run(&c, &why));
    ls_exit_code code = ls_exit_report(&console->log, status, &why);
    if (status == LS_OK && has_difference(&c)) {
        ls_log_line(&console->log, LS_LOG_ERROR,
                    "not the same bits: lockstep-synctest finds out why");
        code = LS_EXIT_DESYNC;
    }
    release(&c);
    return code;
}

/* ---- the program ---- */

enum {
    DEFAULT_RATE_HZ = 60,
    DEFAULT_SECONDS = 10,
    COST_MAX_PERCENT = 1000,
    FRAME_MAX_MS = 3600000,
    STEPS_MAX = 1000000,
    ALL_STRATEGIES = (1 << LS_TIMESTEP_STRATEGY_COUNT) - 1,
};

enum group {
    WHAT = 1,
    HOW,
    PLOTS = 8,
};

typedef struct arguments {
    stepping_compare_config config;
    uint64_t given;
    const char *sim;
    ls_param_options params;
    ls_param_files files;
    ls_output_options output;
} arguments;

/* By their names, or by their numbers in the documents: T1 to T6. */
static ls_status read_strategies(void *target, char *list, ls_text *why)
{
    const char *words[2 * LS_TIMESTEP_STRATEGY_COUNT] = {
        [LS_TIMESTEP_STRATEGY_COUNT] = "T1", "T2", "T3", "T4", "T5", "T6"};
    uint32_t found = 0;
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        words[i] = ls_timestep_strategy_name((ls_timestep_strategy)i);
    }
    ls_status status =
        ls_option_list("strategy", list, words, 2 * LS_TIMESTEP_STRATEGY_COUNT, &found, why);
    ((arguments *)target)->config.strategies =
        (found | found >> LS_TIMESTEP_STRATEGY_COUNT) & ALL_STRATEGIES;
    return status;
}

static ls_status read_plot(void *target, char *path, ls_text *why)
{
    size_t size = strlen(path);
    const char *end = size > 4 ? path + size - 4 : "";
    ((arguments *)target)->config.plot_path = path;
    if (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--plot takes a file that ends in .svg or .png, not '%s'", path);
    }
    return LS_OK;
}

static ls_status read_trace(void *target, char *name, ls_text *why)
{
    stepping_compare_config *config = &((arguments *)target)->config;
    if (config->trace_count == STEPPING_COMPARE_TRACES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are more than %u traces",
                       STEPPING_COMPARE_TRACES_MAX);
    }
    config->traces[config->trace_count++] = name;
    return LS_OK;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = WHAT, .help = "What is compared:"},
    {LS_SETTING_IS_READ, .read = read_strategies, .flag = "strategy", .letter = 's',
     .argument = "LIST", .group = WHAT, .default_text = "all",
     .help = "Only these strategies, with commas"},
    {LS_SETTING_IS_READ, .read = read_trace, .flag = "trace", .letter = 't',
     .argument = "NAME|FILE", .group = WHAT, .default_text = "every built-in one",
     .help = "Only this trace of frames, built-in or recorded by lockstep-client --record-frames; "
             "may be given up to 16 times"},
    {LS_SETTING_IS_TEXT, FIELD(sim), .flag = "sim", .argument = "NAME|FILE.so", .group = WHAT,
     .help = "Step this simulation, played by its bots, instead of the small world"},
    {LS_SETTING_IS_HEADING, .group = HOW, .help = "How:"},
    {LS_SETTING_IS_U32, FIELD(config.rate_hz), .min = LS_TICK_RATE_MIN_HZ,
     .max = LS_TICK_RATE_MAX_HZ, .flag = "rate", .letter = 'r', .argument = "HZ", .group = HOW,
     .default_text = "60, or the simulation's own", .help = "Steps a second"},
    {LS_SETTING_IS_U32, FIELD(config.seconds), .min = 2, .max = STEPPING_TRACE_SECONDS_MAX,
     .flag = "seconds", .argument = "S", .group = HOW, .help = "Length of the built-in traces"},
    {LS_SETTING_IS_U64, FIELD(config.seed), .max = UINT64_MAX, .flag = "seed", .argument = "N",
     .group = HOW, .help = "Seed of the random walk, and of the simulation"},
    {LS_SETTING_IS_U32, FIELD(config.step_cost_percent), .max = COST_MAX_PERCENT,
     .flag = "step-cost", .argument = "PERCENT", .group = HOW,
     .default_text = "0; 120 on the trace overload",
     .help = "What a step costs, of the time that it simulates; above 100 no computer keeps up"},
    {LS_SETTING_IS_U32, FIELD(config.frame_max_ms), .max = FRAME_MAX_MS, .flag = "frame-max",
     .argument = "MS", .group = HOW, .default_text = "250 with interpolated, else never",
     .help = "Cut longer frames, with every strategy; 0: never"},
    {LS_SETTING_IS_U32, FIELD(config.steps_max), .max = STEPS_MAX, .flag = "steps-max",
     .argument = "N", .group = HOW, .default_text = "6 with substeps, else no limit",
     .help = "At most so many steps in a frame, with every strategy; 0: no limit"},
    {LS_SETTING_IS_READ, .read = read_plot, .flag = "plot", .argument = "FILE.svg|.png",
     .group = PLOTS, .help = "Draw a page of plots (needs gnuplot)"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    stepping_compare_config *config = &args->config;
    config->has_step_cost = ls_setting_is_given(&table, args->given, "step-cost");
    config->has_frame_max = ls_setting_is_given(&table, args->given, "frame-max");
    config->has_steps_max = ls_setting_is_given(&table, args->given, "steps-max");
    if (args->params.count > 0 && !args->sim) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--param needs --sim");
    }
    if (config->has_steps_max && config->steps_max == 0 &&
        (config->strategies >> LS_TIMESTEP_SUBSTEPS & 1u)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--steps-max 0: substeps need a limit; leave them out with --strategy");
    }
    return LS_OK;
}

static void print_lists(FILE *file)
{
    static const char *const about[LS_TIMESTEP_STRATEGY_COUNT] = {
        "T1: one step of dt in every frame",
        "T2: one step of the frame's time",
        "T3: steps of dt, and one of what remains",
        "T4: equal steps of at most dt, at most 6",
        "T5: steps of dt, the rest is kept for the next frame",
        "T6: that, frames cut at 0.25 s, two states blended",
    };
    fprintf(file, "Strategies:\n");
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        fprintf(file, "  %-16s %s\n", ls_timestep_strategy_name((ls_timestep_strategy)i), about[i]);
    }
    fprintf(file, "Traces:\n");
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        fprintf(file, "  %-16s %s\n", stepping_trace_kind_name((stepping_trace_kind)i),
                stepping_trace_kind_about((stepping_trace_kind)i));
    }
}

/* The simulation and its configuration, at the rate that is asked for. */
static ls_status load_simulation(arguments *args, ls_loaded_simulation *loaded,
                                 ls_sim_config *config, ls_text *why)
{
    ls_plugin_crash_watch(args->sim);
    ls_status status = ls_simulation_load(args->sim, loaded, why);
    if (status != LS_OK) {
        return status;
    }
    *config = ls_sim_config_default(loaded->simulation);
    config->seed = args->config.seed;
    args->config.rate_hz = args->config.rate_hz > 0 ? args->config.rate_hz : config->tick_rate_hz;
    config->tick_rate_hz = args->config.rate_hz;
    status = ls_param_files_decide(&args->files, args->params.assignments, args->params.count,
                                   loaded->simulation, config, why);
    LS_THEN(status, ls_sim_config_check(loaded->simulation, config, why));
    args->config.simulation = loaded->simulation;
    args->config.simulation_config = config;
    return status;
}

int main(int argc, char **argv)
{
    arguments args = {
        .config = {.seconds = DEFAULT_SECONDS, .seed = 1, .strategies = ALL_STRATEGIES},
        .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary =
            "Compares the ways to step a simulation in a frame loop: how fast, how late and how "
            "evenly they draw, what becomes of a stiff spring and of a thin wall, what a long "
            "frame and too slow a computer do, and whether the bits depend on the frame rate. "
            "All in virtual time: the same line gives the same numbers everywhere.",
        .ending = "A recorded trace is a text file: the time of one frame a line, in nanoseconds; "
                  "what stands behind a # is a comment.\n\n"
                  "Exit codes: 0 clean, 1 environment, 2 usage, 3 a simulation's bits depend on "
                  "the frame rate, 4 internal.",
        .print_lists = print_lists,
        .parts = {{&table, &args, &args.given},
                  {&ls_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    ls_console console;
    ls_console_init(&console, "lockstep-timestep", args.output.level);
    ls_loaded_simulation loaded = {0};
    ls_sim_config simulation_config;
    ls_text why = {{0}};
    if (args.sim && load_simulation(&args, &loaded, &simulation_config, &why) != LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        ls_simulation_unload(&loaded);
        return LS_EXIT_USAGE;
    }
    args.config.rate_hz = args.config.rate_hz > 0 ? args.config.rate_hz : DEFAULT_RATE_HZ;
    args.config.json_path = args.output.json_path;
    args.config.is_quiet = args.output.level == LS_LOG_WARNING;
    ls_exit_code code = stepping_compare_run(&args.config, &console);
    ls_simulation_unload(&loaded);
    return code;
}

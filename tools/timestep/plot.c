#include "lockstep/tools/timestep/plot.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/tools/timestep/lessons.h"

#include <inttypes.h>
#include <math.h>

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

ls_status stepping_plot_write(const stepping_plot_page *page, FILE *script, ls_text *why)
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

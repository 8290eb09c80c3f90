#include "lockstep/tests/lab/bench/report.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/html.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== report ==== */

enum {
    FIRST_CAPACITY = 64,
};

/* ---- the table ---- */

/* Four significant digits, whatever the size. */
static void format_value(char text[24], double value)
{
    int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    snprintf(text, 24, "%.*f", decimals, value);
}

static bool is_within(const bench_figure *figure)
{
    return figure->budget.rule == BENCH_AT_MOST ? figure->held <= figure->budget.value
                                                : figure->held >= figure->budget.value;
}

/* "ok", "MISSED" or "". */
static const char *verdict_of(const bench_figure *figure)
{
    if (figure->budget.rule == BENCH_NO_BUDGET) {
        return "";
    }
    return is_within(figure) ? "ok" : "MISSED";
}

static void print_row(const bench_report *report, const bench_figure *figure)
{
    char median[24], best[24], held[24], budget[24];
    format_value(median, figure->median);
    format_value(best, figure->best);
    format_value(held, figure->held);
    format_value(budget, figure->budget.value);
    fprintf(report->table, "  %-46s %10s %10s %10s %-5s", figure->name, median, best, held,
            figure->unit);
    if (figure->budget.rule != BENCH_NO_BUDGET) {
        fprintf(report->table, " %s %-7s %s",
                figure->budget.rule == BENCH_AT_MOST ? "<=" : ">=", budget, verdict_of(figure));
    }
    fprintf(report->table, "\n");
    fflush(report->table);
}

void bench_report_begin(bench_report *report, FILE *table, const bench_plan *plan)
{
    memset(report, 0, sizeof *report);
    report->table = table;
    report->slowdown = bench_slowdown();
    report->is_smoke = plan->is_smoke;
    fprintf(table,
            "median and best of %u rounds; held: the median at the speed at which the reference\n"
            "loop takes %.0f ns. It takes %.0f ns here now.\n",
            plan->rounds, BENCH_REFERENCE_NS, report->slowdown * BENCH_REFERENCE_NS);
    if (plan->is_smoke) {
        fprintf(table, "A smoke run: the figures mean nothing.\n");
    }
}

void bench_report_section(bench_report *report, const char *name, const char *about)
{
    report->section = name;
    fprintf(report->table, "\n%s: %s\n  %-46s %10s %10s %10s       budget\n", name, about, "",
            "median", "best", "held");
}

static void make_room(bench_report *report)
{
    if (report->count < report->capacity) {
        return;
    }
    uint32_t capacity = report->capacity > 0 ? 2 * report->capacity : FIRST_CAPACITY;
    bench_figure *figures = ls_allocate_array(ls_allocator_heap(), capacity, sizeof *figures);
    LS_ASSERT(figures);
    if (report->count > 0) {
        memcpy(figures, report->figures, report->count * sizeof *figures);
    }
    ls_release(ls_allocator_heap(), report->figures);
    report->figures = figures;
    report->capacity = capacity;
}

static void add_figure(bench_report *report, const char *name, bench_figure figure)
{
    make_room(report);
    figure.section = report->section;
    ls_name_copy(figure.name, sizeof figure.name, name);
    report->figures[report->count++] = figure;
    bool has_missed = figure.budget.rule != BENCH_NO_BUDGET && !is_within(&figure);
    report->missed += has_missed ? 1 : 0;
    print_row(report, &figure);
}

void bench_report_times(bench_report *report, const char *name, const char *unit,
                        double ns_per_unit, const bench_times *times, bench_budget budget)
{
    add_figure(report, name,
               (bench_figure){
                   .unit = unit,
                   .median = bench_series_median(&times->ns) / ns_per_unit,
                   .best = bench_series_min(&times->ns) / ns_per_unit,
                   .held = bench_series_median(&times->reference_speed_ns) / ns_per_unit,
                   .budget = budget,
               });
}

void bench_report_ratios(bench_report *report, const char *name, const bench_ratios *ratios,
                         bench_budget budget)
{
    double median = bench_series_median(&ratios->rounds);
    add_figure(report, name,
               (bench_figure){
                   .unit = "",
                   .median = median,
                   .best = ratios->of_bests,
                   .held = median,
                   .budget = budget,
               });
}

void bench_report_number(bench_report *report, const char *name, const char *unit, double value,
                         bench_budget budget)
{
    add_figure(report, name,
               (bench_figure){
                   .unit = unit, .median = value, .best = value, .held = value, .budget = budget});
}

/* ---- JSON ---- */

static void add_figure_json(ls_json *json, const bench_figure *figure)
{
#define FIELD(member) LS_JSON_FIELD(bench_figure, member)
    static const ls_json_field fields[] = {FIELD(section), FIELD(name), FIELD(unit),
                                           FIELD(median),  FIELD(best), FIELD(held)};
#undef FIELD
    LS_JSON_ADD(json, fields, figure);
    if (figure->budget.rule != BENCH_NO_BUDGET) {
        bool is_limit = figure->budget.rule == BENCH_AT_MOST;
        ls_json_number(json, is_limit ? "at_most" : "at_least", figure->budget.value);
        ls_json_text(json, "verdict", verdict_of(figure));
    }
}

static void fill_json(ls_json *json, const void *of)
{
    const bench_report *report = of;
    ls_json_text(json, "program", "lockstep-bench");
    ls_json_bool(json, "is_smoke", report->is_smoke);
    ls_json_number(json, "reference_ns", BENCH_REFERENCE_NS);
    ls_json_number(json, "slowdown", report->slowdown);
    ls_json_number(json, "budgets_missed", report->missed);
    ls_json *figures = ls_json_array(json, "figures");
    for (uint32_t i = 0; i < report->count; i++) {
        add_figure_json(ls_json_append(figures), &report->figures[i]);
    }
}

ls_status bench_report_end(const bench_report *report, const char *json_path, ls_text *why)
{
    fprintf(report->table, "\n%u figures, %u budgets missed\n", report->count, report->missed);
    return json_path ? ls_json_save(fill_json, report, json_path, why) : LS_OK;
}

void bench_report_release(bench_report *report)
{
    ls_release(ls_allocator_heap(), report->figures);
    report->figures = NULL;
}

/* ==== pictures ==== */

enum {
    WIDTH = 720,
    HEIGHT = 400,
    LEFT = 70,
    RIGHT = 560, /* the names of lines stand beyond it */
    TITLE = 22,
    TOP = 40,
    BOTTOM = 350,
    POINTS_MAX = 7,
    LINES_MAX = 4,
    PATH_BYTES_MAX = 4096,
};

/* Where a line's figures are: in that section, named by the point and then by the line. */
typedef struct picture_line {
    const char *label;
    const char *section;
    const char *behind;
} picture_line;

typedef struct picture_point {
    double at;
    const char *label;
    const char *figure; /* how its figures' names begin */
} picture_point;

/* Both axes are logarithms. */
typedef struct picture {
    const char *name; /* of the file */
    const char *title;
    double least; /* of the upright axis, a power of ten */
    double most;
    double share; /* of a figure that is shown: 0.001 for a figure in ns that is shown in us */
    picture_point points[POINTS_MAX];
    picture_line lines[LINES_MAX];
} picture;

static const picture pictures[] = {
    {.name = "players",
     .title = "bytes a second of a client, by players; every header counted",
     .least = 1000,
     .most = 100000,
     .share = 1,
     .points = {{2, "2", "2 players"},
                {4, "4", "4 players"},
                {8, "8", "8 players"},
                {16, "16", "16 players"},
                {32, "32", "32 players"},
                {64, "64", "64 players"},
                {128, "128", "128 players"}},
     .lines = {{"down, 60 Hz", "growth", ": a client down"},
               {"up, 60 Hz", "growth", ": a client up"},
               {"down, 30 Hz", "growth", ", 30 Hz: a client down"},
               {"headers, 60 Hz", "growth", ": headers alone, down"}}},
    {.name = "state",
     .title = "microseconds for the hash of a state, by its bytes",
     .least = 0.001,
     .most = 100000,
     .share = 0.001,
     .points = {{64, "64 B", "64 B"},
                {16384, "16 KiB", "16 KiB"},
                {1048576, "1 MiB", "1 MiB"},
                {16777216, "16 MiB", "16 MiB"},
                {67108864, "64 MiB", "64 MiB"}},
     .lines = {{"state hash", "hash", ": state hash"}}},
    {.name = "rooms",
     .title = "MB of memory, by rooms of four",
     .least = 0.01,
     .most = 1000,
     .share = 1,
     .points = {{1, "1", "1 rooms of 4"},
                {10, "10", "10 rooms of 4"},
                {100, "100", "100 rooms of 4"},
                {1000, "1000", "1000 rooms of 4"}},
     .lines = {{"they play", "matches", ": while they play"},
               {"empty", "matches", ": before anybody comes"}}},
};

static const char *const colours[LINES_MAX] = {"#0b5fa5", "#b04a00", "#2a7d2e", "#666666"};

static uint32_t count_points(const picture *shown)
{
    uint32_t count = 0;
    while (count < POINTS_MAX && shown->points[count].label) {
        count++;
    }
    return count;
}

static double across(const picture *shown, uint32_t point)
{
    double first = log(shown->points[0].at);
    double last = log(shown->points[count_points(shown) - 1].at);
    return LEFT + (RIGHT - LEFT) * (log(shown->points[point].at) - first) / (last - first);
}

static double up(const picture *shown, double value)
{
    double share = log(value / shown->least) / log(shown->most / shown->least);
    return BOTTOM - (BOTTOM - TOP) * share;
}

static bool find_figure(const ls_json *report, const picture_point *point, const picture_line *line,
                        double *out)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s%s", point->figure, line->behind);
    const ls_json *figure = ls_json_read_members(report, "figures");
    for (; figure; figure = ls_json_next(figure)) {
        const char *section = ls_json_read_text(figure, "section");
        const char *name = ls_json_read_text(figure, "name");
        if (section && name && strcmp(section, line->section) == 0 && strcmp(name, wanted) == 0) {
            return ls_json_read_number(figure, "held", out) && *out > 0;
        }
    }
    return false;
}

/* ---- elements ---- */

static void place_attribute(ls_html *svg, const char *name, double place)
{
    char text[32];
    snprintf(text, sizeof text, "%.1f", place);
    ls_html_attribute(svg, name, text);
}

typedef struct written {
    double x;
    double y;
    const char *anchor;
    const char *colour;
    const char *text;
} written;

static void write_text(ls_html *svg, written one)
{
    ls_html_begin(svg, "text");
    place_attribute(svg, "x", one.x);
    place_attribute(svg, "y", one.y);
    ls_html_attribute(svg, "text-anchor", one.anchor);
    ls_html_attribute(svg, "fill", one.colour);
    ls_html_text(svg, one.text);
    ls_html_end(svg);
}

static void draw_path(ls_html *svg, const char *colour, const char *path)
{
    ls_html_begin(svg, "path");
    ls_html_attribute(svg, "fill", "none");
    ls_html_attribute(svg, "stroke", colour);
    ls_html_attribute(svg, "d", path);
    ls_html_end(svg);
}

/* ---- a picture ---- */

static void begin_picture(const picture *shown, ls_html *svg)
{
    char box[64];
    snprintf(box, sizeof box, "0 0 %d %d", WIDTH, HEIGHT);
    ls_html_begin(svg, "svg");
    ls_html_attribute(svg, "xmlns", "http://www.w3.org/2000/svg");
    ls_html_attribute(svg, "viewBox", box);
    ls_html_attribute(svg, "font-family", "sans-serif");
    ls_html_number_attribute(svg, "font-size", 13);
    ls_html_begin(svg, "rect");
    ls_html_number_attribute(svg, "width", WIDTH);
    ls_html_number_attribute(svg, "height", HEIGHT);
    ls_html_attribute(svg, "fill", "white");
    ls_html_end(svg);
    write_text(svg, (written){LEFT, TITLE, "start", "black", shown->title});
}

static void draw_axes(const picture *shown, ls_html *svg)
{
    char text[64];
    for (double value = shown->least; value <= shown->most * 1.01; value *= 10) {
        double height = up(shown, value);
        snprintf(text, sizeof text, "M%d %.1fH%d", LEFT, height, RIGHT);
        draw_path(svg, "#cccccc", text);
        snprintf(text, sizeof text, "%.10g", value);
        write_text(svg, (written){LEFT - 8, height + 4, "end", "black", text});
    }
    for (uint32_t i = 0; i < count_points(shown); i++) {
        write_text(svg, (written){across(shown, i), BOTTOM + 22, "middle", "black",
                                  shown->points[i].label});
    }
}

static ls_status draw_line(const picture *shown, uint32_t index, const ls_json *report,
                           ls_html *svg, ls_text *why)
{
    const picture_line *line = &shown->lines[index];
    char path[POINTS_MAX * 24] = "";
    double height = 0;
    int used = 0;
    for (uint32_t i = 0; i < count_points(shown); i++) {
        double value = 0;
        if (!find_figure(report, &shown->points[i], line, &value)) {
            return ls_fail(LS_MALFORMED, why, "there is no figure \"%s%s\" in section %s",
                           shown->points[i].figure, line->behind, line->section);
        }
        height = up(shown, value * shown->share);
        used += snprintf(path + used, sizeof path - (size_t)used, "%s%.1f %.1f", i == 0 ? "M" : "L",
                         across(shown, i), height);
    }
    draw_path(svg, colours[index], path);
    write_text(svg, (written){RIGHT + 8, height + 4, "start", colours[index], line->label});
    return LS_OK;
}

static ls_status draw(const picture *shown, const ls_json *report, const char *path, ls_text *why)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        return ls_fail(LS_IO, why, "cannot write %s", path);
    }
    ls_status status = LS_OK;
    ls_html svg = ls_xml_document(file);
    begin_picture(shown, &svg);
    draw_axes(shown, &svg);
    for (uint32_t i = 0; status == LS_OK && i < LINES_MAX && shown->lines[i].label; i++) {
        status = draw_line(shown, i, report, &svg, why);
    }
    ls_html_end(&svg);
    bool is_written = fclose(file) == 0;
    return status != LS_OK || is_written ? status : ls_fail(LS_IO, why, "cannot write %s", path);
}

ls_status bench_pictures_draw(const char *json_path, ls_text *why)
{
    char path[PATH_BYTES_MAX];
    ls_mapped_file file = {NULL, 0};
    ls_status status = ls_mapped_file_open(json_path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    ls_json *report = ls_json_parse((const char *)file.bytes, file.size);
    size_t length = strlen(json_path);
    int stem =
        (int)(length > 5 && strcmp(json_path + length - 5, ".json") == 0 ? length - 5 : length);
    for (uint32_t i = 0; status == LS_OK && i < sizeof pictures / sizeof pictures[0]; i++) {
        snprintf(path, sizeof path, "%.*s-%s.svg", stem, json_path, pictures[i].name);
        status = report ? draw(&pictures[i], report, path, why)
                        : ls_fail(LS_MALFORMED, why, "%s is no JSON", json_path);
    }
    ls_json_destroy(report);
    ls_mapped_file_close(&file);
    return status;
}

#include "lockstep/tests/lab/bench/report.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/json.h"

#include <string.h>

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

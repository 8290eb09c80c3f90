#include "lockstep/tests/lab/bench/comparison.h"

#include "lockstep/common/program/json_read.h"
#include "lockstep/common/system/mapped_file.h"

#include <string.h>

static const ls_json *find_old(const ls_json *report, const bench_figure *figure)
{
    const ls_json *old = ls_json_read_members(report, "figures");
    for (; old; old = ls_json_next(old)) {
        const char *section = ls_json_read_text(old, "section");
        const char *name = ls_json_read_text(old, "name");
        if (section && name && strcmp(section, figure->section) == 0 &&
            strcmp(name, figure->name) == 0) {
            return old;
        }
    }
    return NULL;
}

/* 1: more is worse; -1: less is; 0: neither. */
static int direction_of(const bench_figure *figure)
{
    switch (figure->budget.rule) {
    case BENCH_AT_MOST:
        return 1;
    case BENCH_AT_LEAST:
        return -1;
    case BENCH_NO_BUDGET:
        break;
    }
    return figure->unit[0] != '\0' ? 1 : 0;
}

static void compare(const bench_report *report, const bench_figure *figure, double old,
                    double tolerance, bench_comparison *out)
{
    double change = old != 0 ? figure->held / old - 1 : 0;
    int direction = direction_of(figure);
    bool is_worse = direction != 0 && direction * change > tolerance;
    out->compared++;
    out->worse += is_worse ? 1 : 0;
    if (change > tolerance || change < -tolerance) {
        fprintf(report->table, "  %-10s %-46s %10.4g -> %-10.4g %+6.1f %%  %s\n", figure->section,
                figure->name, old, figure->held, 100 * change,
                is_worse         ? "WORSE"
                : direction != 0 ? "better"
                                 : "");
    }
}

static ls_status compare_all(const bench_report *report, const ls_json *old_report,
                             double tolerance, bench_comparison *out)
{
    if (!ls_json_read_members(old_report, "figures")) {
        return LS_MALFORMED;
    }
    fprintf(report->table, "\nChanges of more than %.0f %%:\n", 100 * tolerance);
    for (uint32_t i = 0; i < report->count; i++) {
        const ls_json *old = find_old(old_report, &report->figures[i]);
        double held = 0;
        if (old && ls_json_read_number(old, "held", &held)) {
            compare(report, &report->figures[i], held, tolerance, out);
        }
    }
    fprintf(report->table, "%u figures compared, %u worse\n", out->compared, out->worse);
    return LS_OK;
}

ls_status bench_comparison_print(const bench_report *report, const char *path, double tolerance,
                                 bench_comparison *out, ls_text *why)
{
    ls_mapped_file file = {NULL, 0};
    *out = (bench_comparison){.compared = 0};
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    ls_json *old = ls_json_parse((const char *)file.bytes, file.size);
    status = old ? compare_all(report, old, tolerance, out) : LS_MALFORMED;
    ls_json_destroy(old);
    ls_mapped_file_close(&file);
    return status == LS_OK ? LS_OK
                           : ls_fail(status, why, "%s is no report of lockstep-bench --json", path);
}

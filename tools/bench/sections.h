/* Sections: what lockstep-bench can measure, each a function that fills a report.
 * A section fails only when something it runs is broken: a missed budget is a figure, no failure.
 * Called by main. */
#ifndef LOCKSTEP_TOOLS_BENCH_SECTIONS_H
#define LOCKSTEP_TOOLS_BENCH_SECTIONS_H

#include "lockstep/tools/bench/report.h"

typedef ls_status (*ls_bench_section_run)(const ls_bench_plan *plan, ls_bench_report *report,
                                          ls_text *why);

typedef struct ls_bench_section {
    const char *name;
    const char *about; /* one line */
    ls_bench_section_run run;
} ls_bench_section;

ls_status ls_bench_sims(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_hash(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_session(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_net(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_watch(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_join(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_journal(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_timestep(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_view(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);
ls_status ls_bench_math(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);

/* The second half of the section "net": what does not depend on the machine. */
ls_status ls_bench_net_path(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why);

/* index 0 .. count-1; NULL beyond. */
const ls_bench_section *ls_bench_section_at(uint32_t index);

/* The section of that name, or NULL. */
const ls_bench_section *ls_bench_section_find(const char *name);

ls_status ls_bench_section_run_in(const ls_bench_section *section, const ls_bench_plan *plan,
                                  ls_bench_report *report, ls_text *why);

#endif

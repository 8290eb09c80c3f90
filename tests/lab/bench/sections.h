/* Sections: what lockstep-bench can measure, each a function that fills a report.
 * A section fails only when something it runs is broken: a missed budget is a figure, no failure.
 * Called by the main, which has the table of them. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_SECTIONS_H
#define LOCKSTEP_TESTS_LAB_BENCH_SECTIONS_H

#include "lockstep/tests/lab/bench/report.h"

ls_status bench_sims(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_hash(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_session(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_matches(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_causes(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_sealed(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_relay(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_net(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_client(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_service(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_rooms(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_watch(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_start(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_join(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_journal(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_timestep(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_view(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_growth(const bench_plan *plan, bench_report *report, ls_text *why);
ls_status bench_math(const bench_plan *plan, bench_report *report, ls_text *why);

/* The second half of the section "net": what does not depend on the machine. */
ls_status bench_net_path(const bench_plan *plan, bench_report *report, ls_text *why);

#endif

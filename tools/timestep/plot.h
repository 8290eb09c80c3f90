/* Plot: one page that shows what each strategy does: where it draws a moving body, its stutter, the
 * energy of a spring, steps and lengths of frames, time dropped. Writes the page's values and data,
 * and behind them the script that draws them (page.gp, which is part of the program); draws nothing
 * itself. Called by the driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_PLOT_H
#define LOCKSTEP_TOOLS_TIMESTEP_PLOT_H

#include "lockstep/tools/timestep/report.h"

#include <stdio.h>

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

/* Of a simulation without a shape that moves, only what frames come to is shown. NO_MEMORY, or what
 * the simulation's start came to. */
ls_status stepping_plot_write(const stepping_plot_page *page, FILE *script, ls_text *why);

#endif

/* Plot: one page that shows what each strategy does: where it draws a moving body, its stutter, the
 * energy of a spring, steps and lengths of frames, time dropped. Writes the page's values and data,
 * and behind them the script that draws them (page.gp, which is part of the program); draws nothing
 * itself. Called by the driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_PLOT_H
#define LOCKSTEP_TOOLS_TIMESTEP_PLOT_H

#include "lockstep/tools/timestep/report.h"

#include <stdio.h>

#define STEPPING_PLOT_STUTTER_TRACES_MAX 8u

typedef struct stepping_plot_page {
    const stepping_stepper *steppers;
    uint32_t stepper_count;
    uint32_t rate_hz;
    bool is_svg;    /* else PNG */
    bool has_notes; /* the panels say what is to be seen: the built-in traces, all strategies */
    /* The subject of each panel. */
    const stepping_trace *position;
    const stepping_trace *energy;
    const stepping_trace *steps; /* about its longest frame, at steps_cost_percent of dt a step */
    uint32_t steps_cost_percent;
    const stepping_trace *load; /* lengths of frames, and time dropped */
    uint32_t stutter_count;     /* 1 .. STEPPING_PLOT_STUTTER_TRACES_MAX */
    struct {
        const stepping_trace *trace;
        const stepping_report_cell *cells; /* a strategy each */
    } stutter[STEPPING_PLOT_STUTTER_TRACES_MAX];
    const stepping_sim_course *course; /* a simulation instead of the small world; NULL: none */
    const ls_allocator *allocator;
} stepping_plot_page;

/* Of a simulation without a shape that moves, only what frames come to is shown. NO_MEMORY, or what
 * the simulation's start came to. */
ls_status stepping_plot_write(const stepping_plot_page *page, FILE *script, ls_text *why);

#endif

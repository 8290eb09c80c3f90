/* Report: what lockstep-timestep found, as tables for people and as JSON for programs. Owns
 * nothing: the driver fills it. Called by the driver. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_REPORT_H
#define LOCKSTEP_TOOLS_TIMESTEP_REPORT_H

#include "lockstep/tools/timestep/lessons.h"
#include "lockstep/tools/timestep/measure.h"
#include "lockstep/tools/timestep/sim_course.h"

/* A strategy on a trace: of the small world, or of the user's simulation. */
typedef struct ls_report_cell {
    bool is_played; /* not, when the strategy cannot drive a simulation */
    ls_measures world;
    ls_sim_measures simulation;
} ls_report_cell;

typedef struct ls_timestep_report {
    uint32_t rate_hz;
    uint32_t seconds;
    uint64_t seed;
    uint32_t stepper_count;
    ls_stepper steppers[LS_TIMESTEP_STRATEGY_COUNT];
    uint32_t trace_count;
    const ls_trace *traces;
    const ls_report_cell *cells; /* of trace 0 all strategies, then of trace 1, ... */
    const ls_sim_course *course; /* NULL: the small world was played */
    const ls_lessons *lessons;   /* NULL: none asked for */
} ls_timestep_report;

void ls_report_print(const ls_timestep_report *report, FILE *file);

/* NO_MEMORY, or IO with the reason. "-": standard output. */
ls_status ls_report_write_json(const ls_timestep_report *report, const char *path, ls_text *why);

#endif

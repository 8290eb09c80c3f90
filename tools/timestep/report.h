/* Report: what lockstep-timestep found, as tables for people and as JSON for programs. Owns
 * nothing: the driver fills it. Called by the driver. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_REPORT_H
#define LOCKSTEP_TOOLS_TIMESTEP_REPORT_H

#include "lockstep/tools/timestep/lessons.h"
#include "lockstep/tools/timestep/measure.h"
#include "lockstep/tools/timestep/sim_course.h"

/* A strategy on a trace: of the small world, or of the user's simulation. */
typedef struct stepping_report_cell {
    bool is_played; /* not, when the strategy cannot drive a simulation */
    stepping_measures world;
    stepping_sim_measures simulation;
} stepping_report_cell;

typedef struct stepping_report {
    uint32_t rate_hz;
    uint32_t seconds;
    uint64_t seed;
    uint32_t stepper_count;
    stepping_stepper steppers[LS_TIMESTEP_STRATEGY_COUNT];
    uint32_t trace_count;
    const stepping_trace *traces;
    const stepping_report_cell *cells; /* of trace 0 all strategies, then of trace 1, ... */
    const stepping_sim_course *course; /* NULL: the small world was played */
    const stepping_lessons *lessons;   /* NULL: none asked for */
} stepping_report;

void stepping_report_print(const stepping_report *report, FILE *file);

/* NO_MEMORY, or IO with the reason. "-": standard output. */
ls_status stepping_report_write_json(const stepping_report *report, const char *path, ls_text *why);

#endif

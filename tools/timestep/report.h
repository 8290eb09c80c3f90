/* Report: what lockstep-timestep found, as tables for people and, in the same pass, as JSON for
 * programs. Owns nothing: the driver fills it. Called by the driver and by lessons. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_REPORT_H
#define LOCKSTEP_TOOLS_TIMESTEP_REPORT_H

#include "lockstep/common/program/json.h"
#include "lockstep/tools/timestep/sim_course.h"
#include "lockstep/tools/timestep/world.h"

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
} stepping_report;

/* Where it goes: every figure is written to both. */
typedef struct stepping_sheet {
    FILE *file; /* NULL: no table */
    ls_json *json;
} stepping_sheet;

/* To the table alone. */
void stepping_sheet_print(const stepping_sheet *sheet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A figure of an object within `sheet->json`. `key` NULL: to the table alone; `format`, of a
 * double, NULL: to JSON alone. */
void stepping_sheet_add(const stepping_sheet *sheet, ls_json *item, const char *key,
                        const char *format, double value);

void stepping_report_write(const stepping_report *report, const stepping_sheet *sheet);

#endif

/* Compare: the run of lockstep-timestep: opens the traces, measures every strategy on each, prints
 * the table, writes JSON and the page of plots. Called by main. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_COMPARE_H
#define LOCKSTEP_TOOLS_TIMESTEP_COMPARE_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/time/timestep.h"

#include <stdbool.h>

#define STEPPING_COMPARE_TRACES_MAX 16u

typedef struct stepping_compare_config {
    uint32_t rate_hz;     /* 1 .. LS_TICK_RATE_MAX_HZ; the simulation's config has the same */
    uint32_t seconds;     /* of the built-in traces */
    uint64_t seed;        /* of the random walk */
    uint32_t strategies;  /* bit i: ls_timestep_strategy i */
    uint32_t trace_count; /* 0: every built-in one, and the lessons */
    const char *traces[STEPPING_COMPARE_TRACES_MAX]; /* names or paths */
    /* Instead of what each strategy or trace has by itself. */
    bool has_step_cost;
    bool has_frame_max;
    bool has_steps_max;
    uint32_t step_cost_percent;
    uint32_t frame_max_ms;
    uint32_t steps_max;
    const ls_simulation *simulation; /* NULL: the small world */
    const ls_sim_config *simulation_config;
    const char *json_path; /* NULL: none; "-": standard output, and the table to standard error */
    const char *plot_path; /* NULL: none; else ends in .svg or .png */
    bool is_quiet;         /* no table */
} stepping_compare_config;

ls_exit_code stepping_compare_run(const stepping_compare_config *config, ls_console *console);

#endif

/* Measure: what a stepping strategy makes of the world (world.h) on a trace: its speed, how late
 * and how evenly it draws, what becomes of a spring and of a thin wall, and whether another frame
 * rate gives the same bits. Called by the reports' driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_MEASURE_H
#define LOCKSTEP_TOOLS_TIMESTEP_MEASURE_H

#include "lockstep/tools/timestep/play.h"
#include "lockstep/tools/timestep/world.h"

typedef struct stepping_measures {
    stepping_play_result play;
    double speed; /* simulated by real time */
    /* The exact place less the drawn one, in the time that the body takes for it. */
    double late_mean_ms;
    double late_min_ms;
    double late_max_ms;
    /* Standard deviation of how far the body moves from frame to frame, less what it should have
     * moved in that frame's time. At 1,000 pixels a second a millisecond is a pixel. */
    double stutter_ms;
    /* The energy that the spring has in the last second, on average, as a share of its first;
     * STEPPING_WORLD_ENERGY_MAX when it has exploded. */
    double energy_ratio;
    uint64_t wall_hits;
    uint64_t wall_misses;
    bool is_repeatable;      /* on the other trace every step ended in the same bits */
    uint64_t steps_compared; /* as many as both traces have */
} stepping_measures;

typedef struct stepping_measure_config {
    const stepping_trace *trace;
    const stepping_trace *other; /* what it is compared with bit by bit */
    uint64_t step_cost_ns;       /* on both */
} stepping_measure_config;

stepping_measures stepping_measure(const ls_timestep_config *timestep,
                                   const stepping_measure_config *config);

#endif

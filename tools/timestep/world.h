/* World: the smallest world that shows what a stepping strategy does to it: a body at constant
 * speed, a stiff spring, and a ball between two thin walls, all stepped by any dt. In double, but
 * with + - * / alone, so that equal steps give equal bits. Called by whatever measures a strategy.
 */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_WORLD_H
#define LOCKSTEP_TOOLS_TIMESTEP_WORLD_H

#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/tools/timestep/play.h"

#include <stdbool.h>
#include <stdint.h>

/* Semi-implicit Euler holds a spring up to dt = 2 / angular frequency: this one, of 10 Hz, up to
 * 31.8 ms. */
#define STEPPING_WORLD_SPRING_HZ 10

/* With more the spring has exploded, and is not stepped any further. */
#define STEPPING_WORLD_ENERGY_MAX 1e12

typedef struct stepping_world {
    double place; /* m, of the body; 1 m/s */
    ls_spring_motion spring;
    double spring_energy; /* 1 at first; as this integrator conserves it at a constant dt */
    double ball_place;    /* m; the room is 0 .. 5.03, its walls 0.5 m thick */
    double ball_speed;    /* m/s; 24 either way */
    uint64_t wall_hits;
    uint64_t wall_misses; /* the ball was found behind a wall, and put back */
} stepping_world;

/* The two newest states, as a program that draws keeps them. */
typedef struct stepping_world_view {
    stepping_world previous;
    stepping_world current;
    uint64_t digest; /* of all states so far, in order */
    uint64_t steps;
} stepping_world_view;

stepping_world_view stepping_world_view_make(void);

/* The steps of a frame, up to `steps_max` in all frames together. */
void stepping_world_view_advance(stepping_world_view *view, const ls_timestep_plan *plan,
                                 uint64_t steps_max);

/* Where the body is drawn in this frame, in metres: which are seconds, at its speed. */
double stepping_world_view_place(const stepping_world_view *view, const ls_timestep_plan *plan);

/* ---- what a strategy makes of it ---- */

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

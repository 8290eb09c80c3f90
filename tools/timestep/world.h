/* World: the smallest world that shows what a stepping strategy does to it: a body at constant
 * speed, a stiff spring, and a ball between two thin walls, all stepped by any dt. In double, but
 * with + - * / alone, so that equal steps give equal bits. Called by whatever measures a strategy.
 */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_WORLD_H
#define LOCKSTEP_TOOLS_TIMESTEP_WORLD_H

#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/common/time/timestep.h"

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

stepping_world stepping_world_make(void);
void stepping_world_step(stepping_world *world, double dt_s);

/* The spring has more than STEPPING_WORLD_ENERGY_MAX. */
bool stepping_world_has_exploded(const stepping_world *world);

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

#endif

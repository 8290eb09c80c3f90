#include "lockstep/tools/timestep/world.h"

#include "lockstep/common/base/hash.h"

#define SPRING_FREQUENCY (6.283185307179586 * STEPPING_WORLD_SPRING_HZ) /* rad/s */

static const double body_speed = 1.0; /* m/s */
static const double room = 5.03;      /* m; no multiple of what the ball flies in a step */
static const double wall = 0.5;
static const double ball_speed = 24.0; /* m/s */

stepping_world stepping_world_make(void)
{
    return (stepping_world){
        .spring.position = 1, .spring_energy = 1, .ball_place = room / 2, .ball_speed = ball_speed};
}

/* In units of the spring's frequency, so that stretch and motion are of one kind. */
static double motion_of(const stepping_world *world)
{
    return world->spring.velocity / SPRING_FREQUENCY;
}

bool stepping_world_has_exploded(const stepping_world *world)
{
    double stretch = world->spring.position;
    return motion_of(world) * motion_of(world) + stretch * stretch > STEPPING_WORLD_ENERGY_MAX;
}

/* The true energy swings within a period; what stays exactly the same at a constant dt is
 * x2 + (v/w)2 - w dt x (v/w), w the angular frequency. */
static void step_spring(stepping_world *world, double dt_s)
{
    static const ls_spring_rules rules = {.mass = 1,
                                          .stiffness = SPRING_FREQUENCY * SPRING_FREQUENCY,
                                          .count = 1,
                                          .integrator = LS_INTEGRATOR_SEMI_IMPLICIT_EULER};
    if (stepping_world_has_exploded(world)) {
        return;
    }
    world->spring = ls_spring_advance(&rules, world->spring, dt_s);
    double motion = motion_of(world);
    double stretch = world->spring.position;
    world->spring_energy =
        motion * motion + stretch * stretch - SPRING_FREQUENCY * dt_s * stretch * motion;
}

/* Looks at the wall only where the ball is at the end of the step, as most engines do. */
static void step_ball(stepping_world *world, double dt_s)
{
    world->ball_place += world->ball_speed * dt_s;
    double depth = world->ball_place < 0 ? -world->ball_place : world->ball_place - room;
    if (depth <= 0) {
        return;
    }
    if (depth > wall) {
        world->wall_misses++;
        world->ball_place = room / 2;
        return;
    }
    world->wall_hits++;
    world->ball_place = world->ball_place < 0 ? depth : room - depth;
    world->ball_speed = -world->ball_speed;
}

void stepping_world_step(stepping_world *world, double dt_s)
{
    world->place += body_speed * dt_s;
    step_spring(world, dt_s);
    step_ball(world, dt_s);
}

stepping_world_view stepping_world_view_make(void)
{
    stepping_world world = stepping_world_make();
    return (stepping_world_view){.previous = world, .current = world};
}

void stepping_world_view_advance(stepping_world_view *view, const ls_timestep_plan *plan,
                                 uint64_t steps_max)
{
    for (uint32_t i = 0; i < plan->step_count && view->steps < steps_max; i++) {
        view->previous = view->current;
        stepping_world_step(&view->current, (double)ls_timestep_step_ns(plan, i) / 1e9);
        view->steps++;
        uint64_t bits = ls_hash_bytes(&view->current, sizeof view->current, 0);
        view->digest = ls_hash_pair(view->digest, bits);
    }
}

double stepping_world_view_place(const stepping_world_view *view, const ls_timestep_plan *plan)
{
    double alpha = ls_fixed_to_double(plan->alpha);
    return view->current.place * alpha + view->previous.place * (1 - alpha);
}

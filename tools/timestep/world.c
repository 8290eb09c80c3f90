#include "lockstep/tools/timestep/world.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"

#include <math.h>

#define SPRING_FREQUENCY (6.283185307179586 * STEPPING_WORLD_SPRING_HZ) /* rad/s */

static const double body_speed = 1.0; /* m/s */
static const double room = 5.03;      /* m; no multiple of what the ball flies in a step */
static const double wall = 0.5;
static const double ball_speed = 24.0; /* m/s */

static stepping_world make_world(void)
{
    return (stepping_world){
        .spring.position = 1, .spring_energy = 1, .ball_place = room / 2, .ball_speed = ball_speed};
}

/* In units of the spring's frequency, so that stretch and motion are of one kind. */
static double motion_of(const stepping_world *world)
{
    return world->spring.velocity / SPRING_FREQUENCY;
}

/* The spring has more than STEPPING_WORLD_ENERGY_MAX. */
static bool has_exploded(const stepping_world *world)
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
    if (has_exploded(world)) {
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

static void step_world(stepping_world *world, double dt_s)
{
    world->place += body_speed * dt_s;
    step_spring(world, dt_s);
    step_ball(world, dt_s);
}

stepping_world_view stepping_world_view_make(void)
{
    stepping_world world = make_world();
    return (stepping_world_view){.previous = world, .current = world};
}

void stepping_world_view_advance(stepping_world_view *view, const ls_timestep_plan *plan,
                                 uint64_t steps_max)
{
    for (uint32_t i = 0; i < plan->step_count && view->steps < steps_max; i++) {
        view->previous = view->current;
        step_world(&view->current, (double)ls_timestep_step_ns(plan, i) / 1e9);
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

/* ---- what a strategy makes of it ---- */

typedef struct mean {
    double sum;
    double squares;
    double min;
    double max;
    uint32_t count;
} mean;

static void add(mean *values, double value)
{
    values->min = values->count == 0 || value < values->min ? value : values->min;
    values->max = values->count == 0 || value > values->max ? value : values->max;
    values->sum += value;
    values->squares += value * value;
    values->count++;
}

static double mean_of(const mean *values)
{
    return values->count > 0 ? values->sum / values->count : 0;
}

static double deviation_of(const mean *values)
{
    double average = mean_of(values);
    double square = values->count > 0 ? values->squares / values->count - average * average : 0;
    return square > 0 ? sqrt(square) : 0; /* rounding may take it below */
}

typedef struct measuring {
    stepping_world_view view;
    uint64_t length_ns; /* of all frames */
    double drawn_ms;    /* in the frame before */
    bool was_stepped;   /* before this frame: what is drawn moves */
    mean late, moved, energy;
} measuring;

static void on_frame(void *user, const stepping_play_frame *frame)
{
    measuring *m = user;
    stepping_world_view_advance(&m->view, frame->plan, UINT64_MAX);
    double drawn_ms = stepping_world_view_place(&m->view, frame->plan) * 1e3;
    if (m->was_stepped) {
        add(&m->moved, drawn_ms - m->drawn_ms - (double)frame->frame_ns / 1e6);
    }
    if (m->view.steps > 0) {
        add(&m->late, (double)frame->real_ns / 1e6 - drawn_ms);
    }
    m->was_stepped = m->view.steps > 0;
    m->drawn_ms = drawn_ms;
    if (frame->real_ns + LS_NS_PER_SECOND >= m->length_ns) {
        add(&m->energy, m->view.current.spring_energy);
    }
}

/* ---- the same bits ---- */

typedef struct comparing {
    stepping_world_view view;
    uint64_t steps_max;
} comparing;

static void step_only(void *user, const stepping_play_frame *frame)
{
    comparing *c = user;
    stepping_world_view_advance(&c->view, frame->plan, c->steps_max);
}

static uint64_t digest(const ls_timestep_config *timestep, const stepping_trace *trace,
                       uint64_t step_cost_ns, uint64_t steps)
{
    comparing c = {.view = stepping_world_view_make(), .steps_max = steps};
    stepping_play(timestep, trace, step_cost_ns, &(stepping_play_observer){step_only, &c});
    return c.view.digest;
}

static void compare(const ls_timestep_config *timestep, const stepping_measure_config *config,
                    stepping_measures *out)
{
    uint64_t others = stepping_play(timestep, config->other, config->step_cost_ns, NULL).steps;
    uint64_t steps = LS_MIN(others, out->play.steps);
    out->steps_compared = steps;
    out->is_repeatable =
        steps > 0 && digest(timestep, config->trace, config->step_cost_ns, steps) ==
                         digest(timestep, config->other, config->step_cost_ns, steps);
}

stepping_measures stepping_measure(const ls_timestep_config *timestep,
                                   const stepping_measure_config *config)
{
    stepping_measures out = {0};
    measuring m = {.view = stepping_world_view_make()};
    m.length_ns = stepping_play(timestep, config->trace, config->step_cost_ns, NULL).real_ns;
    out.play = stepping_play(timestep, config->trace, config->step_cost_ns,
                             &(stepping_play_observer){on_frame, &m});
    out.speed = (double)out.play.simulated_ns / (double)out.play.real_ns;
    out.late_mean_ms = mean_of(&m.late);
    out.late_min_ms = m.late.min;
    out.late_max_ms = m.late.max;
    out.stutter_ms = deviation_of(&m.moved);
    out.energy_ratio =
        has_exploded(&m.view.current) ? STEPPING_WORLD_ENERGY_MAX : mean_of(&m.energy);
    out.wall_hits = m.view.current.wall_hits;
    out.wall_misses = m.view.current.wall_misses;
    compare(timestep, config, &out);
    return out;
}

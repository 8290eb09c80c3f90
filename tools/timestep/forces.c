#include "lockstep/tools/timestep/forces.h"

#include "lockstep/tools/timestep/play.h"

enum {
    FRAMES_PER_IMPULSE = 7, /* a key is pressed now and then */
};

static const double force = 1.0;   /* N */
static const double impulse = 1.0; /* N s */
static const double mass = 1.0;    /* kg */

/* A body for each way, so that all four go through the same steps. */
typedef struct pushing {
    double speed_by_step;
    double speed_by_frame;
    double speed_by_queue;
    double speed_by_poll;
    double pending_force;
    double pending_impulse;
    double seconds; /* simulated */
    uint32_t impulses;
} pushing;

static void step(pushing *p, double dt_s, bool is_pressed)
{
    p->speed_by_step += force / mass * dt_s;
    p->speed_by_frame += p->pending_force / mass * dt_s;
    p->speed_by_queue += p->pending_impulse / mass;
    p->speed_by_poll += is_pressed ? impulse / mass : 0;
    p->pending_force = 0;
    p->pending_impulse = 0;
    p->seconds += dt_s;
}

static void on_frame(void *user, const stepping_play_frame *frame)
{
    pushing *p = user;
    bool is_pressed = frame->index % FRAMES_PER_IMPULSE == 0;
    p->pending_force += force;
    p->pending_impulse += is_pressed ? impulse : 0;
    p->impulses += is_pressed ? 1 : 0;
    for (uint32_t i = 0; i < frame->plan->step_count; i++) {
        step(p, (double)ls_timestep_step_ns(frame->plan, i) / 1e9, is_pressed);
    }
}

stepping_forces stepping_forces_measure(const stepping_trace *trace, uint64_t dt_ns)
{
    pushing p = {0};
    ls_timestep_config config = {.strategy = LS_TIMESTEP_ACCUMULATOR, .dt_ns = dt_ns};
    stepping_play(&config, trace, 0, &(stepping_play_observer){on_frame, &p});
    double right_speed = force / mass * p.seconds;
    double right_jumps = (p.impulses * impulse - p.pending_impulse) / mass;
    double jumps = p.impulses * impulse / mass;
    return (stepping_forces){.force_per_step = p.speed_by_step / right_speed,
                             .force_per_frame = p.speed_by_frame / right_speed,
                             .impulse_queued = p.speed_by_queue / right_jumps,
                             .impulse_polled = p.speed_by_poll / jumps};
}

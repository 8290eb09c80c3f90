#include "lockstep/tools/timestep/rope.h"

#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/tools/timestep/play.h"

typedef struct hanging {
    const ls_sim_config *config;
    void *state;
    void *scratch;
    stepping_rope_result result;
} hanging;

static void on_frame(void *user, const stepping_play_frame *frame)
{
    hanging *h = user;
    for (uint32_t i = 0; i < frame->plan->step_count && !h->result.is_torn; i++) {
        double dt_s = (double)ls_timestep_step_ns(frame->plan, i) / 1e9;
        ls_rope_advance(h->config, h->state, h->scratch, dt_s);
        double stretch = ls_rope_stretch(h->config, h->state);
        h->result.is_torn = !(stretch < STEPPING_ROPE_TORN);
        h->result.stretch_max = stretch > h->result.stretch_max ? stretch : h->result.stretch_max;
        h->result.steps++;
    }
}

/* Nobody moves its hands: both ends are held from the first tick on, and the rest falls. */
static void hold_ends(ls_sim_instance *instance)
{
    const ls_slot_input joined[] = {{.events = LS_EVENT_JOINED}, {.events = LS_EVENT_JOINED}};
    ls_tick_inputs inputs = {.slot_count = 2, .slots = joined};
    ls_sim_instance_step(instance, &inputs);
}

ls_status stepping_rope_run(const stepping_rope_run_config *config, const stepping_trace *trace,
                            const ls_allocator *allocator, stepping_rope_result *out, ls_text *why)
{
    const ls_simulation *rope = ls_rope_simulation();
    ls_sim_config sim = ls_sim_config_default(rope);
    sim.params[LS_ROPE_PARAM_INTEGRATOR] = config->integrator;
    ls_sim_instance *instance = NULL;
    ls_status status = ls_sim_instance_create(rope, &sim, allocator, &instance, why);
    if (status != LS_OK) {
        return status;
    }
    hanging h = {.config = &sim,
                 .state = ls_sim_instance_state(instance),
                 .scratch = ls_allocate(allocator, rope->scratch_bytes(&sim))};
    if (h.scratch) {
        hold_ends(instance);
        ls_timestep_config timestep = {.strategy = config->dt_ns > 0 ? LS_TIMESTEP_ACCUMULATOR
                                                                     : LS_TIMESTEP_VARIABLE,
                                       .dt_ns = config->dt_ns,
                                       .frame_max_ns = config->frame_max_ns};
        stepping_play_result play =
            stepping_play(&timestep, trace, 0, &(stepping_play_observer){on_frame, &h});
        h.result.dropped_ms = (double)play.dropped_ns / 1e6;
        *out = h.result;
    }
    status = h.scratch ? LS_OK : LS_NO_MEMORY;
    ls_release(allocator, h.scratch);
    ls_sim_instance_destroy(instance);
    return status;
}

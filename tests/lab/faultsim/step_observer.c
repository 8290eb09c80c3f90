#include "lockstep/tests/lab/faultsim/step_observer.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"

#include <string.h>

enum {
    SIMULATIONS_MAX = 16,
    INSTANCES_MAX = 4 * LS_PLAYERS_MAX
};

typedef struct observed_simulation {
    const ls_simulation *inner;
    ls_simulation outer;
    ls_pass passes[LS_PASSES_MAX + 1];
} observed_simulation;

typedef struct observed_instance {
    const ls_sim_instance *instance;
    step_observer_function on_step;
    void *user;
} observed_instance;

static observed_simulation simulations[SIMULATIONS_MAX];
static uint32_t simulation_count;
static observed_instance instances[INSTANCES_MAX];
static uint32_t instance_count;

/* The block of an engine without a schema holds pointers. */
static uint64_t digest_of(const ls_sim_instance *instance)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const void *state = ls_sim_instance_view(instance);
    return simulation->hash ? simulation->hash(ls_sim_instance_config(instance), state)
                            : ls_hash_bytes(state, ls_sim_instance_state_bytes(instance), 0);
}

static void report_step(const ls_step *step)
{
    for (uint32_t i = 0; i < instance_count; i++) {
        if (ls_sim_instance_view(instances[i].instance) == step->state) {
            instances[i].on_step(instances[i].user, step->inputs, digest_of(instances[i].instance));
            return;
        }
    }
}

const ls_simulation *step_observer_simulation(const ls_simulation *inner)
{
    for (uint32_t i = 0; i < simulation_count; i++) {
        if (simulations[i].inner == inner) {
            return &simulations[i].outer;
        }
    }
    LS_ASSERT(simulation_count < SIMULATIONS_MAX && inner->pass_count < LS_PASSES_MAX);
    observed_simulation *made = &simulations[simulation_count++];
    made->inner = inner;
    made->outer = *inner;
    made->passes[0] = (ls_pass){"observe", report_step};
    memcpy(&made->passes[1], inner->passes, inner->pass_count * sizeof made->passes[0]);
    made->outer.passes = made->passes;
    made->outer.pass_count = inner->pass_count + 1;
    return &made->outer;
}

void step_observer_attach(ls_sim_instance *instance, step_observer_function on_step, void *user)
{
    LS_ASSERT(instance_count < INSTANCES_MAX);
    instances[instance_count++] =
        (observed_instance){.instance = instance, .on_step = on_step, .user = user};
}

uint64_t step_observer_state(const ls_sim_instance *instance)
{
    return digest_of(instance);
}

void step_observer_detach(const void *user)
{
    for (uint32_t i = 0; i < instance_count; i++) {
        if (instances[i].user == user) {
            instances[i] = instances[--instance_count];
            return;
        }
    }
}

void step_observer_detach_all(void)
{
    instance_count = 0;
}

uint64_t step_observer_digest(const uint8_t *bytes, uint32_t size)
{
    return ls_hash_bytes(bytes, size, size) | 1u;
}

#include "lockstep/tools/faultsim/witness.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"

#include <string.h>

enum {
    SIMULATIONS_MAX = 16,
    WATCHED_MAX = 4 * LS_PLAYERS_MAX
};

typedef struct witnessed {
    const ls_simulation *inner;
    ls_simulation outer;
    ls_pass passes[LS_PASSES_MAX + 1];
} witnessed;

typedef struct watched {
    const void *state;
    size_t state_bytes;
    witness_function on_step;
    void *user;
} watched;

static witnessed simulations[SIMULATIONS_MAX];
static uint32_t simulation_count;
static watched watches[WATCHED_MAX];
static uint32_t watch_count;

static void look(const ls_step *step)
{
    for (uint32_t i = 0; i < watch_count; i++) {
        if (watches[i].state == step->state) {
            uint64_t digest = ls_hash_bytes(step->state, watches[i].state_bytes, 0);
            watches[i].on_step(watches[i].user, step->inputs, digest);
            return;
        }
    }
}

const ls_simulation *witness_simulation(const ls_simulation *inner)
{
    for (uint32_t i = 0; i < simulation_count; i++) {
        if (simulations[i].inner == inner) {
            return &simulations[i].outer;
        }
    }
    LS_ASSERT(simulation_count < SIMULATIONS_MAX && inner->pass_count < LS_PASSES_MAX);
    witnessed *made = &simulations[simulation_count++];
    made->inner = inner;
    made->outer = *inner;
    made->passes[0] = (ls_pass){"witness", look};
    memcpy(&made->passes[1], inner->passes, inner->pass_count * sizeof made->passes[0]);
    made->outer.passes = made->passes;
    made->outer.pass_count = inner->pass_count + 1;
    return &made->outer;
}

void witness_watch(ls_sim_instance *instance, witness_function on_step, void *user)
{
    LS_ASSERT(watch_count < WATCHED_MAX);
    watches[watch_count++] = (watched){.state = ls_sim_instance_view(instance),
                                       .state_bytes = ls_sim_instance_state_bytes(instance),
                                       .on_step = on_step,
                                       .user = user};
}

uint64_t witness_state(const ls_sim_instance *instance)
{
    return ls_hash_bytes(ls_sim_instance_view(instance), ls_sim_instance_state_bytes(instance), 0);
}

void witness_forget(const void *user)
{
    for (uint32_t i = 0; i < watch_count; i++) {
        if (watches[i].user == user) {
            watches[i] = watches[--watch_count];
            return;
        }
    }
}

void witness_forget_all(void)
{
    watch_count = 0;
}

uint64_t witness_digest(const uint8_t *bytes, uint32_t size)
{
    return ls_hash_bytes(bytes, size, size) | 1u;
}

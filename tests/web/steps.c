#include "lockstep/tests/web/steps.h"

#include "lockstep/client/bots.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulations/builtin.h"

enum {
    HASH_PERIOD = 100,
    SEED = 35,
};

const char *ls_web_steps_name(uint32_t builtin)
{
    const ls_simulation *simulation = ls_builtin_simulation(builtin);
    return simulation ? simulation->name : NULL;
}

static uint64_t run(ls_sim_instance *instance, uint32_t ticks)
{
    static ls_bot_crew crew;
    uint64_t chain = 1;
    ls_bot_crew_init(&crew, SEED);
    for (uint32_t tick = 1; tick <= ticks; tick++) {
        const ls_tick_inputs inputs = ls_bot_crew_inputs(&crew, instance);
        ls_sim_instance_step(instance, &inputs);
        if (tick % HASH_PERIOD == 0 || tick == ticks) {
            uint64_t hash = ls_sim_instance_hash(instance);
            chain = ls_hash_bytes((const uint8_t *)&hash, sizeof hash, chain);
        }
    }
    return chain;
}

uint64_t ls_web_steps(uint32_t builtin, uint32_t players, uint32_t ticks)
{
    const ls_simulation *simulation = ls_builtin_simulation(builtin);
    ls_sim_instance *instance = NULL;
    ls_text why = {{0}};
    if (!simulation) {
        return 0;
    }
    ls_sim_config config = ls_sim_config_default(simulation);
    config.players = players;
    config.seed = SEED;
    if (ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, &why) !=
        LS_OK) {
        return 0;
    }
    uint64_t chain = run(instance, ticks);
    ls_sim_instance_destroy(instance);
    return chain;
}

/* Memory: a game whose steps go by a static and a thread-local that no save has, once it has been
 * played for a while. Machines that play from the start agree; one that joins later does not, and
 * whatever else steps the plug-in in a live process makes that machine differ. */
#include "lockstep/common/simulation/simulation.h"

typedef struct world {
    uint64_t distance;
    uint64_t steps;
} world;

enum {
    FIRST_STRAYED = 90, /* one that joins before has joined by then */
};

static uint64_t walked;
static _Thread_local uint64_t cached = 1;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(world);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity >= 2) {
        out[0] = LS_FIELD_OF(world, distance, LS_FIELD_U64, "m");
        out[1] = LS_FIELD_OF(world, steps, LS_FIELD_U64, "");
    }
    return 2;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

static void walk(const ls_step *step)
{
    world *w = step->state;
    walked++;
    cached = cached * 6364136223846793005u + walked;
    w->distance += w->steps < FIRST_STRAYED ? 1 : cached >> 40;
    w->steps++;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"walk", walk};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "memory",
        .summary = "walks by what it remembers",
        .default_tick_rate_hz = 60,
        .default_players = 3,
        .players_max = 4,
        .input_bytes_max = 4,
        .passes = &pass,
        .pass_count = 1,
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
    };
    return &simulation;
}
